"""The pure face of the engine: (state, rows) → (state, what happened)."""

from __future__ import annotations

import math
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np

from virtualvector.jit.alignment import clear
from virtualvector.jit.compiled import entry
from virtualvector.jit.struct_table import StructTable
from virtualvector.kernels.likelihood import clip_margin, write_two_probabilities
from virtualvector.kernels.triangular import KEEP
from virtualvector.posterior.drift import drift_rows, rows_per_drift
from virtualvector.posterior.low_rank import mirrored, with_more_low_rank_weights, with_room
from virtualvector.posterior.low_rank_state import (
    AnyState,
    LowRankAddress,
    LowRankArguments,
    LowRankState,
    empty_low_rank_state,
    low_rank_arguments,
    sparse_rows,
)
from virtualvector.posterior.prediction import predicted_margins
from virtualvector.posterior.residual.cut import cut_residual
from virtualvector.posterior.room import in_weight_space, more_room
from virtualvector.posterior.settings import Settings, plain
from virtualvector.posterior.state import (
    ROWS,
    State,
    begin_anew,
    copy_state,
    empty_state,
    layout_at_first,
)
from virtualvector.posterior.step import (
    CONTRADICTORY,
    CUT_DUE,
    DONE,
    MERGE_POSSIBLE,
    NOT_FINITE,
    OUT_OF_CAPACITY,
    PART_DUE,
    REFRESH_DUE,
    flush_residual,
    learn_clean_rows,
    learn_part,
    learn_rows,
    merge_or_evict,
    predict_row,
    rebuild,
    yield_to_contradiction,
)
from virtualvector.posterior.workspace import (
    DRIFT,
    LAST_ROW,
    WHOLE,
    Events,
    arguments_for,
)
from virtualvector.types import Array

_USUAL = Settings()


