"""Mixing experts by their evidence: each one's weight is how well it has predicted so far."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from virtualvector.jit.compiled import compiled
from virtualvector.types import Array

SHARE = 2e-5  # of its weight that an expert gives to the others at every row
_LEAST = 1e-300  # of a probability that a weight is multiplied with


@compiled
def mix_only(predicted: Array, weights: Array, mixed: Array) -> None:
    """Write the mixed probabilities of each row, Σ w p over the experts; nothing is learned."""
    n_experts, n_rows, n_classes = predicted.shape
    for t in range(n_rows):
        for k in range(n_classes):
            total = 0.0
            for e in range(n_experts):
                total += weights[e] * predicted[e, t, k]
            mixed[t, k] = total


@compiled
def mix(
    predicted: Array, observed: NDArray[np.int64], powers: Array, weights: Array, evidence: Array,
    share: float, tally: Array, mixed: Array,
) -> None:  # fmt: skip
    """Write the mixed probabilities of each row, then move weights by what came.

    After every row, weight w of an expert that gave probability p to what came becomes w·p, over
    the sum; then all give away a share, evenly to all: w ← (1 − share) w + share/E. So no weight
    ever vanishes, and the mix can change its mind (Herbster and Warmuth 1998).

    Parameters
    ----------
    predicted : array of shape (E, T, K)
        Each expert's probabilities of each class, stated before the row was learned.
    observed : array of shape (T,)
        The number of the class that came.
    powers : array of shape (T,) or (0,)
        How much each row counts: p becomes p to that power. If there are none, all count in full.
    weights : array of shape (E,)
        They sum to one; changed in place.
    evidence : array of shape (E,)
        The log-probability that each expert gave to what came, so far; changed in place.
    share : float
        What is given away.
    tally : array of shape (2,)
        How much more the mix has lost than it expected, and the variance that it expected of that;
        changed in place. The loss at a row is −log p of what came.
    mixed : array of shape (T, K)
        Written to.
    """
    n_experts, n_rows, n_classes = predicted.shape
    for t in range(n_rows):
        power = powers[t] if powers.shape[0] > 0 else 1.0
        expected = 0.0
        square = 0.0
        for k in range(n_classes):
            total = 0.0
            for e in range(n_experts):
                total += weights[e] * predicted[e, t, k]
            mixed[t, k] = total
            loss = -math.log(max(total, _LEAST))
            expected += total * loss
            square += total * loss * loss
        tally[0] += power * (-math.log(max(mixed[t, observed[t]], _LEAST)) - expected)
        tally[1] += power * power * max(square - expected * expected, 0.0)
        total = 0.0
        for e in range(n_experts):
            gave = max(predicted[e, t, observed[t]], _LEAST)
            evidence[e] += power * math.log(gave)
            weights[e] *= gave if power == 1.0 else gave**power
            total += weights[e]
        for e in range(n_experts):
            weights[e] = (1.0 - share) * weights[e] / total + share / n_experts
        if n_experts == 1:
            weights[0] = 1.0  # rounding would make something else of it, and of the next row
