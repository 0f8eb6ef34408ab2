"""One row at a time: what a stream asks for, at the price of the maths.

`partial_fit` and `predict_proba` look at tables of any kind, and never change a posterior that
somebody else may hold. Here rows are arrays of numbers, checked by the kernels that use them, and
the posteriors are the route's own: they learn in place.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from virtualvector.kernels.triangular import Array
from virtualvector.learners.one_against_rest import OneAgainstRest
from virtualvector.posterior import Learning, copy_state


class OneRow:
    """What has been learned about two classes or more, and learns on in place."""

    def __init__(self, known: OneAgainstRest, n_columns: int) -> None:
        self._known: OneAgainstRest | None = known  # until more is learned
        self._classes = known.with_states((), None)
        self._table, self._signs = np.empty((1, n_columns)), np.empty(1)
        # Python's own views are faster, and take nothing but numbers of the same type and shape.
        self._row: Any = self._table[0].data
        self._sign: Any = self._signs.data
        self._learning = [self._own(state) for state in known.states]
        self._unseen = None if known.unseen is None else self._own(known.unseen)
        self._first, self._is_binary = self._learning[0], len(self._learning) == 1
        self._only = self._first if self._is_binary and self._unseen is None else None
        self._lock = Lock()  # kernels let other threads run
        self.parameters: list[Any] | None = None  # of the learner, when last found valid
        self.can_predict = known.settling is None  # else EP has to run first
        self._places = {label: place for place, label in enumerate(known.classes.tolist())}

    def _own(self, state: Any) -> Learning:
        return Learning(copy_state(state), self._classes.settings, self._table, self._signs)

    @property
    def known(self) -> OneAgainstRest:
        """What has been learned so far; it stays as it is when more is learned."""
        with self._lock:
            if self._known is None:
                unseen = None if self._unseen is None else copy_state(self._unseen.state)
                states = tuple(copy_state(each.state) for each in self._learning)
                self._known = self._classes.with_states(states, unseen)
            return self._known

    def learn(self, x: Any, label: Any) -> bool:
        """Learn a row if its label is one of the classes; return whether it is."""
        try:
            place = self._places.get(label)
        except TypeError:  # not hashable
            return False
        if place is None:
            return False
        with self._lock:
            self._known = None
            self._write(x)
            if self._only is not None:
                self._sign[0] = 1.0 if place else -1.0
                self._only.learn()
                return True
            rows = self._first.n_seen
            try:
                self._learn_after(rows, place)
            except BaseException:  # an interrupt may come between two posteriors
                if self._first.n_seen > rows:
                    self._learn_after(rows, place)
                raise
            return True

    def _learn_after(self, rows: int, place: int) -> None:
        """Let those posteriors learn the row that have learned only as many rows before it."""
        # Of two classes only the second has a posterior.
        for k, learning in enumerate(self._learning, start=int(self._is_binary)):
            self._learn(learning, rows, k == place)
        if self._unseen is not None:
            self._learn(self._unseen, rows, False)

    def _learn(self, learning: Learning, rows: int, is_it: bool) -> None:
        if learning.n_seen == rows:
            self._sign[0] = 1.0 if is_it else -1.0
            learning.learn()

    def probabilities(self, x: Any) -> Array:
        """Return the probability of each class."""
        with self._lock:
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

    def _write(self, x: Any) -> None:
        try:
            self._row[:] = x
        except (TypeError, ValueError):
            self._row[:] = self._numbers(x)

    def _numbers(self, x: Any) -> Array:
        row = np.asarray(x)
        if row.shape != self._row.shape or row.dtype.kind not in "fiub":
            raise ValueError(
                f"found a row of shape {row.shape} and type {row.dtype}; expected "
                f"{len(self._row)} numbers"
            ) from None
        return row.astype(np.float64)
