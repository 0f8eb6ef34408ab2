"""CSV and TSV: the first line names the columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from virtualvector.escaping import counted
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.batches import Piece
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
from virtualvector.streams.dialect import (
    DECLARED,
    Dialect,
    delimiters_in,
    fitting,
    has_decimal_comma,
)
from virtualvector.streams.limits import LONGEST_ROW
from virtualvector.streams.passing import Passing, count_records
from virtualvector.streams.text import NO_UTF_8, Record, Text
from virtualvector.values import BLANKS, Marks, number_in

if TYPE_CHECKING:
    import pyarrow as pa

_RECORD = re.compile(rb'(?:[^"\r\n]|"[^"]*")+(?=[\r\n])')  # up to a line end outside quotes
AGAIN = "found the names of the columns again; expected a row (--on-error skip leaves it out)."
UNNAMED = "Unnamed: "  # as pandas has it, before the number of a column without a name
MANY = 500  # columns
_END = re.compile(rb"[\r\n]")  # of a line
_COMMA = re.compile(r"^([ \t]*[+-]?[0-9]+),([0-9]+(?:[eE][+-]?[0-9]+)?[ \t]*)$")  # as Arrow has it
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
        delimiter, blocks = _delimiter(name, blocks, dialect, usual)
        cut = after_last_record(delimiter, self._quote)
        self._delimiter = delimiter
        notes = [] if delimiter == (dialect.delimiter or usual) else [
            f"{name}: columns are delimited by {delimiter!r} (--delimiter)"
        ]  # fmt: skip
        parts = chunks(name, blocks, cut)
        head = next((chunk for chunk in parts if chunk.data.strip(b"\r\n")), Chunk(b""))
        if declared := DECLARED.match(head.data):
            head = head.after(declared.end())
        end = end_of_first(head.data, delimiter, self._quote)
        first = [
            field.strip(BLANKS)
            for _, fields in self._fields(head._replace(data=head.data[:end]))
            for field in fields
        ]
        self._header = first
        self._again = b"" if not dialect.header else b"\n" + head.data[:end].strip(b"\r\n")
        if not first:
            raise NothingToLearn(
                f"{name}, line {head.line}: found nothing; expected names of columns, and rows."
            )
        place = f"{name}, line {head.line}"
        if dialect.header:
            self._check_header(place, least)
            head = head.after(end)
        else:
            self._header = [f"x{k}" for k in range(1, len(first) + 1)]
            check_names(name, self._header)
        self._decimal = dialect.decimal or "."
        self._decimal_is_known = dialect.decimal is not None or delimiter == ","
        super().__init__(name, chain([head], parts), cut, marks, expected)
        if not self._decimal_is_known and self._has_comma():
            self._decimal = ","
            notes.append(f"{name}: numbers are written as 1,5 (--decimal)")
        empty = self._nameless(place, expected or frozenset())
        if empty:
            many = counted(len(empty), "column")
            notes.append(f"{name}: left out: {many} without a name, and without a value so far")
        self.notes = tuple(notes)
        self.columns = tuple(self._column(n) for n in self._header if n not in empty)
        if dialect.header and expected is None:
            self._check_no_row(place)
        self.index = tuple(n for k, n in enumerate(self._header) if is_index(n) and (n or k == 0))

    def records(self, chunk: Chunk) -> Iterator[tuple[int, Record | Problem]]:
        """Yield the first line of each record, and its cells."""
        end = self._cut(chunk.data + b"\n") if chunk.last else len(chunk.data)
        for line, fields in self._fields(chunk._replace(data=chunk.data[:end])):
            if fields == self._header and self._again:  # as where files were put together
                yield line, Problem(None, AGAIN)
            elif len(fields) == len(self._header):
                yield line, dict(zip(self._header, fields, strict=True))
            else:
                yield line, _misfit(len(fields), len(self._header))
        if end < len(chunk.data):
            message = "found a quote that is not closed; expected its end."
            yield chunk.after(end).line, Problem(None, message)

    def number(self, cell: str) -> float | None:
        """Return the number that a cell is, or None."""
        if self._decimal == ",":
            return None if "." in cell else number_in(cell.replace(",", "."))
        return number_in(cell)

    def first(self, column: str) -> list[str]:
        """Return what the first rows have in a column, as far as they have something."""
        cells = super().first(column)
        return cells if self._decimal == "." else [_COMMA.sub(r"\1.\2", cell) for cell in cells]

    def count(self, chunk: Chunk) -> int:
        """Return how many records there are, good or bad."""
        n_records = count_records(chunk.data, self._delimiter, self._quote)
        return super().count(chunk) if n_records is None else n_records

    def pieces(self, plan: Plan, passing: Passing | None = None) -> Iterator[Piece]:
        """Yield all rows that are not passed over, once."""
        texts = [c.name for c in plan.wanted if c.categorical and c.name not in plan.ids]
        self._first, self._known_heads = [], {}  # have told what they could, and may be wide
        for piece in super().pieces(plan, passing):
            # Where 1,5 is a number it is the same category as 1.5 elsewhere.
            yield piece if self._decimal == "." else _with_points(piece, texts)

    def parse(self, chunk: Chunk, plan: Plan) -> pa.Table | None:
        """Return the cells that the plan wants, or None if that takes a closer look."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        if chunk.data.startswith(BOM):  # Arrow would take it for the beginning of the file
            return None
        if self._again and (self._again in chunk.data or chunk.data.startswith(self._again[1:])):
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
                    null_values=self._spellings(chunk.data, plan),
                    decimal_point=self._decimal,
                ),
            )
        except pa.ArrowInvalid:
            return None

    def _spellings(self, data: bytes, plan: Plan) -> list[str]:
        """Return how marks are usually written: of many columns, as far as they may be there.

        Arrow takes 45 kB for them, for each column. What is not in the text without the characters
        of numbers is not in it.
        """
        spellings = _spellings(plan.marks)
        if len(plan.wanted) < MANY:
            return spellings
        of_numbers = f"0123456789+-.\r\n{self._delimiter}".encode()
        rest = data.translate(None, of_numbers)
        if len(rest) > len(data) // 16:
            return spellings
        return [text for text in spellings if text.encode().translate(None, of_numbers) in rest]

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
        return has_decimal_comma(self.heads(self._header).values())

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
        if names.count("") > 1:  # which is no name that two of them have
            self._header = [name or (f"{UNNAMED}{k}" if k else "") for k, name in enumerate(names)]
        check_names(place, self._header)

    def _nameless(self, place: str, expected: frozenset[str]) -> list[str]:
        """Return columns without name and value, as spreadsheets write; raise for some of value."""
        nameless = [
            name
            for k, name in enumerate(self._header)
            if k and (not name or name.startswith(UNNAMED)) and name not in expected
        ]
        empty = [name for name in nameless if not self._head(name)]
        if len(nameless) - len(empty) > 1:
            numbers = ", ".join(
                str(self._header.index(name) + 1) for name in nameless if name not in empty
            )
            raise BadInput(
                f"{place}: found no names of the columns {numbers}; expected names of columns "
                "(--no-header if there are none; delete the line if it is a title)."
            )
        return empty

    def _check_no_row(self, place: str) -> None:
        """Raise if the first line would do as a row: each of its fields as a value of its column.

        A column of which no value comes twice tells nothing.
        """
        fits = []
        for name, kind in ((column.name, column.kind) for column in self.columns):
            cells = [cell.strip(BLANKS) for cell in self._head(name)]
            if kind == "category" and len(set(cells)) < len(cells):
                fits.append(name in cells)
            elif kind != "category" and cells:
                fits.append(self._kind(name) == kind)
        if fits and all(fits):
            raise BadInput(
                f"{place}: found {shown(self._delimiter.join(self._header))}, which looks like a "
                "row; expected names of columns (--no-header if there are none)."
            )


