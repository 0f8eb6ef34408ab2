"""Single rows as linear learners take them: numbers, in the order of columns or by their names."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.learners.online import OnlinePosterior, TakesRows
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
        self._route = OnlinePosterior(known, self.n_features_in_)

    def _row(self, route: OnlinePosterior, x: Any) -> Any:
        return self._in_order(x) if isinstance(x, Mapping) else x

    def _in_order(self, x: Mapping[str, Any]) -> list[Any]:
        """Return the values of a dict in the order of the columns."""
        names = self.__dict__.get("feature_names_in_")
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
        if isinstance(x, Mapping):
            if self._route is None:  # names and order of the columns are those of the first row
                return _table(x.values(), x.keys())
            x = self._in_order(x)
        names = self.__dict__.get("feature_names_in_")
        row = np.asarray(x)
        if names is None or row.shape != (len(names),):
            return row[np.newaxis]
        return _table(row.tolist(), names)

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


def _table(values: Iterable[Any], names: Iterable[str]) -> Any:
    """Return a data frame of one row."""
    import pyarrow as pa

    return pa.table([[value] for value in values], names=list(names))


@functools.cache
def _names_of_parameters(kind: Any) -> list[str]:
    names: list[str] = kind._get_param_names()
    return names
