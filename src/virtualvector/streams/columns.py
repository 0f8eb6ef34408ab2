"""What a column holds, what is asked of the rows, and what can be wrong with one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from virtualvector.streams.bad_input import BadInput

MISSING = ("", "NA", "N/A", "null", "?")
PEEK = 100  # rows that decide what a column holds
BLANKS = " \t"  # which do not count around what a cell holds

_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE | re.ASCII
)


class Column(NamedTuple):
    """A column of a table.

    Examples
    --------
    >>> from virtualvector.streams import Column
    >>> Column("town", named=True)
    Column(name='town', named=True)
    """

    name: str
    named: bool  # holds names rather than numbers


class Plan(NamedTuple):
    """What is to be read of each file."""

    columns: tuple[Column, ...]
    label: str | None
    missing: tuple[str, ...]
    learned: bool  # a model expects these columns; otherwise the first rows decided

    @property
    def wanted(self) -> tuple[Column, ...]:
        """The columns, then the label."""
        label = () if self.label is None else (Column(self.label, named=True),)
        return (*self.columns, *label)


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
    return float(text) if _NUMBER.fullmatch(text) else None


def check_twice(place: str, names: Sequence[str]) -> None:
    """Raise if two columns have the same name."""
    name, times = Counter(names).most_common(1)[0]
    if times > 1:
        raise BadInput(f"{place}: found the column {name!r} more than once.")


def place_of(row: str, column: str | None) -> str:
    """Return where a cell is, or a row without a column."""
    return row if column is None else f"{row}, column {column!r}"


def shown(text: str) -> str:
    """Return a text in quotes, and only its beginning if it is long."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def listed(names: Iterable[str]) -> str:
    """Return names in quotes, and only the first of them if they are many."""
    quoted = [repr(name) for name in names]
    more = f" and {len(quoted) - 20} more" if len(quoted) > 20 else ""
    return ", ".join(quoted[:20]) + more
