"""The closest pairs of points, kept from row to row (section 3.2).

All pairs that are nearer than a reach are on a list, nearest first. A new point adds its pairs
within the reach, and a point that goes takes its pairs along. The list is made anew only when it
has become too short. It is scratch memory: what it says does not depend on when it was made.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.posterior.point import squared_distance
from virtualvector.posterior.settings import Settings
from virtualvector.posterior.state import POINTS, State
from virtualvector.posterior.workspace import Workspace


@compiled
def write_distances(state: State, n: int, work: Workspace) -> None:
    """Write the squared distances of point n to all others, and list those within the reach."""
    for i in range(n):
        total = squared_distance(state, i, n)
        state.distances[n, i] = total
        state.distances[i, n] = total
        if total < work.pair_reach[0]:
            _insert(work, total, n, i)
            _shorten(work)


@compiled
def drop_pairs(work: Workspace, j: int, last: int) -> None:
    """Take the pairs of point j off the list; the last point takes its place."""
    n = work.n_pairs[0]
    work.n_pairs[0] = 0
    for place in range(n):
        first, second = work.pairs[place, 0], work.pairs[place, 1]
        if first != j and second != j:
            if first == last:
                first, second = max(second, j), min(second, j)
            _insert(work, work.pair_distances[place], first, second)


@compiled
def find_closest_pairs(state: State, settings: Settings, work: Workspace) -> int:
    """See that the k closest pairs come first in ``work.pairs``; return how many there are.

    Of pairs that are equally close, those of points with lower numbers come first.
    """
    found = work.n_pairs[0]
    if found < settings.merge_pairs and work.pair_reach[0] < math.inf:
        found = _list_anew(state, work)
    return min(found, settings.merge_pairs)


@compiled
def _list_anew(state: State, work: Workspace) -> int:
    """List as many of the closest pairs as there is room for; return how many were written."""
    work.n_pairs[0], work.pair_reach[0] = 0, math.inf
    enough = math.inf  # the distance of the last pair once the list is full
    for i in range(state.counts[POINTS]):
        for j in range(i):
            if state.distances[i, j] < enough:
                _insert(work, state.distances[i, j], i, j)
                if work.n_pairs[0] == work.pairs.shape[0]:
                    enough = work.pair_distances[work.pairs.shape[0] - 1]
    found = work.n_pairs[0]
    _shorten(work)
    return found


@compiled
def _insert(work: Workspace, distance: float, first: int, second: int) -> None:
    """Put a pair in its place, instead of the last one if the list is full."""
    place = min(work.n_pairs[0], work.pairs.shape[0] - 1)
    work.n_pairs[0] = place + 1
    while place > 0 and _comes_before(work, distance, first, second, place - 1):
        work.pair_distances[place] = work.pair_distances[place - 1]
        work.pairs[place, 0] = work.pairs[place - 1, 0]
        work.pairs[place, 1] = work.pairs[place - 1, 1]
        place -= 1
    work.pair_distances[place] = distance
    work.pairs[place, 0], work.pairs[place, 1] = first, second


@compiled
def _comes_before(work: Workspace, distance: float, first: int, second: int, place: int) -> bool:
    """Whether a pair comes before the one at a place."""
    if distance != work.pair_distances[place]:
        return distance < work.pair_distances[place]
    if first != work.pairs[place, 0]:
        return first < work.pairs[place, 0]
    return second < work.pairs[place, 1]


@compiled
def _shorten(work: Workspace) -> None:
    """If the list is full, leave out the farthest pair and all that are as far."""
    if work.n_pairs[0] == work.pairs.shape[0]:
        work.pair_reach[0] = work.pair_distances[work.pairs.shape[0] - 1]
        while work.n_pairs[0] > 0 and (
            work.pair_distances[work.n_pairs[0] - 1] == work.pair_reach[0]
        ):
            work.n_pairs[0] -= 1
