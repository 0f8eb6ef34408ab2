"""Pooling experts by their logarithms: exponents that are learned, as of a regression."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from virtualvector.jit.compiled import compiled
from virtualvector.types import Array

LEAST = 1e-7  # of a probability whose logarithm counts
DRIFT = 1e-6  # variance that an exponent gains at every row


@compiled
def log_pool(
    predicted: Array, observed: NDArray[np.int64], powers: Array, mean: Array, covariance: Array,
    drift: float, learn: bool, work: Array, pooled: Array,
) -> None:  # fmt: skip
    """Write the logarithmic pool of each row, then, if ``learn``, move exponents by what came.

    The pool of probabilities p_ek of experts e is q_k ∝ ∏_e p_ek^w_e (Genest and Zidek 1986): of
    log-odds it is the sum, so that what experts see of different columns adds up. The exponents w
    have a normal posterior N(m, C), which takes one step of Newton's method per row, as an extended
    Kalman filter does: with y the class that came, r = 1 − q_y, and

        u_e = log p_ey − Σ_{k≠y} (q_k / r) log p_ek,

    the gradient of log q_y is r u, its curvature −q_y r u uᵀ (exactly so for two classes; for more,
    with the proportions of the other classes held), so that

        C ← C − q_y r (C u)(C u)ᵀ / (1 + q_y r uᵀC u),   m ← m + r C u,

    and then C ← C + drift · I: exponents may move.

    Parameters
    ----------
    predicted : array of shape (E, T, K)
        Each expert's probabilities of each class, stated before the row was learned.
    observed : array of shape (T,)
        The number of the class that came; not looked at unless ``learn``.
    powers : array of shape (T,) or (0,)
        How much each row counts, as for `mixing.mix`.
    mean, covariance : array of shape (E,) and (E, E)
        Of the exponents; changed in place if ``learn``.
    drift : float
        Variance that exponents gain at every row.
    learn : bool
        Whether to learn.
    work : array of shape (E, K + 2)
        Scratch memory: logarithms, u and C u.
    pooled : array of shape (T, K)
        Written to.
    """
    n_experts, n_rows, n_classes = predicted.shape
    for t in range(n_rows):
        largest = -math.inf
        for k in range(n_classes):
            total = 0.0
            for e in range(n_experts):
                work[e, k] = math.log(max(predicted[e, t, k], LEAST))
                total += mean[e] * work[e, k]
            pooled[t, k] = total
            largest = max(largest, total)
        total = 0.0
        for k in range(n_classes):
            pooled[t, k] = math.exp(pooled[t, k] - largest)
            total += pooled[t, k]
        for k in range(n_classes):
            pooled[t, k] /= total
        if learn:
            power = powers[t] if powers.shape[0] > 0 else 1.0
            _learn_exponents(pooled[t], observed[t], power, mean, covariance, drift, work)


@compiled
def _learn_exponents(
    pooled: Array, came: int, power: float, mean: Array, covariance: Array, drift: float,
    work: Array,
) -> None:  # fmt: skip
    n_experts, n_classes = len(mean), len(pooled)
    rest = 0.0
    for k in range(n_classes):
        if k != came:
            rest += pooled[k]
    for e in range(n_experts):
        covariance[e, e] += drift
    if rest <= LEAST * LEAST:  # there is nothing to learn
        return
    for e in range(n_experts):
        total = work[e, came]
        for k in range(n_classes):
            if k != came:
                total -= pooled[k] / rest * work[e, k]
        work[e, n_classes] = total
    variance = 0.0
    for e in range(n_experts):
        total = 0.0
        for i in range(n_experts):
            total += covariance[e, i] * work[i, n_classes]
        work[e, n_classes + 1] = total
        variance += work[e, n_classes] * total
    precision = power * pooled[came] * rest
    scale = 1.0 + precision * variance
    for e in range(n_experts):
        mean[e] += power * rest * work[e, n_classes + 1] / scale
        for i in range(e + 1):  # and to the other side, so that it stays symmetric to the last bit
            less = precision / scale * work[e, n_classes + 1] * work[i, n_classes + 1]
            covariance[e, i] -= less
            covariance[i, e] = covariance[e, i]
