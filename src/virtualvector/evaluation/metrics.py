"""What was said before the labels were known, measured by the labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from virtualvector.types import Array, Labels

BINS = 15


class Reliability(NamedTuple):
    """Bins of equal width over the predicted probability; nan where a bin is empty.

    Attributes
    ----------
    n_rows : ndarray of shape (15,)
        How many rows are in each bin.
    predicted : ndarray of shape (15,)
        The mean prediction of each bin.
    observed : ndarray of shape (15,)
        The share of each bin's rows for which it came true.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import reliability
    >>> bins = reliability(np.array([1, 0]), np.array([[0.3, 0.7]] * 2), np.array([0, 1]))
    >>> bins.n_rows.max(), np.nanmax(bins.predicted), np.nanmax(bins.observed)
    (np.int64(2), np.float64(0.7), np.float64(0.5))
    """

    n_rows: NDArray[np.int64]
    predicted: Array
    observed: Array


def error(labels: Labels, predicted: Labels) -> float:
    """Return the share of rows whose class was said wrongly.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import error
    >>> error(np.array(["ham", "spam", "ham", "ham"]), np.array(["ham", "ham", "ham", "ham"]))
    0.25
    """
    return float(np.mean(predicted != labels))


def cumulative_error(labels: Labels, predicted: Labels) -> Array:
    """Return, after each row, the share of rows so far whose class was said wrongly.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import cumulative_error
    >>> cumulative_error(np.array([0, 1, 1, 1]), np.array([1, 1, 1, 0]))
    array([1.        , 0.5       , 0.33333333, 0.5       ])
    """
    wrong: Array = np.cumsum(predicted != labels) / np.arange(1, len(labels) + 1)
    return wrong


def log_loss(labels: Labels, probabilities: Array, classes: Labels) -> float:
    """Return the mean of −log p(label).

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import log_loss
    >>> predicted = np.array([[0.5, 0.5], [0.5, 0.5]])
    >>> round(log_loss(np.array([0, 1]), predicted, np.array([0, 1])), 6)  # log 2
    0.693147
    """
    return float(metrics.log_loss(labels, probabilities, labels=classes))


def brier(labels: Labels, probabilities: Array, classes: Labels) -> float:
    """Return the mean squared distance of the probabilities from what came, in [0, 1].

    With two classes it is (p − 1)² for the probability p of what came; with more, half of the sum
    over classes, so that both are on one scale.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import brier
    >>> predicted = np.array([[0.9, 0.1], [0.7, 0.3]])
    >>> round(brier(np.array([0, 1]), predicted, np.array([0, 1])), 6)  # (0.1² + 0.7²) / 2
    0.25
    """
    return float(
        metrics.brier_score_loss(labels, probabilities, labels=classes, scale_by_half=True)
    )


def reliability(labels: Labels, probabilities: Array, classes: Labels) -> Reliability:
    """Compare what was predicted with what came, in bins of the prediction.

    With two classes the prediction is the probability of the second one; with more, that of the
    most probable one.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import reliability
    >>> predicted = np.array([[0.3, 0.7], [0.3, 0.7], [0.9, 0.1], [0.9, 0.1]])
    >>> bins = reliability(np.array([1, 0, 0, 0]), predicted, np.array([0, 1]))
    >>> filled = bins.n_rows > 0
    >>> bins.predicted[filled], bins.observed[filled]
    (array([0.1, 0.7]), array([0. , 0.5]))
    """
    if len(classes) == 2:
        predicted, observed = probabilities[:, 1], labels == classes[1]
    else:
        predicted = probabilities.max(axis=1)
        observed = labels == classes[np.argmax(probabilities, axis=1)]
    place = np.minimum((predicted * BINS).astype(int), BINS - 1)
    n_rows = np.bincount(place, minlength=BINS)
    with np.errstate(invalid="ignore"):
        return Reliability(
            n_rows,
            np.bincount(place, predicted, BINS) / n_rows,
            np.bincount(place, observed, BINS) / n_rows,
        )


def calibration_error(labels: Labels, probabilities: Array, classes: Labels) -> float:
    """Return the mean distance between predicted and observed over 15 bins, weighted by rows.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import calibration_error
    >>> predicted = np.array([[0.3, 0.7], [0.3, 0.7], [0.9, 0.1], [0.9, 0.1]])
    >>> round(calibration_error(np.array([1, 0, 0, 0]), predicted, np.array([0, 1])), 3)
    0.15
    """
    n_rows, predicted, observed = reliability(labels, probabilities, classes)
    return float(np.nansum(n_rows * abs(predicted - observed)) / len(labels))


class Measures(NamedTuple):
    """How well a learner did; None where that needs probabilities and it states none.

    Attributes
    ----------
    error : float
        The share of rows whose class was said wrongly.
    log_loss, brier, calibration_error : float or None
        As the functions of these names.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import measure
    >>> labels, predicted = np.array([0, 1]), np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> measures = measure(labels, np.array([0, 1]), predicted, np.array([0, 1]))
    >>> measures.error, measures.brier, measures.calibration_error
    (0.0, 0.0625, 0.25)
    """

    error: float
    log_loss: float | None
    brier: float | None
    calibration_error: float | None


def measure(
    labels: Labels, predicted: Labels, probabilities: Array | None, classes: Labels
) -> Measures:
    """Return all measures of what was said.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        What was observed.
    predicted : ndarray of shape (n_rows,)
        The class that was predicted.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Those stated, a column for each class.
    classes : ndarray of shape (n_classes,)
        The classes, sorted.

    Returns
    -------
    Measures
        Error, log-loss, Brier score and calibration error.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import measure
    >>> observed, predicted = np.array(["ham", "spam"]), np.array(["ham", "ham"])
    >>> measure(observed, predicted, None, np.array(["ham", "spam"])).error
    0.5
    """
    if probabilities is None:
        return Measures(error(labels, predicted), None, None, None)
    return Measures(
        error(labels, predicted),
        log_loss(labels, probabilities, classes),
        brier(labels, probabilities, classes),
        calibration_error(labels, probabilities, classes),
    )
