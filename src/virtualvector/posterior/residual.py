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
from virtualvector.posterior.stand_in import in_margin_space
from virtualvector.posterior.state import State, Workspace


@part
def absorb(
    state: State, vector: Array, precision: float, shift: float, work: Workspace
) -> None:
    """Multiply r by exp(shift·u − ½·precision·u²), u = vectorᵀw (eq. 14).

    The margins of the points under r follow; q̃ is left to the caller. The caller has checked that
    1 + precision·var(u) > 0.
    """
    variance = multiply(state.factor, vector, work.product)
    mean = dot(vector, state.mean)
    growth = 1.0 + precision * variance
    condition(state.factor, work.product, precision, work.image)
    add_scaled(state.mean, (shift - precision * mean) / growth, work.image)
    if in_margin_space(state):
        n = state.counts[0]
        for i in range(n):
            work.column[i] = dot(state.points[i], work.image)
            add_scaled(state.images[i], -precision / growth * work.column[i], work.image)
        rank_one(state.gram, n, work.column, -precision / growth)
