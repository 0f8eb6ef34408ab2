"""CSV and TSV: the first line names the columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from virtualvector.escaping import counted
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.byte_source import begun
from virtualvector.streams.chunks import BOM, Chunk, after_last_record, chunks, end_of_first
from virtualvector.streams.columns import (
    Plan,
    Problem,
    check_names,
    is_index,
    is_unicode,
    shown,
)
from virtualvector.streams.dialect import Dialect, delimiter_in, has_decimal_comma
from virtualvector.streams.limits import LONGEST_ROW
from virtualvector.streams.text import NO_UTF_8, Record, Text
from virtualvector.values import BLANKS, Marks, number_in

if TYPE_CHECKING:
    import pyarrow as pa

_END = re.compile(rb"[\r\n]")  # of a line
_PADDING = [("", ""), (" ", ""), ("", " "), (" ", " ")]  # blanks around what means missing


class Delimited(Text):
    """The rows of a CSV or TSV file, which has at least some number of columns."""

    def __init__(
        self,
        name: str,
        blocks: Iterable[bytes],
        marks: Marks,
        dialect: Dialect,
        usual: str = ",",
        least: int = 2,
        expected: frozenset[str] | None = None,
    ) -> None:
        self._quote = '"' if dialect.quote is None else dialect.quote
        delimiter, blocks = _delimiter(blocks, dialect, usual)
        cut = after_last_record(delimiter, self._quote)
        self._delimiter = delimiter
        notes = [] if delimiter == (dialect.delimiter or usual) else [
            f"its columns are delimited by {delimiter!r} (--delimiter)"
        ]  # fmt: skip
        parts = chunks(name, blocks, cut)
        head = next((chunk for chunk in parts if chunk.data.strip(b"\r\n")), Chunk(b""))
        end = end_of_first(head.data, delimiter, self._quote)
        first = [
            field.strip(BLANKS)
            for _, fields in self._fields(head._replace(data=head.data[:end]))
            for field in fields
        ]
        self._header = first
        if not first:
            raise NothingToLearn(
                f"{name}, line {head.line}: found nothing; expected names of columns, and rows."
            )
        if dialect.header:
            self._check_header(f"{name}, line {head.line}", least)
            head = head.after(end)
        else:
            self._header = [f"x{k}" for k in range(1, len(first) + 1)]
            check_names(name, self._header)
        self._decimal = dialect.decimal or "."
        self._decimal_is_known = dialect.decimal is not None or delimiter == ","
        super().__init__(name, chain([head], parts), cut, marks, expected)
        if not self._decimal_is_known and self._has_comma():
            self._decimal = ","
            notes.append("its numbers are written as 1,5 (--decimal)")
        self.notes = tuple(notes)
        self.columns = tuple(map(self._column, self._header))
        self.index = tuple(n for k, n in enumerate(self._header) if is_index(n) and (n or k == 0))

    def records(self, chunk: Chunk) -> Iterator[tuple[int, Record | Problem]]:
        """Yield the first line of each record, and its cells."""
        end = self._cut(chunk.data + b"\n") if chunk.last else len(chunk.data)
        for line, fields in self._fields(chunk._replace(data=chunk.data[:end])):
            if len(fields) == len(self._header):
                yield line, dict(zip(self._header, fields, strict=True))
            else:
                yield line, _misfit(len(fields), len(self._header))
        if end < len(chunk.data):
            said = "found a quote that is not closed; expected its end."
            yield chunk.after(end).line, Problem(None, said)

    def number(self, cell: str) -> float | None:
        """Return the number that a cell is, or None."""
        if self._decimal == ",":
            return None if "." in cell else number_in(cell.replace(",", "."))
        return number_in(cell)

    def parse(self, chunk: Chunk, plan: Plan) -> pa.Table | None:
        """Return the cells that the plan wants, or None if that takes a closer look."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        if chunk.data.startswith(BOM):  # Arrow would take it for the beginning of the file
            return None
        types = {
            column.name: pa.string() if column.name in plan.texts else pa.float64()
            for column in plan.wanted
        }
        try:
            return arrow.read_csv(
                pa.BufferReader(chunk.data),
                arrow.ReadOptions(
                    use_threads=False, column_names=self._header, block_size=len(chunk.data) + 1
                ),
                arrow.ParseOptions(
                    delimiter=self._delimiter,
                    quote_char=self._quote or False,
                    newlines_in_values=True,
                ),
                arrow.ConvertOptions(
                    column_types=types,
                    include_columns=list(types),
                    null_values=_spellings(plan.marks),
                    decimal_point=self._decimal,
                ),
            )
        except pa.ArrowInvalid:
            return None

    def _fields(self, chunk: Chunk) -> Iterator[tuple[int, list[str]]]:
        """Yield the first line and the fields of each record; lines without any field are none."""
        csv.field_size_limit(max(csv.field_size_limit(), 4 * LONGEST_ROW))  # as much as a chunk has
        text = io.StringIO(chunk.data.decode("utf-8", "surrogateescape"), newline="")
        reader = csv.reader(
            text,
            delimiter=self._delimiter,
            quotechar=self._quote or None,
            quoting=csv.QUOTE_MINIMAL if self._quote else csv.QUOTE_NONE,
        )
        line = chunk.line
        for fields in reader:
            if fields:
                yield line, fields
            line = chunk.line + reader.line_num

    def _is_enough(self, first: list[Record]) -> bool:
        """Whether nothing is to be known any more, how numbers are written included."""
        return super()._is_enough(first) and self._decimal_is_known

    def _has_comma(self) -> bool:
        """Whether the first rows write numbers with a comma."""
        marks = self._marks.of_numbers
        return has_decimal_comma(
            [cell.strip(BLANKS) for cell in self._filled(name, marks)] for name in self._header
        )

    def _check_header(self, place: str, least: int) -> None:
        names = self._header
        if not all(map(is_unicode, names)):
            raise BadInput(f"{place}: {NO_UTF_8}")
        if len(names) < least:
            raise BadInput(
                f"{place}: found {shown(self._delimiter.join(names))}; expected the names of two "
                f"columns or more, with {self._delimiter!r} in between (--delimiter for others)."
            )
        if all(number_in(name) is not None for name in names):
            raise BadInput(
                f"{place}: found numbers; expected names of columns (--no-header if there are "
                "none)."
            )
        check_names(place, names)


@lru_cache
def _misfit(found: int, expected: int) -> Problem:
    return Problem(None, f"found {counted(found, 'field')}; expected {expected}.")


def _delimiter(
    blocks: Iterable[bytes], dialect: Dialect, usual: str
) -> tuple[str, Iterable[bytes]]:
    """Return what is between fields, and all blocks."""
    if dialect.delimiter is not None:
        return dialect.delimiter, blocks
    begin, blocks = begun(iter(blocks), lambda begin: bool(_END.search(_begin(begin))))
    return delimiter_in(_END.split(_begin(begin), maxsplit=1)[0], usual), blocks


def _begin(data: bytes) -> bytes:
    return data.removeprefix(BOM).lstrip(b"\r\n")


@lru_cache
def _spellings(marks: Marks) -> list[str]:
    """Return how marks are usually written; in other ways they take a closer look."""
    texts = [text for mark in marks.of_numbers.texts for text in _cases(mark)]
    return [before + text + after for text in dict.fromkeys(texts) for before, after in _PADDING]


def _cases(text: str) -> tuple[str, ...]:
    return text, text.lower(), text.upper(), text.title()
