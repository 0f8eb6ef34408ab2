"""CSV and TSV: the first line names the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.chunks import BOM, Chunk, after_last_record, chunks, end_of_first
from virtualvector.streams.columns import (
    BLANKS,
    Column,
    Plan,
    Problem,
    check_names,
    is_unicode,
    number_in,
    shown,
)
from virtualvector.streams.limits import LONGEST_ROW
from virtualvector.streams.text import Record, Text

if TYPE_CHECKING:
    import pyarrow as pa

_PADDING = [("", ""), (" ", ""), ("", " "), (" ", " ")]  # blanks around what means missing


class Delimited(Text):
    """The rows of a CSV or TSV file, which has at least some number of columns."""

    def __init__(
        self,
        name: str,
        blocks: Iterable[bytes],
        missing: Iterable[str],
        delimiter: str = ",",
        least: int = 2,
    ) -> None:
        cut = after_last_record(delimiter)
        self._delimiter = delimiter
        parts = chunks(name, blocks, cut)
        head = next((chunk for chunk in parts if chunk.data.strip(b"\r\n")), Chunk(b""))
        end = end_of_first(head.data, delimiter)
        self._header = [
            field.strip(BLANKS)
            for _, fields in _fields(head._replace(data=head.data[:end]), delimiter)
            for field in fields
        ]
        _check_header(f"{name}, line {head.line}", self._header, delimiter, least)
        super().__init__(name, chain([head.after(end)], parts), cut, missing)
        self.columns = tuple(Column(name, self._is_categorical(name)) for name in self._header)

    def records(self, chunk: Chunk) -> Iterator[tuple[int, Record | Problem]]:
        """Yield the first line of each record, and its cells."""
        end = self._cut(chunk.data + b"\n") if chunk.last else len(chunk.data)
        for line, fields in _fields(chunk._replace(data=chunk.data[:end]), self._delimiter):
            if len(fields) == len(self._header):
                yield line, dict(zip(self._header, fields, strict=True))
            else:
                yield line, _misfit(len(fields), len(self._header))
        if end < len(chunk.data):
            said = "found a quote that is not closed; expected its end."
            yield chunk.after(end).line, Problem(None, said)

    def number(self, cell: str) -> float | None:
        """Return the number that a cell is, or None."""
        return number_in(cell)

    def parse(self, chunk: Chunk, plan: Plan) -> pa.Table | None:
        """Return the cells that the plan wants, or None if that takes a closer look."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        if chunk.data.startswith(BOM):  # Arrow would take it for the beginning of the file
            return None
        types = {
            name: pa.string() if categorical else pa.float64() for name, categorical in plan.wanted
        }
        missing = [before + text + after for text in plan.missing for before, after in _PADDING]
        try:
            return arrow.read_csv(
                pa.BufferReader(chunk.data),
                arrow.ReadOptions(
                    use_threads=False, column_names=self._header, block_size=len(chunk.data) + 1
                ),
                arrow.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
                arrow.ConvertOptions(
                    column_types=types, include_columns=list(types), null_values=missing
                ),
            )
        except pa.ArrowInvalid:
            return None


@lru_cache
def _misfit(found: int, expected: int) -> Problem:
    return Problem(None, f"found {found} fields; expected {expected}.")


def _fields(chunk: Chunk, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the fields of each record; lines without any field are none."""
    csv.field_size_limit(max(csv.field_size_limit(), 4 * LONGEST_ROW))  # as much as a chunk has
    text = io.StringIO(chunk.data.decode("utf-8", "surrogateescape"), newline="")
    reader = csv.reader(text, delimiter=delimiter)
    line = chunk.line
    for fields in reader:
        if fields:
            yield line, fields
        line = chunk.line + reader.line_num


def _check_header(place: str, names: list[str], delimiter: str, least: int) -> None:
    if not all(map(is_unicode, names)):
        raise BadInput(f"{place}: found bytes that are no UTF-8; expected text in UTF-8.")
    if len(names) < least:
        raise BadInput(
            f"{place}: found {shown(delimiter.join(names))}; expected the names of two columns or "
            f"more, with {delimiter!r} in between."
        )
    if all(number_in(name) is not None for name in names):
        raise BadInput(f"{place}: found numbers; expected names of columns.")
    check_names(place, names)
