"""Cutting a residual of low rank to its rank, and its drift: what goes through all weights.

The leading directions of W are kept, as many as the rank says, and the squares of the rest are
added to η: the precision of each weight stays what it was, and so does the mean.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.low_rank import (
    divide_by_lower,
    divide_by_upper,
    factorise,
    rotate_directions,
    write_gram,
    write_inner,
    write_leading,
)
from virtualvector.kernels.triangular import dot, dot_of_row
from virtualvector.posterior.approximation import reproject
from virtualvector.posterior.low_rank_state import (
    COST,
    RECENT,
    LowRankAddress,
    LowRankState,
    LowRankWorkspace,
)
from virtualvector.posterior.residual.full import drift_residual
from virtualvector.posterior.residual.low_rank import add_to_diagonal, n_columns, recent_column
from virtualvector.posterior.workspace import parts_at


@compiled
def cut_residual(address: LowRankAddress) -> None:
    """Cut the residual, and compute anew what follows from it."""
    state, _, work, _ = parts_at(address)  # type: ignore[arg-type]
    cut(state, work)  # type: ignore[arg-type]
    reproject(state, work)


@compiled
def cut(state: LowRankState, work: LowRankWorkspace) -> None:
    """Leave the leading directions of W; add the squares of the rest to η. The mean stays.

    Leading in units of D: by the Gram matrix WᵀD⁻¹W, which C has. A column of negative sign is
    never one of them; its squares are taken from η.
    """
    d, rank = state.directions.shape
    m = n_columns(state)
    divide_by_upper(state.inner, m, state.shifts)  # the mean is a − D⁻¹Wc, c = C⁻ᵀt
    if rank > 0:
        for k in range(d):
            state.mean[k] -= (
                dot_of_row(state.directions[k], state.shifts, rank) / (state.diagonal[k])
            )
        write_gram(state.inner, state.signs, m, work.gram_of_columns, work.other)
        write_leading(work.gram_of_columns, m, work.basis, work.other_basis, work.product)
        rotate_directions(state.directions, work.basis, work.other_basis, work.dense, work.row)
    for i in range(state.extent[RECENT]):
        column, weight = recent_column(state, i), state.shifts[rank + i]
        for k in range(column.places.shape[0]):
            state.mean[column.places[k]] -= (
                weight * column.values[k] / state.diagonal[column.places[k]]
            )
    for i in range(state.extent[RECENT]):
        move_column(state, i, work)
    for k in range(d):
        left = work.dense[k]
        if rank > 0:
            left -= dot(state.directions[k], state.directions[k])
        state.diagonal[k] += max(left, 0.0)
        work.dense[k] = 0.0
    for j in range(state.shifts.shape[0]):
        state.shifts[j] = 0.0
    state.extent[RECENT], state.extent[COST] = 0, 0
    factorise_inner(state)


@compiled
def move_column(state: LowRankState, i: int, work: LowRankWorkspace) -> None:
    """Let a column join the directions, and its squares what they are made of."""
    rank = state.directions.shape[1]
    column = recent_column(state, i)
    for k in range(column.places.shape[0]):
        place, value = column.places[k], column.values[k]
        if state.signs[rank + i] > 0.0:
            work.dense[place] += value * value
            for j in range(rank):
                state.directions[place, j] += value * work.basis[j, rank + i]
        else:
            add_to_diagonal(state, place, -value * value)


@compiled
def factorise_inner(state: LowRankState) -> None:
    """Compute C anew from the directions, all that there are."""
    write_inner(state.directions, state.diagonal, 0.0, 1.0, state.inner)
    factorise(state.inner, state.directions.shape[1])


@drift_residual.register(LowRankState)
def _(state: LowRankState, kept: float, drift: float, work: LowRankWorkspace) -> None:
    """R ← N(am, a²V + (1−a²)I), which is of the same kind.

    η′ = η/(a² + (1−a²)η), and W′ = a·D′D⁻¹W·R⁻ᵀ with RRᵀ = I + Σₖ wₖwₖᵀ(1−a²)/(a² + (1−a²)ηₖ).
    """
    cut(state, work)
    shrinkage, rank = math.sqrt(kept), state.directions.shape[1]
    write_inner(state.directions, state.diagonal, kept, drift, state.inner)
    factorise(state.inner, rank)
    for k in range(state.mean.shape[0]):
        state.mean[k] *= shrinkage
        share = 1.0 / (kept + drift * state.diagonal[k])
        state.diagonal[k] *= share
        divide_by_lower(state.inner, rank, state.directions[k])
        for j in range(rank):
            state.directions[k, j] *= shrinkage * share
    factorise_inner(state)
