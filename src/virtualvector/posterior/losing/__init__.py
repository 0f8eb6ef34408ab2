"""Ways to lose a point: evict one, chosen by one of several rules, or merge two."""

from __future__ import annotations

import math
from typing import NamedTuple

from virtualvector.kernels.compiled import compiled
from virtualvector.posterior.losing.divergence import measure_divergences, smallest_divergence
from virtualvector.posterior.losing.eviction import evict, most_contradicted, safest
from virtualvector.posterior.losing.margin import largest_margin
from virtualvector.posterior.losing.merging import best_merge, first_that_may_win, merge_points
from virtualvector.posterior.losing.oldest import oldest
from virtualvector.posterior.memory import Workspace
from virtualvector.posterior.stand_in import refresh
from virtualvector.posterior.state import Settings, State, Strategy

WAS_KEPT, WAS_EVICTED, WAS_MERGED, WAS_IGNORED, MAY_MERGE, CONTRADICTED = range(6)


class Loss(NamedTuple):
    """What was lost."""

    event: int
    row: int  # the number of the row whose point went; of two merged ones, the older
    divergence: float  # that was kept until now; 0 where it is unknown
    precision: float  # of the stand-in that the residual absorbed
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
def lose_one(state: State, settings: Settings, work: Workspace) -> Loss:
    """Evict a point, unless merging two may keep more of what a Gaussian cannot carry."""
    measure_divergences(state, settings, work)
    j = choose(state, settings, work)
    if state.distances.shape[0] > 0:
        first = first_that_may_win(state, settings, work.divergences[j], work)
        if first >= 0:
            work.candidates[0], work.candidates[1] = j, first
            return Loss(MAY_MERGE, -1, 0.0, 0.0, 0.0)
    return lose_point(state, j, work.divergences[j], work)


@compiled
def lose_contradicted(state: State, work: Workspace) -> Loss:
    """Of points that are not consistent, evict the one that the others contradict most."""
    loss = lose_point(state, most_contradicted(state, work), 0.0, work)
    refresh(state, work)  # the residual may have been spared some of it
    return loss


@compiled
def lose_point(state: State, j: int, cost: float, work: Workspace) -> Loss:
    """Evict point j."""
    cost = cost if math.isfinite(cost) else 0.0
    loss = Loss(WAS_EVICTED, state.born[j], cost, state.precisions[j], state.shifts[j])
    evict(state, j, work)
    return loss


@compiled
def lose_cheapest(state: State, settings: Settings, work: Workspace) -> Loss:
    """Evict a point or merge two, whichever keeps more; goes on where `lose_one` has stopped."""
    j, first = work.candidates[0], work.candidates[1]
    merge = best_merge(state, settings, work.divergences[j], first, work)
    if merge.cost < work.divergences[j]:
        row = min(state.born[merge.first], state.born[merge.second])
        merge_points(state, merge, work)
        return Loss(WAS_MERGED, row, merge.cost, 0.0, 0.0)
    return lose_point(state, j, work.divergences[j], work)
