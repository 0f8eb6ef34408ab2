"""Single rows as a committee takes them, of any kind, and where what it has learned is kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from virtualvector.auto.committee import Committee
from virtualvector.auto.online import Known, OnlineCommittee
from virtualvector.auto.sparse import LearnsSparseTables
from virtualvector.features.encoder import Encoder
from virtualvector.features.tables import Columns
from virtualvector.learners.columns import ADD
from virtualvector.learners.online import TakesRows
from virtualvector.learners.sparse_rows import sparse_table
from virtualvector.learners.validation import as_learned, checked_labels
from virtualvector.types import Labels
from virtualvector.values import Marks, is_missing


class CommitteeRows(LearnsSparseTables, TakesRows):
    """What `AutoVVMClassifier` does with a row, and where the committee is kept."""

    _route: OnlineCommittee | None = None
    missing_values: Sequence[str] | None
    _categorical: list[bool]

    def _likeliest(self, x: Any) -> Labels:
        probabilities = self.predict_proba_one(x)
        return self.classes_[[np.argmax(probabilities)]]

    def _learn_other_table_of_one(self, X: Any, y: Any) -> bool:
        route = self._route
        assert route is not None
        columns, _, new = self._checked_rows(X)
        if new:
            return False
        (label,) = as_learned(checked_labels(y, len(columns[0])), self.classes_, may_be_new=True)
        return route.learn(route.row_of(columns), label)

    def _is_plain_row(self, X: Any) -> bool:
        return super()._is_plain_row(X) and self._route is not None and self._route.is_plain

    @abstractmethod
    def _checked_rows(self, X: Any, reset: bool = False) -> Columns:
        """Return the columns of a table."""

    def _go_on(self) -> None:
        """Get ready to learn a table: no more single rows are learned where others were."""
        if self._route is not None:
            self._route.stop()

    def _row(self, route: OnlineCommittee, x: Any) -> Any:
        if route.is_plain and not isinstance(x, Mapping):
            if type(x) is np.ndarray and x.dtype == np.float64:
                return x if len(x) == self.n_features_in_ else None
            row = np.asarray(x)
            fits = row.shape == (self.n_features_in_,) and row.dtype.kind in "fiu"
            return row.astype(np.float64) if fits else None
        if isinstance(x, Mapping):
            if not (route.names and (x.keys() <= route.set_of_names or self._lacks_new(route, x))):
                return None
            x = [x.get(name) for name in route.names]
        elif len(x) != self.n_features_in_:
            return None
        read = route.reader.read(x)
        return read.numbers if read is not None and route.is_plain else read

    def _as_table(self, x: Any) -> Any:
        if issparse(x) or (self._wide is not None and isinstance(x, Mapping)):
            return sparse_table(x, self.__dict__.get("n_features_in_", 0))
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
        if new and self.new_columns != ADD:
            raise ValueError(
                f"Found the columns {new!r:.200}; expected those of the first row: "
                f"{names.tolist()!r:.200}; or new_columns='add'."
            )
        return {name: [x.get(name)] for name in (*names, *new)}

    def _lacks_new(self, route: OnlineCommittee, x: Mapping[str, Any]) -> bool:
        """Whether all columns of a row that are new are missing: they have not come yet."""
        unknown = x.keys() - route.set_of_names
        return self.new_columns == ADD and all(is_missing(x[name]) for name in unknown)

    @property
    def _known(self) -> Known:
        """What has been learned; it stays as it is when more is learned."""
        if self._route is None:
            raise AttributeError("nothing has been learned")
        return self._route.known

    @_known.setter
    def _known(self, known: Known) -> None:
        self._begin_route(known)

    def _begin_route(self, known: Known) -> OnlineCommittee:
        names = tuple(self.__dict__.get("feature_names_in_", ()))
        self._route = OnlineCommittee(known, self._marks, names)
        return self._route

    @property
    def _marks(self) -> Marks:
        """Texts that stand for a missing value."""
        return Marks(() if self.missing_values is None else self.missing_values)

    @property
    def _committee(self) -> Committee:
        return self._known.committee

    @property
    def _encoder(self) -> Encoder:
        return self._known.encoder
