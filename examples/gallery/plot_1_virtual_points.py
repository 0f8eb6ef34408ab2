"""
What a virtual point is
=======================

Three weights, twelve rows, and what is left of them: by a Gaussian alone, and by a Gaussian with
three virtual points.
"""

# %%
# Every row rules weights out
# ---------------------------
# A linear classifier has a weight for each column and a bias. Here there are two columns, so three
# weights, and only their direction matters for a label: a point on a sphere. A labelled row says
# that the weights are on one side of a plane through the origin. All rows together leave a polygon
# of the sphere, and without noise that polygon *is* the posterior: everything inside explains all
# labels, nothing outside does.
#
# The map below is drawn so that planes become straight lines. ``cut_sphere`` finds the polygon by
# geometry, without any of the learners that are shown.

import matplotlib.pyplot as plt
import numpy as np

from virtualvector import ADFClassifier, VVMClassifier
from virtualvector.paper.exact.sphere_geometry import cut_sphere

rng = np.random.default_rng(3)
rows = rng.normal(size=(12, 2))
true_weights = np.array([1.0, 0.7, 0.3])
labels = np.where(np.column_stack([rows, np.ones(12)]) @ true_weights > 0, 1, 0)
planes = np.column_stack([rows, np.ones(12)]) * np.where(labels == 1, 1.0, -1.0)[:, None]

polygon = cut_sphere(planes)
exact = polygon.posterior_mean
print(f"{len(polygon.edges)} of 12 rows are edges of the polygon; the others say nothing more.")

# %%
# What learners keep
# ------------------
# Assumed-density filtering keeps a Gaussian, and lets each row change it once. A virtual vector
# machine keeps some of the rows as well, exactly: those whose cut a Gaussian would blur most. What
# it knows is the Gaussian *times* the cuts of these points. (Usually two points that are close also
# merge into one, with a cut between theirs; not here, so that each orange line is a row's. With
# merging, the mean of these three would be 0.78° from the exact one, instead of 0.12°.)

adf = ADFClassifier().partial_fit(rows, labels)
vvm = VVMClassifier(buffer_size=3, merge_pairs=0).partial_fit(rows, labels)
print("virtual points:", len(vvm.virtual_points_), "of", vvm.n_seen_, "rows")


def direction(weights):
    return weights / np.linalg.norm(weights)


def mean_of(model):
    return np.append(model.coef_[0], model.intercept_[0])


centre = direction(exact)
across = direction(np.cross(centre, [0.0, 0.0, 1.0]))
frame = np.array([across, np.cross(centre, across)])


def on_map(vectors):
    """Where a ray through each vector meets the plane that touches the sphere at the centre."""
    vectors = np.atleast_2d(vectors)
    return vectors @ frame.T / (vectors @ centre)[:, None]


reach = 0.75
grid = np.linspace(-reach, reach, 241)
x, y = np.meshgrid(grid, grid)
rays = centre + x[..., None] * frame[0] + y[..., None] * frame[1]
inside = np.all(rays @ planes.T > 0, axis=-1)


def density(model):
    """The mass of N(mean, covariance) along each ray."""
    inverse, mean = np.linalg.inv(model.covariance_), mean_of(model)
    lengths = np.linspace(0.02, 6.0, 300)
    distance = lengths[:, None, None, None] * rays - mean
    return np.sum(
        lengths[:, None, None] ** 2
        * np.exp(-0.5 * np.einsum("labi,ij,labj->lab", distance, inverse, distance)),
        axis=0,
    )


def levels(values, shares=(0.9, 0.5)):
    """The heights above which a share of the mass lies."""
    falling = np.sort(values, axis=None)[::-1]
    mass = np.cumsum(falling) / np.sum(falling)
    return [falling[np.searchsorted(mass, share)] for share in shares]


def draw_plane(axes, plane, **style):
    a, b, c = plane @ frame[0], plane @ frame[1], plane @ centre
    axes.axline((-a * c / (a * a + b * b), -b * c / (a * a + b * b)), slope=-a / b, **style)


figure, panels = plt.subplots(1, 3, figsize=(11, 4.3), layout="constrained")
titles = ("the rows, and what they leave", "ADF: a Gaussian", "VVM: a Gaussian and 3 points")
for axes, model, title in zip(panels, (None, adf, vvm), titles, strict=True):
    axes.contourf(x, y, inside, levels=[0.5, 1.5], colors=["#cfe3f5"])
    for plane in planes:
        draw_plane(axes, plane, color="0.75", lw=0.8, zorder=0)
    axes.plot(*on_map(exact)[0], "kx", ms=8, mew=2, label="exact mean")
    if model is not None:
        values = density(model)
        axes.contour(x, y, values, levels=levels(values), colors="#b2182b", linewidths=[1, 2])
        axes.plot(*on_map(mean_of(model))[0], "o", color="#b2182b", label="its mean")
    if model is vvm:
        for number, point in enumerate(vvm.virtual_points_):
            label = "a virtual point's cut" if number == 0 else None
            draw_plane(axes, point, color="#e08214", lw=3, zorder=1, label=label)
    axes.set(
        xlim=(-reach, reach), ylim=(-reach, reach), xticks=[], yticks=[], title=title, aspect=1.0
    )
    axes.legend(loc="lower left", fontsize=8)
plt.show()

# %%
# Blue is the exact posterior: directions of the weights that explain all twelve labels. The red
# lines hold half and nine tenths of the Gaussian that a learner predicts with. That of ADF has more
# of its mass where a label would be wrong, and its mean is off. The virtual points (orange) are
# cuts that VVM still has exactly; its Gaussian is fitted to them anew whenever a row comes.
#
# How far are the means from the exact one, in degrees?

for name, model in (("ADF", adf), ("VVM, 3 points", vvm)):
    cosine = direction(mean_of(model)) @ direction(exact)
    print(f"{name:14} {np.degrees(np.arccos(cosine)):5.2f}°")

# %%
# This is one draw of twelve rows, picked for being easy to look at. The next page has averages over
# many streams, and buffers of other sizes.
#
# Try it
# ------
# Each line is the cut of a row; drag it. Blue are the directions that agree with all rows, and the
# cross is their mean; the red dot is the mean of the Gaussian, which has half and nine tenths of
# its mass in the red areas. Tick a row to keep its cut as a point: which ones are worth it? A cut
# that is far from the middle changes little.
#
# .. raw:: html
#
#     <figure class="virtual-points">
#       <canvas width="640" height="640" role="img"
#         aria-label="A map of the weights, with the cuts of seven rows"></canvas>
#       <fieldset>
#         <legend>keep the cut of row</legend>
#         <label><input type="checkbox" checked> 1</label>
#         <label><input type="checkbox"> 2</label>
#         <label><input type="checkbox"> 3</label>
#         <label><input type="checkbox"> 4</label>
#         <label><input type="checkbox" checked> 5</label>
#         <label><input type="checkbox"> 6</label>
#         <label><input type="checkbox"> 7</label>
#       </fieldset>
#       <output></output>
#     </figure>
#     <script src="../_static/sphere.js"></script>
