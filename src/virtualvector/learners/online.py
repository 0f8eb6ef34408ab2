"""One row at a time: what a stream asks for, at the price of the maths.

`partial_fit` and `predict_proba` look at tables of any kind, and never change a posterior that
somebody else may hold. Here rows are arrays of numbers, checked by the kernels that use them, and
the posteriors are this route's own: they learn in place.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from virtualvector.concurrency import TakesTurns, Turn, refuse
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.learners.sparse_rows import SparseRow, sparse_table
from virtualvector.posterior import Engine, copy_state
from virtualvector.types import Array, Labels


class OnlinePosterior:
    """What has been learned; once single rows come, a copy of it learns them in place.

    Threads take turns, and see it after some whole number of rows. An interrupt may come between
    two kernels: then the row is learned to the end, by all posteriors, unless none of them has
    begun to. If another interrupt comes meanwhile, that is done by who has the next turn.

    Parameters
    ----------
    known : OneVsRest
        What has been learned.
    n_columns : int
        Of the rows.
    """

    _table: Array
    _row: Any
    _sign: Any
    _engines: list[Engine]
    _unseen: Engine | None

    def __init__(self, known: OneVsRest, n_columns: int) -> None:
        self._known: OneVsRest | None = known  # as it is now, or None
        self._classes = known.with_states((), None)
        self._places = {label: place for place, label in enumerate(known.classes.tolist())}
        self._place = 0  # of the label of the row that is being learned
        self._n_columns, self.takes_sparse = n_columns, known.settings.rank >= 0
        self._is_open = self._is_whole = False  # whether there is a copy, and no row under way
        self._may_learn = len(known.classes) > 1
        self._turn = Turn(brief=True)
        self._lock = self._turn.lock
        self.can_predict = self._may_learn and known.settling is None  # else EP has to run first
        self.parameters: list[Any] | None = None  # of the learner, when last found valid

    @property
    def known(self) -> OneVsRest:
        """What has been learned so far; it stays as it is when more is learned."""
        if self._lock._is_owned():
            refuse(self)
        with self._lock:
            if self._known is None:
                self._get_ready()
                unseen = None if self._unseen is None else copy_state(self._unseen.state)
                states = tuple(copy_state(each.state) for each in self._engines)
                self._known = self._classes.with_states(states, unseen)
            return self._known

    def close(self) -> OneVsRest:
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
                of_two: Array = first.probabilities.copy()
                return of_two
            margins = [[margin, *(each.predict() for each in self._engines[1:])]]
            several: Array = self._classes.probabilities_of(np.array(margins))[0]
            return several

    def _get_ready(self) -> None:
        """Make the copy that learns in place, or let the last row be learned to the end."""
        if not self._is_open:
            self._open()
        everyone = [*self._engines, *(() if self._unseen is None else (self._unseen,))]
        for learning in everyone:
            learning.finish()
        self._learn_after(max(learning.n_seen for learning in everyone) - 1)
        self._is_whole = True

    def _open(self) -> None:
        known = self._known
        assert known is not None
        signs = np.empty(1)
        rows: Any
        if known.settings.rank < 0:
            rows = self._table = np.empty((1, self._n_columns))
            # Python's own views are faster, and take but numbers of the same type and shape.
            self._row = self._table[0].data
        else:
            self._row = SparseRow(self._n_columns)
            rows = self._row.rows
        self._sign = signs.data

        def own(state: Any) -> Engine:
            return Engine(copy_state(state), known.settings, rows, signs)

        self._engines = [own(state) for state in known.states]
        self._unseen = None if known.unseen is None else own(known.unseen)
        self._first, self._is_binary = self._engines[0], len(self._engines) == 1
        self._only = self._first if self._is_binary and self._unseen is None else None
        self._is_open = True

    def _learn_after(self, rows: int) -> None:
        """Let those posteriors learn the row that have learned only as many rows before it."""
        # Of two classes only the second has a posterior.
        for k, learning in enumerate(self._engines, start=int(self._is_binary)):
            self._learn(learning, rows, k == self._place)
        if self._unseen is not None:
            self._learn(self._unseen, rows, False)

    def _learn(self, learning: Engine, rows: int, is_it: bool) -> None:
        if learning.n_seen == rows:
            self._sign[0] = 1.0 if is_it else -1.0
            learning.learn()

    def _write(self, x: Any) -> None:
        """Write a row that is no array of float64."""
        if isinstance(x, Mapping) or issparse(x):
            raise  # what was found to be wrong with it
        row = np.asarray(x)
        if row.shape != self._row.shape or row.dtype.kind not in "fiub":
            raise ValueError(
                f"found a row of shape {row.shape} and type {row.dtype}; expected "
                f"{len(self._row)} numbers"
            ) from None
        self._row[:] = row.astype(np.float64)


class OnlineMixin(TakesTurns, BaseEstimator):
    """`learn_one` and `predict_proba_one`, and where the posterior is kept.

    Tables of one row that need no more looking at take the same way.
    """

    _route: OnlinePosterior | None = None
    class_weight: Any
    classes_: Labels
    n_features_in_: int

    @abstractmethod
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows."""

    @abstractmethod
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row."""

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn one row: as `partial_fit`, at a fraction of its cost.

        Parameters
        ----------
        x : array-like of shape (n_features,), or dict
            Finite numbers, in the order of the columns; or by the names of all columns.
        y : label
            The class of the row.
        sample_weight : float, default=1.0
            The weight of the row, as for `fit`. Any other than 1, or a `class_weight`, takes as
            long as `partial_fit`.

        Returns
        -------
        self
            The classifier, having learned the row. After an error it is what it was before.

        Examples
        --------
        >>> from virtualvector import VVMClassifier
        >>> from virtualvector.datasets import load_ionosphere
        >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
        >>> model = VVMClassifier(margin_noise=0.5).partial_fit(X[:1], y[:1], classes=[0, 1])
        >>> for t in range(1, 300):
        ...     predicted = model.predict_proba_one(X[t])
        ...     model = model.learn_one(X[t], y[t])
        >>> model.predict_proba_one(X[300]).round(3)
        array([0.018, 0.982])
        >>> named = VVMClassifier().learn_one({"age": 31.0, "size": 1.8}, "no")
        >>> named.learn_one({"size": 1.2, "age": 3.0}, "yes").predict_one({"age": 4.0, "size": 1.1})
        'yes'
        """
        route = self._route
        if isinstance(x, Mapping):
            if route is None:  # names and order of the columns are those of the first row
                weights = None if sample_weight == 1.0 else sample_weight
                return self.partial_fit(_table(x.values(), x.keys()), [y], sample_weight=weights)
            x = self._in_order(x)
        if type(sample_weight) is not float or sample_weight != 1.0:
            return self.partial_fit(self._as_table(x), [y], sample_weight=sample_weight)
        if route is not None and self.class_weight is None and route.learn(x, y):
            return self
        return self.partial_fit(self._as_table(x), [y])

    def predict_proba_one(self, x: Any) -> Array:
        """Return the probability of each class for one row: as `predict_proba`, and much faster.

        Parameters
        ----------
        x : array-like of shape (n_features,), or dict
            As for `learn_one`.

        Returns
        -------
        ndarray of shape (n_classes,)
        """
        route = self._route
        if isinstance(x, Mapping) and route is not None:
            x = self._in_order(x)
        if route is None or not route.can_predict:
            probabilities: Array = self.predict_proba(self._as_table(x))[0]
            return probabilities
        return route.probabilities(x)

    def predict_one(self, x: Any) -> Any:
        """Return the most probable class of one row, as `predict` does."""
        if isinstance(x, Mapping) and self._route is not None:
            x = self._in_order(x)
        (label,) = self.predict(self._as_table(x))
        return label.item() if isinstance(label, np.generic) else label

    @property
    def _posterior_is_sparse(self) -> bool:
        return self._route is not None and self._route.takes_sparse

    def _in_order(self, x: Mapping[Any, Any]) -> Any:
        """Return the values of a dict in the order of the columns.

        Or the dict itself, where columns have numbers and most of them are zero.
        """
        names = self.__dict__.get("feature_names_in_")
        if names is None and self._posterior_is_sparse:
            return x
        if names is None:
            raise ValueError(
                "found a dict; expected an array, because the rows so far had no names of columns"
            )
        missing = [name for name in names if name not in x]
        unknown = [name for name in x if name not in names] if len(x) > len(names) else []
        if missing or unknown:
            raise ValueError(
                f"found a row without {missing!r:.200} and with {unknown!r:.200}; expected the "
                f"columns {names.tolist()!r:.200}"
            )
        return [x[name] for name in names]

    def _as_table(self, x: Any) -> Any:
        """Return one row as a table of one."""
        if isinstance(x, Mapping) or issparse(x):
            return sparse_table(x, self.n_features_in_)
        names = self.__dict__.get("feature_names_in_")
        row = np.asarray(x)
        if names is None or row.shape != (len(names),):
            return row[np.newaxis]
        return _table(row.tolist(), names)

    @property
    def _posterior(self) -> OneVsRest:
        """What has been learned; it stays as it is when more is learned."""
        if self._route is None:
            raise AttributeError("nothing has been learned")
        return self._route.known

    @_posterior.setter
    def _posterior(self, posterior: OneVsRest) -> None:
        self._route = OnlinePosterior(posterior, self.n_features_in_)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        route = state.pop("_route", None)  # which learns in place: each copy has its own
        return state if route is None else state | {"_learned_so_far": route.known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        known = state.pop("_learned_so_far", None)
        super().__setstate__(state)
        if known is not None:
            self._posterior = known

    def _learn_one_row(self, X: Any, y: Any, classes: Any) -> bool:
        """Learn X if it is one row that needs no more looking at; return whether it is."""
        if not (self._is_plain_row(X) and type(y) in (np.ndarray, list) and len(y) == 1):
            return False
        if classes is not None and not np.array_equal(classes, self.classes_):
            return False
        route = self._route
        return route is not None and route.learn(X[0], y[0])

    def _is_plain_row(self, X: Any) -> bool:
        return (
            type(X) is np.ndarray
            and X.shape == (1, self.__dict__.get("n_features_in_"))
            and X.dtype == np.float64
            and "feature_names_in_" not in self.__dict__
            and bool(np.isfinite(X).all())
        )

    def _validate_params(self) -> None:
        kind: Any = type(self)
        parameters = [self.__dict__[name] for name in _names_of_parameters(kind)]
        route = self._route
        if route is None or route.parameters != parameters:
            super()._validate_params()
            if route is not None:
                route.parameters = parameters


def _table(values: Iterable[Any], names: Iterable[str]) -> Any:
    """Return a data frame of one row."""
    import pyarrow as pa

    return pa.table([[value] for value in values], names=list(names))


@functools.cache
def _names_of_parameters(kind: Any) -> list[str]:
    names: list[str] = kind._get_param_names()
    return names
