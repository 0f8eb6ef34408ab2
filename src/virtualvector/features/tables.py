"""The columns of any table, and which of them are categorical."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from virtualvector.dataframes import is_missing, is_table, labels_of, without_dictionaries


class Columns(NamedTuple):
    """The columns of a table: floats, or objects where a column is categorical."""

    values: list[Any]
    categorical: list[bool]


def columns_of(X: Any, categorical: list[bool] | None = None) -> Columns:
    """Return the columns of a table or an array.

    Parameters
    ----------
    X : data frame or array of shape (n_rows, n_columns)
        Texts, categories and truth values are categorical; the rest has to be numbers, nan where
        one is missing.
    categorical : list of bool, optional
        Which columns are categorical, if that is known; otherwise it is found out.

    Returns
    -------
    Columns
        Numbers as floats.

    Examples
    --------
    >>> import pandas as pd
    >>> from virtualvector.features.tables import columns_of
    >>> columns_of(pd.DataFrame({"age": [31, None], "city": ["Rome", "Oslo"]})).categorical
    [False, True]
    """
    if is_table(X):
        labels = labels_of(X)
        X = without_dictionaries(X)
        raw = [np.asarray(X[label]) for label in labels]
    else:
        X = np.asarray(X)
        if X.dtype == np.float64 and not any(categorical or ()) and not np.isinf(X).any():
            return Columns(list(X.T), [False] * X.shape[1])
        labels = list(range(X.shape[1]))
        raw = list(X.T)
    if categorical is None:
        kinds = [str(X[label].dtype) if hasattr(X, "dtypes") else "" for label in labels]
        categorical = [
            k == "category" or _is_categorical(c) for k, c in zip(kinds, raw, strict=True)
        ]
    values = [
        column if is_categorical else _numbers(column, label)
        for column, label, is_categorical in zip(raw, labels, categorical, strict=True)
    ]
    return Columns(values, categorical)


def categorical_columns(
    categorical: Any, n_columns: int, labels: Sequence[str] | None
) -> list[bool]:
    """Return which columns are categorical, said by their labels, by their places, or by a mask.

    Examples
    --------
    >>> from virtualvector.features.tables import categorical_columns
    >>> categorical_columns(["city"], 2, ["age", "city"])
    [False, True]
    >>> categorical_columns([0], 2, None)
    [True, False]
    """
    chosen = np.atleast_1d(np.asarray(categorical))
    if chosen.dtype.kind == "b" and chosen.shape == (n_columns,):
        return [bool(is_categorical) for is_categorical in chosen]
    by_label = chosen.dtype.kind in "OUS"
    there = list(range(n_columns)) if not by_label else [] if labels is None else list(labels)
    for each in chosen.tolist():
        if each not in there:
            known = there if by_label else f"0 to {n_columns - 1}"
            raise ValueError(
                f"categorical_features has {each!r}; expected columns of X, which are {known}."
            )
    return [each in chosen for each in there] if len(chosen) else [False] * n_columns


def _is_categorical(column: Any) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind in "USb"
    return any(isinstance(value, str | bool) for value in column)


def _numbers(column: Any, label: Any) -> Any:
    if column.dtype.kind in "OUS":
        numbers = np.empty(len(column))
        for row, value in enumerate(column):
            try:
                numbers[row] = np.nan if is_missing(value) else float(value)
            except (TypeError, ValueError):
                raise ValueError(
                    f"Input X has {value!r} at row {row}, column {label!r}; expected a number, as "
                    "in the rows before."
                ) from None
    else:
        numbers = np.asarray(column, dtype=np.float64)
    infinite = np.isinf(numbers)
    if infinite.any():
        raise ValueError(
            f"Input X contains infinity at row {int(np.argmax(infinite))}, column {label!r}; "
            "expected finite numbers, or nan where one is missing."
        )
    return numbers
