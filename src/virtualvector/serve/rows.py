"""Rows as JSON has them, checked as the command line checks those of a file of JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from math import isfinite
from operator import itemgetter
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from virtualvector.streams import Column
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.batches import clean
from virtualvector.streams.columns import Plan
from virtualvector.streams.json_lines import JsonLines
from virtualvector.streams.schema import check_columns
from virtualvector.types import Array
from virtualvector.values import Marks

_NUMBERS = {float, int}
# What helps at a command line, and what helps whoever sends JSON.
_ADVICE = (
    (re.compile(r" \(--.*\)\.$"), "."),
    (re.compile(r"expected 1234\.5, or --decimal .*?1\.5"), "expected a number of JSON, as 1234.5"),
    (re.compile(r"; leave the cell empty (where a value is missing\.)$"), r", or null \1"),
)


class Checked(NamedTuple):
    """Rows that a model can learn or predict."""

    values: list[list[Any]]  # of each row, in the order of the columns, as JSON has them
    table: Any  # the same as a model takes it: an array where all is numbers, or a table
    left_out: list[str]  # keys that the model does not know


class RowFormat:
    """What rows have to look like.

    Parameters
    ----------
    columns : sequence of Column
        Those of the model.
    missing : sequence of str
        Texts that stand for a missing value, beside the usual ones.
    label : str, optional
        A column that may be there and is not looked at.

    Examples
    --------
    >>> from virtualvector.serve.rows import RowFormat
    >>> from virtualvector.streams import Column
    >>> rows = RowFormat([Column("age", False), Column("town", True)])
    >>> rows.check([{"age": 31, "town": "Oslo"}]).values
    [[31, 'Oslo']]
    >>> rows.check([{"age": "old", "town": "Oslo"}])
    Traceback (most recent call last):
    virtualvector.streams.bad_input.BadInput: row 1, column 'age': found 'old'; expected a number,
    as was learned.
    """

    def __init__(
        self, columns: Sequence[Column], missing: Sequence[str] = (), label: str | None = None
    ) -> None:
        self.columns, self._label = tuple(columns), label
        self.names = [column.name for column in columns]
        # As a tuple, which it makes of two or more.
        self._values_of = itemgetter(*self.names) if len(self.names) > 1 else None
        self._floats = Struct(f"={len(self.names)}d")
        self._marks = Marks(missing)
        self._plan = Plan(self.columns, None, self._marks, learned=True)
        # Numbers need no second look, unless some of them stand for a missing value.
        self.only_numbers = (
            all(column.kind == "number" for column in columns) and not self._marks.numbers
        )

    def numbers_in(self, row: Any) -> Sequence[float] | None:
        """Return the values of a row of nothing but finite numbers; None if there is more to see.

        Examples
        --------
        >>> from virtualvector.serve.rows import RowFormat
        >>> from virtualvector.streams import Column
        >>> rows = RowFormat([Column("a", False), Column("b", False)])
        >>> rows.numbers_in({"b": 1.5, "a": 2}), rows.numbers_in({"a": None, "b": 1})
        ((2, 1.5), None)
        """
        if self._values_of is None or type(row) is not dict or len(row) != len(self.names):
            return None
        try:
            values: tuple[float, ...] = self._values_of(row)
        except KeyError:
            return None
        return values if self.only_numbers and _are_finite(values) else None

    def packed(self, values: Sequence[float]) -> bytes:
        """Return the numbers of a row as an array of floats has them."""
        return self._floats.pack(*values)

    def unpacked(self, rows: Sequence[bytes]) -> Array:
        """Return rows that were packed as an array.

        Examples
        --------
        >>> from virtualvector.serve.rows import RowFormat
        >>> from virtualvector.streams import Column
        >>> form = RowFormat([Column("a", False), Column("b", False)])
        >>> form.unpacked([form.packed((1, 2.5)), form.packed((3, 4))]).tolist()
        [[1.0, 2.5], [3.0, 4.0]]
        """
        return np.frombuffer(b"".join(rows)).reshape(len(rows), len(self.names))

    def check(self, rows: Sequence[Mapping[str, Any]]) -> Checked:
        """Return the values of rows, or raise `BadInput` at the first that is none."""
        if self.only_numbers:
            try:
                values = [[row[name] for name in self.names] for row in rows]
                array = self._numbers(values)
            except KeyError:
                array = None
            if array is not None:
                return Checked(values, array, self._left_out(rows))
        table = pa.concat_tables(
            [self._read([row], f"row {k}") for k, row in enumerate(rows, start=1)]
        )
        values = [[row.get(name) for name in self.names] for row in rows]
        return Checked(values, table, self._left_out(rows))

    def table(self, values: Sequence[Sequence[Any]]) -> Any:
        """Return rows that were checked before, by their values, as a model takes them."""
        if self.only_numbers and (array := self._numbers(values)) is not None:
            return pa.table(list(array.T), self.names)
        return self._read([dict(zip(self.names, each, strict=True)) for each in values], "store")

    def checked_before(self, row: str) -> Checked:
        """Return one row of the store, as JSON, as `check` did."""
        values = [json.loads(row)]
        array = self._numbers(values) if self.only_numbers else None
        return Checked(values, self.table(values) if array is None else array, [])

    @property
    def example(self) -> Checked:
        """A row that is good: zeros, and nothing where there are no numbers."""
        return self.checked_before(
            json.dumps([0.0 if column.kind == "number" else None for column in self.columns])
        )

    def _numbers(self, values: Sequence[Sequence[Any]]) -> Any:
        """Return rows of nothing but finite numbers as an array; None if there is more to see."""
        if not set(map(type, chain.from_iterable(values))) <= _NUMBERS:
            return None
        try:
            array = np.array(values, np.float64)
        except OverflowError:
            return None
        return array if np.isfinite(array).all() else None

    def _read(self, rows: Sequence[Mapping[str, Any]], name: str) -> pa.Table:
        """Return rows as the command line reads them."""
        lines = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
        ignored = frozenset([] if self._label is None else [self._label])
        try:
            text = JsonLines(name, [lines], self._marks, frozenset(self.names), ignored)
            check_columns(name, text.columns, self._plan)
            tables = []
            for piece in text.pieces(self._plan):
                batches, bad = clean(piece, self._plan, stop=True)
                tables += [batch.table for batch in batches]
                if bad:
                    raise BadInput(bad[0].why())
        except BadInput as error:
            message = str(error).replace(f"{name}, line 1", name, 1)
            for there, here in _ADVICE:
                message = there.sub(here, message)
            raise BadInput(message) from error
        return pa.concat_tables(tables)

    def _left_out(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        if all(len(row) == len(self.names) for row in rows):
            return []
        known = {*self.names, self._label}
        return sorted({name for row in rows for name in row if name not in known})


def _are_finite(values: Sequence[Any]) -> bool:
    """Whether values are numbers whose sum, and so each, is finite; truth values are none."""
    try:
        return set(map(type, values)) <= _NUMBERS and isfinite(sum(values))
    except OverflowError:
        return False
