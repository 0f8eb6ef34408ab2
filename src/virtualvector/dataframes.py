"""Data frames of any library, and the names of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_X_y, validate_data


def is_table(X: Any) -> bool:
    """Whether X is a data frame: pandas, polars or Arrow."""
    return hasattr(X, "columns") or hasattr(X, "column_names")


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


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, pandas' NA, or nan.

    Examples
    --------
    >>> from virtualvector.dataframes import is_missing
    >>> is_missing(None), is_missing(float("nan")), is_missing("nan"), is_missing(0)
    (True, True, False, False)
    """
    if value is None or type(value).__name__ == "NAType":
        return True
    other = value != value
    return other is not False and bool(np.any(other))


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

    def plain(field: Any) -> Any:
        is_dictionary = pa.types.is_dictionary(field.type)
        return field.with_type(field.type.value_type) if is_dictionary else field

    return table.cast(pa.schema([plain(field) for field in table.schema]))


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
    labels = labels_of(X) if is_table(X) and not _is_like_pandas(X) else None
    if labels is None or not all(isinstance(label, str) for label in labels):
        return validate_data(estimator, X, reset=reset, **options)
    import pyarrow as pa

    names_alone = pa.table([[]] * len(labels), names=labels)
    validate_data(estimator, names_alone, reset=reset, skip_check_array=True)
    if options.pop("skip_check_array", False):
        return X
    X = without_dictionaries(X)
    if "y" in options:
        return check_X_y(X, estimator=estimator, **options)
    return check_array(X, estimator=estimator, input_name="X", **options)


def _is_arrow(table: Any) -> bool:
    return hasattr(table, "column_names") and not _is_like_pandas(table)


def _is_like_pandas(table: Any) -> bool:
    return hasattr(table, "iloc")
