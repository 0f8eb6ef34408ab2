"""The list of closest pairs says what a search among all pairs would."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from virtualvector.jit.compiled import compiled
from virtualvector.posterior import Settings, empty_state
from virtualvector.posterior.approximation import drop_point
from virtualvector.posterior.reduction.pairs import find_closest_pairs, write_distances
from virtualvector.posterior.state import POINTS
from virtualvector.posterior.workspace import make_workspace

MOST = 12


@compiled
def come(state, work):
    n = state.counts[POINTS]
    write_distances(state, n, work)
    state.counts[POINTS] = n + 1


@compiled
def go(state, j, work):
    drop_point(state, j, work)


@compiled
def look(state, settings, work):
    return find_closest_pairs(state, settings, work)


def closest_of_all(points, k):
    """Squared distances and numbers of the closest pairs, by looking at every pair."""
    pairs = itertools.combinations(range(len(points)), 2)
    found = [(float(((points[j] - points[i]) ** 2).sum()), j, i) for i, j in pairs]
    return sorted(found)[:k]


# On a small grid many pairs are equally close, and many points are the same.
COMES = st.tuples(st.integers(0, 3), st.integers(0, 3))
GOES = st.integers(0, MOST - 1)


@given(
    happens=st.lists(st.one_of(COMES, COMES, GOES), max_size=60),
    k=st.integers(1, 4),
    every=st.integers(1, 5),
)
@settings(max_examples=200, deadline=None)
def test_the_list_is_what_a_search_would_find(happens, k, every):
    options = Settings(buffer_size=MOST, merge_pairs=k)
    state = empty_state(2, options, MOST, margin_space=False)
    work = make_workspace(state, options)
    points = []
    for step, what in enumerate(happens):
        if isinstance(what, int):
            if what < len(points):
                go(state, what, work)
                points[what] = points[-1]
                points.pop()
        elif len(points) < MOST:
            points.append(np.array(what, float))
            state.points[len(points) - 1] = what
            come(state, work)
        if step % every == 0:  # between two looks any number of points may come and go
            n = look(state, options, work)
            found = [(work.pair_distances[p], *work.pairs[p].tolist()) for p in range(n)]
            assert found == closest_of_all(points, k)


def test_the_list_is_seldom_made_anew():
    options = Settings(buffer_size=30, merge_pairs=5)
    state = empty_state(20, options, margin_space=False)
    work = make_workspace(state, options)
    rng = np.random.default_rng(0)
    anew = 0
    for _ in range(1000):
        n = int(state.counts[POINTS])
        state.points[n] = rng.normal(size=20)
        come(state, work)
        if n == 30:
            anew += work.n_pairs[0] < 5
            look(state, options, work)
            go(state, int(rng.integers(31)), work)
    assert 0 < anew < 100
