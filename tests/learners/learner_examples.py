"""Learners, problems and comparisons that the tests of this folder share."""

from functools import partial

import numpy as np
import pytest

from virtualvector import ADFClassifier, EPClassifier, VVMClassifier, WindowEPClassifier

# In the order given, so that `fit` is comparable with learning a stream.
LEARNERS = {
    "vvm": partial(VVMClassifier, 6, shuffle=False),
    "vvm_by_margin": partial(VVMClassifier, 6, eviction="margin", merge_pairs=0, shuffle=False),
    "adf": partial(ADFClassifier, shuffle=False),
    "window_ep": partial(WindowEPClassifier, 6, shuffle=False),
    "ep": partial(EPClassifier, shuffle=False),
}

# The same, of which none predicts by anything but its own posterior.
ALONE = {
    name: partial(learner, hedge=False) if learner.func is VVMClassifier else learner
    for name, learner in LEARNERS.items()
}

every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
every_learner_alone = pytest.mark.parametrize("learner", ALONE.values(), ids=ALONE)

# Margin noise and label noise.
every_noise = pytest.mark.parametrize(
    ("margin_noise", "label_noise"), [(0.0, 0.0), (0.7, 0.0), (0.0, 0.05), (0.3, 0.1)]
)


def problem(rows=60, columns=4, n_classes=2, flipped=0.1, seed=0):
    """Rows and labels 0, 1, …: linear classes, of which a few labels are drawn anew."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = np.argmax(X @ rng.normal(size=(columns, n_classes)) + rng.normal(size=n_classes), axis=1)
    if flipped:
        y = np.where(rng.random(rows) < flipped, rng.integers(n_classes, size=rows), y)
        y[:n_classes] = rng.permutation(n_classes)  # every class comes
    return X, y


def in_pieces(model, X, y, cuts, **options):
    """Learn the rows in one call for each piece between the cuts."""
    for start, stop in zip([0, *cuts], [*cuts, len(X)], strict=True):
        model.partial_fit(X[start:stop], y[start:stop], **options)
    return model


def same_states(one, other):
    """Whether every number that two models have learned is the same."""
    ours, theirs = one._posterior.states, other._posterior.states
    return len(ours) == len(theirs) and all(
        np.array_equal(a, b)
        for mine, yours in zip(ours, theirs, strict=True)
        for a, b in zip(mine, yours, strict=True)
    )


def assert_same_model(one, other, X):
    """Two models have learned the same, bit for bit, and say the same about rows."""
    assert same_states(one, other)
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    np.testing.assert_array_equal(one.covariance_, other.covariance_)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
