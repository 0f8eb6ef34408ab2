"""Rows of tables whose columns have types: shipped data sets, Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.chunks import why
from virtualvector.streams.columns import BLANKS, PEEK, Column, Plan, check_twice, place_of
from virtualvector.streams.pieces import BATCH, Piece, Place

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Callable[[list[str]], Iterable["pa.RecordBatch"]]  # of some columns
_PAGE = 2**16  # bytes of a column that are read at once


class Typed:
    """The rows of a table, which come in batches of some of its columns."""

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        batches: Batches,
        missing: Iterable[str],
        n_rows: int | None = None,
        classes: tuple[str, ...] | None = None,
    ) -> None:
        self._name, self._batches, self._missing = name, batches, frozenset(missing)
        self.columns = tuple(Column(field.name, self._holds_names(field)) for field in schema)
        check_twice(name, schema.names)
        self.n_rows, self.classes = n_rows, classes

    def first(self, column: str) -> list[str]:
        """Return what the first rows have in a column, as far as they have something."""
        cells: list[str | None] = []
        for batch in self._batches([column]):
            cells += _texts(batch.column(0)).to_pylist()
            if len(cells) >= PEEK:
                break
        texts = [(cell or "").strip(BLANKS) for cell in cells[:PEEK]]
        return [text for text in texts if text not in self._missing]

    def pieces(self, plan: Plan) -> Iterator[Piece]:
        """Yield all rows, once."""
        import pyarrow as pa

        self._check_kinds(plan)
        start = 0
        try:
            for batch in self._batches([column.name for column in plan.wanted]):
                columns = {
                    name: (_texts if named else _numbers)(batch.column(name))
                    for name, named in plan.wanted
                }
                yield Piece(pa.table(columns), self._place(start), [])
                start += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            raise BadInput(f"{self._name}: {why(error)}, after row {start}.") from error

    def _holds_names(self, field: pa.Field) -> bool:
        from pyarrow import types

        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        if types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind):
            return True
        if any(is_kind(kind) for is_kind in (types.is_integer, types.is_floating, types.is_null)):
            return bool(types.is_dictionary(field.type))
        if types.is_decimal(kind):
            return False
        raise BadInput(
            f"{self._name}, column {field.name!r}: found the type {field.type}; expected numbers "
            "or names."
        )

    def _check_kinds(self, plan: Plan) -> None:
        names = {column.name for column in self.columns if column.named}
        for column in plan.columns:
            if column.name in names and not column.named:
                raise BadInput(
                    f"{self._name}, column {column.name!r}: found names; expected numbers"
                    f"{', as was learned' if plan.learned else ', as in the first file'}."
                )

    def _place(self, start: int) -> Place:
        def place(row: int, column: str | None) -> str:
            return place_of(f"{self._name}, row {start + row + 1}", column)

        return place


def _texts(cells: pa.Array) -> pa.Array:
    import pyarrow as pa

    return cells.cast(pa.string())


def _numbers(cells: pa.Array) -> pa.Array:
    import pyarrow as pa

    return cells.cast(pa.float64(), safe=False)  # of a large integer the nearest number


def shipped(name: str, seed: int) -> Typed:
    """Return the rows of a shipped data set, shuffled."""
    import pyarrow as pa

    from virtualvector import datasets

    data = getattr(datasets, f"load_{name}")(random_state=seed)
    columns: dict[str, Any] = dict(zip(data.feature_names.tolist(), data.data.T, strict=True))
    columns["label"] = data.target_names[data.target].tolist()
    batch = pa.record_batch({name: pa.array(cells) for name, cells in columns.items()})
    classes = tuple(sorted(data.target_names.tolist()))
    return Typed(
        name, batch.schema, lambda names: [batch.select(names)], (), batch.num_rows, classes
    )


def parquet(name: str, path: Path, missing: Iterable[str]) -> Typed:
    """Return the rows of a Parquet file."""
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(path, pre_buffer=False, buffer_size=_PAGE)  # not whole columns in memory

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from file.iter_batches(BATCH, columns=columns)

    return Typed(name, file.schema_arrow, batches, missing, file.metadata.num_rows)


def arrow(name: str, path: Path, missing: Iterable[str]) -> Typed:
    """Return the rows of a file or a stream in Arrow's own format, of which Feather is one."""
    from pyarrow import OSFile, dataset, ipc

    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        with OSFile(str(path)) as file:
            if is_file:
                reader = ipc.open_file(file)
                found = (reader.get_batch(index) for index in range(reader.num_record_batches))
            else:
                found = ipc.open_stream(file)
            for batch in found:
                yield batch.select(columns)

    with OSFile(str(path)) as file:
        schema = (ipc.open_file if is_file else ipc.open_stream)(file).schema
    rows = Typed(name, schema, batches, missing)
    if is_file:
        rows.n_rows = dataset.dataset(path, format="ipc").count_rows()
    return rows
