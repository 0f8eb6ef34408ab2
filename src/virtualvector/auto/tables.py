"""Tables as a committee takes them, of any library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from virtualvector.auto.rows import CommitteeRows
from virtualvector.concurrency import of_one_moment
from virtualvector.dataframes import Record, is_table, validated
from virtualvector.features.tables import Columns, categorical_columns, columns_of
from virtualvector.values import Marks


class TakesTables(CommitteeRows):
    """What `AutoVVMClassifier` does with a table before it learns or predicts it."""

    categorical_features: Any
    scale: bool

    @of_one_moment
    def count_unseen(self, X: Any) -> NDArray[np.int64]:
        """Return how many values of each column are of a category that has never been learned.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_columns)
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_columns,)
            None are in columns that are not categorical, and missing values are not counted. Of a
            column with hundreds of categories, some that are new may not be.

        Examples
        --------
        >>> from virtualvector import AutoVVMClassifier
        >>> rows = {"country": ["NO", "SE"] * 4, "age": [30, 40] * 4}
        >>> model = AutoVVMClassifier().fit(rows, [0, 1] * 4)
        >>> model.count_unseen({"country": ["NO", "DK"], "age": [31, 32]})
        array([1, 0])
        """
        check_is_fitted(self)
        return self._encoder.count_unseen(self._checked_rows(X).values)

    def _checked_rows(self, X: Any, reset: bool = False) -> Columns:
        if isinstance(X, Mapping) and not hasattr(X, "shape"):  # as sparse ones have
            X = Record(X)
        if is_table(X) or _is_as_it_should_be(X):
            validated(self, X, reset=reset, skip_check_array=True)
            if len(X) == 0:
                raise ValueError("Found array with 0 sample(s); expected at least one row.")
        else:
            kind = None if getattr(X, "dtype", np.dtype(float)).kind in "OUSM" else np.float64
            X = validated(self, X, reset=reset, dtype=kind, ensure_all_finite="allow-nan")
        marks = Marks(() if self.missing_values is None else self.missing_values)
        route = self._route
        if not reset and route is not None:
            return columns_of(X, route.kinds, marks=marks)
        if self.categorical_features is None:
            columns = columns_of(X, marks=marks)
        else:
            labels = getattr(self, "feature_names_in_", None)
            chosen = categorical_columns(self.categorical_features, self.n_features_in_, labels)
            columns = columns_of(X, categorical=chosen, marks=marks)
        if any(columns.times) and not self.scale:
            raise ValueError("Input X has dates or times; expected numbers where scale=False.")
        return columns


def _is_as_it_should_be(X: Any) -> bool:
    """Whether X is an array of numbers, for which scikit-learn's checks only take time."""
    return type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size > 0
