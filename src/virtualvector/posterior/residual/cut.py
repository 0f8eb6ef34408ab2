"""Cutting a residual of low rank to its rank, and its drift: what goes through all weights.

The leading directions of W are kept, as many as the rank says, and the squares of the rest are
added to η: the precision of each weight stays what it was, and so does the mean. Weights that no
column since the last cut knows of wait: of them W is only turned, and that for all of them at once.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.directions import (
    add_scaled,
    add_squares,
    short_dot,
    write_and_scale,
    write_turned_rows,
)
from virtualvector.kernels.low_rank import (
    divide_by_lower,
    divide_by_upper,
    factorise,
    note_turn,
    write_gram,
    write_inner,
    write_leading,
    write_projected,
    write_transposed,
)
from virtualvector.posterior.approximation import drop_point, reproject
from virtualvector.posterior.drift import drift_all
from virtualvector.posterior.low_rank_state import (
    COST,
    CUTS,
    RECENT,
    LowRankAddress,
    LowRankState,
    LowRankWorkspace,
)
from virtualvector.posterior.residual.full import absorb_point, drift_residual
from virtualvector.posterior.residual.low_rank import (
    fetch_weight,
    follow_columns,
    n_columns,
    without,
)
from virtualvector.posterior.state import POINTS
from virtualvector.posterior.workspace import parts_at
from virtualvector.types import IntArray


@compiled
def cut_residual(address: LowRankAddress) -> None:
    """Cut the residual, and compute anew what follows from it."""
    state, _, work, _ = parts_at(address)  # type: ignore[arg-type]
    cut(state, is_whole(state), work)  # type: ignore[arg-type]
    reproject(state, work)


@compiled
def is_whole(state: LowRankState) -> bool:
    """Whether the next cut has to write all rows of W.

    Because columns have as many entries, or because there is no room for one more turn.
    """
    n_entries = state.recent_starts[state.extent[RECENT]]
    return n_entries >= state.mean.shape[0] or state.extent[CUTS] + 1 >= state.turns.shape[0]


@compiled
def cut(state: LowRankState, whole: bool, work: LowRankWorkspace) -> None:
    """Leave the leading directions of W; add the squares of the rest to η. The mean stays.

    Leading in units of D: by the Gram matrix G = WᵀD⁻¹W, which C has. A column of negative sign is
    never one of them; its squares are taken from η. Of the weights that no column knows of, if not
    the whole is asked for, η stays as it is, and W is turned: then G becomes QᵀGQ.
    """
    rank, m = state.directions.shape[1], n_columns(state)
    last = state.extent[CUTS] + 1
    divide_by_upper(state.inner, m, state.shifts)  # the mean is a − D⁻¹Wc, c = C⁻ᵀt
    if rank > 0:
        write_gram(state.inner, state.signs, m, work.gram_of_columns, work.four_rows)
        write_leading(work.gram_of_columns, m, work.basis, work.other_basis, work.product)
        write_transposed(work.basis, m, work.leading)
        note_turn(state.turns, state.lags, last, work.leading, state.shifts, work.row)
    write_rows(state, last, whole, work)
    for j in range(state.shifts.shape[0]):
        state.shifts[j] = 0.0
    state.extent[RECENT], state.extent[COST] = 0, 0
    work.followed[0], work.followed[1] = 0, 0
    if whole:
        begin_visits(state)
    else:
        begin_turn(state, last)
    for i in range(rank):
        for j in range(rank):
            state.inner[i, j] = work.square[i, j] if j <= i else 0.0
        state.inner[i, i] += 1.0
    factorise(state.inner, rank)


@compiled
def write_rows(state: LowRankState, last: int, whole: bool, work: LowRankWorkspace) -> None:
    """Write rows of W, all or those that columns have entries in, and G to ``work.square``."""
    for i in range(work.square.shape[0]):
        for j in range(work.square.shape[1]):
            work.square[i, j] = 0.0
    follow_columns(state, work)
    size, n = work.block.shape[0], 0
    if whole:
        for k in range(state.mean.shape[0]):
            row = state.directions[k]
            if work.latest[k] > 0 or short_dot(row, row) > 0.0:  # else no row has known of it
                work.places[n] = k
                n += 1
            if n == size:
                write_block(state, work.places, work.places[:0], last, whole, work)
                n = 0
        write_block(state, work.places[:n], work.places[:0], last, whole, work)
        return
    write_projected(
        work.gram_of_columns, n_columns(state), work.basis, work.other_basis, work.square
    )
    touched = work.touched[: work.followed[1]]
    for start in range(0, touched.shape[0], size):
        places = touched[start : start + size]
        write_block(state, places, touched[start + size : start + 2 * size], last, whole, work)


@compiled
def write_block(
    state: LowRankState, places: IntArray, coming: IntArray, last: int, whole: bool,
    work: LowRankWorkspace,
) -> None:  # fmt: skip
    """Let some rows of W, and what else there is of their weights, be as the cut leaves them.

    What they add to G is, if not the whole is written, by the change of 1/η: QᵀGQ has what was. One
    thing is done for all of them, and then the next: no row waits for the end of the one before.
    Meanwhile memory is asked for the weights that come then.
    """
    for i in range(coming.shape[0]):
        fetch_weight(state, coming[i], work)
    write_turned_rows(
        places, state.directions, state.visits, state.turns, state.lags, work.block, work.squares,
        work.lagging,
    )  # fmt: skip
    for i in range(places.shape[0]):
        add_entries_of(state, places[i], i, work)
    for i in range(places.shape[0]):
        k, row = places[i], work.block[i]
        known = state.diagonal[k]
        state.mean[k] -= work.lagging[i] / known
        rest = max(work.squares[i] - short_dot(row, row), 0.0)
        precision = without(known + rest, work.taken[i])
        state.diagonal[k] = precision
        weight = 1.0 / precision if whole else (known - precision) / (precision * known)
        write_and_scale(row, weight, state.directions[k], work.scaled_block[i])
        if state.visits.shape[0] > 0:
            state.visits[k] = last
    add_squares(work.block, work.scaled_block, places.shape[0], work.square)


@compiled
def add_entries_of(state: LowRankState, k: int, i: int, work: LowRankWorkspace) -> None:
    """Add what columns since the last cut have of a weight to row i of the block, and forget it."""
    rank, row = state.directions.shape[1], work.block[i]
    square, shift, taken = work.squares[i], work.lagging[i], 0.0
    at, work.latest[k] = work.latest[k], 0
    while at > 0:
        column, value = rank + work.owners[at - 1], state.recent_values[at - 1]
        shift += state.shifts[column] * value
        if state.signs[column] > 0.0:
            square += value * value
            add_scaled(row, value, work.leading[column])
        else:
            taken += value * value
        at = work.earlier[at - 1]
    work.squares[i], work.lagging[i], work.taken[i] = square, shift, taken


@compiled
def begin_visits(state: LowRankState) -> None:
    """Let all rows of W be those of the last cut."""
    for k in range(state.visits.shape[0]):
        state.visits[k] = 0
    begin_turn(state, 0)


@compiled
def begin_turn(state: LowRankState, last: int) -> None:
    """Let this be the last cut: what it has written is neither turned nor lags behind."""
    rank = state.directions.shape[1]
    for i in range(rank):
        state.lags[last, i] = 0.0
        for j in range(rank):
            state.turns[last, i, j] = 0.0
        state.turns[last, i, i] = 1.0
    state.extent[CUTS] = last


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
    cut(state, True, work)
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


@drift_all.register(LowRankState)
def _(state: LowRankState, kept: float, drift: float, work: LowRankWorkspace) -> None:
    """As `drift_all`, but all points go: their sites become columns, exact until they are cut.

    Taken out again, a site would stay in the directions that a cut has made of it, and count twice.
    """
    for narrowing in (True, False):
        for i in range(state.counts[POINTS]):
            if (state.site_precisions[i] > 0.0) == narrowing:
                if not has_room(state):
                    cut(state, True, work)
                absorb_point(state, i, state.site_precisions[i], state.site_shifts[i], work)
    for i in range(state.counts[POINTS] - 1, -1, -1):
        drop_point(state, i, work)  # type: ignore[arg-type]
    drift_residual(state, kept, drift, work)


@compiled
def has_room(state: LowRankState) -> bool:
    """Whether one more column fits, of as many non-zeros as a point may have."""
    n = state.extent[RECENT]
    fits = state.recent_starts[n] + state.points.shape[1] <= state.recent_places.shape[0]
    return n + 1 < state.recent_starts.shape[0] and fits
