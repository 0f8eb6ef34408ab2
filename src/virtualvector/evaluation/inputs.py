"""Any table as rows of finite numbers, for learners that take nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from virtualvector.features import RunningStandardScaler
from virtualvector.features.encoder import Encoder
from virtualvector.features.tables import columns_of
from virtualvector.features.times import parts_of
from virtualvector.types import Array

_SMALL = 2.0**-60  # one of more rows than there can be; a power of two rounds nothing


def inputs_of(table: Any, categorical: list[bool], scaling: bool = True) -> Array:
    """Return rows of numbers: each by what the rows up to it have shown, and by no later ones.

    A missing number becomes the mean of those before it. Numbers are scaled by a
    `RunningStandardScaler`, or left as they are; a date or time is seven of them. Behind them there
    is an input for each of the first categories of a categorical column, as in `AutoVVMClassifier`.

    Parameters
    ----------
    table : data frame or array of shape (n_rows, n_columns)
        Numbers, nan where one is missing, dates and times, and categories.
    categorical : list of bool
        Which columns are categorical.
    scaling : bool, default=True
        Whether numbers are scaled.

    Returns
    -------
    ndarray of shape (n_rows, n_inputs)
        Finite numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from virtualvector.evaluation.inputs import inputs_of
    >>> table = pa.table({"age": [1.0, 3.0, None], "town": ["Oslo", "Rome", "Oslo"]})
    >>> inputs_of(table, [False, True], scaling=False)
    array([[1. , 0.5, 0. ],
           [3. , 0. , 0.5],
           [2. , 0.5, 0. ]])
    """
    numbers, texts, parts = [], [], []
    columns = columns_of(table, categorical=categorical)
    for values, kind in zip(columns.values, columns.kinds, strict=True):
        if kind == "category":
            texts.append(values)
        else:
            numbers.append(parts_of(values) if kind == "time" else np.asarray(values, np.float64))
    if numbers:
        rows = _with_means(np.column_stack(numbers))
        parts.append(RunningStandardScaler().learn_then_transform(rows) if scaling else rows)
    if texts:
        parts.append(Encoder([True] * len(texts)).learn(texts))
    return np.hstack(parts)


def _with_means(rows: Array) -> Array:
    """Return rows with the mean so far where a number is missing; nothing so far is zero."""
    missing = np.isnan(rows)
    if not missing.any():
        return rows
    n_known = np.maximum(np.cumsum(~missing, axis=0), 1)
    # A mean of finite numbers is finite, their sum may not be.
    means = np.cumsum(np.where(missing, 0.0, rows) * _SMALL, axis=0) / n_known / _SMALL
    return np.where(missing, means, rows)
