"""The residual r(w) and what it absorbs (eq. 14)."""

from __future__ import annotations

from virtualvector.kernels.compiled import compiled
from virtualvector.kernels.triangular import (
    Array,
    add_scaled,
    condition,
    condition_with,
    dot,
    multiply,
    rank_one,
    whole_vectors,
)
from virtualvector.posterior.memory import Workspace
from virtualvector.posterior.stand_in import SMALLEST, in_margin_space, weakened
from virtualvector.posterior.state import POINTS, State


@compiled
def absorb(state: State, vector: Array, precision: float, shift: float, work: Workspace) -> None:
    """Multiply r by exp(shift·u − ½·precision·u²), u = vectorᵀw (eq. 14)."""
    multiply(state.factor, vector, work.product)
    absorb_product(state, vector, precision, shift, work)


@compiled
def absorb_product(
    state: State, vector: Array, precision: float, shift: float, work: Workspace
) -> None:
    """As `absorb`; U·vector is in ``work.product`` already.

    The margins of the points under r follow; q̃ is left to the caller. Callers avoid factors that
    would make r improper; what rounding or `SMALLEST` leaves of that is cut off here, so that r is
    proper whatever happens.
    """
    variance = dot(work.product, work.product)
    if not variance > 0.0:  # the difference of two equal points
        return
    mean = dot(vector, state.mean)
    floor = SMALLEST * dot(vector, vector)
    precision, shift = weakened(mean, variance, precision, shift, floor)
    growth = 1.0 + precision * variance
    n = state.counts[POINTS] if in_margin_space(state) else 0
    if n > 0:
        width = whole_vectors(n)
        condition_with(
            state.factor, state.products, width, work.product, precision, work.image, work.column
        )
        rank_one(state.gram, n, width, work.column, -precision / growth)
    else:
        condition(state.factor, work.product, precision, work.image)
    add_scaled(state.mean, (shift - precision * mean) / growth, work.image)
