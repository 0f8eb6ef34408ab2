"""Sparse rows in columns of Parquet and Arrow: lists of an index and a value, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from virtualvector.streams.columns import Problem, sparse_type

if TYPE_CHECKING:
    import pyarrow as pa

INDEX, VALUE = "index", "value"


def is_sparse(kind: pa.DataType) -> bool:
    """Whether a column of a type holds sparse rows: whole numbers and numbers, so called.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from virtualvector.streams.arrow_sparse import is_sparse
    >>> is_sparse(pa.large_list(pa.struct([("index", pa.uint32()), ("value", pa.float32())])))
    True
    >>> is_sparse(pa.list_(pa.float64()))
    False
    """
    from pyarrow import types

    if not (types.is_list(kind) or types.is_large_list(kind)):
        return False
    entry = kind.value_type
    if not types.is_struct(entry) or {entry.field(k).name for k in range(entry.num_fields)} != {
        INDEX, VALUE,
    }:  # fmt: skip
        return False
    value = entry.field(VALUE).type
    is_number = types.is_floating(value) or types.is_integer(value)
    return bool(types.is_integer(entry.field(INDEX).type) and is_number)


def largest_index(cells: pa.Array) -> int:
    """Return the largest index of valid cells, or −1."""
    import pyarrow.compute as pc

    most = pc.max(_part(cells.flatten(), INDEX)).as_py()
    return -1 if most is None else int(most)


def checked_rows(name: str, cells: pa.Array, n_places: int) -> tuple[pa.Array, dict[int, Problem]]:
    """Return sparse rows with rising indices and without zeros, and which rows have none.

    Cells are valid. A cell that is missing is a row of zeros.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from virtualvector.streams.arrow_sparse import checked_rows
    >>> kind = pa.list_(pa.struct([("index", pa.int32()), ("value", pa.float32())]))
    >>> cells = pa.array([[(4, 1.0), (2, 0.5), (3, 0.0)], None, [(9, 1.0)]], kind)
    >>> rows, wrong = checked_rows("x", cells, 5)
    >>> rows.to_pylist()[:2]
    [[{'index': 2, 'value': 0.5}, {'index': 4, 'value': 1.0}], []]
    >>> wrong[2].message
    'found the index 9; expected indices from 0 to 4 (--on-error skip leaves such rows out).'
    """
    import pyarrow as pa

    lengths = cells.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(cells)), lengths)
    entries = cells.flatten()
    indices, values = _part(entries, INDEX), _part(entries, VALUE)
    there = _numbers(indices.is_valid()) & _numbers(values.is_valid())
    places = _numbers(indices.fill_null(0).cast(pa.int64(), safe=False))
    numbers = _numbers(values.fill_null(0).cast(pa.float64(), safe=False)).astype(np.float64)
    order = np.lexsort((places, rows))
    rows, places, numbers, there = (each[order] for each in (rows, places, numbers, there))
    within = (places >= 0) & (places < n_places)
    twice = np.zeros(len(rows), bool)
    twice[1:] = (rows[1:] == rows[:-1]) & (places[1:] == places[:-1])
    wrong: dict[int, Problem] = {}
    for k in np.flatnonzero(~there | ~within | ~np.isfinite(numbers) | twice).tolist():
        place = int(places[k])
        if not there[k]:
            message = "found an entry without an index or a value; expected both."
        elif not within[k]:
            message = (
                f"found the index {place}; expected indices from 0 to {n_places - 1} (--on-error "
                "skip leaves such rows out)."
            )
        elif twice[k]:
            message = f"found the index {place} twice; expected each once."
        else:
            message = f"found {numbers[k]} at the index {place}; expected a finite number."
        wrong.setdefault(int(rows[k]), Problem(name, message))
    kept = (numbers != 0.0) & ~np.isin(rows, list(wrong))
    starts = np.searchsorted(rows[kept], np.arange(len(cells) + 1)).astype(np.int32)
    written = pa.StructArray.from_arrays(
        [pa.array(places[kept], pa.int64()), pa.array(numbers[kept])], [INDEX, VALUE]
    )
    return pa.ListArray.from_arrays(pa.array(starts), written).cast(sparse_type()), wrong


def _part(entries: pa.Array, name: str) -> pa.Array:
    """Return the indices or the values of entries; nothing where there is no entry."""
    parts: dict[str, Any] = {
        entries.type.field(k).name: part for k, part in enumerate(entries.flatten())
    }
    return parts[name]


def _numbers(cells: pa.Array) -> Any:
    return cells.to_numpy(zero_copy_only=False)
