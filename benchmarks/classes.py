"""Two ways to make probabilities of one posterior per class, measured by log-loss.

    python benchmarks/classes.py

Every class has a posterior that says p that a row is of this class. Either p is divided by the sum
over classes, or "this class and none of the others" is taken, which is proportional to p/(1 − p).
Each row is predicted before it is learned.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn import datasets
from threadpoolctl import threadpool_limits

from virtualvector.auto.experts import Expert
from virtualvector.auto.feature_space import FeatureSpace
from virtualvector.datasets import load_thyroid
from virtualvector.evaluation import log_loss
from virtualvector.features.encoder import Encoder
from virtualvector.posterior import empty_state, learn

STREAMS = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "digits": datasets.load_digits,
    "thyroid": load_thyroid,
}
EXPERTS = {
    f"{'linear' if bandwidth is None else f'rbf ×{bandwidth:g}'}, s² = {noise:g}": Expert(
        bandwidth, noise
    )
    for bandwidth, noise in ((None, 1.0), (0.5, 0.01), (0.5, 0.1), (1.0, 0.01), (1.0, 0.1))
}


def log_odds(rows, labels, expert, classes):
    """Return log p and log (1 − p) of each class for each row, before it is learned."""
    settings = expert.settings()
    yes, no = np.empty((2, len(rows), len(classes)))
    for k in classes:
        signs = np.where(labels == k, 1.0, -1.0)
        state = empty_state(rows.shape[1] + 1, settings)
        observed = learn(state, rows, signs, settings)[1].log_probability
        other = np.log(np.maximum(-np.expm1(observed), 1e-300))
        yes[:, k], no[:, k] = np.where(signs > 0, [observed, other], [other, observed])
    return yes, no


def main() -> None:
    found = []
    for name, load in STREAMS.items():
        X, labels = load(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(labels))
        labels, classes = labels[order], np.unique(labels)
        inputs = Encoder([False] * X.shape[1]).learn(list(X[order].T))
        feature_space = FeatureSpace(X.shape[1], X.shape[1], 100, 0.0)
        for kind, expert in EXPERTS.items():
            view = feature_space.view(expert)
            rows = feature_space.look([view], inputs)[view]
            yes, no = log_odds(rows, labels, expert, classes)
            found.append(
                {
                    "stream": name,
                    "expert": kind,
                    "p/(1 − p)": log_loss(labels, softmax(yes - no, axis=1), classes),
                    "p over the sum": log_loss(labels, softmax(yes, axis=1), classes),
                }
            )
    print(pd.DataFrame(found).to_string(index=False, float_format="{:.3f}".format))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
