"""Rows by their non-zeros, as learners hand them to a posterior of either kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from virtualvector.posterior import (
    Events,
    LowRankState,
    Settings,
    copy_state,
    learn,
    learn_in_place,
    predicted_margins,
)
from virtualvector.posterior.low_rank_state import SparseRows
from virtualvector.types import Array

_NUMBERS_AT_ONCE = 2**20  # of rows that are written out for a full covariance


class SparseTable:
    """A sparse table of sorted, distinct places, which is indexed as an array is.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from virtualvector.learners.sparse_rows import SparseTable
    >>> table = SparseTable(csr_array([[0.0, 2.0], [1.0, 0.0]]))
    >>> len(table), table.shape, table[1:].dense()
    (2, (2, 2), array([[1., 0.]]))
    """

    def __init__(self, csr: Any) -> None:
        self.csr = csr
        self.shape: tuple[int, int] = csr.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Any) -> SparseTable:
        return SparseTable(self.csr[which])

    def dense(self) -> Array:
        """Return the rows written out."""
        rows: Array = self.csr.toarray()
        return rows

    def blocks(self) -> Any:
        """Yield slices of few enough rows to write them out."""
        size = max(1, _NUMBERS_AT_ONCE // max(1, self.shape[1]))
        for start in range(0, len(self), size):
            yield slice(start, start + size)


def learned(
    state: Any, rows: Any, signs: Array, settings: Settings, powers: Array
) -> tuple[Any, Events]:
    """As `learn`, of rows of any kind; to a full covariance they are written out, a few at once."""
    if not isinstance(rows, SparseTable):
        return learn(state, rows, signs, settings, powers)
    if isinstance(state, LowRankState) or len(rows) == 0:
        given = rows.csr if isinstance(state, LowRankState) else rows.dense()
        return learn(state, given, signs, settings, powers)
    state, parts = copy_state(state), []
    for some in rows.blocks():
        state, events = learn_in_place(
            state, rows[some].dense(), signs[some], settings, powers[some]
        )
        parts.append(events)
    return state, Events._make(np.concatenate(each) for each in zip(*parts, strict=True))


def margins_under(state: Any, rows: Any, margin_noise: float) -> Array:
    """As `predicted_margins`, of rows of any kind."""
    if not isinstance(rows, SparseTable):
        return predicted_margins(state, rows, margin_noise)
    if isinstance(state, LowRankState):
        return predicted_margins(state, rows.csr, margin_noise)
    parts = [predicted_margins(state, rows[b].dense(), margin_noise) for b in rows.blocks()]
    return np.concatenate([np.zeros(0), *parts])


class SparseRow:
    """Where one row after the other is written, for a posterior of low rank.

    Takes what an array of its length would, and besides dicts from columns to numbers, and sparse
    tables of one row.

    Examples
    --------
    >>> from virtualvector.learners.sparse_rows import SparseRow
    >>> row = SparseRow(5)
    >>> row[:] = {3: 1.5, 1: 2.0}
    >>> row.rows.places[:2].tolist(), row.rows.values[:2].tolist()
    ([1, 3], [2.0, 1.5])
    """

    def __init__(self, n_columns: int) -> None:
        self.shape = (n_columns,)
        self.rows = SparseRows(
            np.array([0, n_columns]), np.arange(n_columns), np.zeros(n_columns), n_columns
        )

    def __len__(self) -> int:
        return self.shape[0]

    def __setitem__(self, _: slice, x: Any) -> None:
        if isinstance(x, Mapping):
            places, values = _sorted_items(x, len(self))
        elif sparse.issparse(x):
            places, values = _of_one_row(x, len(self))
        else:
            row = np.asarray(x)
            if row.shape != self.shape or row.dtype.kind not in "fiub":
                raise ValueError("of another shape or type")  # said in full by who writes it
            (places,) = np.nonzero(row)
            values = row[places]
        n = len(places)
        self.rows.places[:n], self.rows.values[:n] = places, values
        self.rows.starts[1] = n


def sparse_table(x: Any, n_columns: int) -> Any:
    """Return a dict from columns to numbers, or a sparse row, as a sparse table of one row."""
    if sparse.issparse(x):
        return sparse.csr_array(x if x.ndim == 2 else x.reshape(1, -1))
    places, values = _sorted_items(x, n_columns)
    return sparse.csr_array((values, places, [0, len(places)]), shape=(1, n_columns))


def _sorted_items(x: Mapping[Any, Any], n_columns: int) -> tuple[Any, Any]:
    for key in x:
        if not isinstance(key, int | np.integer) or not 0 <= key < n_columns:
            raise ValueError(
                f"found the key {key!r:.40} in a row; expected columns from 0 to {n_columns - 1}"
            )
    items = sorted(x.items())
    return [key for key, _ in items], [float(value) for _, value in items]


def _of_one_row(x: Any, n_columns: int) -> tuple[Any, Any]:
    row = sparse.csr_array(x if x.ndim == 2 else x.reshape(1, -1))
    if row.shape != (1, n_columns):
        raise ValueError(f"found a sparse table of shape {row.shape}; expected (1, {n_columns})")
    row.sum_duplicates()
    return row.indices, row.data
