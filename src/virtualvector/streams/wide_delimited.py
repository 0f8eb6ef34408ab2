"""CSV and TSV of more columns than are told apart: numbers, most of them zero, as sparse rows."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from virtualvector.escaping import counted
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.chunks import Chunk, after_last_line, chunks, end_of_first
from virtualvector.streams.columns import Column, Plan, Problem, check_names, listed, shown
from virtualvector.streams.dialect import Dialect
from virtualvector.streams.limits import LONGEST_ROW, MOST_PLACES
from virtualvector.streams.schema import USUAL
from virtualvector.streams.svmlight import sparse_column
from virtualvector.streams.text import Record, Text
from virtualvector.values import BLANKS, Marks, number_in

if TYPE_CHECKING:
    import pyarrow as pa


class WideDelimited(Text):
    """The rows of a file with a great many columns of numbers.

    Those are one column of sparse rows, in the order of the file: it is called by a hash of their
    names, so that other ones, or another order, are not taken for the same. Some are told apart.

    Parameters
    ----------
    name, blocks, marks, dialect, expected
        As for `Delimited`.
    delimiter : str
        What is between fields.
    apart : iterable of str
        Columns that are told apart, if they are there: labels, weights and so on.
    """

    def __init__(
        self,
        name: str,
        blocks: Iterable[bytes],
        marks: Marks,
        dialect: Dialect,
        delimiter: str,
        apart: Iterable[str],
        expected: frozenset[str] | None = None,
    ) -> None:
        if dialect.decimal == ",":
            raise BadInput(f"{name}: found --decimal ','; expected 1.5 where columns are so many.")
        self._delimiter, self._quote = delimiter, dialect.quote or '"'
        parts = chunks(name, blocks, after_last_line)
        head = next(parts)
        end = end_of_first(head.data, delimiter, dialect.quote or '"')
        _, first = next(self._fields(head._replace(data=head.data[:end])))
        first = [field.strip(BLANKS) for field in first]
        if dialect.header:
            head = head.after(end)
        else:
            first = [f"x{k}" for k in range(1, len(first) + 1)]
        check_names(f"{name}, line 1", first, MOST_PLACES)
        # Where nobody says it, one of these has the labels.
        labels = [*first[-1:], *(column for column in first if column.lower() in USUAL)]
        own = {*apart, *(labels if expected is None else ())}
        self._names, self._n_fields = first, len(first)
        self._apart = {column: k for k, column in enumerate(first) if column in own}
        rest = [column for column in first if column not in own]
        self._places = np.full(len(first), -1)
        self._places[[k for k, column in enumerate(first) if column not in own]] = np.arange(
            len(rest)
        )
        self._wide = Column(_called(rest), categorical=False, n_places=len(rest))
        super().__init__(name, chain([head], parts), after_last_line, marks, expected)
        self.columns = (self._wide, *(self._column(column) for column in self._apart))

    def records(self, chunk: Chunk) -> Iterator[tuple[int, Record | Problem]]:
        """Yield each line that has fields, and its cells."""
        for line, fields in self._fields(chunk):
            if len(fields) == self._n_fields:
                yield line, self._record(fields)
            else:
                found = counted(len(fields), "field")
                yield (
                    line,
                    Problem(None, f"found {found}; expected {self._n_fields:,}, as in the first."),
                )

    def number(self, cell: str) -> float | None:
        """Return the number that a cell is, or None."""
        return number_in(cell)

    def parse(self, chunk: Chunk, plan: Plan) -> pa.Table | None:
        """Return the rows, or None if that takes a closer look.

        Each cell is a line of a table of one column: Arrow takes its time for each column.
        """
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyarrow import csv as arrow

        data = chunk.data.replace(self._delimiter.encode(), b"\n")
        try:
            cells = arrow.read_csv(
                pa.BufferReader(data),
                arrow.ReadOptions(
                    use_threads=False, block_size=len(data) + 1, column_names=["cell"]
                ),
                arrow.ParseOptions(
                    delimiter="\x1f", quote_char=self._quote, ignore_empty_lines=False
                ),
                arrow.ConvertOptions(column_types={"cell": pa.string()}),
            )["cell"].combine_chunks()
            n_rows, more = divmod(len(cells), self._n_fields)
            if more:
                return None
            starts = np.arange(n_rows)[:, np.newaxis] * self._n_fields
            own = np.array(list(self._apart.values()), np.int64)
            apart = cells.take((starts + own).ravel())
            of_others = np.delete(np.arange(self._n_fields), own)
            numbers = cells.take((starts + of_others).ravel())
            dense = pc.cast(numbers, pa.float64()).to_numpy().reshape(n_rows, len(of_others))
        except pa.ArrowInvalid:
            return None
        if not np.isfinite(dense).all():
            return None
        columns = {
            name: apart.take(np.arange(k, len(apart), len(own)))
            for k, name in enumerate(self._apart)
        }
        try:
            texts = {
                c.name: pc.cast(columns[c.name], plan.type_of(c))
                for c in plan.wanted
                if not c.n_places
            }
        except pa.ArrowInvalid:
            return None
        rows = sparse_column(sparse.csr_array(dense))
        return pa.table({c.name: rows if c.n_places else texts[c.name] for c in plan.wanted})

    def _record(self, fields: Sequence[str]) -> Record | Problem:
        entries = []
        for k, field in enumerate(fields):
            place = int(self._places[k])
            if place < 0 or field == "0":
                continue
            number = number_in(field)
            if number is None or not isfinite(number):
                message = f"found {shown(field)}; expected a finite number, as columns are so many."
                return Problem(self._names[k], message)
            if number != 0.0:
                entries.append((place, number))
        own = {name: fields[k] for name, k in self._apart.items()}
        return own | {self._wide.name: entries}

    def _fields(self, chunk: Chunk) -> Iterator[tuple[int, list[str]]]:
        csv.field_size_limit(max(csv.field_size_limit(), 4 * LONGEST_ROW))
        text = io.StringIO(chunk.data.decode("utf-8", "surrogateescape"), newline="")
        reader = csv.reader(text, delimiter=self._delimiter, quotechar=self._quote)
        line = chunk.line
        for fields in reader:
            if fields:
                yield line, fields
            line = chunk.line + reader.line_num


def _called(names: Sequence[str]) -> str:
    """Return what many columns are called together."""
    digest = hashlib.blake2b("\0".join(names).encode("utf-8", "surrogateescape"), digest_size=6)
    ends = listed([names[0], names[-1]]).replace(", ", " to ")
    return f"{len(names):,} columns, {ends} ({digest.hexdigest()})"
