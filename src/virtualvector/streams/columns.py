"""What a column holds, what is asked of the rows, and what can be wrong with one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from virtualvector.escaping import quoted
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.limits import CELLS, LONGEST_COLUMN, WIDEST
from virtualvector.values import Kind, Marks

if TYPE_CHECKING:
    import pyarrow as pa

_INDEX = re.compile(r"__index_level_\d+__|Unnamed: 0|")


class Column(NamedTuple):
    """A column of a table.

    Examples
    --------
    >>> from virtualvector.streams import Column
    >>> Column("town", categorical=True)
    Column(name='town', categorical=True, time=False, text=False, n_places=0)
    """

    name: str
    categorical: bool  # rather than numeric
    time: bool = False  # or rather dates or times
    text: bool = False  # or rather texts, of which words count
    n_places: int = 0  # of sparse rows, if the column holds these

    @property
    def kind(self) -> Kind:
        """What the column holds."""
        if self.n_places:
            return "sparse"
        if self.text:
            return "text"
        return "category" if self.categorical else "time" if self.time else "number"

    def as_list(self) -> list[Any]:
        """Return it as notes have it: texts and sparse rows came later."""
        return list(self if self.text or self.n_places else self[:3])

    @classmethod
    def of_kind(cls, name: str, kind: Kind) -> Self:
        """Return a column that holds numbers, categories or times."""
        return cls(name, kind == "category", kind == "time")


@dataclass(frozen=True)
class Plan:
    """What is to be read of each file."""

    columns: tuple[Column, ...]
    label: str | None
    marks: Marks  # of missing values
    learned: bool  # a model expects these columns; otherwise the first rows decided
    ids: tuple[str, ...] = ()  # columns that are handed on as they are
    weight: str | None = None  # the column that has the weights of rows

    @cached_property
    def wanted(self) -> tuple[Column, ...]:
        """The columns, then that of weights, then the label, then those that are handed on."""
        weight = () if self.weight is None else (Column(self.weight, categorical=False),)
        label = () if self.label is None else (self.label,)
        texts = (Column(name, categorical=True) for name in (*label, *self.ids))
        return (*self.columns, *weight, *texts)

    @cached_property
    def texts(self) -> frozenset[str]:
        """The columns that are read as texts: all but numbers and sparse rows."""
        others = ("number", "sparse")
        return frozenset(column.name for column in self.wanted if column.kind not in others)

    def type_of(self, column: Column) -> pa.DataType:
        """Return what cells of a wanted column are stored as."""
        import pyarrow as pa

        if column.n_places:
            return sparse_type()
        return pa.string() if column.name in self.texts else pa.float64()

    @property
    def rows_at_once(self) -> int:
        """How many rows are taken up at once."""
        return max(1, CELLS // len(self.wanted))


def sparse_type() -> pa.DataType:
    """Return the type of columns that hold sparse rows: each cell is a list of entries."""
    import pyarrow as pa

    return pa.list_(pa.struct([("index", pa.int64()), ("value", pa.float64())]))


class Problem(NamedTuple):
    """Why a row is left out."""

    column: str | None
    message: str  # what was found and what was expected


def check_names(place: str, names: Sequence[str], most: int = WIDEST) -> None:
    """Raise if there are no or too many columns, two of the same name, or one that is no name."""
    if not names:
        raise BadInput(f"{place}: found no columns; expected some.")
    if len(names) > most:
        raise BadInput(f"{place}: found {len(names):,} columns; expected at most {most:,}.")
    for name, times in Counter(names).items():
        if times > 1:
            raise BadInput(
                f"{place}: found the column {quoted(name)} more than once; expected names that "
                "differ."
            )
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


def is_index(name: str) -> bool:
    """Whether a column is called as pandas calls an index that has no name.

    Examples
    --------
    >>> from virtualvector.streams.columns import is_index
    >>> is_index("__index_level_0__"), is_index("Unnamed: 0"), is_index("index")
    (True, True, False)
    """
    return bool(_INDEX.fullmatch(name))


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
