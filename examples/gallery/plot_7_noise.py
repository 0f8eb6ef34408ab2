"""
How much noise to assume
========================

``margin_noise`` and ``label_noise`` say how far a label can be trusted. The first matters wherever
classes overlap, which is nearly everywhere.
"""

# %%
# What the two mean
# -----------------
# A label has probability ε + (1 − 2ε)Φ(u/s), where u is the margin of a row, s² the margin noise
# and ε the label noise.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.preprocessing import StandardScaler

from virtualvector import ADFClassifier, VVMClassifier
from virtualvector.datasets import load_ionosphere, load_thyroid
from virtualvector.evaluation import log_loss

margin = np.linspace(-3, 3, 601)
shapes = {
    "none: a step": (margin > 0).astype(float),
    "margin noise 1": norm.cdf(margin),
    "label noise 0.1": 0.1 + 0.8 * (margin > 0),
    "both": 0.1 + 0.8 * norm.cdf(margin),
}
streams = {
    "Ionosphere": load_ionosphere(return_X_y=True, random_state=0),
    "Thyroid, two classes": load_thyroid(two_class=True, return_X_y=True, random_state=0),
}

# %%
# What they do
# ------------
# The log-loss along two streams, each row predicted before it is learned, for margin noises from
# none to far too much. Columns are standardised.

noises = [0.0, 0.001, 0.01, 0.1, 0.3, 1.0, 3.0, 10.0]


def along(model, X, y):
    predicted = model.predict_then_learn(StandardScaler().fit_transform(X), y)
    return log_loss(y, predicted.probabilities, model.classes_)


figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (name, shape), style in zip(shapes.items(), ("k-", "b-", "r--", "m:"), strict=True):
    left.plot(margin, shape, style, label=name)
left.set(xlabel="margin", ylabel="probability of the label", ylim=(-0.03, 1.03))
left.legend()
places = np.arange(len(noises))
for (name, (X, y)), colour in zip(streams.items(), ("#2166ac", "#b2182b"), strict=True):
    for kind, style in ((VVMClassifier, "o-"), (ADFClassifier, "s:")):
        losses = [along(kind(margin_noise=noise), X, y) for noise in noises]
        right.plot(places, losses, style, color=colour, label=f"{name}, {kind.__name__[:3]}")
        print(
            f"{name:21}",
            kind.__name__[:3],
            *(f"{n:g}: {x:.3f} " for n, x in zip(noises, losses, strict=True)),
        )
right.set_xticks(places, [f"{noise:g}" for noise in noises])
right.set(xlabel="margin noise", ylabel="log-loss", ylim=(0.3, None))
right.legend()
plt.show()

# %%
# Too little noise costs more than too much. Where nothing is known, 1 on columns of unit scale is a
# good start; :class:`~virtualvector.AutoVVMClassifier` has experts for several, and finds out.
