"""How far off probabilities seem to be, by chance, if they are right."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from virtualvector.evaluation import calibration_error

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
