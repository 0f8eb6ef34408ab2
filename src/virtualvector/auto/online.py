"""One row at a time, for a committee: what a stream asks for, at the price of the maths."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from virtualvector.auto.committee import Committee
from virtualvector.auto.sketch import Sketch, sketch_of
from virtualvector.auto.working import WorkingCommittee
from virtualvector.concurrency import Turn, refuse
from virtualvector.features.encoder import Encoder
from virtualvector.posterior.ensemble import NO_NUMBERS, Numbers
from virtualvector.types import Array
from virtualvector.values import Marks


class Known(NamedTuple):
    """What has been learned, at one moment."""

    committee: Committee
    encoder: Encoder


class _Pending(NamedTuple):
    """An encoder that has learned a row, which the committee is about to learn."""

    encoder: Encoder
    n_rows: int  # that the committee has learned, once it has


class OnlineCommittee:
    """What has been learned; once single rows come, a copy of it learns them in place.

    Threads take turns, and see it after some whole number of rows. An interrupt may come between
    two kernels: then the row is learned to the end, unless it was not begun. If another interrupt
    comes meanwhile, that is done by who has the next turn.

    Parameters
    ----------
    known : Known
        What has been learned.
    marks : Marks
        Texts that stand for a missing value.
    names : tuple of str
        Those of the columns, if they have any.
    """

    _working: WorkingCommittee
    _encoder: Encoder
    _row: Any

    def __init__(self, known: Known, marks: Marks, names: tuple[str, ...]) -> None:
        self._known: Known | None = known  # as it is now, or None
        classes = known.committee.classes.tolist()
        self._places = {label: place for place, label in enumerate(classes)}
        encoder = known.encoder
        self.kinds, self.marks, self.names = encoder.kinds, marks, names
        self.set_of_names = frozenset(names)
        self.most_inputs = encoder.most_inputs
        # What narrows rows that are too wide for the budget; None: nothing does.
        self.sketch: Sketch | None = None
        space = known.committee.feature_space
        if space.most_inputs < self.most_inputs:
            self.sketch = sketch_of(self.most_inputs, space.n_inputs, space.seed)
        # Whether rows are numbers that a kernel scales.
        self.is_plain = (
            encoder.scaling
            and self.sketch is None
            and not marks.numbers
            and all(kind == "number" for kind in self.kinds)
        )
        self._n_columns = len(encoder.categorical)
        self._is_open = self._is_whole = False  # whether there is a copy, and no row under way
        self._may_learn = len(classes) > 1
        self._pending: _Pending | None = None
        self._numbers = NO_NUMBERS
        self._turn = Turn(brief=True)
        self._lock = self._turn.lock

    @property
    def known(self) -> Known:
        """What has been learned so far; it stays as it is when more is learned."""
        if self._lock._is_owned():
            refuse(self)
        with self._lock:
            if self._known is None:
                self._get_ready()
                self._known = Known(self._working.known(copied=True), self._encoder_now())
            return self._known

    def row_of(self, columns: list[Any]) -> Any:
        """Return a table of one row as a row."""
        return np.array(columns, dtype=np.float64)[:, 0] if self.is_plain else columns

    def narrowed(self, inputs: Array) -> Array:
        """Return inputs as the committee sees them."""
        return inputs if self.sketch is None else self.sketch.narrowed(inputs)

    @property
    def n_seen(self) -> int:
        """The number of rows learned."""
        if self._lock._is_owned():
            refuse(self)
        with self._lock:
            if self._known is not None:
                return self._known.committee.n_rows
            self._get_ready()
            return self._working.n_rows

    def close(self) -> Known:
        """Return what has been learned; no row is learned here any more.

        For who is about to learn a table: what comes of that takes the place of this.
        """
        self._may_learn = False
        return self.known

    def learn(self, row: Any, label: Any) -> bool:
        """Learn a row if that needs no more looking at; return whether it was learned.

        A row is an array of numbers, if all columns are; else a list with a list for each column.
        """
        if self._lock._is_owned():
            refuse(self)
        with self._lock:
            if not self._may_learn:
                return False
            try:
                place = self._places.get(label)
            except TypeError:  # not hashable
                return False
            if place is None:
                return False
            if not self._is_whole:
                self._get_ready()
            if not self._write(row, place):
                return False
            self._known = None
            self._is_whole = False
            try:
                self._working.observe(place)
                learned = self._working.learn_row()
            finally:
                self._get_ready()
            return learned

    def probabilities(self, row: Any) -> Array | None:
        """Return the probability of each class for a row; None if that takes a table."""
        if self._lock._is_owned():
            refuse(self)
        with self._lock:
            if not self._may_learn:
                return None
            if not self._is_whole:
                self._get_ready()
            if not self._write(row, None):
                return None
            return self._working.predict_row()

    def _write(self, row: Any, place: int | None) -> bool:
        """Write a row to where it is learned, as of a class, or predicted, if there is room."""
        if self.is_plain:
            self._row[:] = row
            return True
        encoder = self._encoder.twin()
        labels = None if place is None else self._working.classes[place : place + 1]
        inputs = encoder.row(row, None if labels is None else labels[0])
        if inputs is None:
            inputs = encoder.scale(row) if labels is None else encoder.learn(row, labels)
        inputs = self.narrowed(inputs)
        room = self._working.inputs
        if inputs.shape[1] > room.shape[1]:
            if inputs[0, room.shape[1] :].any():
                return False
            inputs = inputs[:, : room.shape[1]]
        room[0] = 0.0
        room[0, : inputs.shape[1]] = inputs[0]
        if labels is not None:
            self._pending = _Pending(encoder, self._working.n_rows + 1)
        return True

    def _get_ready(self) -> None:
        """Make the copy that learns in place, or let the last row be learned to the end."""
        if not self._is_open:
            self._open()
        self._working.settle()
        pending = self._pending
        if pending is not None and pending.n_rows == self._working.n_rows:
            self._encoder = pending.encoder
        self._pending = None
        self._is_whole = True

    def _open(self) -> None:
        known = self._known
        assert known is not None
        encoder = self._encoder = known.encoder
        if self.is_plain:
            row, scaled = np.zeros((2, 1, self._n_columns))
            scales = (encoder.counts.copy(), encoder.means.copy(), encoder.squares.copy())
            self._numbers = Numbers(row, scaled, *scales, encoder.missing.copy())
            self._row = row[0].data
        self._working = WorkingCommittee(known.committee, self._numbers)
        self._is_open = True

    def _encoder_now(self) -> Encoder:
        """Return the encoder; where a kernel scales numbers, with what that has learned."""
        if not self.is_plain:
            return self._encoder
        encoder, numbers = copy(self._encoder), self._numbers
        encoder.counts, encoder.means = numbers.counts.copy(), numbers.means.copy()
        encoder.squares, encoder.missing = numbers.squares.copy(), numbers.missing.copy()
        return encoder
