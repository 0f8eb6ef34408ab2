"""Parquet and Arrow files, read a little at a time, and never more than they have room for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from virtualvector.streams.arrow_tables import Batches, Typed
from virtualvector.streams.arrow_validation import TEXT
from virtualvector.streams.bad_input import BadInput, Damaged
from virtualvector.streams.batches import BATCH
from virtualvector.streams.chunks import why
from virtualvector.streams.limits import CELLS, may_repeat, room_for
from virtualvector.streams.messages import Messages
from virtualvector.streams.pages import load_of
from virtualvector.streams.survival import survives
from virtualvector.values import Marks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

_ENTRY = 64  # bytes that an entry of a sparse row takes while it is read
_PAGE = 2**16  # bytes of a column that are read at once
_TOGETHER = 2**16  # rows of small row groups that are read as one


class _Portion(NamedTuple):
    """What is read at once of a Parquet file."""

    groups: list[int]
    n_rows: int
    at_once: int  # rows of a batch


def parquet(name: str, path: Path, marks: Marks, n_places: int = 0) -> Typed:
    """Return the rows of a Parquet file; of so many places are sparse ones, if that is known."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    size = path.stat().st_size
    file = ParquetFile(
        path,
        pre_buffer=False,
        buffer_size=_PAGE,  # not whole columns in memory
        thrift_string_size_limit=max(1, size),
        thrift_container_size_limit=max(1, min(size, 2**20)),
        page_checksum_verification=True,
    )

    if not survives(lambda: _look_at_columns(file)):
        raise BadInput(f"{name}: found damaged metadata; expected that of a Parquet file.")

    def batches(portion: _Portion, columns: list[str]) -> Iterator[pa.RecordBatch]:
        which = {"row_groups": portion.groups, "columns": columns}
        try:
            yield from file.iter_batches(portion.at_once, **which)
        except (pa.ArrowException, OSError) as error:
            raise Damaged(why(error), _culprit(file, portion.groups, columns)) from error

    def groups(columns: list[str]) -> Iterator[tuple[int, Batches]]:
        for portion in _portions(file, path, size, columns):
            yield portion.n_rows, partial(batches, portion, columns)

    n_rows = file.metadata.num_rows
    return Typed(name, file.schema_arrow, groups, marks, n_rows, n_places=n_places)


def _look_at_columns(file: ParquetFile) -> None:
    """Look at what is said of each column; where that cannot be, Arrow ends the process."""
    for group in range(file.metadata.num_row_groups):
        row_group = file.metadata.row_group(group)
        for column in range(row_group.num_columns):
            row_group.column(column)


def _portions(file: ParquetFile, path: Path, size: int, columns: list[str]) -> Iterator[_Portion]:
    """Yield row groups that can be read, small ones together."""
    left = size  # bytes; no two columns may be at the same place
    ahead = _Portion([], 0, BATCH)
    with path.open("rb") as raw:
        for group in range(file.metadata.num_row_groups):
            n_bytes, at_once = _weighed(file, raw, size, group, columns)
            left -= n_bytes
            if left < 0:
                raise Damaged("found columns that share their bytes; expected each to have its own")
            n_rows = file.metadata.row_group(group).num_rows
            if ahead.groups and ahead.n_rows + n_rows > _TOGETHER:
                yield ahead
                ahead = _Portion([], 0, BATCH)
            ahead = _Portion(
                [*ahead.groups, group], ahead.n_rows + n_rows, min(ahead.at_once, at_once)
            )
    if ahead.groups:
        yield ahead


def _weighed(
    file: ParquetFile, raw: BinaryIO, size: int, group: int, columns: list[str]
) -> tuple[int, int]:
    """Return the bytes of some columns of a row group, and how many rows to read at once."""
    meta, schema = file.metadata.row_group(group), file.schema_arrow
    leaves = _leaves(schema)
    if meta.num_columns != sum(map(len, leaves.values())):
        raise Damaged(f"found {meta.num_columns} columns; expected those of {len(schema)}")
    packed = held = entries = 0
    cells = 0.0
    for name, column in [(each, meta.column(k)) for each in columns for k in leaves[each]]:
        entries = max(entries, column.num_values)
        if len(leaves[name]) > 1 and not may_repeat(_ENTRY, column.num_values, size):
            raise Damaged(f"found {column.num_values:,} entries; expected fewer", name)
        try:
            load = load_of(raw, size, column)
        except Damaged as error:
            raise Damaged(error.message, name) from error
        if not may_repeat(load.entry, meta.num_rows, column.total_compressed_size):
            raise Damaged(
                f"found {meta.num_rows:,} rows with texts of up to {load.entry:,} bytes in "
                f"{column.total_compressed_size:,} bytes; expected fewer, or shorter ones",
                name,
            )
        packed += column.total_compressed_size
        held += load.page
        cells += load.cell
    if held > room_for(packed):
        raise Damaged(
            f"found pages of {packed:,} bytes that become {held:,}; expected smaller pages"
        )
    most = CELLS // max(len(columns), -(-entries // max(meta.num_rows, 1)))
    return packed, max(1, min(BATCH, most, int(TEXT / max(1.0, cells))))


def _leaves(schema: pa.Schema) -> dict[str, list[int]]:
    """Return the columns that Parquet has for each: several for lists of an index and a value."""
    found, start = {}, 0
    for field in schema:
        n = _n_leaves(field.type)
        found[field.name] = list(range(start, start + n))
        start += n
    return found


def _n_leaves(kind: pa.DataType) -> int:
    return sum(_n_leaves(kind.field(k).type) for k in range(kind.num_fields)) or 1


def _culprit(file: ParquetFile, groups: list[int], columns: list[str]) -> str | None:
    """Return the column that cannot be read."""
    import pyarrow as pa

    for column in columns:
        try:
            for _ in file.iter_batches(1024, row_groups=groups, columns=[column]):
                pass
        except (pa.ArrowException, OSError):
            return column
    return None


def arrow(name: str, path: Path, marks: Marks, n_places: int = 0) -> Typed:
    """Return the rows of a file or a stream in Arrow's own format, of which Feather is one."""
    from contextlib import closing

    from pyarrow import PythonFile, ipc

    def groups(columns: list[str]) -> Iterator[tuple[int, Batches]]:
        with closing(Messages(path)) as messages:
            for batch in ipc.open_stream(PythonFile(messages, mode="r")):
                yield batch.num_rows, partial(_some_columns, batch, columns)

    with closing(Messages(path)) as messages:
        n_rows = messages.count_rows()
        schema = ipc.open_stream(PythonFile(messages, mode="r")).schema
    return Typed(name, schema, groups, marks, n_rows, n_places=n_places)


def _some_columns(batch: pa.RecordBatch, columns: list[str]) -> list[pa.RecordBatch]:
    return [batch.select(columns)]
