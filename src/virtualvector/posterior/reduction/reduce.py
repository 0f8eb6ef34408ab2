"""One point less: evict one, chosen by one of several rules, or merge two (Algorithm 1)."""

from __future__ import annotations

import math
from typing import NamedTuple

from virtualvector.jit.compiled import compiled
from virtualvector.posterior.approximation import refresh
from virtualvector.posterior.length import restore_length
from virtualvector.posterior.reduction.divergence import measure_divergences, smallest_divergence
from virtualvector.posterior.reduction.eviction import evict, most_contradicted, safest
from virtualvector.posterior.reduction.margin import largest_margin
from virtualvector.posterior.reduction.merging import best_merge, first_that_may_win, merge_points
from virtualvector.posterior.reduction.oldest import oldest
from virtualvector.posterior.settings import Settings, Strategy
from virtualvector.posterior.state import State
from virtualvector.posterior.workspace import Workspace

WAS_KEPT, WAS_EVICTED, WAS_MERGED, WAS_IGNORED, MAY_MERGE, CONTRADICTED = range(6)


class Reduction(NamedTuple):
    """How the points became one less, and what was lost."""

    event: int
    row: int  # the number of the row whose point went; of two merged ones, the older
    divergence: float  # that was kept until now; 0 where it is unknown
    precision: float  # of the site that the residual absorbed
    shift: float


@compiled
def choose(state: State, settings: Settings, work: Workspace) -> int:
    """The point to evict."""
    if settings.strategy == Strategy.OLDEST:
        j = oldest(state, work)
    elif settings.strategy == Strategy.MARGIN:
        j = largest_margin(state, work)
    else:
        j = smallest_divergence(state, work)
    return j if j >= 0 else safest(state, work)


@compiled
def reduce_by_one(state: State, settings: Settings, work: Workspace) -> Reduction:
    """Evict a point, unless merging two may keep more of what a Gaussian cannot carry."""
    measure_divergences(state, work)
    return reduce_measured(state, settings, work)


@compiled
def reduce_measured(state: State, settings: Settings, work: Workspace) -> Reduction:
    """As `reduce_by_one`; divergences are measured already. Eviction leaves those of others."""
    j = choose(state, settings, work)
    if state.distances.shape[0] > 0:
        first = first_that_may_win(state, settings, work.divergences[j], work)
        if first >= 0:
            work.candidates[0], work.candidates[1] = j, first
            return Reduction(MAY_MERGE, -1, 0.0, 0.0, 0.0)
    return reduce_by_eviction(state, settings, j, work.divergences[j], work)


@compiled
def reduce_contradicted(state: State, settings: Settings, work: Workspace) -> Reduction:
    """Of points that are not consistent, evict the one that the others contradict most."""
    reduction = reduce_by_eviction(state, settings, most_contradicted(state, work), 0.0, work)
    refresh(state, work)  # the residual may have been spared some of it
    return reduction


@compiled
def reduce_by_eviction(
    state: State, settings: Settings, j: int, cost: float, work: Workspace
) -> Reduction:
    """Evict point j."""
    cost = cost if math.isfinite(cost) else 0.0
    reduction = Reduction(
        WAS_EVICTED, state.row_numbers[j], cost, state.site_precisions[j], state.site_shifts[j]
    )
    evict(state, j, work)
    if settings.strategy != Strategy.OLDEST:
        restore_length(state, settings, work)
    return reduction


@compiled
def reduce_cheapest(state: State, settings: Settings, work: Workspace) -> Reduction:
    """Evict a point or merge two, whichever keeps more; goes on from `reduce_by_one`."""
    j, first = work.candidates[0], work.candidates[1]
    merge = best_merge(state, settings, work.divergences[j], first, work)
    if merge.cost < work.divergences[j]:
        row = min(state.row_numbers[merge.first], state.row_numbers[merge.second])
        merge_points(state, merge, work)
        return Reduction(WAS_MERGED, row, merge.cost, 0.0, 0.0)
    return reduce_by_eviction(state, settings, j, work.divergences[j], work)
