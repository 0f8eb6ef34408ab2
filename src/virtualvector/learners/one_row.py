"""One row at a time: what a stream asks for, at the price of the maths.

`partial_fit` and `predict_proba` look at tables of any kind, and never change a posterior that
somebody else may hold. Here rows are arrays of numbers, checked by the kernels that use them, and
the posteriors are the route's own: they learn in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from virtualvector.kernels.triangular import Array
from virtualvector.learners.one_against_rest import OneAgainstRest
from virtualvector.posterior import Learning, copy_state
from virtualvector.turns import Turn, refuse


class OneRow:
    """What has been learned; once single rows come, a copy of it learns them in place.

    Threads take turns, and see it after some whole number of rows. An interrupt may come between
    two kernels: then the row is learned to the end, by all posteriors, unless none of them has
    begun to. If another interrupt comes meanwhile, that is done by who has the next turn.

    Parameters
    ----------
    known : OneAgainstRest
        What has been learned.
    n_columns : int
        Of the rows.
    """

    _table: Array
    _row: Any
    _sign: Any
    _learning: list[Learning]
    _unseen: Learning | None

    def __init__(self, known: OneAgainstRest, n_columns: int) -> None:
        self._known: OneAgainstRest | None = known  # as it is now, or None
        self._classes = known.with_states((), None)
        self._places = {label: place for place, label in enumerate(known.classes.tolist())}
        self._place = 0  # of the label of the row that is being learned
        self._n_columns = n_columns
        self._is_open = self._is_whole = False  # whether there is a copy, and no row under way
        self._may_learn = len(known.classes) > 1
        self._turn = Turn(brief=True)
        self._lock = self._turn.lock
        self.can_predict = self._may_learn and known.settling is None  # else EP has to run first
        self.parameters: list[Any] | None = None  # of the learner, when last found valid

    @property
    def known(self) -> OneAgainstRest:
        """What has been learned so far; it stays as it is when more is learned."""
        if self._lock._is_owned():
            refuse(self)
        with self._lock:
            if self._known is None:
                self._get_ready()
                unseen = None if self._unseen is None else copy_state(self._unseen.state)
                states = tuple(copy_state(each.state) for each in self._learning)
                self._known = self._classes.with_states(states, unseen)
            return self._known

    def close(self) -> OneAgainstRest:
        """Return what has been learned; no row is learned here any more.

        For who is about to learn a table: what comes of that takes the place of this.
        """
        self._may_learn = False
        return self.known

    def learn(self, x: Any, label: Any) -> bool:
        """Learn a row if that needs no more looking at; return whether it was learned."""
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
            try:
                self._row[:] = x
            except (TypeError, ValueError):
                self._write(x)
            self._known, self._place, self._is_whole = None, place, False
            try:
                if self._only is not None:
                    self._sign[0] = 1.0 if place else -1.0
                    self._only.learn()
                else:
                    self._learn_after(self._first.n_seen)
            except BaseException:
                self._get_ready()
                raise
            self._is_whole = True
            return True

    def probabilities(self, x: Any) -> Array:
        """Return the probability of each class for a row; only if ``can_predict``."""
        if self._lock._is_owned():
            refuse(self)
        with self._lock:
            if not self._is_whole:
                self._get_ready()
            try:
                self._row[:] = x
            except (TypeError, ValueError):
                self._write(x)
            first = self._first
            margin = first.predict()
            if margin != margin:
                raise ValueError("found nan or infinity in the row; expected finite numbers")
            if self._is_binary:
                return first.said.copy()
            margins = [[margin, *(each.predict() for each in self._learning[1:])]]
            several: Array = self._classes.probabilities_of(np.array(margins))[0]
            return several

    def _get_ready(self) -> None:
        """Make the copy that learns in place, or let the last row be learned to the end."""
        if not self._is_open:
            self._open()
        everyone = [*self._learning, *(() if self._unseen is None else (self._unseen,))]
        for learning in everyone:
            learning.finish()
        self._learn_after(max(learning.n_seen for learning in everyone) - 1)
        self._is_whole = True

    def _open(self) -> None:
        known = self._known
        assert known is not None
        self._table, signs = np.empty((1, self._n_columns)), np.empty(1)
        # Python's own views are faster, and take nothing but numbers of the same type and shape.
        self._row, self._sign = self._table[0].data, signs.data

        def own(state: Any) -> Learning:
            return Learning(copy_state(state), known.settings, self._table, signs)

        self._learning = [own(state) for state in known.states]
        self._unseen = None if known.unseen is None else own(known.unseen)
        self._first, self._is_binary = self._learning[0], len(self._learning) == 1
        self._only = self._first if self._is_binary and self._unseen is None else None
        self._is_open = True

    def _learn_after(self, rows: int) -> None:
        """Let those posteriors learn the row that have learned only as many rows before it."""
        # Of two classes only the second has a posterior.
        for k, learning in enumerate(self._learning, start=int(self._is_binary)):
            self._learn(learning, rows, k == self._place)
        if self._unseen is not None:
            self._learn(self._unseen, rows, False)

    def _learn(self, learning: Learning, rows: int, is_it: bool) -> None:
        if learning.n_seen == rows:
            self._sign[0] = 1.0 if is_it else -1.0
            learning.learn()

    def _write(self, x: Any) -> None:
        """Write a row that is no array of float64."""
        row = np.asarray(x)
        if row.shape != self._row.shape or row.dtype.kind not in "fiub":
            raise ValueError(
                f"found a row of shape {row.shape} and type {row.dtype}; expected "
                f"{len(self._row)} numbers"
            ) from None
        self._row[:] = row.astype(np.float64)
