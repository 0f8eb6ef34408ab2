"""From the name of a data set or a file to rows of numbers and their labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.delimited import DelimitedFile

if TYPE_CHECKING:
    import pyarrow as pa

SHIPPED = ("spambase", "thyroid", "ionosphere")


class Stream(NamedTuple):
    """Labelled rows in the order in which they come."""

    name: str
    rows: NDArray[np.float64]
    labels: NDArray[Any]
    columns: list[str]  # those of the rows
    classes: NDArray[Any]  # sorted
    label_column: str


def read(source: str, label: str | None = None, seed: int = 0) -> Stream:
    """Read a shipped data set, or a table from a file.

    Parameters
    ----------
    source : str
        "spambase", "thyroid" or "ionosphere", whose rows are shuffled because the files are sorted
        by class; or the path of a CSV or TSV file, perhaps with ``.gz``, whose first line names the
        columns. Its rows keep their order.
    label : str, optional
        The column of a file that has the classes; by default the last one.
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
    if source in SHIPPED:
        return _shipped(source, label, seed)
    return _from_file(Path(source), label)


def _shipped(name: str, label: str | None, seed: int) -> Stream:
    from virtualvector import datasets

    if label not in (None, "label"):
        raise BadInput(f"{name}: found no column {label!r}; its label is the column 'label'.")
    data = getattr(datasets, f"load_{name}")(random_state=seed)
    labels = data.target_names[data.target]
    columns = data.feature_names.tolist()
    return Stream(name, data.data, labels, columns, np.unique(labels), "label")


def _from_file(path: Path, label: str | None) -> Stream:
    if not path.is_file():
        found = "a folder" if path.is_dir() else "no such file"
        raise BadInput(
            f"{path}: {found}; expected a CSV or TSV file, or one of {', '.join(SHIPPED)}."
        )
    file = DelimitedFile(path)
    columns = file.header()
    label_column = columns[-1] if label is None else label
    if label_column not in columns:
        raise BadInput(f"{path}: found no column {label!r}; the columns are {_listed(columns)}.")
    table = file.table(texts=[label_column])
    if table.num_rows == 0:
        raise BadInput(f"{path}: found no rows below the header; expected some.")
    labels = _labels(file, label_column, table[label_column])
    table = table.drop_columns([label_column])
    name = path.name.partition(".")[0]
    columns = table.column_names
    return Stream(name, _numbers(file, table), labels, columns, np.unique(labels), label_column)


def _labels(file: DelimitedFile, name: str, column: pa.ChunkedArray) -> NDArray[Any]:
    missing = column.is_null().to_numpy()
    if missing.any():
        place = file.at(int(np.argmax(missing)), name)
        raise BadInput(f"{place}: found an empty label; expected a class.")
    labels = np.array(column.to_pylist())
    n_classes = len(np.unique(labels))
    if n_classes < 2:
        raise BadInput(
            f"{file.path}, column {name!r}: found only the class {str(labels[0])!r}; expected two "
            "or more."
        )
    if n_classes > 2 and n_classes > len(labels) // 2:
        raise BadInput(
            f"{file.path}, column {name!r}: found {n_classes} different values in {len(labels)} "
            "rows; expected a few classes that come again and again."
        )
    return labels


def _numbers(file: DelimitedFile, table: pa.Table) -> NDArray[np.float64]:
    _check_types(file, table)
    rows = np.column_stack(
        [np.asarray(column.to_numpy(), dtype=np.float64) for column in table.columns]
    )
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = (int(place) for place in np.argwhere(~finite)[0])
        empty = not table.column(column)[row].is_valid
        found = "an empty cell" if empty else rows[row, column]
        place = file.at(row, table.column_names[column])
        raise BadInput(f"{place}: found {found}; expected a finite number.")
    return rows


def _check_types(file: DelimitedFile, table: pa.Table) -> None:
    """Raise for the first cell that is no number, and name all columns that have such cells."""
    texts = [field.name for field in table.schema if not _holds_numbers(field.type)]
    if texts:
        cells = table[texts[0]].to_pylist()
        row = next(row for row, cell in enumerate(cells) if not _is_number(cell))
        raise BadInput(
            f"{file.at(row, texts[0])}: found {str(cells[row])!r}; expected a number. "
            f"Not all numbers: {_listed(texts)}."
        )


def _holds_numbers(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)  # "true" and "false" are 1 and 0
        or types.is_null(kind)  # every cell is empty, which is found out later
    )


def _is_number(cell: Any) -> bool:
    """Whether a cell of a column that is not all numbers is one, or empty."""
    try:
        float("0" if cell is None else cell)
    except (TypeError, ValueError):
        return False
    return True


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
