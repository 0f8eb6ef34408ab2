"""How far off probabilities seem to be, by chance, if they are right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from virtualvector.evaluation import calibration_error, reliability
from virtualvector.types import Labels

Array = NDArray[np.float64]

DRAWS = 200  # of the labels of a stream


def calibration_if_right(probabilities: Array) -> Array:
    """Return calibration errors of who gives these probabilities, and is right: one of each draw.

    In 15 bins of a few rows each, frequencies differ from probabilities by chance.
    """
    n_rows, n_classes = probabilities.shape
    random, below = np.random.default_rng(0), np.cumsum(probabilities, axis=1)[:, :-1]
    drawn = ((random.random((n_rows, 1)) > below).sum(axis=1) for _ in range(DRAWS))
    classes = np.arange(n_classes)
    return np.array([calibration_error(each, probabilities, classes) for each in drawn])


def by_chance(probabilities: Array, measured: float) -> dict[str, float]:
    """Return the mean of these, and the share of them that is below what was measured."""
    errors = calibration_if_right(probabilities)
    return {
        "calibration_if_right": float(errors.mean()),
        "calibration_quantile": float(np.mean(errors < measured)),
    }


def beyond_chance(labels: Labels, probabilities: Array, classes: Labels) -> float:
    """Return the root-mean-square calibration error without what chance makes of it.

    With frequency f and mean probability p of n rows in a bin, (f − p)² has the mean p(1 − p)/n if
    the probabilities are right: that is taken off, as in other debiased estimators (Kumar et al.
    2019). What is left is 0 where there is no more than chance makes. The root of mean squares is
    not less than the mean distance, which the calibration error is.
    """
    n, predicted, observed = reliability(labels, probabilities, classes)
    squares = n * (observed - predicted) ** 2 - predicted * (1.0 - predicted)
    return float(np.sqrt(max(np.nansum(squares) / len(labels), 0.0)))
