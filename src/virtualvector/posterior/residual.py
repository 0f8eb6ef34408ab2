"""The residual r(w) and what it absorbs (eq. 14)."""

from __future__ import annotations

from virtualvector.kernels.compiled import compiled
from virtualvector.kernels.triangular import (
    Array,
    dot,
    rank_one,
    rotate_columns,
    whole_vectors,
)
from virtualvector.posterior.memory import Workspace
from virtualvector.posterior.stand_in import SMALLEST, in_margin_space, weakened
from virtualvector.posterior.state import POINTS, State
from virtualvector.posterior.waiting import catch_up, residual_product, wait


@compiled
def absorb(state: State, vector: Array, precision: float, shift: float, work: Workspace) -> None:
    """Multiply r by exp(shift·u − ½·precision·u²), u = vectorᵀw (eq. 14)."""
    residual_product(state, vector, work.product, work)
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
    catch_up(state, work)
    mean = dot(vector, state.mean)
    floor = SMALLEST * dot(vector, vector)
    precision, shift = weakened(mean, variance, precision, shift, floor)
    growth = 1.0 + precision * variance
    wait(work.product, precision, (shift - precision * mean) / growth, work)
    n = state.counts[POINTS]
    if n > 0 and in_margin_space(state):
        width = whole_vectors(n)
        rotate_columns(state.products, width, work.waiting, work.column)
        rank_one(state.gram, n, width, work.column, -precision / growth)
