"""Several classes: two ways to make probabilities of their posteriors, and what many of them cost.

    python benchmarks/classes.py           # the two ways, by log-loss
    python benchmarks/classes.py many      # the cost of many classes
    python benchmarks/classes.py --rows N  # of no more rows of each stream

Every class has a posterior that says p that a row is of this class. Either p is divided by the sum
over classes, or "this class and none of the others" is taken, which is proportional to p/(1 − p).
Each row is predicted before it is learned.

Of many classes, few compete for a row, and a committee's posteriors do not learn rows that they are
sure are not of their class. Prints, beside a committee in which all learn every row, in the same
run: milliseconds of processor per row, log-loss, error and calibration error; the mean of the last
over labels drawn from what was predicted, and the share of these draws that is below it.
"""

from __future__ import annotations

import argparse
import math
from time import process_time
from unittest import mock

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn import datasets
from threadpoolctl import threadpool_limits

from chance import by_chance
from virtualvector import AutoVVMClassifier
from virtualvector.auto import committee
from virtualvector.auto.feature_space import FeatureSpace
from virtualvector.datasets import load_thyroid
from virtualvector.evaluation import calibration_error, log_loss
from virtualvector.features.encoder import Encoder
from virtualvector.learners.expert import Expert
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


def clouds(n_classes, n_rows=2000, n_columns=12):
    """Return rows of a normal cloud for each class."""
    random = np.random.default_rng(0)
    centres = 1.6 * random.standard_normal((n_classes, n_columns))
    labels = random.integers(n_classes, size=n_rows)
    return centres[labels] + random.standard_normal((n_rows, n_columns)), labels


def shuffled(load):
    X, labels = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    return X[order], labels[order]


MANY = {
    "clouds, 3": lambda: clouds(3),
    "digits, 10": lambda: shuffled(datasets.load_digits),
    "clouds, 26": lambda: clouds(26),
    "clouds, 100": lambda: clouds(100),
}


def many(n_rows: int | None) -> None:
    found = []
    for name, load in MANY.items():
        X, labels = (each[:n_rows] for each in load())
        classes = np.unique(labels)
        for kind, sure in (("all", math.inf), ("not sure", committee.SURE)):
            with mock.patch.object(committee, "SURE", sure):
                AutoVVMClassifier().partial_fit(X[:150], labels[:150], classes=classes)  # compiles
                start = process_time()
                predicted = AutoVVMClassifier().predict_then_learn(X, labels).probabilities
                took = process_time() - start
            found.append(
                {
                    "stream": name,
                    "learned by": kind,
                    "ms": 1e3 * took / len(labels),
                    "log-loss": log_loss(labels, predicted, classes),
                    "second half": log_loss(
                        *(a[len(a) // 2 :] for a in (labels, predicted)), classes
                    ),
                    "error": np.mean(classes[np.argmax(predicted, axis=1)] != labels),
                    "calibration error": (off := calibration_error(labels, predicted, classes)),
                    **by_chance(predicted, off),
                }
            )
    print(pd.DataFrame(found).to_string(index=False, float_format="{:.4f}".format))


def two_ways(n_rows: int | None) -> None:
    found = []
    for name, load in STREAMS.items():
        X, labels = (each[:n_rows] for each in shuffled(load))
        classes = np.unique(labels)
        inputs = Encoder([False] * X.shape[1]).learn(list(X.T))
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="?", choices=["many"])
    parser.add_argument("--rows", type=int, help="take no more of each stream")
    options = parser.parse_args()
    with threadpool_limits(1):
        (many if options.what else two_ways)(options.rows)


if __name__ == "__main__":
    main()
