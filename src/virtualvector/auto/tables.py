"""Tables as a committee takes them, of any library."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from virtualvector.auto.online import Known
from virtualvector.auto.plan import check_affordable
from virtualvector.auto.rows import CommitteeRows
from virtualvector.auto.sparse import asked_of_either
from virtualvector.concurrency import of_one_moment
from virtualvector.dataframes import Record, is_table, labels_of, validated
from virtualvector.features.tables import (
    Columns,
    aligned,
    categorical_columns,
    columns_of,
    first_texts,
    there_in,
)
from virtualvector.learners.columns import ADD, new_labels
from virtualvector.prose import is_plain_prose
from virtualvector.values import Marks, is_quoted_number


class TakesTables(CommitteeRows):
    """What `AutoVVMClassifier` does with a table before it learns or predicts it."""

    categorical_features: Any
    scale: bool

    @of_one_moment
    @asked_of_either
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
        if issparse(X):
            raise TypeError(
                "Sparse data was passed for X, but the tables so far were dense; expected a dense "
                "table, or a model that has begun with a sparse one."
            )
        marks, route = self._marks, self._route
        if not reset and route is not None and self._may_have_new(X):
            new_labels(labels_of(X), route.set_of_names)
            _check_length(X)
            kinds = dict(zip(route.names, route.kinds, strict=True))
            return aligned(X, kinds, self._chosen_names, marks)
        if not reset and self._is_like_the_first(X):
            pass
        elif is_table(X) or _is_as_it_should_be(X):
            validated(self, X, reset=reset, skip_check_array=True)
            _check_length(X)
        else:
            kind = None if getattr(X, "dtype", np.dtype(float)).kind in "OUSM" else np.float64
            X = validated(self, X, reset=reset, dtype=kind, ensure_all_finite="allow-nan")
        if not reset and route is not None:
            return columns_of(X, route.kinds, marks=marks)
        if self.categorical_features is None:
            columns = columns_of(X, marks=marks)
            _warn_of_doubtful(X, columns, marks)
        else:
            labels = getattr(self, "feature_names_in_", None)
            may_come = self.new_columns == ADD
            chosen = categorical_columns(
                self.categorical_features, self.n_features_in_, labels, may_come
            )
            columns = columns_of(X, categorical=chosen, marks=marks)
        columns = self._with_values(columns)
        if any(columns.times) and not self.scale:
            raise ValueError("Input X has dates or times; expected numbers where scale=False.")
        return columns

    def _is_like_the_first(self, X: Any) -> bool:
        """Whether X is an array of numbers, without names as the first table was, and as wide."""
        is_array = _is_as_it_should_be(X) and "feature_names_in_" not in self.__dict__
        return is_array and X.shape[1] == self.__dict__.get("n_features_in_")

    def _may_have_new(self, X: Any) -> bool:
        """Whether X is a table whose columns are others than those known, and may be."""
        route = self._route
        if self.new_columns != ADD or route is None or not route.names or not is_table(X):
            return False
        labels = labels_of(X)
        return labels != list(route.names) and all(isinstance(label, str) for label in labels)

    def _with_values(self, columns: Columns) -> Columns:
        """Return the first columns of all; if others may come, those that have come: with a value.

        What the others hold will be known then.
        """
        names = self.__dict__.get("feature_names_in_")
        if self.new_columns != ADD or names is None:
            return columns
        there = [k for k, values in enumerate(columns.values) if there_in(values).any()]
        if not there:
            raise ValueError(
                "Found missing values only; expected at least one value in the first call."
            )
        self.feature_names_in_, self.n_features_in_ = names[there], len(there)
        return Columns([columns.values[k] for k in there], [columns.kinds[k] for k in there])

    @property
    def _chosen_names(self) -> set[str] | None:
        """The names of categorical columns, if the user says which are; None: that is found out."""
        if self.categorical_features is None:
            return None
        chosen = np.atleast_1d(np.asarray(self.categorical_features))
        return set(chosen.tolist()) if chosen.dtype.kind in "OUS" else set()

    def _add_columns(self, columns: Columns) -> None:
        """Know columns that are new from now on, as if all rows so far had lacked them."""
        if not columns.new:
            return
        committee, encoder = self._known
        encoder = encoder.with_columns(columns.kinds[-len(columns.new) :], committee.n_rows)
        rank = committee.at_start[0].rank
        check_affordable(encoder, committee.feature_space, len(committee.classes), rank)
        self.feature_names_in_ = np.array([*self.feature_names_in_, *columns.new], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self._categorical = list(encoder.categorical)
        self._known = Known(committee.wide_enough(encoder.n_inputs), encoder)


def _warn_of_doubtful(X: Any, columns: Columns, marks: Marks) -> None:
    """Warn of columns that are taken for categorical, and are something else to most people."""
    labels = labels_of(X) if is_table(X) else range(len(columns.kinds))
    categorical = [k for k, is_it in zip(labels, columns.categorical, strict=True) if is_it]
    texts = first_texts(X, categorical, marks)
    prose = [label for label, some in texts.items() if is_plain_prose(some)]
    quoted = [label for label, some in texts.items() if all(map(is_quoted_number, some))]
    notes = {
        "plainly hold texts": (prose, f"WideVVMClassifier(text_features={prose!r:.200}) for words"),
        "hold numbers in quotes": (quoted, "numbers, as float() makes of them"),
    }
    for what, (found, expected) in notes.items():
        if found:
            warnings.warn(
                f"the columns {found!r:.200} {what}, each of which is taken for a category; "
                f"expected {expected}, or categorical_features with all that are categorical.",
                UserWarning,
                stacklevel=5,
            )


def _check_length(X: Any) -> None:
    if len(X) == 0:
        raise ValueError("Found array with 0 sample(s); expected at least one row.")


def _is_as_it_should_be(X: Any) -> bool:
    """Whether X is an array of numbers, for which scikit-learn's checks only take time."""
    return type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size > 0
