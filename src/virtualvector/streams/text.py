"""What all formats of text have in common: a fast way, and a slow one that knows each line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cache, partial
from itertools import chain, islice
from time import monotonic
from typing import TYPE_CHECKING, Any

from virtualvector.doubts import doubt_of
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.batches import Bad, Piece, Place
from virtualvector.streams.chunks import Chunk, Cut, joined, line_ends, lines_in
from virtualvector.streams.columns import (
    Column,
    Plan,
    Problem,
    is_unicode,
    place_of,
    shown,
)
from virtualvector.streams.limits import LOOKED_AT
from virtualvector.streams.passing import Passing
from virtualvector.streams.spelling import instead
from virtualvector.values import BLANKS, PEEK, Kind, Marks, most_of, time_in

if TYPE_CHECKING:
    import pyarrow as pa

SMALL = 2**13  # bytes that are not worth another try
PATIENCE = 1.0  # seconds after its first row in which a pipe can show what the columns hold
PER_COLUMN = 2**10  # bytes of text to parse at once: each column takes its time, however few rows
MOST_RECORDS = 100 * PEEK  # good or bad, that are looked at to see what the columns hold

NO_UTF_8 = "found bytes that are no UTF-8; expected text in UTF-8 (--encoding says in what else)."

Cell = str | None
Entries = list[tuple[int, float]]  # of a sparse row
Record = dict[str, Any]  # cells, or entries
Row = list[float | str | Entries | None]


class Text(ABC):
    """The rows of one file, of which the first are read at once to see what the columns hold.

    A chunk is parsed by Arrow in one go. Where Arrow refuses, the chunk is halved; what is small
    is parsed record by record, which tells the bad rows from the good ones.
    """

    columns: tuple[Column, ...]
    blocks: Generator[bytes, None, None]  # of the file, which they keep open
    absent: Cell = None  # what a cell holds that a record does not have
    n_rows = None
    classes = None
    n_in_time: int | None = None
    index: tuple[str, ...] = ()
    typed: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        chunks: Iterator[Chunk],
        cut: Cut,
        marks: Marks,
        expected: frozenset[str] | None,
    ) -> None:
        self._name = name
        self._cut = cut
        self._marks = marks
        self._expected = expected  # columns, if what they hold is known
        self._chunks, self._first = self._look_ahead(chunks)
        self._known_heads: dict[str, list[str]] = {}  # as there may be many columns

    @abstractmethod
    def records(self, chunk: Chunk) -> Iterator[tuple[int, Record | Problem]]:
        """Yield the first line of each record, and its cells."""

    @abstractmethod
    def number(self, cell: str) -> float | None:
        """Return the number that a cell is, or None."""

    @abstractmethod
    def parse(self, chunk: Chunk, plan: Plan) -> pa.Table | None:
        """Return the cells that the plan wants, or None if that takes a closer look."""

    def first(self, column: str) -> list[str]:
        """Return what the first rows have in a column, as far as they have something."""
        return [cell.strip(BLANKS) for cell in self._filled(column, self._marks.of_labels)]

    def heads(self, columns: Sequence[str]) -> dict[str, list[str]]:
        """Return what the first rows have in some columns, as far as they have something."""
        return {name: [cell.strip(BLANKS) for cell in self._head(name)] for name in columns}

    def pieces(self, plan: Plan, passing: Passing | None = None) -> Iterator[Piece]:
        """Yield all rows that are not passed over, once."""
        for chunk in joined(self._chunks, PER_COLUMN * len(plan.wanted)):
            if passing is None or not passing.over(partial(self.count, chunk)):
                yield from self._halved(chunk, plan)

    def close(self) -> None:
        """Close the file: no more rows come."""
        self.blocks.close()

    def count(self, chunk: Chunk) -> int:
        """Return how many records there are, good or bad."""
        return sum(1 for _ in self.records(chunk))

    def _halved(self, chunk: Chunk, plan: Plan) -> Iterator[Piece]:
        if not chunk.data.strip(b"\r\n"):
            return
        # A short line can be a wide row, of which most cells are not there.
        most = plan.rows_at_once
        many = line_ends(chunk.data) > most and lines_in(chunk.data) > most
        table = None if chunk.last or many else self.parse(chunk, plan)
        if table is not None:
            yield Piece(table, self._place(lambda: [line for line, _ in self.records(chunk)]), [])
            return
        half = chunk.data[: len(chunk.data) // 2]
        small = max(SMALL, 16 * len(plan.wanted))  # for each column takes its time
        end = self._cut(half) if many or len(half) >= small else 0
        if end:
            yield from self._halved(chunk._replace(data=half[:end], last=False), plan)
            yield from self._halved(chunk.after(end), plan)
        else:
            yield from self._one_by_one(chunk, plan)

    def _one_by_one(self, chunk: Chunk, plan: Plan) -> Iterator[Piece]:
        lines: list[int] = []
        rows: list[Row] = []
        bad: list[Bad] = []
        most = plan.rows_at_once
        for line, record in self.records(chunk):
            row = record if isinstance(record, Problem) else self._row(record, plan)
            if isinstance(row, Problem):
                ids = () if isinstance(record, Problem) else self._ids(record, plan)
                bad.append(Bad(len(rows), partial(self._why, line, row), ids))
            else:
                lines.append(line)
                rows.append(row)
            if len(rows) == most:
                yield self._piece(rows, lines, bad, plan)
                lines, rows, bad = [], [], []
        if rows or bad:
            yield self._piece(rows, lines, bad, plan)

    def _ids(self, record: Record, plan: Plan) -> list[Cell]:
        """Return what is handed on of a record, as far as that is text."""
        cells = [record.get(name, self.absent) for name in plan.ids]
        return [cell if cell is None or is_unicode(cell) else None for cell in cells]

    def _why(self, line: int, problem: Problem) -> str:
        return f"{place_of(f'{self._name}, line {line}', problem.column)}: {problem.message}"

    def _piece(self, rows: list[Row], lines: list[int], bad: list[Bad], plan: Plan) -> Piece:
        import pyarrow as pa

        kinds = [plan.type_of(column) for column in plan.wanted]
        cells = zip(*rows, strict=True) if rows else ([] for _ in kinds)
        arrays = [pa.array(some, kind) for some, kind in zip(cells, kinds, strict=True)]
        table = pa.table(arrays, [column.name for column in plan.wanted])
        return Piece(table, self._place(lambda: lines), bad)

    def _row(self, record: Record, plan: Plan) -> Row | Problem:
        """Return the cells as they are stored, or what is wrong with one of them."""
        row: Row = []
        marks = self._marks.of_numbers
        for column in plan.wanted:
            cell = record.get(column.name, self.absent)
            if isinstance(cell, str) and not is_unicode(cell):
                return Problem(column.name, NO_UTF_8)
            if column.kind != "number" or cell is None:
                row.append(cell)
            elif (text := cell.strip(BLANKS)) in marks:
                row.append(None)
            elif (number := self.number(cell)) is not None:
                row.append(number)
            else:
                doubt = doubt_of(text)
                what = "; expected a number" if doubt is None else f", {doubt}"
                message = f"found {shown(cell)}{what}{instead(text, column, plan)}."
                return Problem(column.name, message)
        return row

    def _place(self, lines: Callable[[], list[int]]) -> Place:
        known = cache(lines)

        def place(row: int, column: str | None) -> str:
            return place_of(f"{self._name}, line {known()[row]}", column)

        return place

    def _look_ahead(self, chunks: Iterator[Chunk]) -> tuple[Iterator[Chunk], list[Record]]:
        """Return all chunks, and the first records that can be told apart into cells.

        Of a pipe these are what comes within a second of the first of them.
        """
        seen: list[Chunk] = []
        first: list[Record] = []
        n_bytes = n_records = 0
        began: float | None = None
        if self._is_enough(first):
            return chunks, first
        try:
            for chunk in chunks:
                if first and began is None:
                    began = monotonic()
                if not chunk.data and began is not None:  # no more has come so far
                    if self._is_enough(first):
                        break
                    if monotonic() - began > PATIENCE:
                        self.n_in_time = len(first)
                        break
                if not chunk.data.strip(b"\r\n"):  # of which there may be any number
                    continue
                seen.append(chunk)
                n_bytes += len(chunk.data)
                for _, record in islice(self.records(chunk), MOST_RECORDS - n_records):
                    n_records += 1
                    if isinstance(record, dict):
                        first.append(record)
                        if len(first) == PEEK:
                            break
                if len(first) == PEEK or n_records == MOST_RECORDS or n_bytes > LOOKED_AT:
                    break
        except BadInput as error:
            return chain(seen, _raising(error)), first
        return chain(seen, chunks), first

    def _is_enough(self, first: list[Record]) -> bool:
        """Whether so many records tell all that is to be known of the columns."""
        return self._expected is not None

    def _head(self, column: str) -> list[str]:
        """Return what the first rows have in a column, as far as it may be a number or a time."""
        if column not in self._known_heads:
            self._known_heads[column] = self._filled(column, self._marks.of_numbers)
        return self._known_heads[column]

    def _filled(self, column: str, marks: Marks) -> list[str]:
        cells = [record.get(column, self.absent) for record in self._first]
        return [cell for cell in cells if cell and cell.strip(BLANKS) not in marks]

    def _column(self, name: str) -> Column:
        """Return what most of the first rows have in a column."""
        return Column.of_kind(name, most_of(map(self._kind, self._head(name))))

    def _kind(self, cell: str) -> Kind:
        if self.number(cell) is not None:
            return "number"
        return "category" if time_in(cell) is None else "time"


def _raising(error: BadInput) -> Iterator[Chunk]:
    raise error
    yield
