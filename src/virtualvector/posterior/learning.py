"""The pure face of the engine: (state, rows) → (state, what happened)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from virtualvector.kernels.compiled import entry
from virtualvector.kernels.tables import Table
from virtualvector.kernels.triangular import KEEP, Array
from virtualvector.posterior.forgetting import forget_rows, rows_at_once
from virtualvector.posterior.gaussian import gaussian
from virtualvector.posterior.memory import Events, Memory, make_workspace, memory_for
from virtualvector.posterior.prediction import standardised_margins
from virtualvector.posterior.state import (
    POINTS,
    ROWS,
    Settings,
    State,
    copy_state,
    empty_state,
    most_points,
    plain,
)
from virtualvector.posterior.step import (
    CROWDED,
    DONE,
    FULL,
    NOT_FINITE,
    SHARP,
    TORN,
    WORN,
    come_to_rest,
    learn_rows,
    merge_or_evict,
    predict_row,
    rebuild,
    write_probabilities,
    yield_to_contradiction,
)


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
    plain_arrays = (np.require(array, np.float64, ["C", "A", "W"]) for array in (rows, signs))
    learning = Learning(state, settings, *plain_arrays)
    learning.learn()
    return learning.state, learning.events


class Learning:
    """A posterior that learns rows in place; others may be written where these are.

    Rows and signs have to be contiguous arrays of float64. Not for several threads at once.
    """

    def __init__(self, state: State, settings: Settings, rows: Array, signs: Array) -> None:
        self.settings = plain(settings)
        self._forgets, self._n_rows = self.settings.half_life < math.inf, len(rows)
        self._take(memory_for(state, self.settings, rows, signs))
        self._learn_rows: Any = None  # compiled when first used
        self._merge_or_evict: Any = None
        self._predict_row: Any = None

    def _take(self, memory: Memory) -> None:
        self.events, self._rows = memory.events, memory.rows
        self._memory, self.said = memory, memory.work.said
        self._table = Table(memory)
        self._address = self._table.address

    def learn(self) -> None:
        """Learn the rows; ``events`` says what happened to them.

        No row is learned by half, whenever an interrupt comes.
        """
        if self._learn_rows is None:
            self._learn_rows = entry(learn_rows, int, int, int, bool)
        n_rows = stop = self._n_rows
        done, rebuilt, forget = 0, False, False
        try:
            while done < n_rows:
                if self._forgets:
                    stop, forget = next_stop(self._memory.state, self.settings, done, n_rows)
                done, why = self._learn_rows(self._address, done, stop, rebuilt)
                rebuilt = why != DONE and self._attend_to(why, done)
                if forget and done == stop:
                    forget_rows(self._address)
        except BaseException:
            unfinished = int(self._memory.work.unfinished[0])
            if unfinished != DONE:
                self._attend_to(unfinished, n_rows)
            raise

    def _attend_to(self, why: int, done: int) -> bool:
        """Do what learning stopped for; return whether that was to rebuild something."""
        if why == CROWDED:
            if self._merge_or_evict is None:
                self._merge_or_evict = entry(merge_or_evict, int, int)
            self._merge_or_evict(self._address, done - 1)
            return False
        if why == TORN:
            yield_to_contradiction(self._address, done - 1)
            return False
        if why == NOT_FINITE:
            raise ValueError(f"found nan or infinity in row {done}; expected finite numbers")
        if why == FULL:
            self._take(more_room(self._at_rest()))
        elif why == SHARP:
            self._take(in_weight_space(self._at_rest()))
        rebuild(self._address, why != WORN)
        return True

    @property
    def n_seen(self) -> int:
        """The number of rows learned."""
        return int(self._memory.state.counts[ROWS])

    @property
    def state(self) -> State:
        """What has been learned; it changes when more is."""
        return self._at_rest().state

    def _at_rest(self) -> Memory:
        if self._memory.work.waiting[KEEP, 0] > 0.0:
            come_to_rest(self._address)
        return self._memory

    def predict(self) -> float:
        """Return the standardised margin of the first row; nan if an entry of it is not finite.

        Else ``said`` has the probabilities of its labels.
        """
        if self._predict_row is None:
            self._predict_row = entry(predict_row, int)
        margin: float = self._predict_row(self._address)
        if margin == math.inf:
            q, noise = gaussian(self.state), self.settings.margin_noise
            margin = float(standardised_margins(q, self._rows[:1], noise)[0])
            write_probabilities(margin, self.settings.label_noise, self.said)
        return margin


def next_stop(state: State, settings: Settings, done: int, n_rows: int) -> tuple[int, bool]:
    """Return how far to learn at once, and whether something is to be forgotten then."""
    every = rows_at_once(len(state.mean), settings.half_life)
    due = done + every - int(state.counts[ROWS]) % every
    return min(due, n_rows), due <= n_rows


def more_room(memory: Memory) -> Memory:
    """Return memory for the same state and twice as many points, as far as they are allowed.

    Once there is room for too many points, q̃ moves from margin space to weight space.
    """
    state, settings = memory.state, memory.settings
    capacity = min(2 * len(state.points), most_points(settings))
    margin_space = None if len(state.gram) else False  # there is no way back
    larger = empty_state(len(state.mean), settings, capacity, margin_space)
    return _moved(memory, larger)


def in_weight_space(memory: Memory) -> Memory:
    """Return memory for the same state in weight space."""
    n_weights, capacity = len(memory.state.mean), len(memory.state.points)
    return _moved(memory, empty_state(n_weights, memory.settings, capacity, margin_space=False))


def _moved(memory: Memory, to: State) -> Memory:
    """Copy what does not depend on the space; the rest is left to be computed anew."""
    state = memory.state
    n = state.counts[POINTS]
    for name in ("mean", "factor", "counts", "sums"):
        getattr(to, name)[:] = getattr(state, name)
    for name in ("points", "noises", "born", "precisions", "shifts"):
        getattr(to, name)[:n] = getattr(state, name)[:n]
    if len(to.distances):
        to.distances[:n, :n] = state.distances[:n, :n]
    if len(to.seen):
        to.seen[:n] = state.seen[:n]
    return memory._replace(state=to, work=make_workspace(to, memory.settings))


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
