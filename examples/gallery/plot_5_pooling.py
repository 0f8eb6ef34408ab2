"""
Four hospitals, one model, no shared row
========================================

Each learns its own rows. What they know is multiplied, and nobody has seen anybody's rows.
"""

# %%
# A posterior is a product of factors, so posteriors that were learned apart can be multiplied. Here
# Spambase is dealt to four who learn it apart; a fifth of the rows are kept for testing.

import matplotlib.pyplot as plt
import numpy as np

import virtualvector
from virtualvector import VVMClassifier
from virtualvector.datasets import load_spambase
from virtualvector.evaluation import log_loss

X, y = load_spambase(return_X_y=True, random_state=0)
X = np.log1p(X)
X_test, y_test, X, y = X[:920], y[:920], X[920:], y[920:]
classes = np.array([0, 1])


def loss(model):
    return log_loss(y_test, model.predict_proba(X_test), classes)


def new():
    return VVMClassifier(margin_noise=1.0)


apart = [new().partial_fit(X[k::4], y[k::4], classes=classes) for k in range(4)]
together = virtualvector.pool(apart)
one = new().partial_fit(X, y, classes=classes)

# %%
# Pooling often is better: everyone goes on from what all knew before, the ``common`` model.

start, rounds = 200, [400, 800, 1600, len(X)]
common = new().partial_fit(X[:start], y[:start], classes=classes)
for end in rounds:
    news = [
        virtualvector.pool([common]).partial_fit(X[start + k : end : 4], y[start + k : end : 4])
        for k in range(4)
    ]
    common, start = virtualvector.pool(news, common=common), end

losses = {
    "each alone": np.mean([loss(model) for model in apart]),
    "pooled once": loss(together),
    "pooled in four rounds": loss(common),
    "one machine, all rows": loss(one),
}
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
bars = axes.barh(
    list(losses), list(losses.values()), color=["0.7", "#92c5de", "#4393c3", "#2166ac"]
)
axes.bar_label(bars, fmt="%.4f", padding=4)
axes.invert_yaxis()
axes.set(xlabel="log-loss on rows that nobody learned", xlim=(0, 1.2 * max(losses.values())))
plt.show()

# %%
# The order of the models does not matter, to the last bit, and the rows of all are counted:

again = virtualvector.pool(apart[::-1])
print(bool((again.coef_ == together.coef_).all()), together.n_seen_ == len(X))

# %%
# :doc:`/scaling` has what pooling costs on more streams, and how a Dask cluster does it in rounds.
