"""All rows of a source in a random order, in memory that does not grow with them.

Every order is equally likely. Rows are written to a temporary file, in blocks that are shuffled
each; then each batch has some rows of every block, as many as would be among the next ones if all
that are left were shuffled. The order depends on the seed and on how many rows there are, and on
nothing else: neither on the format of a file nor on how it was read.
"""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.batches import Batch

if TYPE_CHECKING:
    import pyarrow as pa

    from virtualvector.streams.columns import Column
    from virtualvector.streams.reader import Reader

LONGEST_BLOCK, SHORTEST_BLOCK = 65_536, 256  # rows
_CELLS = 2**22  # of a block, if it has more rows than the shortest
_AT_ONCE = 8192  # rows of a batch, unless a block is shorter
_MOST_ROWS = 10**9  # that numpy can draw from
_LABEL, _ROW, _WEIGHT = "label", "row", "weight"
_COLUMN, _ID = "column ", "id "  # before the names of those that a table gives


class ShuffledReader:
    """The rows of a reader in a random order; they are read, all of them, when this is made.

    Parameters
    ----------
    reader : Reader
        Where rows come from.
    seed : int
        Of the order.

    Attributes
    ----------
    columns, label, label_reason, weight, ids, notes, skipped, problems
        As those of `Reader`.
    classes : tuple of str
        All that there are.
    n_rows : int
        How many there are.

    Examples
    --------
    >>> from virtualvector.streams import open_rows
    >>> from virtualvector.streams.shuffle import ShuffledReader
    >>> with ShuffledReader(open_rows(["ionosphere"]), seed=1) as reader:
    ...     (batch,) = reader
    ...     print(reader.n_rows, batch.labels[:3], batch.place(0, "x1"))
    351 ['g' 'b' 'g'] row 85 of those read, column 'x1'
    """

    def __init__(self, reader: Reader, seed: int) -> None:
        self.columns: tuple[Column, ...] = reader.columns
        self.label, self.label_reason = reader.label, reader.label_reason
        self.weight = reader.weight
        self.ids, self.n_in_time, self.notes = reader.ids, reader.n_in_time, reader.notes
        self._seed, self._open = seed, ExitStack()
        try:
            with reader:
                self._file = tempfile.TemporaryFile(prefix="vvm-")  # noqa: SIM115
                self._open.callback(self._file.close)
                labels = self._write(reader)
                self.skipped, self.problems = reader.skipped, reader.problems
        except BaseException:
            self.close()
            raise
        self.classes = self.first_classes = tuple(sorted(labels))

    def _write(self, reader: Reader) -> set[str]:
        """Write blocks of rows, each in a random order; return the labels that there are."""
        import pyarrow as pa

        rng = np.random.default_rng([self._seed, 0])
        self._n_block = min(max(_CELLS // len(self.columns), SHORTEST_BLOCK), LONGEST_BLOCK)
        self._sizes: list[int] = []
        waiting, n_waiting, n_rows, labels = [], 0, 0, set()
        writer = None
        for batch in reader:
            labels.update(np.unique(batch.labels).tolist())
            waiting.append(_with_labels(batch, n_rows))
            n_waiting += len(batch.labels)
            n_rows += len(batch.labels)
            while n_waiting >= self._n_block:
                table = pa.concat_tables(waiting)
                writer = self._add(table.slice(0, self._n_block), rng, writer)
                waiting = [table.slice(self._n_block)]
                n_waiting -= self._n_block
        if n_waiting:
            writer = self._add(pa.concat_tables(waiting), rng, writer)
        if writer is not None:
            writer.close()
            self._file.flush()
        self.n_rows = n_rows
        if n_rows >= _MOST_ROWS:
            raise BadInput(f"--shuffle: found {n_rows:,} rows; expected fewer than a billion.")
        return labels

    def _add(self, block: pa.Table, rng: np.random.Generator, writer: Any) -> Any:
        import pyarrow as pa

        if writer is None:
            writer = pa.ipc.new_file(self._file, block.schema)
        shuffled = block.take(rng.permutation(block.num_rows)).combine_chunks()
        try:
            for part in shuffled.to_batches():
                writer.write_batch(part)
        except OSError as error:
            raise BadInput(
                f"--shuffle: cannot write rows to {tempfile.gettempdir()}: {error}; expected room "
                "for all of them. TMPDIR says where else to."
            ) from error
        self._sizes.append(block.num_rows)
        return writer

    def __iter__(self) -> Iterator[Batch]:
        """Yield the rows; the same each time."""
        if not self._sizes:
            return
        import pyarrow as pa

        rng = np.random.default_rng([self._seed, 1])
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        blocks = pa.ipc.open_file(pa.py_buffer(mapped))
        left = np.array(self._sizes)
        while left.sum():
            n = min(_AT_ONCE, self._n_block, int(left.sum()))
            drawn = rng.multivariate_hypergeometric(left, n, method="marginals")
            parts = [
                blocks.get_batch(k).slice(self._sizes[k] - left[k], drawn[k])
                for k in np.flatnonzero(drawn)
            ]
            left -= drawn
            yield _batch(pa.Table.from_batches(parts).take(rng.permutation(n)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the temporary file."""
        self._open.close()


def _with_labels(batch: Batch, first: int) -> pa.Table:
    """Return rows with their labels and numbers, in columns whose names no table gives."""
    import pyarrow as pa

    n_rows = len(batch.labels)
    batch = batch.part(0, n_rows)  # without what is known of others
    parts = {_COLUMN: batch.table} if batch.ids is None else {_COLUMN: batch.table, _ID: batch.ids}
    columns = {
        before + name: cells
        for before, part in parts.items()
        for name, cells in zip(part.column_names, part.columns, strict=True)
    }
    labels, rows = pa.array(batch.labels.tolist(), pa.string()), np.arange(first, first + n_rows)
    weights = {} if batch.weights is None else {_WEIGHT: pa.array(batch.weights)}
    return pa.table(columns | weights | {_LABEL: labels, _ROW: rows})


def _batch(table: pa.Table) -> Batch:
    rows = table[_ROW].to_numpy()

    def place(row: int, column: str | None) -> str:
        where = f"row {rows[row] + 1:,} of those read"
        return where if column is None else f"{where}, column {column!r}"

    features, ids = _under(table, _COLUMN), _under(table, _ID)
    labels = np.array(table[_LABEL].to_pylist())
    return Batch(
        features,
        labels,
        place,
        ids=ids if ids.num_columns else None,
        weights=table[_WEIGHT].to_numpy() if _WEIGHT in table.column_names else None,
    )


def _under(table: pa.Table, before: str) -> pa.Table:
    """Return the columns whose names begin so, without that."""
    names = [name for name in table.column_names if name.startswith(before)]
    return table.select(names).rename_columns([name.removeprefix(before) for name in names])
