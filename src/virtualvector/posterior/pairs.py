"""The closest pairs of points, kept from row to row (section 3.2).

All pairs that are nearer than a reach are on a list, nearest first. A new point adds its pairs
within the reach, and a point that goes takes its pairs along. The list is made anew only when it
has become too short. It is scratch memory: what it says does not depend on when it was made.
"""

from __future__ import annotations

import math

from virtualvector.kernels.compiled import compiled
from virtualvector.posterior.memory import Workspace
from virtualvector.posterior.state import POINTS, Settings, State


@compiled
def remember_distances(state: State, n: int, work: Workspace) -> None:
    """Write the squared distances of point n to all others, and list those within the reach."""
    close = 0
    for i in range(n):
        total = 0.0
        for k in range(state.points.shape[1]):
            difference = state.points[i, k] - state.points[n, k]
            total += difference * difference
        state.distances[n, i] = total
        state.distances[i, n] = total
        close += total < work.pair_reach[0]
    if close == 0:
        return
    for i in range(n):
        if state.distances[n, i] < work.pair_reach[0]:
            work.n_pairs[0] = _insert(work, work.n_pairs[0], state.distances[n, i], n, i)
            _shorten(work)


@compiled
def forget_pairs(work: Workspace, j: int, last: int) -> None:
    """Take the pairs of point j off the list; the last point takes its place."""
    kept = 0
    for place in range(work.n_pairs[0]):
        first, second = work.pairs[place, 0], work.pairs[place, 1]
        if first == j or second == j:
            continue
        if first == last:
            first, second = max(second, j), min(second, j)
        kept = _insert(work, kept, work.pair_distances[place], first, second)
    work.n_pairs[0] = kept


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
    found = 0
    enough = math.inf  # the distance of the last pair once the list is full
    for i in range(state.counts[POINTS]):
        close = 0
        for j in range(i):  # this loop is vectorised
            close += state.distances[i, j] < enough
        if close == 0:
            continue
        for j in range(i):
            if state.distances[i, j] < enough:
                found = _insert(work, found, state.distances[i, j], i, j)
                if found == work.pairs.shape[0]:
                    enough = work.pair_distances[found - 1]
    work.n_pairs[0], work.pair_reach[0] = found, math.inf
    _shorten(work)
    return found


@compiled
def _shorten(work: Workspace) -> None:
    """Leave out the farthest pairs, all that are equally far, if the list is full."""
    n = work.n_pairs[0]
    if n == work.pairs.shape[0]:
        work.pair_reach[0] = work.pair_distances[n - 1]
        while n > 0 and work.pair_distances[n - 1] == work.pair_reach[0]:
            n -= 1
        work.n_pairs[0] = n


@compiled
def _insert(work: Workspace, n: int, distance: float, first: int, second: int) -> int:
    """Put a pair in its place among n, instead of the last one if the list is full; return n."""
    most = work.pairs.shape[0]
    place = min(n, most - 1)
    while place > 0 and _comes_before(work, place - 1, distance, first, second):
        work.pair_distances[place] = work.pair_distances[place - 1]
        work.pairs[place, 0] = work.pairs[place - 1, 0]
        work.pairs[place, 1] = work.pairs[place - 1, 1]
        place -= 1
    work.pair_distances[place] = distance
    work.pairs[place, 0], work.pairs[place, 1] = first, second
    return min(n + 1, most)


@compiled
def _comes_before(work: Workspace, place: int, distance: float, first: int, second: int) -> bool:
    """Whether a pair comes before the one at a place."""
    other = work.pair_distances[place]
    if distance != other:
        return distance < other
    if first != work.pairs[place, 0]:
        return first < work.pairs[place, 0]
    return second < work.pairs[place, 1]
