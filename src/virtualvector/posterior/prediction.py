"""What the Gaussian says about new rows."""

from __future__ import annotations

import numpy as np

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.likelihood import clip_margin, log_probability
from virtualvector.posterior.gaussian import Gaussian
from virtualvector.posterior.point import write_points
from virtualvector.types import Array

_ROWS_AT_ONCE = 4096


def standardised_margins(gaussian: Gaussian, rows: Array, margin_noise: float) -> Array:
    """Return mᵀx/√(xᵀVx + s²) for each row x: what its probability depends on.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Gaussian, standardised_margins
    >>> prior = Gaussian(np.array([0.0, 3.0]), np.eye(2))
    >>> standardised_margins(prior, np.array([[0.0], [1.0]]), margin_noise=0.0).round(4)
    array([3.    , 2.1213])
    """
    rows = np.require(rows, np.float64, ["C", "A", "W"])
    margins = np.empty(len(rows))
    points = np.empty((min(len(rows), _ROWS_AT_ONCE), len(gaussian.mean)))
    noises = np.empty(len(points))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        batch = rows[start : start + _ROWS_AT_ONCE]
        b, noise = points[: len(batch)], noises[: len(batch)]
        write_points(batch, margin_noise, b, noise)
        variance = np.square(b @ gaussian.factor.T).sum(axis=1)
        spread = np.sqrt(np.maximum(variance + noise, np.finfo(float).tiny))
        margins[start : start + len(batch)] = b @ gaussian.mean / spread
    return margins


@compiled
def log_probabilities(margins: Array, label_noise: float, out: Array) -> None:
    """Write log(ε + (1−2ε)Φ(z)) for each standardised margin z: the posterior's average."""
    for t in range(margins.shape[0]):
        out[t] = log_probability(clip_margin(margins[t]), label_noise)
