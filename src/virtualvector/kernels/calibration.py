"""Is the mix too bold or too shy? Ways to correct it, mixed by their evidence like experts."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from virtualvector.jit.compiled import compiled
from virtualvector.types import Array

# Probabilities of the mix, or of the logarithmic pool, are raised to a power, over their sum, then
# moved towards all alike by a share. The first way leaves the mix as it is, the second the pool.
SOURCES = np.array([0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1])
POWERS = np.array([1.0, 1.0, 0.4, 0.6, 0.8, 1.25, 1.6, 2.5, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0])
SHARES = np.array(
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.03, 0.1, 0.2, 0.05, 0.1, 0.2, 0.03, 0.1]
)
TRUST_IN_MIX = 0.75  # as it is, at the start; docs/auto_measured.md says what was tried
TRUST_IN_POOL = 0.22
SHARE = 2e-5  # of its weight that each way gives to the others at every row, or more:
RESTLESS = 0.1  # over the number of rows so far and ten, because what is best changes soon at first
_LEAST = 1e-300


def first_weights() -> Array:
    """Return how much each way is trusted at the start."""
    others = 1.0 - TRUST_IN_MIX - TRUST_IN_POOL
    weights = np.full(len(POWERS), others / (len(POWERS) - 2))
    weights[:2] = TRUST_IN_MIX, TRUST_IN_POOL
    return weights


@compiled
def correct(
    stated: Array, observed: NDArray[np.int64], row_powers: Array, sources: NDArray[np.int64],
    powers: Array, shares: Array, weights: Array, first: Array, share: float, restless: float,
    n_before: float, learn: bool, work: Array, predicted: Array,
) -> None:  # fmt: skip
    """Write the corrected probabilities of each row, then, if ``learn``, move weights by what came.

    The largest is what the others leave: rounding would let them sum to more than one.

    Parameters
    ----------
    stated : array of shape (S, T, K)
        Probabilities, of each source.
    observed : array of shape (T,)
        The number of the class that came; not looked at unless ``learn``.
    row_powers : array of shape (T,) or (0,)
        How much each row counts, as for `mixing.mix`.
    sources, powers, shares, weights : array of shape (W,)
        The ways to correct, and how much each is trusted; weights are changed in place.
    first : array of shape (W,)
        How much each was trusted at the start, by which they share what all give away at a row.
    share, restless : float
        That is ``restless`` over the number of rows so far and ten, or ``share`` if that is more.
    n_before : float
        Rows before these, since the start or an alarm.
    learn : bool
        Whether to learn.
    work : array of shape (W, K)
        Scratch memory: what each way says.
    predicted : array of shape (T, K)
        Written to.
    """
    n_rows, n_classes = predicted.shape
    n_ways = len(powers)
    for t in range(n_rows):
        for k in range(n_classes):
            predicted[t, k] = 0.0
        for i in range(n_ways):
            total = 0.0
            for k in range(n_classes):
                p = stated[sources[i], t, k]
                work[i, k] = p if powers[i] == 1.0 else max(p, _LEAST) ** powers[i]
                total += work[i, k]
            for k in range(n_classes):
                work[i, k] = (1.0 - shares[i]) * work[i, k] / total + shares[i] / n_classes
                predicted[t, k] += weights[i] * work[i, k]
        whole, likely = 0.0, 0
        for k in range(n_classes):
            whole += predicted[t, k]
            if predicted[t, k] > predicted[t, likely]:
                likely = k
        rest = 0.0
        for k in range(n_classes):
            predicted[t, k] /= whole
            if k != likely:
                rest += predicted[t, k]
        predicted[t, likely] = 1.0 - rest
        if not learn:
            continue
        total = 0.0
        for i in range(n_ways):
            gave = max(work[i, observed[t]], _LEAST)
            if row_powers.shape[0] > 0 and row_powers[t] != 1.0:
                gave = gave ** row_powers[t]
            weights[i] *= gave
            total += weights[i]
        given = max(share, restless / (n_before + t + 10.0))
        for i in range(n_ways):
            weights[i] = (1.0 - given) * weights[i] / total + given * first[i]


@compiled
def add_log_likelihoods(
    stated: Array, observed: NDArray[np.int64], row_powers: Array, sources: NDArray[np.int64],
    powers: Array, shares: Array, gains: Array,
) -> None:  # fmt: skip
    """Add to ``gains`` the log-likelihood of each way, row by row: what its weight is moved by.

    Of way i that is log[(1 − shareᵢ) p_y^powerᵢ / Σ p_k^powerᵢ + shareᵢ/K], times the row's power;
    arrays are those of `correct`.
    """
    n_rows, n_classes = stated.shape[1], stated.shape[2]
    for t in range(n_rows):
        for i in range(len(powers)):
            total, came = 0.0, 0.0
            for k in range(n_classes):
                p = max(stated[sources[i], t, k], _LEAST) ** powers[i]
                total += p
                if k == observed[t]:
                    came = p
            gave = (1.0 - shares[i]) * came / total + shares[i] / n_classes
            power = row_powers[t] if row_powers.shape[0] > 0 else 1.0
            gains[i] += power * math.log(max(gave, _LEAST))
