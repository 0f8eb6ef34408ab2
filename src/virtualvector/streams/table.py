"""From the name of a data set or a file to rows of numbers and their labels, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.escaping import printable, quoted
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.columns import Column, listed, shown
from virtualvector.streams.reader import open_rows
from virtualvector.streams.sources import STANDARD_INPUT
from virtualvector.values import number_in

if TYPE_CHECKING:
    import pyarrow as pa

    from virtualvector.streams.batches import Batch
    from virtualvector.streams.reader import Reader

_LONG = 64  # characters of a label, of which any number of rows may have one
_MOST_BYTES = 2**28  # of longer labels
_TRUTH = {"true": 1.0, "false": 0.0}


class Stream(NamedTuple):
    """Labelled rows in the order in which they come."""

    name: str
    rows: NDArray[np.float64]
    labels: NDArray[Any]
    columns: list[str]  # those of the rows
    classes: NDArray[Any]  # sorted
    label_column: str
    label_reason: str


class LabelledTable(NamedTuple):
    """Labelled rows in the order in which they come, of any kinds of columns."""

    name: str
    table: pa.Table  # with nulls where a value is missing
    labels: NDArray[Any]
    columns: tuple[Column, ...]
    classes: NDArray[Any]  # sorted
    label_column: str
    label_reason: str
    problems: list[str]  # the first bad rows that were left out
    n_skipped: int
    notes: list[str]  # what columns were taken for, and how it is written


def read_table(sources: Sequence[str], **reading: Any) -> LabelledTable:
    """Read all that `open_rows` can open, at once.

    Parameters
    ----------
    sources : sequence of str
        As for `open_rows`.
    **reading : Any
        Options of `open_rows`.

    Returns
    -------
    LabelledTable
        The good rows, of two classes or more.

    Examples
    --------
    >>> from virtualvector.streams.table import read_table
    >>> found = read_table(["ionosphere"])
    >>> found.table.shape, found.classes.tolist()
    ((351, 34), ['b', 'g'])
    """
    import pyarrow as pa

    with open_rows(sources, **reading) as reader:
        batches = _all(reader)
    if not batches:
        raise NothingToLearn(f"{reader.problems[0]} Every row was left out.")
    labels = np.concatenate([batch.labels for batch in batches])
    classes, column = np.unique(labels), str(reader.label)
    place = f"{printable(' '.join(sources))}, column {quoted(column)}"
    _check_classes(place, classes, len(labels))
    return LabelledTable(
        name_of(sources[0]),
        pa.concat_tables([batch.table for batch in batches]),
        labels,
        reader.columns,
        classes,
        column,
        reader.label_reason,
        reader.problems,
        reader.skipped,
        reader.notes,
    )


def read(source: str, label: str | None = None, seed: int = 0) -> Stream:
    """Read a shipped data set, or a table from a file.

    Parameters
    ----------
    source : str
        What `open_rows` takes for one: "spambase", "thyroid" or "ionosphere", or a file, whose
        rows keep their order.
    label : str, optional
        The column that has the classes; by default as in `open_rows`.
    seed : int, default=0
        Seed of the order of a shipped data set.

    Returns
    -------
    Stream
        Rows, labels and what they are called.

    Raises
    ------
    BadInput
        If it is not a table of finite numbers with a class for each row, of two classes or more.

    Examples
    --------
    >>> from virtualvector.streams import read
    >>> stream = read("ionosphere")
    >>> stream.rows.shape, stream.classes.tolist()
    ((351, 34), ['b', 'g'])
    """
    with open_rows([source], label=label, seed=seed) as reader:
        batches = _all(reader)
    rows = np.concatenate([_numbers(batch, reader.columns) for batch in batches])
    labels = np.concatenate([batch.labels for batch in batches])
    column = str(reader.label)
    classes = np.unique(labels)
    _check_classes(f"{printable(source)}, column {quoted(column)}", classes, len(labels))
    columns = [column.name for column in reader.columns]
    return Stream(name_of(source), rows, labels, columns, classes, column, reader.label_reason)


def name_of(source: str) -> str:
    """Return what the rows of a source are called.

    Examples
    --------
    >>> from virtualvector.streams.table import name_of
    >>> name_of("data/spam.csv.gz"), name_of("-")
    ('spam', 'rows')
    """
    return "rows" if source == STANDARD_INPUT else Path(source).name.partition(".")[0]


def _all(reader: Reader) -> list[Batch]:
    """Return all batches, unless a few long labels would take up the memory."""
    batches, n_rows, longest = [], 0, 0
    for batch in reader:
        n_rows += len(batch.labels)
        longest = max(longest, batch.labels.dtype.itemsize // 4)  # characters
        if longest > _LONG and 4 * longest * n_rows > _MOST_BYTES:
            raise BadInput(
                f"{batch.place(0, reader.label)}: found labels of up to {longest} characters in so "
                f"many rows; expected at most {_LONG}."
            )
        if len(batch.labels):
            batches.append(batch)
    return batches


def _check_classes(place: str, classes: NDArray[Any], n_rows: int) -> None:
    if len(classes) < 2:
        only = quoted(str(classes[0]))
        raise NothingToLearn(f"{place}: found only the class {only}; expected two or more.")
    if len(classes) > 2 and len(classes) > n_rows // 2:
        raise BadInput(
            f"{place}: found {len(classes)} different values in {n_rows} rows; expected a few "
            "classes that come again and again."
        )


def _numbers(batch: Batch, columns: Sequence[Column]) -> NDArray[np.float64]:
    """Return the cells as numbers, of which none may be missing; true and false are 1 and 0."""
    rows = np.empty(batch.table.shape)
    for index, (name, categorical, is_time, *_) in enumerate(columns):
        cells = batch.table[name]
        if is_time:
            raise BadInput(
                f"{batch.place(0, name)}: found dates or times, which vvm learn takes; expected "
                "numbers."
            )
        if cells.null_count:
            row = int(np.argmax(cells.is_null().to_numpy()))
            raise BadInput(
                f"{batch.place(row, name)}: found an empty cell; expected a finite number."
            )
        if not categorical:
            rows[:, index] = cells.to_numpy()
            continue
        for row, cell in enumerate(cells.to_pylist()):
            number = _TRUTH.get(cell, number_in(cell))
            if number is None:
                texts = listed(column.name for column in columns if column.categorical)
                raise BadInput(
                    f"{batch.place(row, name)}: found {shown(cell)}; expected a number. Not "
                    f"all numbers: {texts}."
                )
            rows[row, index] = number
    return rows
