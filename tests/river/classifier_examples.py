"""Classifiers, streams and comparisons that the tests of this folder share."""

from functools import partial

import numpy as np
import pytest

import virtualvector
from tests.learners.learner_examples import problem
from virtualvector import Expert, river

SMALL = (Expert(None, 1.0, buffer_size=4), Expert(1.0, 0.1))  # a committee that is quick
NOISE = {"margin_noise": 0.5}

# A classifier, and the learner that it is a shell of.
PAIRS = {
    "vvm": (
        partial(river.VVMClassifier, 6, **NOISE),
        partial(virtualvector.VVMClassifier, 6, **NOISE),
    ),
    "adf": (partial(river.ADFClassifier, **NOISE), partial(virtualvector.ADFClassifier, **NOISE)),
    "window_ep": (
        partial(river.WindowEPClassifier, 6, **NOISE),
        partial(virtualvector.WindowEPClassifier, 6, **NOISE),
    ),
    "auto": (
        partial(river.AutoVVMClassifier, experts=SMALL, n_frequencies=5),
        partial(virtualvector.AutoVVMClassifier, experts=SMALL, n_frequencies=5),
    ),
}
LINEAR = {name: pair for name, pair in PAIRS.items() if name != "auto"}

every_pair = pytest.mark.parametrize(("classifier", "learner"), PAIRS.values(), ids=PAIRS)
every_linear_pair = pytest.mark.parametrize(("classifier", "learner"), LINEAR.values(), ids=LINEAR)
every_classifier = pytest.mark.parametrize(
    "classifier", [classifier for classifier, _ in PAIRS.values()], ids=PAIRS
)
every_linear_classifier = pytest.mark.parametrize(
    "classifier", [classifier for classifier, _ in LINEAR.values()], ids=LINEAR
)


def dicts(X):
    """Rows of an array as dicts."""
    return [dict(zip("abcdefghij", row, strict=False)) for row in X.tolist()]


def rows_and_classes(n_classes=2, rows=60, columns=4):
    X, y = problem(rows, columns, n_classes)
    return X, np.array(["ant", "bee", "crow", "dodo"])[y]


def learned(classifier, rows, labels):
    model = classifier()
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    return model


def probabilities(model, rows):
    """What a classifier says of rows one by one, as an array."""
    predictions = [model.predict_proba_one(x) for x in rows]
    assert all(list(each) == list(predictions[0]) for each in predictions)
    return np.array([list(each.values()) for each in predictions])
