"""
Memory against accuracy
=======================

Each virtual point is a row's worth of memory. What does it buy? Here the exact answer is known, and
how far learners are from it can be measured.
"""

# %%
# Streams whose exact posterior is known
# --------------------------------------
# Rows have two columns, labels have no noise, and a line separates the classes. Then the posterior
# over the direction of the weights is uniform on a polygon of the sphere, and its mean follows from
# geometry (:ref:`sphx_glr_gallery_plot_1_virtual_points.py` shows one). ``Mixture`` draws the
# streams of the paper's figure 1: 300 rows each.

import matplotlib.pyplot as plt
import numpy as np

from virtualvector import EPClassifier, VVMClassifier, WindowEPClassifier
from virtualvector.paper.exact.sphere_geometry import cut_sphere
from virtualvector.paper.mixture import Mixture, labelled

streams = []
for seed in range(20):
    rows, signs, _ = Mixture().draw(np.random.default_rng(seed))
    streams.append((rows, signs, cut_sphere(labelled(rows, signs)).posterior_mean))


def distance(model, rows, signs, exact):
    """How far the direction of the mean is from the exact one, in degrees."""
    model.partial_fit(rows, signs)
    mean = np.append(model.coef_[0], model.intercept_[0])
    cosine = mean @ exact / (np.linalg.norm(mean) * np.linalg.norm(exact))
    return np.degrees(np.arccos(min(cosine, 1.0)))


# %%
# No points at all is assumed-density filtering; all rows is expectation propagation. In between are
# window-EP, which keeps the last rows, and VVM, which keeps those that matter.

sizes = [0, 2, 5, 10, 20, 40]
found = {
    name: np.array([[distance(kind(size), *stream) for stream in streams] for size in sizes])
    for name, kind in (("VVM", VVMClassifier), ("window-EP", WindowEPClassifier))
}
all_rows = np.mean([distance(EPClassifier(), *stream) for stream in streams])

figure, axes = plt.subplots(figsize=(7, 4.3), layout="constrained")
for (name, distances), colour, mark in zip(
    found.items(), ("#2166ac", "#b2182b"), "os", strict=True
):
    spread = distances.std(axis=1) / np.sqrt(len(streams))
    axes.errorbar(
        sizes, distances.mean(axis=1), spread, label=name, color=colour, marker=mark, capsize=3
    )
axes.axhline(all_rows, color="0.3", ls="--", label="EP, which keeps all 300 rows")
axes.set_xticks(sizes, ["0\n(ADF)", *sizes[1:]])
axes.set(
    xlabel="rows or points kept",
    ylabel="degrees from the exact mean",
    ylim=(0, None),
    title="Twenty streams of 300 rows; bars are standard errors",
)
axes.legend()
plt.show()

# %%
for name, distances in found.items():
    print(
        f"{name:10}",
        *(
            f"{size:3}: {mean:.2f}°"
            for size, mean in zip(sizes, distances.mean(axis=1), strict=True)
        ),
    )
print(f"EP         300: {all_rows:.2f}°")

# %%
# Without noise, few points do what all rows do. Noise makes posteriors more Gaussian, and
# then points buy less: see :doc:`/choosing`.
