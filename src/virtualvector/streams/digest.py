"""What rows were, in a few bytes: the same however they are cut and wherever they come from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from virtualvector.dataframes import entries_of, floats_of
from virtualvector.streams.batches import Batch
from virtualvector.streams.columns import Column

if TYPE_CHECKING:
    import pyarrow as pa

SIZE = 16  # bytes


class RowDigest:
    """A digest of labelled rows in their order; adding rows returns a new one.

    It is of values, not of bytes: the same table as CSV and as Parquet has the same.

    Parameters
    ----------
    columns : sequence of Column
        The columns of the rows.
    weighted : bool, default=False
        Whether rows have weights, which then count.

    Examples
    --------
    >>> from virtualvector.streams import open_rows
    >>> from virtualvector.streams.digest import RowDigest
    >>> with open_rows(["ionosphere"]) as reader:
    ...     (batch,) = reader
    ...     whole = RowDigest(reader.columns).with_rows(batch)
    ...     parts = RowDigest(reader.columns)
    ...     for start, stop in [(0, 100), (100, 351)]:
    ...         parts = parts.with_rows(batch.part(start, stop))
    >>> whole.hexdigest() == parts.hexdigest()
    True
    """

    def __init__(self, columns: Sequence[Column], weighted: bool = False) -> None:
        self._numbers, self._texts, self._sparse = _by_kind(columns)
        # Numbers row by row; of each column of texts, and of the labels, lengths and characters; of
        # sparse rows, lengths, indices and values.
        self._hashes = [_new() for _ in range(1 + 2 * (len(self._texts) + 1))]
        self._hashes += [_new() for _ in range(3 * len(self._sparse))]
        self._weights = _new() if weighted else None

    def with_rows(self, batch: Batch) -> Self:
        """Return the digest of these rows and some more."""
        more = copy(self)
        more._hashes = [each.copy() for each in self._hashes]
        if self._weights is not None:
            more._weights = self._weights.copy()
            more._weights.update(np.ascontiguousarray(batch.weights, np.float64).data)
        more._add(batch)
        return more

    def _add(self, batch: Batch) -> None:
        n_texts = 2 * (len(self._texts) + 1)
        numbers, texts = self._hashes[0], self._hashes[1 : 1 + n_texts]
        for name, place in zip(self._sparse, range(1 + n_texts, len(self._hashes), 3), strict=True):
            for each, some in zip(
                self._hashes[place : place + 3], entries_of(batch.table[name]), strict=True
            ):
                each.update(some.data)
        numbers.update(_matrix(batch.table, self._numbers).data)
        columns = [batch.table[name].to_pylist() for name in self._texts]
        columns.append(batch.labels.tolist())
        for cells, lengths, characters in zip(columns, texts[::2], texts[1::2], strict=True):
            sizes = [-1 if cell is None else len(cell) for cell in cells]
            lengths.update(np.array(sizes, np.int64).data)
            characters.update("".join(filter(None, cells)).encode())

    def hexdigest(self) -> str:
        """Return the digest as text."""
        whole = _new()
        for each in (*self._hashes, *([self._weights] if self._weights is not None else [])):
            whole.update(each.digest())
        text: str = whole.hexdigest()
        return text


class RowSum:
    """A digest of labelled rows and their places, which adds up: parts may be looked at apart.

    Each row with its number has a digest of its own; their sum is that of the rows.

    Parameters
    ----------
    columns : sequence of Column
        The columns of the rows.
    first : int
        The number of the first row that is added.

    Examples
    --------
    >>> from virtualvector.streams import open_rows
    >>> from virtualvector.streams.digest import RowSum
    >>> with open_rows(["ionosphere"]) as reader:
    ...     (batch,) = reader
    ...     whole = RowSum(reader.columns).with_rows(batch).hexdigest()
    ...     parts = [
    ...         RowSum(reader.columns, start).with_rows(batch.part(start, stop)).hexdigest()
    ...         for start, stop in [(0, 100), (100, 351)]
    ...     ]
    >>> whole == RowSum.added_up(parts), whole == RowSum.added_up(parts[:1])
    (True, False)
    """

    def __init__(self, columns: Sequence[Column], first: int = 0) -> None:
        self._numbers, self._texts, _ = _by_kind(columns)
        self._next, self._sum = first, 0

    def with_rows(self, batch: Batch) -> Self:
        """Return the digest of these rows and some more."""
        more = copy(self)
        rows = _matrix(batch.table, self._numbers)
        columns = [batch.table[name].to_pylist() for name in self._texts]
        weights = [] if batch.weights is None else [batch.weights.tolist()]
        each = zip(batch.labels.tolist(), *columns, *weights, strict=True)
        for row, others in zip(rows, each, strict=True):
            digest = hashlib.blake2b(row.tobytes(), digest_size=SIZE)
            digest.update(repr((more._next, others)).encode(errors="surrogateescape"))
            more._sum += int.from_bytes(digest.digest(), "big")
            more._next += 1
        return more

    def hexdigest(self) -> str:
        """Return the digest as text."""
        return _as_text(self._sum)

    @staticmethod
    def added_up(digests: Iterable[str | None]) -> str:
        """Return the digest of all rows of which some digests are given."""
        return _as_text(sum(int(each, 16) for each in digests if each is not None))


def _by_kind(columns: Sequence[Column]) -> tuple[list[str], list[str], list[str]]:
    """Return the columns of numbers and times, of texts, and of sparse rows."""
    kinds = (("number", "time"), ("category", "text"), ("sparse",))
    numbers, texts, sparse = ([c.name for c in columns if c.kind in kind] for kind in kinds)
    return numbers, texts, sparse


def _as_text(total: int) -> str:
    return f"{total % 2 ** (8 * SIZE):0{2 * SIZE}x}"


def _new() -> Any:
    return hashlib.blake2b(digest_size=SIZE)


def _matrix(table: pa.Table, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the numbers row by row, nan where missing: a number that is read never is."""
    floats = floats_of(table.select(names))
    if floats is not None:
        return np.where(np.isnan(floats), np.nan, floats)
    matrix = np.empty((table.num_rows, len(names)))
    for index, name in enumerate(names):
        cells = table[name].to_numpy()
        is_time = cells.dtype.kind == "M"
        matrix[:, index] = (
            np.where(np.isnat(cells), np.nan, cells.astype(int)) if is_time else cells
        )
    matrix[np.isnan(matrix)] = np.nan
    return matrix