def learn(
    state: AnyState, rows: Any, signs: Array, settings: Settings, powers: Array = WHOLE
) -> tuple[AnyState, Events]:
    """Learn labelled rows; the state that was given stays as it is.

    Parameters
    ----------
    state : State or LowRankState
        What was known before.
    rows : array of shape (T, d) or (T, d − 1)
        Finite numbers. With one column less than there are weights, the last weight is the bias.
        To a state of low rank they may come as a `scipy.sparse.csr_array` of sorted indices.
    signs : array of shape (T,)
        The labels, +1 or −1.
    settings : Settings
        How to learn; the same ones that the state was made with.
    powers : array of shape (T,), optional
        To which power the likelihood of each row is raised, above 0 and up to 1; by default all are
        learned as they are. A part of a row with margin noise leaves no virtual point.

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
    return learn_in_place(copy_state(state), rows, signs, settings, powers)


def learn_in_place(
    state: AnyState, rows: Any, signs: Array, settings: Settings, powers: Array = WHOLE
) -> tuple[AnyState, Events]:
    """As `learn`, but the arrays of the given state are used up."""
    if isinstance(state, LowRankState):
        rows = sparse_rows(rows)
    else:
        rows = np.require(rows, np.float64, ["C", "A", "W"])
    signs, powers = (np.require(array, np.float64, ["C", "A", "W"]) for array in (signs, powers))
    learning = Engine(state, settings, rows, signs, powers)
    learning.learn()
    return learning.state, learning.events


class _Place:
    """KernelArguments, the address that kernels are given, and Python's own views of some of it.

    All in one object, which is exchanged in one step, whenever an interrupt comes.
    """

    __slots__ = ("address", "arguments", "counts", "table", "unfinished")

    def __init__(self, arguments: Any, table: StructTable | None = None) -> None:
        self.arguments, self.table = arguments, table or StructTable(arguments)
        self.address: Any = self.table.address
        if isinstance(arguments, LowRankArguments):
            self.address = LowRankAddress(self.address)
        self.counts: Any = arguments.state.counts.data
        self.unfinished: Any = arguments.work.unfinished.data


class Engine:
    """A posterior that learns rows in place; others may be written where these are.

    Rows, signs and powers have to be contiguous arrays of float64. A negative row is ignored if its
    margin is more than ``sure``. One of several with label noise or without is not ``alone``: they
    share the kernel that knows of it. Not for several threads at once.
    """

    def __init__(
        self, state: Any, settings: Settings, rows: Any, signs: Array, powers: Array = WHOLE,
        sure: float = math.inf, alone: bool = True,
    ) -> None:  # fmt: skip
        self.settings = plain(settings)
        self._drifts = self.settings.half_life < math.inf
        self._drift_at = 0 if self._drifts else math.inf  # a number of rows, or one before it
        self.is_of_low_rank = of_low_rank = isinstance(state, LowRankState)
        make = low_rank_arguments if of_low_rank else arguments_for
        self._rows = rows
        self._at = _Place(make(state, self.settings, rows, signs, powers)._replace(sure=sure))
        self._address_kind: type = LowRankAddress if of_low_rank else int
        self.events = self._at.arguments.events
        self._stop = len(self.events.margin)
        self.probabilities = self._at.arguments.work.probabilities
        self._first: int | None = None  # the number of the first row, if rows are being learned
        is_clean = self.settings.label_noise == 0.0 and not state.label_noises.any()
        self._kernel = learn_clean_rows if alone and is_clean and not of_low_rank else learn_rows
        self._learn_rows: Any = None  # compiled when first used
        self._predict_row: Any = None

    def learn(self, n_rows: int | None = None, start: int = 0) -> None:
        """Learn the rows, or some of them; ``events`` says what happened to them.

        An interrupt may come between two kernels: `finish` does what is left to do.
        """
        if self._learn_rows is None:
            self._learn_rows = entry(self._kernel, self._address_kind, int, int, bool)
        self._stop = stop = len(self.events.margin) if n_rows is None else start + n_rows
        at = self._at
        self._first = first = at.counts[ROWS] - start
        if first + stop < self._drift_at:
            done, why = self._learn_rows(at.address, start, stop, False)
            if why != DONE:
                self._go_on(done, why)
        else:
            self._go_on(start, DONE)
        self._first = None

    def finish(self) -> None:
        """Go on with rows that were begun and not learned to the end, if there are any."""
        if self._first is not None:
            with suppress(ValueError):  # a row that was refused
                self._go_on(self.n_seen - self._first, self._at.unfinished[LAST_ROW])
            self._first = None

    def finish_row(self, before: int) -> None:
        """Learn the first row, if so many were learned before, or what is left to do for it."""
        if self._learn_rows is None:
            self._learn_rows = entry(self._kernel, self._address_kind, int, int, bool)
        self._stop = 1
        self._go_on(self.n_seen - before, self._at.unfinished[LAST_ROW])

    def moved(self, rows: Array) -> Engine:
        """Return the same posterior, in the same memory, which learns other rows, as wide."""
        engine, table = copy(self), None
        engine._rows = sparse_rows(rows) if self.is_of_low_rank else rows
        arguments = self._at.arguments._replace(rows=engine._rows)
        if not self.is_of_low_rank:  # whose rows are several arrays
            table = self._at.table.replaced(arguments, arguments._fields.index("rows"))
        engine._at = _Place(arguments, table)
        return engine

    def learn_anew(self, n_rows: int, start: int = 0) -> None:
        """Learn some rows from the prior on."""
        self.begin_anew()
        self.learn(n_rows, start)

    def begin_anew(self) -> None:
        """Go back to the prior: in the same memory, unless there is more of it than at first."""
        arguments = self._at.arguments
        n_weights, state = len(arguments.state.mean), arguments.state
        if not self.is_of_low_rank and _is_like_the_first(state, self.settings):
            begin_anew(state)
            clear(arguments.work)
        else:
            make = low_rank_arguments if self.is_of_low_rank else arguments_for
            prior = empty_low_rank_state if self.is_of_low_rank else empty_state
            rest = arguments.rows, arguments.signs, arguments.powers
            fresh = make(prior(n_weights, self.settings), self.settings, *rest)  # type: ignore[arg-type]
            self._at = _Place(fresh._replace(sure=arguments.sure, events=self.events))
            self.probabilities = fresh.work.probabilities
        self._drift_at = 0 if self._drifts else math.inf

    @property
    def address(self) -> int:
        """Where kernels find it; another one after it has grown."""
        return self._at.table.address

    def _go_on(self, done: int, why: int) -> None:
        """Learn all rows but those that are done, once that is done which learning stopped for."""
        last = stop = self._stop
        while True:
            rebuilt = why != DONE and self._attend_to(why, done)
            done += why == PART_DUE
            if self._drifts:
                stop = min(done + self._rows_to_next_drift(), last)
            if done == last:
                return
            done, why = self._learn_rows(self._at.address, done, stop, rebuilt)

    def _rows_to_next_drift(self) -> int:
        """Let the weights drift if that is due now; return after how many rows it is due again."""
        at, n_seen = self._at, self.n_seen
        if 0 < n_seen == at.unfinished[DRIFT]:
            drift_rows(at.address)
        every = rows_per_drift(len(at.arguments.state.mean), self.settings.half_life)
        rows = every - n_seen % every
        self._drift_at = at.unfinished[DRIFT] = n_seen + rows
        return rows

    def _attend_to(self, why: int, done: int) -> bool:
        """Do what learning stopped for; return whether that was to rebuild something."""
        if why == MERGE_POSSIBLE:
            merge_or_evict(self._at.address, done - 1)
            return False
        if why == CONTRADICTORY:
            yield_to_contradiction(self._at.address, done - 1)
            return False
        if why == PART_DUE:
            learn_part(self._at.address, done)
            return False
        if why == CUT_DUE:
            cut_residual(self._at.address)
            return True
        if why == NOT_FINITE or (why == OUT_OF_CAPACITY and not self._is_finite(done)):
            self._first = None
            raise ValueError(f"found nan or infinity in row {done}; expected finite numbers")
        if why == REFRESH_DUE:
            rebuild(self._at.address, False)
            return True
        if self.is_of_low_rank:
            other = _Place(with_room(self._at.arguments, done))
        elif why == OUT_OF_CAPACITY:
            other = _Place(more_room(self._flushed()))
        else:
            other = _Place(in_weight_space(self._flushed()))
        rebuild(other.address, True)
        self._at = other
        return True

    def _is_finite(self, row: int) -> bool:
        rows = self._at.arguments.rows
        if self.is_of_low_rank:
            return bool(np.isfinite(rows.values[rows.starts[row] : rows.starts[row + 1]]).all())
        return bool(np.isfinite(rows[row]).all())

    @property
    def n_seen(self) -> int:
        """The number of rows learned."""
        n_seen: int = self._at.counts[ROWS]
        return n_seen

    @property
    def state(self) -> Any:
        """What has been learned; it changes when more is."""
        return self._flushed().state

    def _flushed(self) -> Any:
        # One of low rank never defers anything.
        if not self.is_of_low_rank and self._at.arguments.work.deferred[KEEP, 0] > 0.0:
            flush_residual(self._at.address)
        return self._at.arguments

    def predict(self) -> float:
        """Return the standardised margin of the first row; nan if an entry of it is not finite.

        Else ``probabilities`` has the probabilities of its labels.
        """
        if self._predict_row is None:
            self._predict_row = entry(predict_row, self._address_kind)
        margin: float = self._predict_row(self._at.address)
        if margin == math.inf:
            noise = self.settings.margin_noise
            margin = float(predicted_margins(self.state, self._at.arguments.rows, noise)[0])
            write_two_probabilities(
                clip_margin(margin), self.settings.label_noise, self.probabilities
            )
        return margin


def _is_like_the_first(state: State, settings: Settings) -> bool:
    """Whether a state has room for as much as a prior."""
    layout = layout_at_first(len(state.mean), settings)
    return [array.shape for array in state] == layout.shapes


def mirror(state: AnyState) -> AnyState:
    """Return the posterior for the same rows with all labels swapped: w has become −w."""
    if isinstance(state, LowRankState):
        return mirrored(state)
    state = copy_state(state)
    for name in ("mean", "points", "products", "weight_mean"):
        getattr(state, name)[:] *= -1.0
    return state


def with_more_weights(
    state: AnyState, at: int, n_more: int, settings: Settings = _USUAL
) -> AnyState:
    """Return the same state with more weights, of which nothing is known, before the one at ``at``.

    As if the rows so far had had zeros in those columns: exact. A state of low rank needs the
    settings that it was made with.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Settings, empty_state, gaussian, learn
    >>> from virtualvector.posterior.engine import with_more_weights
    >>> settings = Settings(buffer_size=0)
    >>> state, _ = learn(empty_state(2, settings), np.ones((1, 2)), np.ones(1), settings)
    >>> gaussian(with_more_weights(state, 1, 2)).mean.round(2)
    array([0.56, 0.  , 0.  , 0.56])
    """
    if isinstance(state, LowRankState):
        return with_more_low_rank_weights(state, settings, at, n_more)

    def rows(array: Array) -> Array:
        # What `np.insert` does, which takes several times as long.
        wider = np.zeros((len(array) + n_more, *array.shape[1:]))
        wider[:at], wider[at + n_more :] = array[:at], array[at:]
        return wider

    def vectors(array: Array) -> Array:
        return rows(array.T).T

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