@lru_cache
def _misfit(found: int, expected: int) -> Problem:
    return Problem(
        None,
        f"found {counted(found, 'field')}; expected {expected}, as in the first line (--delimiter "
        "and --quote say how fields are written; --on-error skip leaves such rows out).",
    )


def _delimiter(
    name: str, blocks: Iterable[bytes], dialect: Dialect, usual: str
) -> tuple[str, Iterable[bytes]]:
    """Return what is between fields, and all blocks; raise if it may be one thing or another."""
    if dialect.delimiter is not None:
        return dialect.delimiter, blocks
    begin, blocks = begun(iter(blocks), lambda begin: len(_lines(begin)) > 1)
    first = _lines(begin)[0]
    if declared := DECLARED.match(first + b"\n"):
        return declared[1].decode(), blocks
    found = delimiters_in(first)
    if len(found) < 2:
        return (found or [usual])[0], blocks
    begin, blocks = begun(iter(blocks), lambda begin: len(_lines(begin)) > 2)
    *whole, rest = _lines(begin)
    lines = whole if len(whole) > 1 else [*whole, *filter(None, [rest])]
    if len(lines) < 2:  # there are no rows to compare
        return usual if usual in found else found[0], blocks
    found = fitting(found, lines, dialect.quote)
    if len(found) == 1 or usual == "\t" in found:  # as the name of the file says
        return usual if usual in found else found[0], blocks
    raise BadInput(
        f"{name}, line 1: found {shown(first.decode('utf-8', 'replace'))}, which may be delimited "
        "in more than one way; expected --delimiter to say which."
    )


def _lines(data: bytes) -> list[bytes]:
    """Return the records that are not blank, and what comes after the last of them.

    What is between fields is not known yet: a line end is in quotes if there is an odd number of
    these before it. If that is so up to the end, a quote is just a sign.
    """
    pieces = _END.split(data.removeprefix(BOM))
    *whole, rest = pieces
    if pieces[0].count(b'"') % 2 and data.count(b'"') % 2 == 0:
        whole = [line for line in _RECORD.findall(data.removeprefix(BOM)) if line.strip(b"\r\n")]
    return [*filter(None, whole), rest]


def _with_points(piece: Piece, columns: Sequence[str]) -> Piece:
    import pyarrow.compute as pc

    table = piece.table
    for name in columns:
        cells = pc.replace_substring_regex(table[name], _COMMA.pattern, r"\1.\2")
        table = table.set_column(table.column_names.index(name), name, cells)
    return piece._replace(table=table)


@lru_cache
def _spellings(marks: Marks) -> list[str]:
    """Return how marks are usually written; in other ways they take a closer look."""
    texts = [text for mark in marks.of_numbers.texts for text in _cases(mark)]
    return [before + text + after for text in dict.fromkeys(texts) for before, after in _PADDING]


def _cases(text: str) -> tuple[str, ...]:
    return text, text.lower(), text.upper(), text.title()
