"""Tables of any library, and sparse ones, as columns that can be encoded."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from virtualvector.concurrency import of_one_moment
from virtualvector.dataframes import (
    Record,
    entries_of,
    is_sparse_column,
    is_table,
    labels_of,
    validated,
)
from virtualvector.features.tables import categorical_columns, columns_of, first_texts
from virtualvector.features.wide import WideEncoder
from virtualvector.learners.validation import checked_rows
from virtualvector.prose import is_plain_prose
from virtualvector.values import Kind, Marks, is_missing


class WideColumns(NamedTuple):
    """The columns of a table: arrays, and sparse rows."""

    values: list[Any]
    kinds: list[Kind]
    names: list[Any]
    n_sparse: int = 0

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        n_rows: int = self.values[0].shape[0]
        return n_rows

    def rows(self, which: Any) -> list[Any]:
        """Return some rows of each column."""
        return [values[which] for values in self.values]


class TakesWideTables(BaseEstimator):
    """What `WideVVMClassifier` does with a table before it learns or predicts it."""

    text_features: Any
    categorical_features: Any
    missing_values: Sequence[str] | None
    n_places: int | None
    n_features_in_: int
    _encoder: WideEncoder

    @of_one_moment
    def count_unseen(self, X: Any) -> NDArray[np.int64]:
        """Return how many values of each column are of a category that has never been learned."""
        check_is_fitted(self)
        return self._encoder.count_unseen(self._checked_rows(X).values)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that tables may be sparse, values missing, and columns texts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _checked_rows(self, X: Any, reset: bool = False) -> WideColumns:
        if isinstance(X, Mapping) and not hasattr(X, "shape"):
            X = Record(X)
        known = None if reset else self._encoder
        is_sparse = sparse.issparse(X) or (known is not None and list(known.kinds) == ["sparse"])
        if is_sparse and not is_table(X):
            return self._checked_sparse(X, reset)
        marks = Marks(self.missing_values or ())
        if is_table(X):
            validated(self, X, reset=reset, skip_check_array=True)
            names = labels_of(X)
        else:
            kind = None if getattr(X, "dtype", np.dtype(float)).kind in "OUSM" else np.float64
            X = validated(self, X, reset=reset, dtype=kind, ensure_all_finite="allow-nan")
            names = list(range(self.n_features_in_))
        if len(X) == 0:
            raise ValueError("Found array with 0 sample(s); expected at least one row.")
        kinds: list[Any] = (
            self._kinds_at_first(X, names, marks) if known is None else [*known.kinds]
        )
        n_sparse = self.n_places if known is None else known.n_sparse
        # Where it is said what is categorical all others are not: numbers, or times as found.
        is_told = known is None and self.categorical_features is not None
        return _converted(X, names, kinds, marks, n_sparse, is_told)

    def _checked_sparse(self, X: Any, reset: bool) -> WideColumns:
        """Return a sparse table, or an array in its place, as one column."""
        table = checked_rows(self, X if sparse.issparse(X) else np.asarray(X), reset=reset)
        csr = sparse.csr_array(getattr(table, "csr", table))
        csr.eliminate_zeros()
        if csr.shape[0] == 0:
            raise ValueError("Found array with 0 sample(s); expected at least one row.")
        return WideColumns([csr], ["sparse"], ["f"], csr.shape[1])

    def _kinds_at_first(self, X: Any, names: list[Any], marks: Marks) -> list[Kind | None]:
        """Return what columns hold, as far as that is known beforehand."""
        labels = names if is_table(X) else None
        n = len(names)
        kinds: list[Kind | None] = [None] * n
        for kind, chosen in (("category", self.categorical_features), ("text", self.text_features)):
            if chosen is not None:
                which = categorical_columns(chosen, n, labels, what=f"{_PARAMETERS[kind]}")
                kinds = [kind if is_it else k for is_it, k in zip(which, kinds, strict=True)]  # type: ignore[misc]
        if is_table(X):
            for k, name in enumerate(names):
                if is_sparse_column(X[name]):
                    kinds[k] = "sparse"
        if kinds.count("sparse") > 1:
            raise ValueError("Found several columns of sparse rows; expected one.")
        if self.text_features is None:
            undecided = [name for name, kind in zip(names, kinds, strict=True) if kind is None]
            texts = first_texts(X, undecided, marks)
            found = [name for name, some in texts.items() if is_plain_prose(some)]
            kinds = ["text" if n in found else k for n, k in zip(names, kinds, strict=True)]
            if found:
                warnings.warn(
                    f"the columns {found!r:.200} plainly hold texts, and are learned by their "
                    "words; expected text_features with them, or with none, or "
                    "categorical_features where each text counts as a whole.",
                    UserWarning,
                    stacklevel=4,
                )
        return kinds


_PARAMETERS = {"category": "categorical_features", "text": "text_features"}


def _converted(
    X: Any,
    names: list[Any],
    kinds: Sequence[Kind | None],
    marks: Marks,
    n_sparse: int | None,
    is_told: bool,
) -> WideColumns:
    plain = [k for k, kind in enumerate(kinds) if kind not in ("text", "sparse")]
    values: list[Any] = [None] * len(names)
    found: list[Any] = list(kinds)
    if plain:
        some = _selected(X, names, plain)
        categorical = [kinds[k] == "category" for k in plain] if is_told else None
        columns = columns_of(some, [kinds[k] for k in plain], categorical, marks)
        for k, cells, kind in zip(plain, columns.values, columns.kinds, strict=True):
            values[k], found[k] = cells, kind
    for k, given in enumerate(kinds):
        if given == "text":
            values[k] = _texts(X[names[k]] if is_table(X) else X[:, k])
        elif given == "sparse":
            values[k] = _sparse_rows(X[names[k]], n_sparse)
            n_sparse = values[k].shape[1]
    return WideColumns(values, found, names, (n_sparse or 0) if "sparse" in found else 0)


def _selected(X: Any, names: list[Any], which: list[int]) -> Any:
    if not is_table(X):
        return X[:, which]
    some = [names[k] for k in which]
    if len(some) == len(names):
        return X
    if isinstance(X, Record):
        return Record({name: X[name] for name in some})
    return X.select(some) if hasattr(X, "select") else X[some]


def _texts(column: Any) -> Any:
    cells = column.to_pylist() if hasattr(column, "to_pylist") else np.asarray(column).tolist()
    texts = ["" if is_missing(cell) else str(cell) for cell in cells]
    return np.array(texts, dtype=object)


def _sparse_rows(column: Any, n_places: int | None) -> Any:
    lengths, indices, values = entries_of(column)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    n_found = int(indices.max(initial=-1)) + 1
    width = max(n_found, 1) if n_places is None else n_places
    if indices.min(initial=0) < 0 or n_found > width:
        raise ValueError(
            f"Input X has indices of sparse rows from {indices.min()} to {n_found - 1}; expected "
            f"them from 0 to {width - 1}."
        )
    rows = sparse.csr_array((values, indices, starts), shape=(len(lengths), width))
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not np.isfinite(rows.data).all():
        raise ValueError("Input X has nan or infinity in sparse rows; expected finite numbers.")
    return rows
