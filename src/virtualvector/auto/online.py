"""One row at a time, for a committee: what a stream asks for, at the price of the maths."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from virtualvector.auto.committee import Committee
from virtualvector.auto.first_rows import REPLAYED_AT, FirstRows
from virtualvector.auto.sketch import Sketch, sketch_of
from virtualvector.auto.working import WorkingCommittee
from virtualvector.concurrency import Team, refuse
from virtualvector.features.encoder import Encoder
from virtualvector.features.one_row import RowReader
from virtualvector.learners.online import Route
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
    first_row: FirstRows | None  # the row, if it is to be kept


class OnlineCommittee(Route[Known]):
    """A committee, which learns rows of any kind.

    A row is an array of numbers, if all columns are; else what its reader has read.

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
        super().__init__(known, known.committee.classes, names)
        encoder = known.encoder
        self.kinds = encoder.kinds
        self.reader = RowReader(self.kinds, marks)
        self.most_inputs = encoder.most_inputs
        # What narrows rows that are too wide for the budget; None: nothing does.
        self.sketch: Sketch | None = None
        space = known.committee.feature_space
        if space.most_inputs < encoder.at_start.most_inputs:
            self.sketch = sketch_of(self.most_inputs, space.n_inputs, space.seed)
        # Whether a kernel scales numbers, the first inputs; and whether rows need no reading.
        in_front = isinstance(encoder.places_of_numbers, slice)
        self._scales = encoder.scaling and self.sketch is None and in_front
        only_numbers = all(kind == "number" for kind in self.kinds)
        self.is_plain = self._scales and only_numbers and not marks.numbers
        self._pending: _Pending | None = None
        self._ahead = False  # whether threads look at the next rows
        self._numbers = NO_NUMBERS
        self._encoder = encoder
        self.takes_new_classes = known.committee.takes_new_classes
        # What was known when a table came; None: none has come yet.
        self._lent: Callable[[], Known] | None = None

    def row_of(self, columns: list[Any]) -> Any:
        """Return a table of one row as a row."""
        row = self.reader.of_columns(columns)
        return row.numbers if self.is_plain else row

    def narrowed(self, inputs: Array) -> Array:
        """Return inputs as the committee sees them."""
        return inputs if self.sketch is None else self.sketch.narrowed(inputs)

    @property
    def n_seen(self) -> int:
        """The number of rows learned."""
        if self._lock._is_owned():
            refuse(self)
        with self._lock:
            if self._known is None and self._lent is not None:
                self._known = self._lent()
            if self._known is not None:
                return self._known.committee.n_rows
            self._get_ready()
            return self._working.n_rows

    def lend(self, n_threads: int = 1) -> tuple[WorkingCommittee, Encoder]:
        """Return what learns rows in place to who learns a table, in threads, and may keep it.

        Who reads here meanwhile, or after that has failed, finds what was known before.
        """
        if self._lock._is_owned():
            refuse(self)
        with self._lock:
            self.stop()
            self._ahead = n_threads > 1
            self._get_ready()
            if self._ahead:
                self._working.look_ahead()
            encoder = self._encoder_now()
            if self._known is None:
                copied = self._working.copied_for_later()
                self._lent = lambda: Known(copied(), encoder)
            self._is_open = self._is_whole = False
            return self._working, copy(encoder)

    def take_over(self, working: WorkingCommittee) -> None:
        """Go on where a table was learned; what is known is copied once somebody asks for it."""
        with self._lock:
            self._work_in(working, self._encoder)
            self._is_open = self._is_whole = True
            self._known = None

    def _now(self) -> Known:
        return super()._now() if self._lent is None else self._lent()

    def _get_ready(self) -> None:
        if self._known is None and not self._is_open:
            self._known = self._now()
        super()._get_ready()

    def _open(self, known: Known) -> None:
        numbers, n = NO_NUMBERS, len(known.encoder.counts)
        if self._scales:
            row, scaled = np.zeros((2, 1, n))
            counts, means, squares = np.zeros((3, n))
            numbers = Numbers(row, scaled, counts, means, squares, np.zeros(n, np.int64))
        working = WorkingCommittee(known.committee, numbers, ahead=self._ahead)
        self._work_in(working, known.encoder)

    def _work_in(self, working: WorkingCommittee, encoder: Encoder) -> None:
        self._working, self._encoder, numbers = working, encoder, working.numbers
        self._numbers = numbers
        if self._scales:
            numbers.counts[:], numbers.means[:] = encoder.counts, encoder.means
            numbers.squares[:] = encoder.squares
            numbers.missing[:] = encoder.missing[encoder.column_of_number]
            self._row = numbers.row[0].data

    def _copied(self) -> Known:
        return Known(self._working.copied_for_later()(), self._encoder_now())

    def _write(self, row: Any, place: int | None) -> bool:
        learns = place is not None
        if self.is_plain:
            self._row[:] = row if type(row) is np.ndarray else array("d", row)
            if learns and self._working.committee.first_rows is not None:
                self._pending = self._awaited(self._encoder, row, place)
            return True
        encoder, room = self._encoder.twin(), self._working.inputs
        label = self._working.classes[place] if learns else None
        entries = encoder.entries_of(row.categories, label) if self._scales else None
        if entries is not None:
            room[0] = 0.0
            for at, entry in entries.items():
                if at < room.shape[1]:
                    room[0, at] = entry
                elif entry != 0.0:
                    return False
        else:
            inputs = encoder.row(row.categories, label)
            if not self._scales and row.numbers:
                scaled = encoder.scaled_row(row.numbers, label is not None)
                inputs[:, encoder.places_of_numbers] = scaled
            inputs = self.narrowed(inputs)
            if inputs[0, room.shape[1] :].any():
                return False
            room[0] = 0.0
            room[0, : inputs.shape[1]] = inputs[0, : room.shape[1]]
        if self._scales:
            self._row[:] = array("d", row.numbers)
        if learns:
            self._pending = self._awaited(encoder, row.numbers, place)
        return True

    def _awaited(self, encoder: Encoder, numbers: Any, place: int | None) -> _Pending:
        """Return what there will be to do for the row that was written, once it is learned."""
        first_row = None
        if self._working.committee.first_rows is not None:
            rows, observed = np.array([numbers], np.float64), np.array([place], np.int64)
            first_row = FirstRows.of(encoder, rows, self._working.inputs[:1], observed)
        return _Pending(encoder, self._working.n_rows + 1, first_row)

    def _learn_written(self) -> bool:
        self._working.observe(self._place)
        learned = self._working.learn_row()
        if self._pending is not None:
            self._finish()
        return learned

    def _predict_written(self) -> Array | None:
        return self._working.predict_row()

    def _finish(self) -> None:
        self._working.settle()
        pending = self._pending
        if pending is not None and pending.n_rows == self._working.n_rows:
            self._encoder = pending.encoder
            if pending.first_row is not None:
                self._keep(pending.first_row)
        self._pending = None

    def _keep(self, row: FirstRows) -> None:
        """Keep one of the first rows, and replay them when that is due.

        If an interrupt comes, all is done again, but for what has been done to the end.
        """
        working, rows = self._working, self._working.committee.first_rows
        if rows is None:
            return
        if rows.n_rows < working.n_rows:
            rows = rows.followed_by(row)
            working.keep(rows)
        if rows.n_rows in REPLAYED_AT:
            with Team(1) as team:
                working.replay(rows.replay(self._encoder_now(), working.classes), team)
        if rows.n_rows == REPLAYED_AT[-1]:
            working.keep(None)

    def _encoder_now(self) -> Encoder:
        """Return the encoder; where a kernel scales numbers, with what that has learned."""
        if not self._scales:
            return self._encoder
        encoder, numbers = copy(self._encoder), self._numbers
        encoder.counts, encoder.means = numbers.counts.copy(), numbers.means.copy()
        encoder.squares, encoder.missing = numbers.squares.copy(), encoder.missing.copy()
        encoder.missing[encoder.column_of_number] = numbers.missing
        return encoder
