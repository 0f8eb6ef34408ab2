"""Cells as files have them, turned into values in their one spelling."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from virtualvector.escaping import argument
from virtualvector.streams.columns import Column, Plan, Problem, shown
from virtualvector.values import BLANKS, Marks, category, time_in

if TYPE_CHECKING:
    import pyarrow as pa


def spelled(table: pa.Table, plan: Plan) -> tuple[pa.Table, dict[int, Problem]]:
    """Return what cells stand for, and the rows with a cell that stands for nothing."""
    import pyarrow as pa

    columns, wrong = {}, dict[int, Problem]()
    for column in plan.wanted:
        cells = table[column.name]
        if column.text:
            columns[column.name] = _texts(cells, plan.marks)
        elif column.name in plan.ids or column.n_places:
            columns[column.name] = cells
        elif column.time:
            columns[column.name], misread = _times(cells, column, plan)
            wrong = misread | wrong
        elif column.categorical:
            marks = plan.marks.of_labels if column.name == plan.label else plan.marks
            columns[column.name] = _categories(cells, marks)
        else:
            columns[column.name] = _numbers(cells, plan.marks)
    return pa.table(columns), wrong


def _numbers(cells: pa.ChunkedArray, marks: Marks) -> pa.ChunkedArray:
    """Return numbers, with null for what stands for a missing one; nan does, too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    gaps = None
    if np.isnan(pc.sum(cells).as_py() or 0.0):  # also of infinities
        gaps = pc.is_nan(cells)
    if marks.numbers:
        marked = pc.is_in(cells, pa.array(marks.numbers, pa.float64()))
        gaps = marked if gaps is None else pc.or_(gaps, marked)
    return cells if gaps is None else pc.if_else(gaps, pa.scalar(None, pa.float64()), cells)


def _categories(cells: pa.ChunkedArray, marks: Marks) -> pa.ChunkedArray:
    import pyarrow as pa

    def entry(text: str) -> str | None:
        return category(text, marks) or None

    return _each(cells, entry, pa.string())


def _texts(cells: pa.ChunkedArray, marks: Marks) -> pa.ChunkedArray:
    """Return texts as they are, with null for one that stands for a missing value."""
    import pyarrow as pa

    return _each(cells, lambda text: None if text.strip(BLANKS) in marks else text, pa.string())


def _times(
    cells: pa.ChunkedArray, column: Column, plan: Plan
) -> tuple[pa.ChunkedArray, dict[int, Problem]]:
    """Return times in microseconds, and the rows whose text is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, marks = pa.timestamp("us"), plan.marks.of_numbers
    if cells.type == kind:
        return cells, {}

    def entry(text: str) -> int | None:
        return time_in(text)

    times = _each(cells, entry, kind)
    strange = pc.and_(times.is_null(), cells.is_valid())
    wrong: dict[int, Problem] = {}
    if pc.any(strange).as_py():
        for row in np.flatnonzero(strange.to_numpy()):
            text = cells[int(row)].as_py().strip(BLANKS)
            if text not in marks:
                message = f"found {shown(text)}; expected a date or time as 2021-05-06 07:08:09"
                wrong[int(row)] = Problem(column.name, f"{message}{instead(text, column, plan)}.")
    return times, wrong


def _each(cells: pa.ChunkedArray, entry: Callable[[str], object], kind: pa.DataType) -> pa.Array:
    """Return what each cell becomes, of which many may be the same."""
    import pyarrow as pa

    encoded = cells.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    entries = [entry(text) for text in texts]
    if entries == texts:
        return cells
    # Arrow's own way of doing this takes room for as many texts of the mean length of all entries.
    values = [None if index is None else entries[index] for index in encoded.indices.to_pylist()]
    return pa.chunked_array([pa.array(values, kind)])


def instead(cell: str, column: Column, plan: Plan) -> str:
    """Return which options help where a cell is not what its column holds."""
    if column.name == plan.weight:
        return " from 0 on, as weights are (--on-error skip leaves such rows out)"
    because = ", as was learned" if plan.learned else ", as in most of the first rows"
    ways = []
    if _may_be_mark(cell):
        ways.append(f"--missing {argument(cell)} if it stands for a missing value")
    if not plan.learned:
        ways.append(f"--categorical {argument(column.name)} if these are categories")
    return f"{because} ({'; '.join([*ways, '--on-error skip leaves such rows out'])})"


def _may_be_mark(cell: str) -> bool:
    """Whether a text may stand for a missing value: short, and without digits."""
    return len(cell) <= 20 and cell.isprintable() and not re.search(r"[\d,]", cell)
