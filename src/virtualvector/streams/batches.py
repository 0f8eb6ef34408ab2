"""Rows as a file has them, and the batches that are left when the bad ones are out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.streams.columns import Plan, Problem, shown
from virtualvector.streams.limits import LONGEST_CELL, LONGEST_LABEL
from virtualvector.streams.spelling import spelled

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 8192  # rows
MOST_WEIGHT = 1_000_000  # as often a row may be learned

NO_LABEL = "found no label, or NA; expected a class."

Place = Callable[[int, str | None], str]


class Batch(NamedTuple):
    """Some rows, their labels, and where they stand."""

    table: pa.Table  # a column for each of the reader's, with nulls where a value is missing
    labels: NDArray[Any]  # texts; none if there is no column of labels
    place: Place  # row of the batch and column, to where that is in the file
    # Of all rows up to the next batch, those in it; None: all.
    kept: NDArray[np.bool_] | None = None
    # Columns that are handed on, as texts, also of rows that were not kept; None if there are none.
    ids: pa.Table | None = None
    weights: NDArray[np.float64] | None = None  # of rows; None if there is no column of them

    def part(self, start: int, stop: int) -> Batch:
        """Return some of the rows."""
        ids = self.ids if self.ids is None or self.kept is None else self.ids.filter(self.kept)
        return Batch(
            self.table.slice(start, stop - start),
            self.labels[start:stop],
            lambda row, column: self.place(row + start, column),
            ids=None if ids is None else ids.slice(start, stop - start),
            weights=None if self.weights is None else self.weights[start:stop],
        )


class Bad(NamedTuple):
    """A row of the file that is left out."""

    row: int  # of the table, before which it stood or which it is
    why: Callable[[], str]  # as only the first few are told
    ids: Sequence[str | None] = ()  # what is handed on, if that could be read


class Piece(NamedTuple):
    """Rows of a file whose cells fit their columns, but were not looked at otherwise."""

    table: (
        pa.Table
    )  # the columns that the plan wants, of float64 or string; times may be timestamps
    place: Place
    bad: list[Bad]  # rows whose cells do not fit


def clean(piece: Piece, plan: Plan, stop: bool) -> tuple[Iterator[Batch], list[Bad]]:
    """Return the good rows in batches, and the bad ones; with ``stop``, up to the first bad one.

    Where all are bad, a batch without rows tells how many there were.
    """
    table, misread = spelled(piece.table, plan)
    wrong = misread | _wrong(table, plan)
    found = [Bad(row, partial(why_not, piece.place, row, why)) for row, why in wrong.items()]
    bad = sorted([*piece.bad, *found], key=lambda one: one.row)
    good = np.ones(table.num_rows, dtype=bool)
    good[list(wrong)] = False
    if stop and bad:
        good[bad[0].row :] = False
        bad = bad[:1]
    rows, ids = np.flatnonzero(good), table.select(list(plan.ids)) if plan.ids else None
    kept = None
    if bad and not stop:
        kept = np.insert(good, [one.row for one in piece.bad], False)
        ids = None if ids is None else _with_bad(ids, piece.bad)
    elif ids is not None:
        ids = ids.slice(0, len(rows))
    return _batches(table, rows, piece.place, plan, kept, ids), bad


def _with_bad(ids: pa.Table, bad: list[Bad]) -> pa.Table:
    """Return what is handed on of all rows, with nothing where it could not be read."""
    import pyarrow as pa

    of_bad = [one.ids or [None] * ids.num_columns for one in bad]
    more = pa.table(
        [pa.array([own[k] for own in of_bad], pa.string()) for k in range(ids.num_columns)],
        ids.column_names,
    )
    behind = ids.num_rows + np.arange(len(bad))
    order = np.insert(np.arange(ids.num_rows), [one.row for one in bad], behind)
    return pa.concat_tables([ids, more]).take(order)


def why_not(place: Place, row: int, problem: Problem) -> str:
    """Return where a row stands, and what is wrong with it."""
    return f"{place(row, problem.column)}: {problem.message}"


def _wrong(table: pa.Table, plan: Plan) -> dict[int, Problem]:
    """Return the rows with a number that is not finite, a text that is too long, or no label."""
    import pyarrow.compute as pc

    wrong = _too_long(table, plan)
    if plan.weight is not None:
        wrong |= _no_weights(table[plan.weight].to_numpy(), plan.weight)
    for column in plan.columns:
        # What is not finite is not so in the sum.
        name = column.name
        if column.kind != "number" or isfinite(pc.sum(table[name]).as_py() or 0.0):
            continue
        cells = table[name].to_numpy()  # nulls are nan
        for row in np.flatnonzero(np.isinf(cells)):
            message = (
                f"found {cells[row]}; expected a finite number; leave the cell empty where a value "
                "is missing."
            )
            wrong.setdefault(int(row), Problem(name, message))
    if plan.label is None:
        return wrong
    labels = table[plan.label]
    if labels.null_count:
        for row in np.flatnonzero(labels.is_null().to_numpy()):
            wrong.setdefault(int(row), Problem(plan.label, NO_LABEL))
    ends = pc.match_substring(labels, "\0")  # which arrays of texts do not keep at an end
    if pc.any(ends).as_py():
        for row in np.flatnonzero(ends.fill_null(False).to_numpy()):
            message = (
                f"found {shown(labels[int(row)].as_py())}; expected a class without zero bytes."
            )
            wrong.setdefault(int(row), Problem(plan.label, message))
    return wrong


def _no_weights(cells: NDArray[np.float64], column: str) -> dict[int, Problem]:
    """Return the rows whose weight is missing, below zero or more than a row may have."""
    rows = np.flatnonzero(~((cells >= 0.0) & (cells <= MOST_WEIGHT)))
    found = ["no weight" if np.isnan(cells[row]) else f"{cells[row]:g}" for row in rows]
    return {
        int(row): Problem(column, f"found {each}; expected a weight from 0 to {MOST_WEIGHT:,}.")
        for row, each in zip(rows, found, strict=True)
    }


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
    for column in plan.wanted:
        name = column.name
        if column.kind not in ("category", "text"):
            continue
        most = longest_in(name, plan.label)
        lengths = pc.utf8_length(table[name])
        if (pc.max(lengths).as_py() or 0) <= most:
            continue
        for row, length in enumerate(lengths.to_pylist()):
            if length is not None and length > most:
                wrong.setdefault(row, Problem(name, too_long(length, most)))
    return wrong


def _batches(
    table: pa.Table,
    rows: NDArray[np.intp],
    place: Place,
    plan: Plan,
    kept: NDArray[np.bool_] | None,
    ids: pa.Table | None,
) -> Iterator[Batch]:
    if len(rows) < table.num_rows:
        table = table.take(rows)
    features = table.select([column.name for column in plan.columns])
    labels = None if plan.label is None else table[plan.label]
    weights = None if plan.weight is None else table[plan.weight].to_numpy()
    starts = range(0, len(rows), BATCH)
    if kept is not None:
        starts = starts or range(1)
        # Each batch has the bad rows behind it, and the first one those before it too.
        of_batches = np.split(kept, np.flatnonzero(kept)[BATCH::BATCH])
    n_before = 0
    for number, start in enumerate(starts):
        some = None if kept is None else of_batches[number]
        n_rows = BATCH if some is None else len(some)
        yield Batch(
            features.slice(start, BATCH),
            # Not of all rows at once: each label takes as much room as the longest.
            np.array([], str) if labels is None else _texts(labels.slice(start, BATCH)),
            partial(_place_of, place, rows[start : start + BATCH]),
            some,
            None if ids is None else ids.slice(n_before, n_rows),
            None if weights is None else weights[start : start + BATCH],
        )
        n_before += n_rows


def _place_of(place: Place, rows: NDArray[np.intp], row: int, column: str | None) -> str:
    return place(int(rows[row]), column)


def _texts(cells: pa.ChunkedArray) -> NDArray[Any]:
    encoded = cells.combine_chunks().dictionary_encode()
    texts = np.array(encoded.dictionary.to_pylist(), dtype=str)
    labels: NDArray[Any] = texts[encoded.indices.to_numpy()]
    return labels
