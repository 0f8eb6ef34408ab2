"""Mixing experts by their evidence: each one's weight is how well it has predicted so far."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from virtualvector.kernels.compiled import compiled
from virtualvector.kernels.triangular import Array

_LEAST = 1e-300  # of a probability that a weight is multiplied with


@compiled
def mix(
    said: Array, came: NDArray[np.int64], weights: Array, evidence: Array, share: float,
    mixed: Array,
) -> float:  # fmt: skip
    """Write the mixed probabilities of each row, then move weights by what came.

    After every row, weight w of an expert that gave probability p to what came becomes w·p, over
    the sum; then all give away a share, evenly to all: w ← (1 − share) w + share/E. So no weight
    ever vanishes, and the mix can change its mind (Herbster and Warmuth 1998).

    Parameters
    ----------
    said : array of shape (E, T, K)
        Each expert's probabilities of each class, stated before the row was learned.
    came : array of shape (T,)
        The number of the class that came.
    weights : array of shape (E,)
        They sum to one; changed in place.
    evidence : array of shape (E,)
        The log-probability that each expert gave to what came, so far; changed in place.
    share : float
        What is given away.
    mixed : array of shape (T, K)
        Written to.

    Returns
    -------
    float
        The loss of the mix, −log p of what came, summed over the rows.
    """
    n_experts, n_rows, n_classes = said.shape
    loss = 0.0
    for t in range(n_rows):
        for k in range(n_classes):
            total = 0.0
            for e in range(n_experts):
                total += weights[e] * said[e, t, k]
            mixed[t, k] = total
        loss -= math.log(max(mixed[t, came[t]], _LEAST))
        total = 0.0
        for e in range(n_experts):
            gave = max(said[e, t, came[t]], _LEAST)
            evidence[e] += math.log(gave)
            weights[e] *= gave
            total += weights[e]
        for e in range(n_experts):
            weights[e] = (1.0 - share) * weights[e] / total + share / n_experts
    return loss
