"""The posteriors of linear learners, which learn single rows in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from virtualvector.jit.compiled import entry
from virtualvector.jit.struct_table import StructTable
from virtualvector.kernels.hedge import gain_of_row, hedged_row, mix_row
from virtualvector.learners.hedge import Hedged
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.learners.online import Route
from virtualvector.learners.sparse_rows import SparseRow
from virtualvector.posterior import Engine, copy_state
from virtualvector.posterior.state import ROWS
from virtualvector.types import Array

Known = TypeVar("Known", bound=OneVsRest)


class OnlinePosterior(Route[OneVsRest]):
    """The posteriors of a learner, which learn rows of numbers.

    Rows are checked by the kernels that use them. When an interrupt comes, all posteriors learn the
    row, unless none of them has begun to.

    Parameters
    ----------
    known : OneVsRest
        What has been learned.
    n_columns : int
        Of the rows.
    names : tuple of str
        Those of the columns, if they have any.
    """

    _table: Any
    _row: Any
    _sign: Any
    _engines: list[Engine]
    _unseen: Engine | None

    def __init__(self, known: OneVsRest, n_columns: int, names: tuple[str, ...]) -> None:
        # Some learners have to run EP before a posterior is read.
        super().__init__(known, known.classes, names, can_predict=known.settling is None)
        self._classes = known.with_states((), None)
        self._n_columns, self.takes_sparse = n_columns, known.settings.rank >= 0
        self.parameters: list[Any] | None = None  # of the learner, when last found valid

    def _open(self, known: OneVsRest) -> None:
        signs, self._table = np.empty(1), np.empty((1, self._n_columns))
        # Python's own views are faster, and take nothing but numbers of the same type and shape.
        self._row, self._sign = self._table[0].data, signs.data
        if self.takes_sparse:
            self._row = SparseRow(self._n_columns)
            self._table = self._row.rows

        self._engines, self._unseen = self._own(known, signs)
        self._first, self._is_binary = self._engines[0], len(self._engines) == 1
        self._only = self._first if self._is_binary and self._unseen is None else None

    def _own(self, known: OneVsRest, signs: Array) -> tuple[list[Engine], Engine | None]:
        """Return copies that learn where rows and signs are written."""

        def own(state: Any) -> Engine:
            return Engine(copy_state(state), known.settings, self._table, signs)

        unseen = None if known.unseen is None else own(known.unseen)
        return [own(state) for state in known.states], unseen

    def _copied(self) -> OneVsRest:
        return _with_copies(self._classes, self._engines, self._unseen)

    def _write(self, row: Any, place: int | None) -> bool:
        try:
            self._row[:] = row
        except (TypeError, ValueError):  # no array of float64
            if isinstance(row, Mapping) or issparse(row):
                raise
            other = np.asarray(row)
            if other.shape != self._row.shape or other.dtype.kind not in "fiub":
                raise ValueError(
                    f"found a row of shape {other.shape} and type {other.dtype}; expected "
                    f"{len(self._row)} numbers"
                ) from None
            self._row[:] = other.astype(np.float64)
        return True

    def _learn_written(self) -> bool:
        if self._only is not None:
            self._sign[0] = 1.0 if self._place else -1.0
            self._only.learn()
        else:
            self._learn_after(self._first.n_seen)
        return True

    def _predict_written(self) -> Array:
        first = self._first
        margin = first.predict()
        if margin != margin:
            raise ValueError("found nan or infinity in the row; expected finite numbers")
        if self._is_binary:
            return np.array(first.probabilities)
        margins = [[margin, *(each.predict() for each in self._engines[1:])]]
        several: Array = self._classes.probabilities_of(np.array(margins))[0]
        return several

    def _finish(self) -> None:
        everyone = self._everyone()
        for learning in everyone:
            learning.finish()
        self._learn_after(max(learning.n_seen for learning in everyone) - 1)

    def _everyone(self) -> list[Engine]:
        return [*self._engines, *(() if self._unseen is None else (self._unseen,))]

    def _learn_after(self, rows: int) -> None:
        """Let those posteriors learn the row that have learned only as many rows before it."""
        self._let_learn(self._engines, self._unseen, rows)

    def _let_learn(self, engines: list[Engine], unseen: Engine | None, rows: int) -> None:
        # Of two classes only the second has a posterior.
        for k, learning in enumerate(engines, start=int(self._is_binary)):
            self._learn(learning, rows, k == self._place)
        if unseen is not None:
            self._learn(unseen, rows, False)

    def _learn(self, learning: Engine, rows: int, is_it: bool) -> None:
        if learning.n_seen == rows:
            self._sign[0] = 1.0 if is_it else -1.0
            learning.learn()


class OnlineHedge(OnlinePosterior):
    """The same of a learner whose predictions are hedged: two of them, which see the same rows."""

    _classes: Hedged
    _others: list[Engine]  # of the learner beside it
    _other_unseen: Engine | None
    _counted: tuple[float, int]  # the lead, and of how many rows
    _margins: Any  # where those of a row are written, to be mixed; these are Python's own views
    _other_margins: Any
    _observed: Any
    _lead: Any

    def __init__(self, known: Hedged, n_columns: int, names: tuple[str, ...]) -> None:
        super().__init__(known, n_columns, names)
        self._classes = replace(self._classes, beside=known.beside.with_states((), None))

    def _open(self, known: OneVsRest) -> None:
        assert isinstance(known, Hedged)
        super()._open(known)
        self._only = None
        self._others, self._other_unseen = self._own(known.beside, np.asarray(self._sign))
        self._counted = known.lead, int(known.states[0].counts[ROWS])
        n_classes, noise = len(known.classes), known.settings.label_noise
        row = hedged_row(len(self._engines), n_classes, noise)
        self._room, self._mixed = StructTable(row), row.mixed[0]
        self._margins, self._other_margins = row.own[0].data, row.beside[0].data
        self._observed, self._lead = row.observed.data, row.leads.data
        events = zip(self._engines, self._others, strict=True)
        self._events = [(own.events.margin.data, other.events.margin.data) for own, other in events]
        self._mix, self._gain = entry(mix_row, int), entry(gain_of_row, int)

    def _copied(self) -> Hedged:
        known = super()._copied()
        assert isinstance(known, Hedged)
        beside = _with_copies(known.beside, self._others, self._other_unseen)
        return replace(known, beside=beside, lead=self._counted[0])

    def _predict_written(self) -> Array:
        margins, others = self._margins, self._other_margins
        for k, own in enumerate(self._engines):
            margins[k] = own.predict()
        if margins[0] != margins[0]:
            raise ValueError("found nan or infinity in the row; expected finite numbers")
        for k, other in enumerate(self._others):
            others[k] = other.predict()
        self._lead[0] = self._counted[0]
        self._mix(self._room.address)
        return np.array(self._mixed)

    def _everyone(self) -> list[Engine]:
        unseen = () if self._other_unseen is None else (self._other_unseen,)
        return [*super()._everyone(), *self._others, *unseen]

    def _learn_after(self, rows: int) -> None:
        super()._learn_after(rows)
        self._let_learn(self._others, self._other_unseen, rows)
        n_seen = self._first.n_seen
        if n_seen > self._counted[1]:
            self._counted = self._counted[0] + self._gained(), n_seen

    def _gained(self) -> float:
        """Return what the last row, which all have learned, adds to the lead."""
        place = self._place - self._is_binary  # of its posterior
        for k, (own, other) in enumerate(self._events):
            self._margins[k] = own[0] if k == place else -own[0]
            self._other_margins[k] = other[0] if k == place else -other[0]
        self._observed[0] = self._place
        return self._gain(self._room.address)


def route_of(known: OneVsRest, n_columns: int, names: tuple[str, ...]) -> OnlinePosterior:
    """Return what learns single rows from what is known on."""
    kind: Any = OnlineHedge if isinstance(known, Hedged) else OnlinePosterior
    route: OnlinePosterior = kind(known, n_columns, names)
    return route


def _with_copies(classes: Known, engines: list[Engine], unseen: Engine | None) -> Known:
    """Return the same classes with copies of what engines have learned."""
    copied = None if unseen is None else copy_state(unseen.state)
    return classes.with_states(tuple(copy_state(each.state) for each in engines), copied)
