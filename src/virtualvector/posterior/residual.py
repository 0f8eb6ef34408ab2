"""The residual r(w) and what it absorbs (eq. 14)."""

from __future__ import annotations

from virtualvector.kernels.compiled import part
from virtualvector.kernels.triangular import (
    Array,
    add_scaled,
    condition,
    dot,
    multiply,
    rank_one,
)
from virtualvector.posterior.stand_in import SMALLEST, in_margin_space, weakened
from virtualvector.posterior.state import POINTS, State, Workspace


@part
def absorb(state: State, vector: Array, precision: float, shift: float, work: Workspace) -> None:
    """Multiply r by exp(shift·u − ½·precision·u²), u = vectorᵀw (eq. 14).

    The margins of the points under r follow; q̃ is left to the caller. Callers avoid factors that
    would make r improper; what rounding or `SMALLEST` leaves of that is cut off here, so that r is
    proper whatever happens.
    """
    variance = multiply(state.factor, vector, work.product)
    if not variance > 0.0:  # the difference of two equal points
        return
    mean = dot(vector, state.mean)
    floor = SMALLEST * dot(vector, vector)
    precision, shift = weakened(mean, variance, precision, shift, floor)
    growth = 1.0 + precision * variance
    condition(state.factor, work.product, precision, work.image)
    add_scaled(state.mean, (shift - precision * mean) / growth, work.image)
    if in_margin_space(state):
        n = state.counts[POINTS]
        for i in range(n):
            work.column[i] = dot(state.points[i], work.image)
            add_scaled(state.images[i], -precision / growth * work.column[i], work.image)
        rank_one(state.gram, n, work.column, -precision / growth)
