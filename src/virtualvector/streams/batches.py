"""Rows as a file has them, and the batches that are left when the bad ones are out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.streams.columns import BLANKS, Plan, Problem, shown
from virtualvector.streams.limits import LONGEST_CELL, LONGEST_LABEL

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 8192  # rows

Place = Callable[[int, str | None], str]


class Batch(NamedTuple):
    """Some rows, their labels, and where they stand."""

    table: pa.Table  # a column for each of the reader's, with nulls where a value is missing
    labels: NDArray[Any]  # texts; none if there is no column of labels
    place: Place  # row of the batch and column, to where that is in the file

    def part(self, start: int, stop: int) -> Batch:
        """Return some of the rows."""
        return Batch(
            self.table.slice(start, stop - start),
            self.labels[start:stop],
            lambda row, column: self.place(row + start, column),
        )


class Bad(NamedTuple):
    """A row of the file that is left out."""

    row: int  # of the table, before which it stood or which it is
    why: Callable[[], str]  # as only the first few are told


class Piece(NamedTuple):
    """Rows of a file whose cells fit their columns, but were not looked at otherwise."""

    table: pa.Table  # the columns that the plan wants, of float64 or string
    place: Place
    bad: list[Bad]  # rows whose cells do not fit


def clean(piece: Piece, plan: Plan, stop: bool) -> tuple[Iterator[Batch], list[Bad]]:
    """Return the good rows in batches, and the bad ones; with ``stop``, up to the first bad one."""
    if piece.table.num_rows == 0:
        return iter(()), piece.bad[: 1 if stop else None]
    table = _trimmed(piece.table, plan)
    wrong = _wrong(table, plan)
    found = [Bad(row, partial(why_not, piece.place, row, why)) for row, why in wrong.items()]
    bad = sorted([*piece.bad, *found], key=lambda one: one.row)
    good = np.ones(table.num_rows, dtype=bool)
    good[list(wrong)] = False
    if stop and bad:
        good[bad[0].row :] = False
        bad = bad[:1]
    return _batches(table, np.flatnonzero(good), piece.place, plan), bad


def why_not(place: Place, row: int, problem: Problem) -> str:
    """Return where a row stands, and what is wrong with it."""
    return f"{place(row, problem.column)}: {problem.said}"


def _trimmed(table: pa.Table, plan: Plan) -> pa.Table:
    """Blanks around categories do not count; what means a missing one becomes null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {}
    missing = pa.array(plan.missing, pa.string())
    for name, categorical in plan.wanted:
        cells = table[name]
        if categorical:
            cells = pc.utf8_trim(cells, BLANKS)
            cells = pc.if_else(pc.is_in(cells, missing), pa.scalar(None, pa.string()), cells)
        columns[name] = cells
    return pa.table(columns)


def _wrong(table: pa.Table, plan: Plan) -> dict[int, Problem]:
    """Return the rows with a number that is not finite, a text that is too long, or no label."""
    import pyarrow.compute as pc

    wrong = _too_long(table, plan)
    for name, categorical in plan.columns:
        # What is not finite is not so in the sum.
        if categorical or isfinite(pc.sum(table[name]).as_py() or 0.0):
            continue
        cells = table[name].to_numpy()  # nulls are nan
        for row in np.flatnonzero(~np.isfinite(cells) & table[name].is_valid().to_numpy()):
            said = (
                f"found {cells[row]}; expected a finite number; leave the cell empty where a value "
                "is missing."
            )
            wrong.setdefault(int(row), Problem(name, said))
    if plan.label is None:
        return wrong
    labels = table[plan.label]
    if labels.null_count:
        for row in np.flatnonzero(labels.is_null().to_numpy()):
            said = "found an empty label; expected a class."
            wrong.setdefault(int(row), Problem(plan.label, said))
    ends = pc.match_substring(labels, "\0")  # which arrays of texts do not keep at an end
    if pc.any(ends).as_py():
        for row in np.flatnonzero(ends.fill_null(False).to_numpy()):
            said = f"found {shown(labels[int(row)].as_py())}; expected a class without zero bytes."
            wrong.setdefault(int(row), Problem(plan.label, said))
    return wrong


def longest_in(column: str, label: str | None) -> int:
    """Return how many characters a text in a column may have."""
    return LONGEST_LABEL if column == label else LONGEST_CELL


def too_long(length: int, most: int) -> str:
    """Return what is wrong with a text of such a length."""
    return f"found a text of {length:,} characters; expected at most {most:,}."


def _too_long(table: pa.Table, plan: Plan) -> dict[int, Problem]:
    """Return the rows that have a name or a label that is too long."""
    import pyarrow.compute as pc

    wrong: dict[int, Problem] = {}
    for name, categorical in plan.wanted:
        if not categorical:
            continue
        most = longest_in(name, plan.label)
        lengths = pc.utf8_length(table[name])
        if (pc.max(lengths).as_py() or 0) <= most:
            continue
        for row, length in enumerate(lengths.to_pylist()):
            if length is not None and length > most:
                wrong.setdefault(row, Problem(name, too_long(length, most)))
    return wrong


def _batches(table: pa.Table, rows: NDArray[np.intp], place: Place, plan: Plan) -> Iterator[Batch]:
    if len(rows) < table.num_rows:
        table = table.take(rows)
    features = table.select([column.name for column in plan.columns])
    labels = None if plan.label is None else table[plan.label]
    for start in range(0, len(rows), BATCH):
        yield Batch(
            features.slice(start, BATCH),
            # Not of all rows at once: each label takes as much room as the longest.
            np.array([], str) if labels is None else _texts(labels.slice(start, BATCH)),
            partial(_place_of, place, rows[start : start + BATCH]),
        )


def _place_of(place: Place, rows: NDArray[np.intp], row: int, column: str | None) -> str:
    return place(int(rows[row]), column)


def _texts(cells: pa.ChunkedArray) -> NDArray[Any]:
    encoded = cells.combine_chunks().dictionary_encode()
    texts = np.array(encoded.dictionary.to_pylist(), dtype=str)
    labels: NDArray[Any] = texts[encoded.indices.to_numpy()]
    return labels
