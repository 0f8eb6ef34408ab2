"""One row of any table as numbers and categories, in less time than a table of it takes."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan
from typing import Any, NamedTuple

import numpy as np

from virtualvector.features.times import PARTS, parts_of_time
from virtualvector.values import (
    BLANKS,
    Kind,
    Marks,
    category,
    is_missing,
    is_one_value,
    number_in,
    time_of,
)

_NOT_AS_WRITTEN = (np.float16, np.float32)  # of which a file has fewer digits
_USUAL = frozenset((float, int, str, bool, type(None)))
_MOST_CATEGORIES = 2**14  # texts whose category is remembered
_NO_TIME = (nan,) * len(PARTS)


class Row(NamedTuple):
    """The numbers of a row, of which times have several, and its categories; both by column."""

    numbers: list[float]  # nan where missing
    categories: list[str]  # "" where missing


class RowReader:
    """Reads rows as `columns_of` reads tables, to the last bit.

    Parameters
    ----------
    kinds : sequence of str
        What each column holds.
    marks : Marks
        Texts that stand for a missing value.

    Examples
    --------
    >>> from virtualvector.features.one_row import RowReader
    >>> from virtualvector.values import USUAL
    >>> reader = RowReader(["number", "category", "category"], USUAL)
    >>> reader.read([31, "Rome", None])
    Row(numbers=[31.0], categories=['Rome', ''])
    >>> reader.read(["old", "Rome", None])
    """

    def __init__(self, kinds: Sequence[Kind], marks: Marks) -> None:
        self._kinds, self._marks = list(kinds), marks
        self._numbers = frozenset(marks.numbers)
        self._texts: dict[str, str] = {}

    def read(self, values: Sequence[Any]) -> Row | None:
        """Return a row; None if a value has to be looked at more closely, or refused."""
        numbers: list[float] = []
        categories: list[str] = []
        for value, kind in zip(values, self._kinds, strict=True):
            if type(value) not in _USUAL and isinstance(value, np.generic):
                if type(value) in _NOT_AS_WRITTEN:
                    return None
                value = value if isinstance(value, np.datetime64) else value.item()
            if kind == "category":
                known = self._texts.get(value) if type(value) is str else None
                found = self._category(value) if known is None else known
                if found is None:
                    return None
                categories.append(found)
            elif kind == "number":
                number = self._number(value)
                if number is None:
                    return None
                numbers.append(number)
            else:
                parts = self._parts(value)
                if parts is None:
                    return None
                numbers += parts
        return Row(numbers, categories)

    def of_columns(self, columns: Sequence[Any]) -> Row:
        """Return the columns of a table of one row as a row."""
        each = [*zip(columns, self._kinds, strict=True)]
        numbers = [
            number
            for column, kind in each
            if kind != "category"
            for number in (_parts_in(column) if kind == "time" else (float(column[0]),))
        ]
        return Row(numbers, [column[0] for column, kind in each if kind == "category"])

    def _number(self, value: Any) -> float | None:
        if type(value) is not float:
            if type(value) is str:
                text = value.strip(BLANKS)
                found = nan if text in self._marks.of_numbers else number_in(text)
            elif type(value) is int:
                found = _finite(value)
            else:
                return nan if is_missing(value) else None
            if found is None:
                return None
            value = found
        if value in self._numbers:
            return nan
        return value if isfinite(value) or value != value else None

    def _category(self, value: Any) -> str | None:
        if not is_one_value(value):
            return None
        found = category(value, self._marks)
        if type(value) is str:
            if len(self._texts) == _MOST_CATEGORIES:
                self._texts = {}
            self._texts[value] = found
        return found

    def _parts(self, value: Any) -> tuple[float, ...] | None:
        is_text = isinstance(value, str)
        if value.strip(BLANKS) in self._marks.of_numbers if is_text else is_missing(value):
            return _NO_TIME
        try:
            time = time_of(value)
        except OverflowError:
            return None
        return None if time is None else parts_of_time(time)


def _finite(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _parts_in(column: Any) -> tuple[float, ...]:
    return _NO_TIME if np.isnat(column[0]) else parts_of_time(int(column.astype(np.int64)[0]))
