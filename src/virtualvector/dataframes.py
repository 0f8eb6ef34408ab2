"""Data frames of any library, and the names of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_X_y, validate_data

from virtualvector.types import Array, IntArray


class TimesFound(ValueError):
    """A table has dates, times or durations where there have to be numbers."""


def is_table(X: Any) -> bool:
    """Whether X is a data frame: pandas, polars or Arrow."""
    kind = type(X)  # asked of a table itself, some would make a list of thousands of columns
    return hasattr(kind, "columns") or hasattr(kind, "column_names")


class Record:
    """A table made of a dict: of columns, or of the values of one row.

    Examples
    --------
    >>> from virtualvector.dataframes import Record
    >>> len(Record({"age": 31, "city": "Rome"})), len(Record({"age": [31, 40]}))
    (1, 2)
    """

    def __init__(self, cells: Mapping[Any, Any]) -> None:
        self._columns = {name: _cells(values) for name, values in cells.items()}
        lengths = {name: len(values) for name, values in self._columns.items()}
        if len({*lengths.values()}) > 1:
            raise ValueError(f"Found columns of different lengths: {lengths}; expected one length.")

    @property
    def columns(self) -> list[Any]:
        """The names of the columns."""
        return list(self._columns)

    def __getitem__(self, name: Any) -> NDArray[Any]:
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))


def _cells(values: Any) -> NDArray[Any]:
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    if isinstance(values, str) or not hasattr(values, "__len__"):
        values = [values]
    cells = np.empty(len(values), dtype=object)
    cells[:] = list(values)
    return cells


def labels_of(table: Any) -> list[Any]:
    """Return the names of the columns of a data frame.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from virtualvector.dataframes import labels_of
    >>> labels_of(pa.table({"age": [31], "city": ["Rome"]}))
    ['age', 'city']
    """
    return list(table.column_names if _is_arrow(table) else table.columns)


def without_dictionaries(table: Any) -> Any:
    """Return a data frame with every column of Arrow's dictionaries as what they stand for.

    As an array such a column has its last entry where it has none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from virtualvector.dataframes import without_dictionaries
    >>> table = pa.table({"city": pa.array(["Rome", "Oslo", None]).dictionary_encode()})
    >>> without_dictionaries(table)["city"].to_numpy()
    array(['Rome', 'Oslo', None], dtype=object)
    """
    if not _is_arrow(table):
        return table
    import pyarrow as pa

    if not any(map(pa.types.is_dictionary, table.schema.types)):
        return table

    def plain(field: Any) -> Any:
        is_dictionary = pa.types.is_dictionary(field.type)
        return field.with_type(field.type.value_type) if is_dictionary else field

    return table.cast(pa.schema([plain(field) for field in table.schema]))


def floats_of(table: Any) -> NDArray[np.float64] | None:
    """Return a table of Arrow's as an array, nan where a value is missing; None if not all floats.

    Column by column that would take its time, where there are thousands.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from virtualvector.dataframes import floats_of
    >>> floats_of(pa.table({"age": [31.0, None], "size": [1.8, 1.7]}))
    array([[31. ,  1.8],
           [ nan,  1.7]])
    >>> floats_of(pa.table({"city": ["Rome"]}))
    """
    if not _is_arrow(table) or not hasattr(type(table), "to_batches"):
        return None
    import pyarrow as pa

    if 0 in table.shape or any(kind != pa.float64() for kind in table.schema.types):
        return None
    (whole,) = table.combine_chunks().to_batches()
    floats: NDArray[np.float64] = whole.to_tensor(null_to_nan=True).to_numpy()
    return floats


def validated(estimator: BaseEstimator, X: Any, *, reset: bool = True, **options: Any) -> Any:
    """As scikit-learn's `validate_data`, which does not see the names of every data frame.

    Of which it does, besides those of pandas and Arrow's tables, depends on its version and on that
    of the library: names would be lost, and columns in another order not noticed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sklearn.base import BaseEstimator
    >>> from virtualvector.dataframes import validated
    >>> estimator = BaseEstimator()
    >>> validated(estimator, pa.record_batch({"age": [31.0], "size": [1.8]}))
    array([[31. ,  1.8]])
    >>> estimator.feature_names_in_
    array(['age', 'size'], dtype=object)
    """
    _refuse_what_has_no_columns(X)
    labels = labels_of(X) if is_table(X) and not _is_like_pandas(X) else None
    if labels is None or not all(isinstance(label, str) for label in labels):
        if not options.get("skip_check_array") and options.get("dtype") is not None:
            _refuse_times(X, labels_of(X) if is_table(X) else None)
        return validate_data(estimator, X, reset=reset, **options)
    known = None if reset else getattr(estimator, "feature_names_in_", None)
    if options.get("skip_check_array", False) and known is not None and labels == known.tolist():
        return X
    import pyarrow as pa

    names_alone = pa.table([[]] * len(labels), names=labels)
    validate_data(estimator, names_alone, reset=reset, skip_check_array=True)
    if options.pop("skip_check_array", False):
        return X
    _refuse_times(X, labels)
    X = without_dictionaries(X)
    if "y" in options:
        return check_X_y(X, estimator=estimator, **options)
    return check_array(X, estimator=estimator, input_name="X", **options)


def _refuse_what_has_no_columns(X: Any) -> None:
    """Raise if X holds rows, but in a form of which nobody knows the columns."""
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], Mapping):
        raise ValueError(
            "Found a list of dicts; expected a table, such as pandas.DataFrame(X), or one dict "
            "at a time, as learn_one takes it."
        )
    if getattr(getattr(X, "dtype", None), "names", None):
        raise ValueError("Found a structured array; expected a table, as pandas.DataFrame(X).")
    if not is_table(X):
        return
    if not hasattr(type(X), "__len__"):
        raise ValueError(
            f"Found a {type(X).__name__}, which has not been computed; expected a table, as "
            "X.collect()."
        )
    if 0 in getattr(X, "shape", (1,))[1:]:
        raise ValueError(
            f"Found a table with 0 feature(s) (shape={tuple(X.shape)}); expected columns."
        )


def _refuse_times(X: Any, labels: Sequence[Any] | None) -> None:
    """Raise if a column holds times, of which others make numbers: nanoseconds, or days."""
    if labels is None:
        times = ["X"] if getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M") else []
    else:
        types = X.schema.types if _is_arrow(X) else getattr(X, "dtypes", [""] * len(labels))
        times = [repr(n) for n, kind in zip(labels, types, strict=True) if _is_time(kind)]
    if times:
        raise TimesFound(
            f"Found dates, times or durations in {', '.join(times[:5])}; expected numbers. "
            "AutoVVMClassifier takes dates and times; for others leave the columns out, or make "
            "numbers of them."
        )


def _is_time(kind: Any) -> bool:
    times = ("datetime", "timedelta", "timestamp", "date", "time", "duration")
    return str(kind).lower().startswith(times)


def _is_arrow(table: Any) -> bool:
    return hasattr(type(table), "column_names") and not _is_like_pandas(table)


def _is_like_pandas(table: Any) -> bool:
    return hasattr(type(table), "iloc")


def entries_of(column: Any) -> tuple[IntArray, IntArray, Array]:
    """Return the sparse rows of a column of Arrow's: how many entries, their indices and values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from virtualvector.dataframes import entries_of
    >>> kind = pa.list_(pa.struct([("index", pa.int64()), ("value", pa.float64())]))
    >>> rows = pa.chunked_array([[[(3, 0.5), (7, 2.0)], [], None, [(1, 1.0)]]], kind)
    >>> [each.tolist() for each in entries_of(rows[1:])]
    [[0, 0, 1], [1], [1.0]]
    """
    cells = column.combine_chunks() if hasattr(column, "chunks") else column
    lengths = cells.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    indices, values = cells.flatten().flatten()
    return (
        lengths.astype(np.int64),
        np.array(indices.to_numpy(zero_copy_only=False), np.int64),
        np.array(values.to_numpy(zero_copy_only=False), np.float64),
    )


def is_sparse_column(column: Any) -> bool:
    """Whether a column of Arrow's has sparse rows: lists of an index and a value."""
    kind = str(getattr(column, "type", ""))
    return kind.startswith("list<") and "index: int64" in kind and "value: double" in kind
