"""The columns of any table, and which of them hold names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from virtualvector.frames import is_table, labels_of, without_dictionaries


class Columns(NamedTuple):
    """The columns of a table: floats, or objects where a column holds names."""

    values: list[Any]
    named: list[bool]


def columns_of(X: Any, named: list[bool] | None = None) -> Columns:
    """Return the columns of a table or an array.

    Parameters
    ----------
    X : data frame or array of shape (n_rows, n_columns)
        Texts, categories and truth values are names; the rest has to be numbers, nan where missing.
    named : list of bool, optional
        Which columns hold names, if that is known; otherwise it is found out.

    Returns
    -------
    Columns
        Numbers as floats.

    Examples
    --------
    >>> import pandas as pd
    >>> from virtualvector.features.columns import columns_of
    >>> columns_of(pd.DataFrame({"age": [31, None], "city": ["Rome", "Oslo"]})).named
    [False, True]
    """
    if is_table(X):
        labels = labels_of(X)
        X = without_dictionaries(X)
        raw = [np.asarray(X[label]) for label in labels]
    else:
        X = np.asarray(X)
        if X.dtype == np.float64 and not any(named or ()) and not np.isinf(X).any():
            return Columns(list(X.T), [False] * X.shape[1])
        labels = list(range(X.shape[1]))
        raw = list(X.T)
    if named is None:
        kinds = [str(X[label].dtype) if hasattr(X, "dtypes") else "" for label in labels]
        named = [k == "category" or _holds_names(c) for k, c in zip(kinds, raw, strict=True)]
    values = [
        column if is_name else _numbers(column, label)
        for column, label, is_name in zip(raw, labels, named, strict=True)
    ]
    return Columns(values, named)


def named_columns(categorical: Any, n_columns: int, labels: Sequence[str] | None) -> list[bool]:
    """Return which columns hold names, said by their labels, by their places, or by a mask.

    Examples
    --------
    >>> from virtualvector.features.columns import named_columns
    >>> named_columns(["city"], 2, ["age", "city"])
    [False, True]
    >>> named_columns([0], 2, None)
    [True, False]
    """
    chosen = np.atleast_1d(np.asarray(categorical))
    if chosen.dtype.kind == "b" and chosen.shape == (n_columns,):
        return [bool(is_name) for is_name in chosen]
    by_label = chosen.dtype.kind in "OUS"
    there = list(range(n_columns)) if not by_label else [] if labels is None else list(labels)
    for each in chosen.tolist():
        if each not in there:
            known = there if by_label else f"0 to {n_columns - 1}"
            raise ValueError(
                f"categorical_features has {each!r}; expected columns of X, which are {known}."
            )
    return [each in chosen for each in there] if len(chosen) else [False] * n_columns


def _holds_names(column: Any) -> bool:
    if column.dtype.kind != "O":
        return column.dtype.kind in "USb"
    return any(isinstance(value, str | bool) for value in column)


def _numbers(column: Any, label: Any) -> Any:
    if column.dtype.kind in "OUS":
        numbers = np.empty(len(column))
        for row, value in enumerate(column):
            try:
                missing = value is None or type(value).__name__ == "NAType"
                numbers[row] = np.nan if missing else float(value)
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
