"""The pure face of the engine: (state, rows) → (state, what happened)."""

from __future__ import annotations

import math

import numpy as np

from virtualvector.kernels.tables import Table
from virtualvector.kernels.triangular import Array
from virtualvector.posterior.forgetting import forget_rows, rows_at_once
from virtualvector.posterior.memory import Events, memory_for
from virtualvector.posterior.state import (
    POINTS,
    ROWS,
    Settings,
    State,
    copy_state,
    empty_state,
    most_points,
)
from virtualvector.posterior.step import learn_rows, merge_or_evict


def learn(state: State, rows: Array, signs: Array, settings: Settings) -> tuple[State, Events]:
    """Learn labelled rows; the state that was given stays as it is.

    Parameters
    ----------
    state : State
        What was known before.
    rows : array of shape (T, d) or (T, d − 1)
        Finite numbers. With one column less than there are weights, the last weight is the bias.
    signs : array of shape (T,)
        The labels, +1 or −1.
    settings : Settings
        How to learn; the same ones that the state was made with.

    Returns
    -------
    state : State
        What is known after. Learning a stream in pieces of any sizes gives the same bits.
    events : Events
        What happened at each row.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Settings, empty_state, gaussian, learn
    >>> settings = Settings(buffer_size=5)
    >>> rows = np.array([[2.0, 0.5], [1.0, -1.0], [-1.5, 0.2]])
    >>> state, events = learn(empty_state(2, settings), rows, np.array([1.0, 1.0, -1.0]), settings)
    >>> np.exp(events.log_probability).round(3)
    array([0.5  , 0.674, 0.961])
    >>> gaussian(state).mean.round(3)
    array([ 1.011, -0.278])
    """
    return learn_in_place(copy_state(state), rows, signs, settings)


def learn_in_place(
    state: State, rows: Array, signs: Array, settings: Settings
) -> tuple[State, Events]:
    """As `learn`, but the arrays of the given state are used up."""
    # Code is compiled for the types and the layout of its arguments: give it one of each.
    rows, signs = (np.require(array, np.float64, ["C", "A", "W"]) for array in (rows, signs))
    memory = memory_for(state, settings, len(rows))
    table, grown, done = Table(memory), False, 0
    while done < len(rows):
        stop, forget = next_stop(memory.state, settings, done, len(rows))
        done, may_merge = learn_rows(table.address, rows, signs, done, stop, grown)
        grown = done < stop and not may_merge
        if may_merge:
            merge_or_evict(table.address, done - 1)
        if grown:
            larger = grow(memory.state, settings)
            memory = memory_for(larger, settings)._replace(events=memory.events)
            table = Table(memory)
        if done == stop and forget:
            forget_rows(table.address)
    return memory.state, memory.events


def next_stop(state: State, settings: Settings, done: int, n_rows: int) -> tuple[int, bool]:
    """Return how far to learn at once, and whether something is to be forgotten then."""
    if settings.half_life == math.inf:
        return n_rows, False
    every = rows_at_once(len(state.mean), settings.half_life)
    due = done + every - int(state.counts[ROWS]) % every
    return min(due, n_rows), due <= n_rows


def grow(state: State, settings: Settings) -> State:
    """Return the same state with room for twice as many points, as far as they are allowed.

    Once there is room for more points than weights, q̃ moves from margin space to weight space.
    What depends on the space is left to be computed anew.
    """
    n = state.counts[POINTS]
    larger = empty_state(
        len(state.mean), settings, capacity=min(2 * len(state.points), most_points(settings))
    )
    for name in ("mean", "factor", "counts", "sums"):
        getattr(larger, name)[:] = getattr(state, name)
    for name in ("points", "noises", "born", "precisions", "shifts"):
        getattr(larger, name)[:n] = getattr(state, name)[:n]
    if len(larger.distances):
        larger.distances[:n, :n] = state.distances[:n, :n]
    return larger


def mirror(state: State) -> State:
    """Return the posterior for the same rows with all labels swapped: w has become −w."""
    state = copy_state(state)
    for name in ("mean", "points", "products", "weight_mean"):
        getattr(state, name)[:] *= -1.0
    return state


def with_more_weights(state: State, at: int, n_more: int) -> State:
    """Return the same state with more weights, of which nothing is known, before the one at ``at``.

    As if the rows so far had had zeros in those columns: exact.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Settings, empty_state, gaussian, learn
    >>> from virtualvector.posterior.learning import with_more_weights
    >>> settings = Settings(buffer_size=0)
    >>> state, _ = learn(empty_state(2, settings), np.ones((1, 2)), np.ones(1), settings)
    >>> gaussian(with_more_weights(state, 1, 2)).mean.round(2)
    array([0.56, 0.  , 0.  , 0.56])
    """

    def vectors(array: Array) -> Array:
        return np.insert(array, [at] * n_more, 0.0, axis=-1)

    def rows(array: Array) -> Array:
        return np.insert(array, [at] * n_more, 0.0, axis=0)

    def factor(array: Array) -> Array:
        wider = rows(vectors(array))
        wider[range(at, at + n_more), range(at, at + n_more)] = 1.0
        return wider

    weight_space = len(state.weight_mean) > 0
    return copy_state(
        state._replace(
            mean=vectors(state.mean),
            factor=factor(state.factor),
            points=vectors(state.points),
            products=state.products if weight_space else rows(state.products),
            weight_mean=vectors(state.weight_mean) if weight_space else state.weight_mean,
            weight_factor=factor(state.weight_factor) if weight_space else state.weight_factor,
        )
    )
