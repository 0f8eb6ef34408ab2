"""Predict each row, then learn it: every row is a test before it is a lesson."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import config_context

from virtualvector.types import Array, Labels, Predictions

ROWS_AT_ONCE = 200


def predict_then_learn(
    model: Any,
    X: Array,
    y: Labels,
    classes: Labels | None = None,
    advance: Callable[[int], None] | None = None,
) -> Predictions:
    """Return what a model said about each row before it learned it.

    Learners of this package do it themselves; any other classifier with scikit-learn's
    `partial_fit` is asked row by row. Of the first row it cannot know anything: it is taken to say
    the first class, and the same probability for all.

    Parameters
    ----------
    model : estimator
        A classifier that learns with `partial_fit`, and has learned nothing yet.
    X : ndarray of shape (n_rows, n_inputs)
        Finite numbers, or a table of Arrow's for a learner that takes one.
    y : ndarray of shape (n_rows,)
        The class of each row.
    classes : ndarray, optional
        All classes, sorted; by default those in `y`.
    advance : callable, optional
        Called with the number of rows learned since the last call, now and then.

    Returns
    -------
    Predictions
        Labels, and probabilities if the model has any.

    Examples
    --------
    >>> from sklearn.linear_model import Perceptron
    >>> from virtualvector.datasets import load_ionosphere
    >>> from virtualvector.evaluation import error, predict_then_learn
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> predicted = predict_then_learn(Perceptron(), X, y)
    >>> round(error(y, predicted.labels), 3)
    0.293
    """
    known = np.unique(y) if classes is None else classes
    learn_rows = _own_way if hasattr(model, "predict_then_learn") else _row_by_row
    pieces = []
    for start in range(0, len(X), ROWS_AT_ONCE):
        piece = slice(start, start + ROWS_AT_ONCE)
        pieces.append(learn_rows(model, X[piece], y[piece], known, start == 0))
        if advance is not None:
            advance(len(X[piece]))
    labels, probabilities = zip(*pieces, strict=True)
    if any(piece is None for piece in probabilities):
        return Predictions(np.concatenate(labels), None)
    return Predictions(np.concatenate(labels), np.concatenate(probabilities))


def _own_way(model: Any, X: Array, y: Labels, classes: Labels, first: bool) -> Predictions:
    predicted: Predictions = model.predict_then_learn(X, y, classes=classes)
    return predicted


def _row_by_row(model: Any, X: Array, y: Labels, classes: Labels, first: bool) -> Predictions:
    labels = np.full(len(X), classes[0], dtype=classes.dtype)
    has_probabilities = hasattr(model, "predict_proba")
    probabilities = np.full((len(X), len(classes)), 1.0 / len(classes))
    # Checked once by the caller, and not again at every row.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for t in range(len(X)):
            row = X[t : t + 1]
            if t > 0 or not first:
                labels[t] = model.predict(row)[0]
                if has_probabilities:
                    probabilities[t] = model.predict_proba(row)[0]
            model.partial_fit(row, y[t : t + 1], classes=classes)
    return Predictions(labels, probabilities if has_probabilities else None)
