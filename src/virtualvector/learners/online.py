"""One row at a time: what a stream asks for, at the price of the maths.

`partial_fit` and `predict_proba` look at tables of any kind, and never change a posterior that
somebody else may hold. A `Route` has memory of its own, in which single rows are learned in place;
`TakesRows` is what estimators have of that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from virtualvector.concurrency import TakesTurns, Turn, refuse
from virtualvector.learners.columns import ERROR
from virtualvector.types import Array, Labels

Known = TypeVar("Known")


class Route(ABC, Generic[Known]):
    """What has been learned; once single rows come, a copy of it learns them in place.

    Threads take turns, and see it after some whole number of rows. An interrupt may come between
    two kernels: then the row is learned to the end, unless it was not begun. If another interrupt
    comes meanwhile, that is done by who has the next turn.

    Parameters
    ----------
    known : object
        What has been learned.
    classes : ndarray
        Those known so far.
    names : tuple of str
        Those of the columns, if they have any.
    can_predict : bool
        Whether a row alone can be predicted; not while there is but one class.
    """

    def __init__(
        self, known: Known, classes: Labels, names: tuple[str, ...], can_predict: bool = True
    ) -> None:
        self.names, self.set_of_names = names, frozenset(names)
        self._known: Known | None = known  # as it is now, or None
        self._places = {label: place for place, label in enumerate(classes.tolist())}
        self._place = 0  # of the label of the row that is being learned
        self._is_open = self._is_whole = False  # whether there is a copy, and no row under way
        self._may_learn = len(classes) > 1
        self._can_predict = self._may_learn and can_predict
        self._turn = Turn(brief=True)
        self._lock = self._turn.lock

    @property
    def known(self) -> Known:
        """What has been learned so far; it stays as it is when more is learned."""
        if self._lock._is_owned():
            refuse(self)
        with self._lock:
            if self._known is None:
                self._known = self._now()
            return self._known

    def stop(self) -> None:
        """Learn no row here any more.

        For who is about to learn a table: what comes of that takes the place of this.
        """
        self._may_learn = False

    def close(self) -> Known:
        """Return what has been learned; no row is learned here any more."""
        self.stop()
        return self.known

    def _now(self) -> Known:
        """Return what has been learned, if no row has been learned elsewhere."""
        self._get_ready()
        return self._copied()

    def learn(self, row: Any, label: Any) -> bool:
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
            if not self._write(row, place):
                return False
            self._known, self._place, self._is_whole = None, place, False
            try:
                learned = self._learn_written()
            except BaseException:
                self._get_ready()
                raise
            self._is_whole = True
            return learned

    def probabilities(self, row: Any) -> Array | None:
        """Return the probability of each class for a row; None if that takes a table."""
        if self._lock._is_owned():
            refuse(self)
        with self._lock:
            if not self._can_predict:
                return None
            if not self._is_whole:
                self._get_ready()
            return self._predict_written() if self._write(row, None) else None

    def _get_ready(self) -> None:
        """Make the copy that learns in place, or let the last row be learned to the end."""
        if not self._is_open:
            assert self._known is not None
            self._open(self._known)
            self._is_open = True
        self._finish()
        self._is_whole = True

    @abstractmethod
    def _open(self, known: Known) -> None:
        """Make the copy that learns in place."""

    @abstractmethod
    def _copied(self) -> Known:
        """Return what has been learned, in memory of its own."""

    @abstractmethod
    def _write(self, row: Any, place: int | None) -> bool:
        """Write a row to where it is learned, as of a class, or predicted, if there is room."""

    @abstractmethod
    def _learn_written(self) -> bool:
        """Learn the row that was written; return whether it was learned."""

    @abstractmethod
    def _predict_written(self) -> Array | None:
        """Return the probabilities of the row that was written; None if that takes a table."""

    @abstractmethod
    def _finish(self) -> None:
        """Learn the last row to the end, if that was interrupted."""


class TakesRows(TakesTurns, BaseEstimator):
    """`learn_one`, `predict_proba_one` and `predict_one`; tables of one row go the same way."""

    _route: Any = None  # a `Route`, once something has been learned
    class_weight: Any
    new_columns: str = ERROR
    classes_: Labels
    n_features_in_: int
    feature_names_in_: Any

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
        x : array-like of shape (n_columns,), or dict
            The values of the row in the order of the columns; or by the names of columns, which are
            those of the first row, unless `new_columns` says otherwise. A column that a dict does
            not have is missing, which is an error to all but `AutoVVMClassifier`. With a covariance
            of low rank it may be a sparse row, or a dict by the numbers of columns not zero.
        y : label
            The class of the row.
        sample_weight : float, default=1.0
            The weight of the row, as for `fit`. Any other than 1, or a `class_weight`, takes as
            long as `partial_fit`; so does the first row of a class.

        Returns
        -------
        self
            The classifier, having learned the row. After an error it is what it was before.

        Examples
        --------
        >>> from virtualvector import AutoVVMClassifier, VVMClassifier
        >>> from virtualvector.datasets import load_ionosphere
        >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
        >>> model = VVMClassifier(margin_noise=0.5).partial_fit(X[:1], y[:1], classes=[0, 1])
        >>> for t in range(1, 300):
        ...     predicted = model.predict_proba_one(X[t])
        ...     model = model.learn_one(X[t], y[t])
        >>> model.predict_proba_one(X[300]).round(3)
        array([0.018, 0.982])
        >>> model = AutoVVMClassifier(random_state=0)
        >>> for amount in range(1, 40):
        ...     for country in ("NO", "SE"):
        ...         row = {"amount": float(amount), "country": country}
        ...         model = model.learn_one(row, "yes" if country == "NO" else "no")
        >>> model.predict_one({"country": "NO"})
        'yes'
        """
        route, is_whole = self._route, type(sample_weight) is float and sample_weight == 1.0
        if route is not None and is_whole and self.class_weight is None:
            row = self._row(route, x)
            if row is not None and route.learn(row, y):
                return self
        weights = None if sample_weight == 1.0 else [sample_weight]
        return self.partial_fit(self._as_table(x), [y], sample_weight=weights)

    def predict_proba_one(self, x: Any) -> Array:
        """Return the probability of each class for one row: as `predict_proba`, and much faster.

        Parameters
        ----------
        x : array-like of shape (n_columns,), or dict
            As for `learn_one`.

        Returns
        -------
        ndarray of shape (n_classes,)
        """
        route = self._route
        row = None if route is None else self._row(route, x)
        probabilities: Array | None = None if row is None else route.probabilities(row)
        if probabilities is None:
            check_is_fitted(self)
            probabilities = self.predict_proba(self._as_table(x))[0]
        return probabilities

    def predict_one(self, x: Any) -> Any:
        """Return the most probable class of one row, as `predict` does."""
        check_is_fitted(self)
        (label,) = self._likeliest(x)
        return label.item() if isinstance(label, np.generic) else label

    def _learn_table_of_one(self, X: Any, y: Any, classes: Any) -> bool:
        """Learn X if it is one row that needs no more looking at; return whether it is."""
        route = self._route
        if route is None or self.class_weight is not None or type(y) not in (np.ndarray, list):
            return False
        if len(y) != 1 or (classes is not None and not np.array_equal(classes, self.classes_)):
            return False
        if self._is_plain_row(X):
            return bool(route.learn(X[0], y[0]))
        return self._learn_other_table_of_one(X, y)

    def _learn_other_table_of_one(self, X: Any, y: Any) -> bool:
        """Do so if X is no array of numbers."""
        return False

    def _is_plain_row(self, X: Any) -> bool:
        """Whether X is an array of one row of numbers."""
        return (
            type(X) is np.ndarray
            and X.shape == (1, self.__dict__.get("n_features_in_"))
            and X.dtype == np.float64
            and "feature_names_in_" not in self.__dict__
        )

    @abstractmethod
    def _row(self, route: Any, x: Any) -> Any:
        """Return a row as a route takes it; None if it has to be looked at as a table."""

    @abstractmethod
    def _as_table(self, x: Any) -> Any:
        """Return one row as a table of one."""

    @abstractmethod
    def _likeliest(self, x: Any) -> Labels:
        """Return the most probable class of one row, in an array of one."""

    @abstractmethod
    def _begin_route(self, known: Any) -> Any:
        """Go on from what has been learned."""

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        route = state.pop("_route", None)  # which learns in place: each copy has its own
        return state if route is None else state | {"_learned_so_far": route.known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = state.get("_learned_so_far")
        super().__setstate__({k: v for k, v in state.items() if k != "_learned_so_far"})
        if known is not None:
            self._begin_route(known)
