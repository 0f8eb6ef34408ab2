"""What several shards have learned apart, as one posterior.

All start from a common posterior q₀ = r₀ ∏ f(b), over points B₀, and shard k ends at
q_k = r_k ∏ f(b), over points B_k. What each has learned since is a quotient, and together they know

    q ∝ q₀ ∏ₖ (q_k / q₀).

Residuals are Gaussians, whose precisions and linear terms add up; factors of points that a shard
still has cancel. Of a point of B₀ that shard k has lost, the site that it had in q₀ is divided out
of r_k: there the shard put what it made of it. With Λ the precisions of residuals,

    Λ = Λ₀ + Σₖ (Λ_k − Λ₀ − Σ τbbᵀ),   over the points b of B₀ that shard k has lost,

the same for linear terms, and points B₀ ∪ B₁ ∪ …; then EP runs to its end, and points are reduced
to as many as there may be. A shard may thus go on from q₀ itself, or from its Gaussian q̃₀ with no
points (`shard_start`). Without points the product of the Gaussians is exact.

With label noise the sum of precisions need not be one. Along directions in which r would become
more than twice as wide as r₀ the news is left out, and r is there what r₀ was, as a choice of what
to evict has it (`LEAST_GROWTH`): with a hundred times, some streams ended the wrong way round.

The order of shards does not matter to any bit: they are sorted by what they have learned.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from virtualvector.jit.compiled import compiled
from virtualvector.jit.struct_table import StructTable
from virtualvector.posterior.approximation import refresh, reproject
from virtualvector.posterior.ep import sweep_until_settled
from virtualvector.posterior.gaussian import Gaussian, gaussian
from virtualvector.posterior.low_rank_state import (
    RECENT,
    AnyState,
    LowRankAddress,
    LowRankState,
    low_rank_arguments,
)
from virtualvector.posterior.reduction.divergence import measure_divergences
from virtualvector.posterior.reduction.pairs import write_distances
from virtualvector.posterior.reduction.reduce import (
    MAY_MERGE,
    reduce_contradicted,
    reduce_measured,
)
from virtualvector.posterior.residual.cut import cut_residual
from virtualvector.posterior.residual.full import flush
from virtualvector.posterior.residual.pooled import Points, pooled_residual
from virtualvector.posterior.residual.pooled_low_rank import (
    columns_at_once,
    low_rank_start,
    low_rank_state,
    low_rank_state_in,
    places_in,
    pooled_low_rank,
)
from virtualvector.posterior.room import moved
from virtualvector.posterior.settings import Settings, Strategy, plain
from virtualvector.posterior.state import (
    DIVERGENCE_LOST,
    EVICTED,
    IGNORED,
    MERGED,
    POINTS,
    ROWS,
    SWEEPS,
    UNSETTLED,
    State,
    copy_state,
    empty_state,
)
from virtualvector.posterior.step import merge_or_evict, rebuild
from virtualvector.posterior.workspace import arguments_for, parts_at
from virtualvector.types import Array, IntArray

_MOST_SWEEPS = 200  # of EP over all points: it ends by itself unless it has no fixed point
_MOST_POINTS = 2048  # of all shards that are pooled at once: distances of all pairs are kept
# Entries of columns of low rank that are written out; if there are more, each is cut before, as it
# would be some rows later. Of what is cut the precisions of weights stay what they are.
_MOST_ENTRIES = 2**24
_CAPACITY = 64  # as `empty_state` has it
_ONE_ROW = (
    np.zeros((1, 1)),
    np.ones(1),
)  # nobody learns it: what happens to points is recorded there


def shard_start(state: State) -> State:
    """Return the Gaussian q̃ of a state, with no points: what a shard may start from.

    It counts the points as evicted.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Settings, empty_state, gaussian, learn, shard_start
    >>> settings = Settings(buffer_size=5)
    >>> state, _ = learn(empty_state(2, settings), np.eye(2), np.ones(2), settings)
    >>> bool(np.all(shard_start(state).mean == gaussian(state).mean))
    True
    """
    if isinstance(state, LowRankState):
        return low_rank_start(state)
    start, q = copy_state(state), gaussian(state)
    start.counts[EVICTED] += start.counts[POINTS]
    start.counts[POINTS] = 0
    for name in ("products", "gram", "margins", "covariances", "distances"):
        getattr(start, name)[:] = 0.0
    start.mean[:], start.factor[:] = q.mean, q.factor
    if len(start.weight_mean):
        start.weight_mean[:], start.weight_factor[:] = q.mean, q.factor
    return start


def pool(shards: Sequence[State], common: State, settings: Settings) -> State:
    """Return what shards that started from a common posterior know together.

    Parameters
    ----------
    shards : sequence of State
        What each has learned, from rows of its own, since ``common`` or ``shard_start(common)``.
        A single one is returned as it is.
    common : State
        What all of them started from; `empty_state` if that was the prior.
    settings : Settings
        How all of them have learned, without a half-life.

    Returns
    -------
    State
        A proper posterior that can learn on, the same to the last bit in any order of the shards.
        Counts, evidence and losses are those of all rows together. Points are numbered as the
        last of all rows, in the order in which they came to their shards.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Settings, empty_state, gaussian, learn, pool
    >>> settings = Settings(buffer_size=0, margin_noise=1.0)
    >>> prior = empty_state(2, settings)
    >>> one, _ = learn(prior, np.array([[1.0, 0.0]]), np.ones(1), settings)
    >>> other, _ = learn(prior, np.array([[0.0, 1.0]]), np.ones(1), settings)
    >>> gaussian(pool([one, other], prior, settings)).mean.round(3)
    array([0.564, 0.564])
    """
    if settings.half_life < math.inf:
        raise ValueError(
            f"found half_life = {settings.half_life:g}; expected none to pool posteriors: each has "
            "forgotten some of what all have in common"
        )
    if len(shards) < 2:
        return copy_state(shards[0] if shards else common)
    shards = sorted(shards, key=content_of)
    at_once = _most_at_once(settings)
    if len(shards) > at_once:
        groups = [shards[k : k + at_once] for k in range(0, len(shards), at_once)]
        return pool([pool(group, common, settings) for group in groups], common, settings)
    known = Points.of(common)
    lost, brought = zip(*(_compared(known, Points.of(shard)) for shard in shards), strict=True)
    points = Points._make(np.concatenate(each) for each in zip(known, *brought, strict=True))
    points = points.at(np.argsort(points.row_numbers, kind="stable").tolist())
    n = len(points.points)
    counts, sums = (_added_up(shards, common, name) for name in ("counts", "sums"))
    _make_up(counts, n)

    if isinstance(common, LowRankState):
        return _pooled_low_rank(shards, common, lost, points, counts, sums, settings)
    most = n if settings.strategy == Strategy.NEVER else settings.buffer_size
    roomy = settings._replace(buffer_size=max(n, settings.buffer_size), max_sweeps=_MOST_SWEEPS)
    state = _assembled(pooled_residual(shards, common, lost), points, counts, sums, roomy)
    arguments = arguments_for(state, roomy, *_ONE_ROW)
    table = StructTable(arguments)
    _reduced(state, table.address, most)
    state.counts[SWEEPS] = counts[SWEEPS]  # those of rows
    most_unsettled = 2 * counts[ROWS] if settings.label_noise > 0.0 else state.counts[EVICTED]
    state.counts[UNSETTLED] = min(state.counts[UNSETTLED], most_unsettled)
    # There is no way back from weight space.
    margin_space = None if all(len(shard.gram) for shard in shards) else False
    capacity = max(_CAPACITY, int(state.counts[POINTS]))
    pooled = empty_state(len(state.mean), settings, capacity, margin_space)
    table = StructTable(moved(arguments._replace(settings=plain(settings)), pooled))
    rebuild(table.address, True)
    return pooled


def _pooled_low_rank(
    shards: Sequence[LowRankState],
    common: LowRankState,
    lost: Sequence[Points],
    points: Points,
    counts: IntArray,
    sums: Array,
    settings: Settings,
) -> LowRankState:
    """Return the same with residuals of low rank, whose points are fewer than weights."""
    if _n_entries([common, *shards]) > _MOST_ENTRIES:
        common, shards = _cut(common, settings), [_cut(shard, settings) for shard in shards]
    n_gone = max(0, len(points.points) - max(len(common.mean) - 1, settings.buffer_size))
    gone, rest = (points.at(range(*each)) for each in ((n_gone,), (n_gone, len(points.points))))
    counts[POINTS] -= n_gone
    counts[EVICTED] += n_gone
    roomy = settings._replace(
        buffer_size=max(len(rest.points), settings.buffer_size), max_sweeps=_MOST_SWEEPS
    )
    residual = pooled_low_rank(shards, common, lost, gone)
    state = low_rank_state(residual, rest, counts, sums, roomy)
    arguments = low_rank_arguments(state, roomy, *_ONE_ROW)
    table = StructTable(arguments)
    address: Any = LowRankAddress(table.address)
    at_once = columns_at_once(state)
    while state.counts[POINTS] > settings.buffer_size:
        _reduced(state, address, max(settings.buffer_size, int(state.counts[POINTS]) - at_once))
        cut_residual(address)
    _reduced(state, address, settings.buffer_size)
    state.counts[SWEEPS] = counts[SWEEPS]
    pooled = low_rank_state_in(state, settings)
    table = StructTable(low_rank_arguments(pooled, settings, *_ONE_ROW))
    address = LowRankAddress(table.address)
    rebuild(address, True)
    return pooled


def _n_entries(states: Sequence[LowRankState]) -> int:
    """Return how many entries columns have that are written out to pool residuals of low rank."""
    n_columns = sum(state.directions.shape[1] + int(state.extent[RECENT]) for state in states)
    return n_columns * len(places_in(states, []))


def _cut(state: LowRankState, settings: Settings) -> LowRankState:
    """Return a state without columns since the last cut."""
    state = copy_state(state)
    table = StructTable(low_rank_arguments(state, settings, *_ONE_ROW))
    address: Any = LowRankAddress(table.address)
    cut_residual(address)
    return state


def _most_at_once(settings: Settings) -> int:
    """Return how many shards are pooled at once, so that memory and time do not grow without end.

    Where there are more, groups of them are, and then what came of these.
    """
    if settings.strategy == Strategy.NEVER or settings.buffer_size == 0:
        return sys.maxsize
    return max(2, _MOST_POINTS // settings.buffer_size)


def _added_up(shards: Sequence[State], common: State, name: str) -> Any:
    """Return counts or sums over all rows: those of the common posterior once."""
    start = getattr(common, name)
    return start + np.sum([getattr(shard, name) - start for shard in shards], axis=0)


def _make_up(counts: IntArray, n_points: int) -> None:
    """Let each row be a point, or evicted, merged or ignored.

    Of the common points, what shards have lost and counted as gone is there again.
    """
    counts[POINTS] = n_points
    gone = counts[ROWS] - n_points - counts[IGNORED]
    counts[MERGED] = min(counts[MERGED], gone)
    counts[EVICTED] = gone - counts[MERGED]


def content_of(state: State) -> tuple[bytes, bytes]:
    """Return digests of what a state has learned, to sort by.

    What `mirror` leaves as it is comes first: with all labels swapped the order is the same.
    """
    points = Points.of(state)
    lengths = np.abs(state.mean), np.abs(points.points)
    sites = points.site_precisions, points.site_shifts
    residual = _columns(state) if isinstance(state, LowRankState) else (state.factor,)
    counts = np.delete(state.counts, SWEEPS)  # which say how, not what
    unsigned = _digest(counts, state.sums, *residual, *lengths, *sites)
    return unsigned, _digest(state.mean, *points)


def _columns(state: LowRankState) -> tuple[Any, ...]:
    """Return enough of a residual of low rank to tell it from others: all rows leave a trace."""
    n = int(state.extent[RECENT])
    entries = slice(state.recent_starts[n])
    recent = state.recent_places[entries], state.recent_values[entries]
    return state.diagonal, state.recent_starts[: n + 1], *recent


def _digest(*arrays: Any) -> bytes:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _compared(known: Points, own: Points) -> tuple[Points, Points]:
    """Return which of the known points a shard has not among its own, and which of these are new.

    By the factor, whatever row brought it: equal factors cancel.
    """
    left: dict[bytes, list[int]] = {}
    for place, factor in enumerate(known.factors()):
        left.setdefault(factor, []).append(place)
    new = []
    for place, factor in enumerate(own.factors()):
        if left.get(factor):
            left[factor].pop()
        else:
            new.append(place)
    return known.at(sorted(place for places in left.values() for place in places)), own.at(new)


def _assembled(
    residual: Gaussian, points: Points, counts: IntArray, sums: Array, settings: Settings
) -> State:
    """Return a residual and points, numbered as the last of all rows, as a state."""
    n, d = points.points.shape
    state = empty_state(d, settings, capacity=max(n, 1), margin_space=n <= d)
    state.mean[:], state.factor[:] = residual
    state.counts[:], state.sums[:] = counts, sums
    numbers = np.arange(n) + (counts[ROWS] - n)
    for name, array in points._replace(row_numbers=numbers)._asdict().items():
        getattr(state, name)[:n] = array
    return state


def _reduced(state: AnyState, address: Any, n_points: int) -> None:
    """Run EP, lose points until so many are left, and run EP to its end."""
    counts = state.counts
    assemble(address)
    if counts[POINTS] > n_points:
        run_ep_on_all(address, True)
        measured = False
        while evict_surplus(address, n_points, measured):
            before = counts[MERGED]
            merge_or_evict(address, 0)
            measured = counts[MERGED] == before
    run_ep_on_all(address, False)


@compiled
def assemble(address: int) -> None:
    """Compute all that follows from points and residual."""
    state, _, work, _ = parts_at(address)
    if state.distances.shape[0] > 0:
        for n in range(state.counts[POINTS]):
            write_distances(state, n, work)
    reproject(state, work)


@compiled
def run_ep_on_all(address: int, loses_a_point: bool) -> None:
    """Run EP until nothing moves, coarsely if points have to go.

    While there is no fixed point, because rows of shards without noise contradict each other, the
    most contradicted point goes.
    """
    state, settings, work, _ = parts_at(address)
    while state.counts[POINTS] > 0:
        _, served = sweep_until_settled(state, settings, loses_a_point, work)
        if served:
            break
        refresh(state, work)
        reduce_contradicted(state, settings, work)
        state.counts[EVICTED] += 1
        state.counts[UNSETTLED] += 1
    flush(state, work)


@compiled
def evict_surplus(address: int, n_points: int, measured: bool) -> bool:
    """Evict points until so many are left, or two may merge rather; return whether they may.

    ``measured`` says that divergences still are what they are.
    """
    state, settings, work, _ = parts_at(address)
    if not measured:
        measure_divergences(state, work)
    while state.counts[POINTS] > n_points:
        reduction = reduce_measured(state, settings, work)
        if reduction.event == MAY_MERGE:
            return True
        state.counts[EVICTED] += 1
        state.sums[DIVERGENCE_LOST] += reduction.divergence
    return False
