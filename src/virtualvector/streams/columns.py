"""What a column holds, what is asked of the rows, and what can be wrong with one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from virtualvector.escaping import quoted
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.limits import CELLS, LONGEST_COLUMN, WIDEST

MISSING = ("", "NA", "N/A", "null", "?")
PEEK = 100  # rows that decide what a column holds
BLANKS = " \t"  # which do not count around what a cell holds

_SHORT = 1000  # characters of a number
_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE | re.ASCII
)


class Column(NamedTuple):
    """A column of a table.

    Examples
    --------
    >>> from virtualvector.streams import Column
    >>> Column("town", categorical=True)
    Column(name='town', categorical=True)
    """

    name: str
    categorical: bool  # rather than numeric


@dataclass(frozen=True)
class Plan:
    """What is to be read of each file."""

    columns: tuple[Column, ...]
    label: str | None
    missing: tuple[str, ...]
    learned: bool  # a model expects these columns; otherwise the first rows decided

    @cached_property
    def wanted(self) -> tuple[Column, ...]:
        """The columns, then the label."""
        label = () if self.label is None else (Column(self.label, categorical=True),)
        return (*self.columns, *label)

    @cached_property
    def names(self) -> frozenset[str]:
        """The columns that are categorical, the label among them."""
        return frozenset(column.name for column in self.wanted if column.categorical)

    @property
    def rows_at_once(self) -> int:
        """How many rows are taken up at once."""
        return max(1, CELLS // len(self.wanted))


class Problem(NamedTuple):
    """Why a row is left out."""

    column: str | None
    said: str  # what was found and what was expected


def number_in(text: str) -> float | None:
    """Return the number that a text is, which need not be finite, or None.

    Just what Arrow takes for one; Python takes more, such as 1_000.

    Examples
    --------
    >>> from virtualvector.streams.columns import number_in
    >>> number_in(" 1e3"), number_in("-inf"), number_in("1_000")
    (1000.0, -inf, None)
    """
    text = text.strip(BLANKS)
    if len(text) > _SHORT:  # of long ones, Python's ways take the square of their length
        return _long_number(text)
    return float(text) if _NUMBER.fullmatch(text) else None


def _long_number(text: str) -> float | None:
    import pyarrow as pa

    try:
        number: float = pa.scalar(text).cast(pa.float64()).as_py()
    except pa.ArrowInvalid:
        return None
    return number


def check_names(place: str, names: Sequence[str]) -> None:
    """Raise if there are no or too many columns, two of the same name, or one that is no name."""
    if not names:
        raise BadInput(f"{place}: found no columns; expected some.")
    if len(names) > WIDEST:
        raise BadInput(f"{place}: found {len(names):,} columns; expected at most {WIDEST:,}.")
    for name, times in Counter(names).items():
        if times > 1:
            raise BadInput(f"{place}: found the column {quoted(name)} more than once.")
        if len(name) > LONGEST_COLUMN:
            raise BadInput(
                f"{place}: found a column called {quoted(name)}, of {len(name):,} characters; "
                f"expected at most {LONGEST_COLUMN:,}."
            )
        if not is_unicode(name):
            raise BadInput(
                f"{place}: found a column called {quoted(name)}, whose bytes are no UTF-8; "
                "expected text in UTF-8."
            )


def is_unicode(text: str) -> bool:
    """Whether the text came from UTF-8; other bytes are decoded as lone surrogates."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def place_of(row: str, column: str | None) -> str:
    """Return where a cell is, or a row without a column."""
    return row if column is None else f"{row}, column {quoted(column)}"


def shown(text: str) -> str:
    """Return what was found in a cell, in quotes, and only its beginning if it is long."""
    return quoted(text, 40)


def listed(names: Iterable[str]) -> str:
    """Return names in quotes, and only the first of them if they are many."""
    every = list(names)
    more = f" and {len(every) - 20:,} more" if len(every) > 20 else ""
    return ", ".join(map(quoted, every[:20])) + more
