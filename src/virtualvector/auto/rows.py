"""Single rows as a committee takes them, of any kind, and where what it has learned is kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from virtualvector.auto.committee import Committee
from virtualvector.auto.online import Known, OnlineCommittee
from virtualvector.auto.validation import check_room
from virtualvector.concurrency import TakesTurns
from virtualvector.features.encoder import Encoder
from virtualvector.features.tables import Columns, cells_of
from virtualvector.learners.validation import as_learned, checked_labels
from virtualvector.types import Array, Labels
from virtualvector.values import Marks


class TakesRows(TakesTurns, BaseEstimator):
    """`learn_one`, `predict_proba_one` and `predict_one` of `AutoVVMClassifier`."""

    _route: OnlineCommittee | None = None
    class_weight: Any
    missing_values: Sequence[str] | None
    _categorical: list[bool]
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
        x : array-like of shape (n_columns,), or dict
            The values of the row in the order of the columns; or by the names of columns, which are
            then those of the first row. A column that a dict does not have is missing.
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
        >>> from virtualvector import AutoVVMClassifier
        >>> model = AutoVVMClassifier(random_state=0)
        >>> for amount in range(1, 40):
        ...     for country in ("NO", "SE"):
        ...         row = {"amount": float(amount), "country": country}
        ...         model = model.learn_one(row, "yes" if country == "NO" else "no")
        >>> model.predict_one({"country": "NO"})
        'yes'
        """
        plain = type(sample_weight) is float and sample_weight == 1.0 and self.class_weight is None
        if plain and self._learn_row(x, y):
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
        probabilities = self._probabilities_of_row(x)
        if probabilities is None:
            check_is_fitted(self)
            probabilities = self.predict_proba(self._as_table(x))[0]
        return probabilities

    def predict_one(self, x: Any) -> Any:
        """Return the most probable class of one row, as `predict` does."""
        label = self.classes_[np.argmax(self.predict_proba_one(x))]
        return label.item() if isinstance(label, np.generic) else label

    def _learn_row(self, x: Any, label: Any) -> bool:
        """Learn a row if that needs no more looking at; return whether it was learned."""
        route = self._route
        if route is None:
            return False
        row = self._row(route, x)
        return row is not None and route.learn(row, label)

    def _learn_table_of_one(self, X: Any, y: Any, classes: Any) -> bool:
        """Learn X if it is one row that needs no more looking at; return whether it is."""
        route = self._route
        if route is None or self.class_weight is not None or type(y) not in (np.ndarray, list):
            return False
        if len(y) != 1 or (classes is not None and not np.array_equal(classes, self.classes_)):
            return False
        if self._is_plain_row(X):
            return route.learn(X[0], y[0])
        columns = self._checked_rows(X).values
        (label,) = as_learned(checked_labels(y, len(columns[0])), self.classes_, may_be_new=True)
        return route.learn(route.row_of(columns), label)

    @abstractmethod
    def _checked_rows(self, X: Any, reset: bool = False) -> Columns:
        """Return the columns of a table."""

    def _is_plain_row(self, X: Any) -> bool:
        return (
            type(X) is np.ndarray
            and X.shape == (1, self.__dict__.get("n_features_in_"))
            and X.dtype == np.float64
            and "feature_names_in_" not in self.__dict__
        )

    def _go_on(self) -> None:
        """Get ready to learn a table: no more single rows are learned where others were."""
        if self._route is not None:
            self._known = self._route.close()

    def _probabilities_of_row(self, x: Any) -> Array | None:
        route = self._route
        row = None if route is None else self._row(route, x)
        return None if row is None or route is None else route.probabilities(row)

    def _row(self, route: OnlineCommittee, x: Any) -> Any:
        """Return a row as it is learned; None if it has to be looked at as a table."""
        if route.is_plain and not isinstance(x, Mapping):
            if type(x) is np.ndarray and x.dtype == np.float64:
                return x if len(x) == self.n_features_in_ else None
            row = np.asarray(x)
            fits = row.shape == (self.n_features_in_,) and row.dtype.kind in "fiu"
            return row.astype(np.float64) if fits else None
        if isinstance(x, Mapping):
            if not (route.names and x.keys() <= route.set_of_names):
                return None
            x = [x.get(name) for name in route.names]
        elif len(x) != self.n_features_in_:
            return None
        cells = cells_of(x, route.kinds, route.marks)
        return None if cells is None else route.row_of(cells)

    def _as_table(self, x: Any) -> Any:
        """Return one row as a table of one."""
        names = self.__dict__.get("feature_names_in_")
        if not isinstance(x, Mapping):
            row = np.asarray(x)
            row = np.array(x, object) if row.dtype.kind in "US" else row
            if names is None or self._route is None:
                return row[np.newaxis]
            if row.shape != (len(names),):
                raise ValueError(
                    f"Found a row of shape {row.shape}; expected {len(names)} values, one for each "
                    "column."
                )
            return dict(zip(names, row[:, np.newaxis], strict=True))
        if names is None:
            if self._route is not None:
                raise ValueError(
                    "Found a dict; expected an array, because the rows so far had no names of "
                    "columns."
                )
            return x
        new = [name for name in x if name not in names]
        if new:
            raise ValueError(
                f"Found the columns {new!r}; expected those of the first row: {names.tolist()!r}."
            )
        return {name: [x.get(name)] for name in names}

    @property
    def _known(self) -> Known:
        """What has been learned; it stays as it is when more is learned."""
        if self._route is None:
            raise AttributeError("nothing has been learned")
        return self._route.known

    @_known.setter
    def _known(self, known: Known) -> None:
        marks = Marks(() if self.missing_values is None else self.missing_values)
        names = tuple(self.__dict__.get("feature_names_in_", ()))
        self._route = OnlineCommittee(known, marks, names)

    @property
    def _committee(self) -> Committee:
        return self._known.committee

    @property
    def _encoder(self) -> Encoder:
        return self._known.encoder

    def _take(self, learned: dict[str, Any]) -> None:
        check_room(learned["encoder"])
        self._known = Known(learned["committee"], learned["encoder"])
        self._categorical = learned["categorical"]

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        route = state.pop("_route", None)  # which learns in place: each copy has its own
        return state if route is None else state | {"_learned_so_far": route.known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        known = state.pop("_learned_so_far", None)
        super().__setstate__(state)
        if known is not None:
            self._known = known
