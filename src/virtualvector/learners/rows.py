"""Single rows as linear learners take them: numbers, in the order of columns or by their names."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from virtualvector.dataframes import is_table, labels_of
from virtualvector.learners.columns import ADD, check_width, new_labels
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.learners.online import TakesRows
from virtualvector.learners.online_posterior import OnlinePosterior, route_of
from virtualvector.learners.sparse_rows import sparse_table
from virtualvector.learners.validation import checked_rows
from virtualvector.types import Labels


class LinearRows(TakesRows):
    """What linear learners do with a row, and where the posterior is kept."""

    _route: OnlinePosterior | None = None

    @property
    def _posterior(self) -> OneVsRest:
        """What has been learned; it stays as it is when more is learned."""
        if self._route is None:
            raise AttributeError("nothing has been learned")
        return self._route.known

    @_posterior.setter
    def _posterior(self, posterior: OneVsRest) -> None:
        self._begin_route(posterior)

    def _begin_route(self, known: OneVsRest) -> None:
        names = tuple(self.__dict__.get("feature_names_in_", ()))
        self._route = route_of(known, self.n_features_in_, names)

    def _row(self, route: OnlinePosterior, x: Any) -> Any:
        if not isinstance(x, Mapping):
            return x
        if not route.names and route.takes_sparse:
            return x
        if not route.names:
            raise ValueError(
                "found a dict; expected an array, because the rows so far had no names of columns"
            )
        if self.new_columns == ADD:
            is_known = x.keys() <= route.set_of_names
            return [x.get(name, 0.0) for name in route.names] if is_known else None
        missing = [name for name in route.names if name not in x]
        if missing or len(x) > len(route.names):
            unknown = [name for name in x if name not in route.set_of_names]
            raise ValueError(
                f"found a row without {missing!r:.200} and with {unknown!r:.200}; expected the "
                f"columns {list(route.names)!r:.200}; or new_columns='add'"
            )
        return [x[name] for name in route.names]

    def _as_table(self, x: Any) -> Any:
        route = self._route
        if isinstance(x, Mapping):
            row = None if route is None else self._row(route, x)
            if row is None:  # the first row, or one with new columns: it has names of its own
                return _table(x.values(), x.keys())
            x = row
        if isinstance(x, Mapping) or issparse(x):
            return sparse_table(x, self.n_features_in_)
        row = np.asarray(x)
        if route is None or not route.names or row.shape != (len(route.names),):
            return row[np.newaxis]
        return _table(row.tolist(), route.names)

    def _with_all_columns(self, X: Any, learn: bool = False) -> tuple[Self, Any]:
        """Return who takes a table, another one if it has new columns, and it with all columns.

        That is where these may be added; otherwise a table has to be as those before. If ``learn``,
        the other one is to take the place of this one.
        """
        route = self._route
        if self.new_columns != ADD or route is None or not route.names or not is_table(X):
            return self, X
        labels = labels_of(X)
        if labels == list(route.names) or not all(isinstance(label, str) for label in labels):
            return self, X
        new = new_labels(labels, route.set_of_names)
        numbers = checked_rows(BaseEstimator(), X, reset=True)
        model = self._widened(len(new), new, learn) if new else self
        names = [*route.names, *new]
        rows = np.zeros((len(numbers), len(names)))
        rows[:, [names.index(label) for label in labels]] = numbers
        return model, _table(rows.T, names)

    def with_more_features(self, n_more: int) -> Self:
        """Return the same classifier for rows with more columns, behind those that it knows.

        It is as if all rows so far had had zeros there: the new weights have their prior.

        Parameters
        ----------
        n_more : int
            How many more columns.

        Examples
        --------
        >>> from virtualvector import ADFClassifier
        >>> narrow = ADFClassifier(margin_noise=1.0).fit([[1.0], [-1.0], [2.0]], [1, 0, 1])
        >>> wide = narrow.with_more_features(1)
        >>> wide.predict_proba([[1.0, 0.0], [1.0, 3.0]])[:, 1].round(3)
        array([0.813, 0.641])
        """
        check_is_fitted(self)
        if n_more < 0:
            raise ValueError(f"found n_more = {n_more}; expected 0 or more")
        if hasattr(self, "feature_names_in_"):
            raise ValueError(
                f"{type(self).__name__} has learned columns with names; expected arrays, whose "
                "columns have none, if more are to come; or new_columns='add'"
            )
        return self._widened(n_more)

    def _widened(self, n_more: int, names: Sequence[str] = (), learn: bool = False) -> Self:
        """Return the same for rows with more columns behind those known: so far zeros."""
        route, n_features = self._route, self.n_features_in_
        assert route is not None
        check_width(n_features + n_more)
        known = route.close() if learn else route.known
        wider = copy(self)
        wider.n_features_in_ = n_features + n_more
        if names:
            wider.feature_names_in_ = np.array([*self.feature_names_in_, *names], dtype=object)
        wider._posterior = known.with_more_weights(n_features, n_more)
        return wider

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _likeliest(self, x: Any) -> Labels:
        labels: Labels = self.predict(self._as_table(x))
        return labels

    def _is_plain_row(self, X: Any) -> bool:
        return super()._is_plain_row(X) and bool(np.isfinite(X).all())

    def _validate_params(self) -> None:
        kind: Any = type(self)
        parameters = [self.__dict__[name] for name in _names_of_parameters(kind)]
        route = self._route
        if route is None or route.parameters != parameters:
            super()._validate_params()
            if route is not None:
                route.parameters = parameters


def _table(columns: Iterable[Any], names: Iterable[str]) -> Any:
    """Return a data frame of columns, or of one row."""
    import pyarrow as pa

    cells = [each if isinstance(each, np.ndarray) else [each] for each in columns]
    return pa.table(cells, names=list(names))


@functools.cache
def _names_of_parameters(kind: Any) -> list[str]:
    names: list[str] = kind._get_param_names()
    return names
