"""
When the world changes
======================

Half-way through this stream the two classes swap their meaning. Who notices?
"""

# %%
# A learner that takes all rows for one sample averages over both worlds. With a ``half_life`` the
# weights are taken to drift, and what is known fades into the prior. The committee has experts that
# drift and experts that do not, and an alarm that lets all begin anew.

import matplotlib.pyplot as plt
import numpy as np

from virtualvector import AutoVVMClassifier, VVMClassifier

rng = np.random.default_rng(0)
rows = rng.normal(size=(4000, 5))
margin = rows @ [1.5, -1.0, 0.5, 0.0, 0.0] + rng.normal(scale=0.7, size=4000)
before = np.arange(4000) < 2000
labels = np.where((margin > 0) == before, "yes", "no")

learners = {
    "VVM": VVMClassifier(margin_noise=0.5),
    "VVM, half-life 1,000": VVMClassifier(margin_noise=0.5, half_life=1000),
    "AutoVVM": AutoVVMClassifier(),
}
wrong = {
    name: (model.predict_then_learn(rows, labels).labels != labels)
    for name, model in learners.items()
}

window = np.ones(200) / 200
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for (name, mistakes), colour in zip(wrong.items(), ("0.5", "#2166ac", "#b2182b"), strict=True):
    axes.plot(
        np.arange(200, 4001), 100 * np.convolve(mistakes, window, "valid"), color=colour, label=name
    )
axes.axvline(2000, color="0.8", lw=6, zorder=0)
axes.text(2020, 92, "the swap", color="0.4")
axes.set(xlabel="rows", ylabel="wrong among the last 200, %", ylim=(0, 100))
axes.legend(loc="upper left")
plt.show()

# %%
for name, mistakes in wrong.items():
    parts = {
        "before": mistakes[:2000],
        "next 500": mistakes[2000:2500],
        "last 1,000": mistakes[3000:],
    }
    print(f"{name:22}", *(f"{part}: {100 * m.mean():4.1f} %  " for part, m in parts.items()))

# %%
# The price of a half-life where nothing changes is the first column. How far memory reaches is in
# :doc:`/engine`.
