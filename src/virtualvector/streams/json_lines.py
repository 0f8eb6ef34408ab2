"""JSON lines: an object in each line, whose keys are the columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from virtualvector.escaping import argument
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.chunks import Chunk, after_last_line, chunks
from virtualvector.streams.columns import (
    Plan,
    Problem,
    check_names,
    is_unicode,
    listed,
    place_of,
    shown,
)
from virtualvector.streams.limits import WIDEST
from virtualvector.streams.text import Record, Row, Text
from virtualvector.values import Marks, number_in

if TYPE_CHECKING:
    import pyarrow as pa

_INFINITE = ("Infinity", "-Infinity")  # which JSON does not have, but Python writes, as NaN


class Number(str):
    """A number as it is written."""


class Truth(str):
    """The text "true" or "false" for one that is written without quotes."""


class JsonLines(Text):
    """The rows of a file of JSON lines; its columns are the keys of the first of them."""

    def __init__(
        self,
        name: str,
        blocks: Iterable[bytes],
        marks: Marks,
        expected: frozenset[str] | None = None,
        ignored: frozenset[str] = frozenset(),
    ) -> None:
        self._ignored = ignored
        parts = chunks(name, blocks, after_last_line)
        super().__init__(name, parts, after_last_line, marks, expected)
        names = dict.fromkeys(key for record in self._first for key in record)
        if not names:
            self._raise_for_no_columns()
        check_names(name, list(names))
        later = [key for key in ignored if key not in names and expected is None]
        if later:
            self.notes = (f"{name}: no row has {listed(sorted(later))} so far (--ignore)",)
        self.columns = tuple(map(self._column, (*names, *later)))
        self._keys = frozenset([*names, *(expected or ()), *ignored])

    def records(self, chunk: Chunk) -> Iterator[tuple[int, Record | Problem]]:
        """Yield each line that is not blank, and its cells."""
        for line, data in enumerate(chunk.data.splitlines(), chunk.line):
            if data.strip():
                yield line, _record(data, self._ignored)

    def count(self, chunk: Chunk) -> int:
        """Return how many lines are not blank."""
        return sum(1 for line in chunk.data.splitlines() if line.strip())

    def number(self, cell: str) -> float | None:
        """Return the number that a cell is, or None; a number in quotes is none."""
        return number_in(cell) if isinstance(cell, Number) else None

    def parse(self, chunk: Chunk, plan: Plan) -> pa.Table | None:
        """Return the cells that the plan wants, or None if that takes a closer look."""
        import pyarrow as pa
        from pyarrow import json as arrow

        types = {c.name: self._type(c.name, c.name in plan.texts) for c in plan.wanted}
        if None in types.values() or not _is_plain(chunk.data):
            return None
        try:
            table = arrow.read_json(
                pa.BufferReader(chunk.data),
                arrow.ReadOptions(use_threads=False, block_size=len(chunk.data) + 1),
                arrow.ParseOptions(explicit_schema=pa.schema(types)),
            )
            table.validate(full=True)  # "\\udc00" is half a character, which Arrow takes
        except pa.ArrowInvalid:
            return None
        if not self._keys.issuperset(table.column_names):
            return None
        return pa.table(
            {
                c.name: table[c.name].cast(pa.string()) if c.name in plan.texts else table[c.name]
                for c in plan.wanted
            }
        )

    def _row(self, record: Record, plan: Plan) -> Row | Problem:
        for key, cell in record.items():
            if key not in self._keys:
                message = (
                    "found a key that the first rows do not have; expected theirs (--ignore "
                    f"{argument(key)} leaves it out; --on-error skip leaves such rows out)."
                )
                return Problem(key, message)
            if isinstance(cell, Number) and cell in _INFINITE and key in plan.texts:
                return Problem(key, f"found {cell}; expected a name, or null where it is missing.")
        return super()._row(record, plan)

    def _is_enough(self, first: list[Record]) -> bool:
        """Whether all keys are there; a file of which more can be read may have them later."""
        return self._expected is not None and self._expected.issubset(chain.from_iterable(first))

    def _type(self, name: str, is_text: bool) -> pa.DataType | None:
        """Return the type by which Arrow is to read a column, if the first rows agree on one."""
        import pyarrow as pa

        if not is_text:
            return pa.float64()
        cells = [cell for record in self._first if (cell := record.get(name)) is not None]
        kinds = {type(cell) for cell in cells}
        if kinds == {Truth}:
            return pa.bool_()
        if kinds == {Number}:
            whole = all(cell.removeprefix("-").isdigit() for cell in cells)
            return pa.int64() if whole else None
        return pa.string() if kinds <= {str} else None

    def _raise_for_no_columns(self) -> None:
        for chunk in self._chunks:
            for line, record in self.records(chunk):
                if isinstance(record, Problem):
                    place = place_of(f"{self._name}, line {line}", record.column)
                    raise BadInput(f"{place}: {record.message}")
        raise NothingToLearn(f"{self._name}: found no rows; expected some.")


def _is_plain(data: bytes) -> bool:
    """Whether each line is in braces and has no others; then what Arrow reads is what it says.

    Arrow also takes several objects in a line for rows, and an object over several lines; it does
    not look at UTF-8; and it crashes on a line that says null.
    """
    begun = data.count(b"\n{") + data.startswith(b"{")
    returns = data.count(b"}\r\n")
    ended = data.count(b"}\n") + returns
    return (
        0 < begun == ended == data.count(b"\n") == data.count(b"{") == data.count(b"}")
        and returns == data.count(b"\r")
        and b"[" not in data
        and (data.isascii() or _is_utf_8(data))
    )


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _record(data: bytes, ignored: frozenset[str]) -> Record | Problem:
    try:
        record = _DECODER.decode(data.decode("utf-8", "surrogateescape"))
    except _Twice as error:
        return Problem(str(error), "found the key twice; expected it once.")
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        text = data.decode("utf-8", "backslashreplace")
        return Problem(None, f"found {shown(text)}; expected a JSON object.")
    if len(record) > WIDEST:
        return Problem(None, f"found {len(record):,} keys; expected at most {WIDEST:,}.")
    for key, value in record.items():
        if not is_unicode(key):
            message = (
                f"found the key {shown(key)}, whose bytes are no UTF-8; expected text in UTF-8."
            )
            return Problem(None, message)
        if value is not None and not isinstance(value, str) and key not in ignored:
            message = (
                "found a list or an object; expected a number, a text or null (--ignore "
                f"{argument(key)} leaves it out)."
            )
            return Problem(key, message)
    return {key: None if key in ignored else value for key, value in record.items()}


class _Twice(ValueError):
    """A key that an object has twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise _Twice(key)
        values[key] = Truth(str(value).lower()) if isinstance(value, bool) else value
    return values


def _whole(text: str) -> Number:
    """Return a whole number without the sign of zero, as Arrow reads it."""
    return Number("0" if text == "-0" else text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_whole,
    parse_float=Number,
    parse_constant=Number,
)
