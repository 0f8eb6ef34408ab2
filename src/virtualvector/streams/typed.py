"""Rows of tables whose columns have types: shipped data sets, Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from virtualvector.escaping import printable, quoted
from virtualvector.streams.bad_input import BadInput, Damaged
from virtualvector.streams.chunks import why
from virtualvector.streams.columns import BLANKS, PEEK, Column, Plan, check_names, place_of
from virtualvector.streams.pieces import Bad, Piece, Place
from virtualvector.streams.validity import Validity

if TYPE_CHECKING:
    import pyarrow as pa


Batches = Callable[[list[str]], Iterable["pa.RecordBatch"]]  # of some columns


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
        check_names(name, schema.names)
        self.columns = tuple(Column(field.name, self._holds_names(field)) for field in schema)
        self.n_rows, self.classes = n_rows, classes

    def first(self, column: str) -> list[str]:
        """Return what the first rows have in a column, as far as they have something."""
        cells: list[str | None] = []
        for batch in self._checked([column]):
            cells += _texts(batch.column(0))[0].to_pylist()
            if len(cells) >= PEEK:
                break
        texts = [(cell or "").strip(BLANKS) for cell in cells[:PEEK]]
        return [text for text in texts if text not in self._missing]

    def pieces(self, plan: Plan) -> Iterator[Piece]:
        """Yield all rows, once."""
        self._check_kinds(plan)
        start = 0
        for batch in self._checked([column.name for column in plan.wanted]):
            yield self._piece(batch, plan, start)
            start += batch.num_rows

    def _checked(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield a few rows at a time, of arrays that are what they say."""
        import pyarrow as pa

        validity = Validity()
        start = 0
        try:
            for batch in self._batches(columns):
                for part in validity.parts(batch):
                    yield part
                    start += part.num_rows
        except (pa.ArrowException, OSError, Damaged) as error:
            column = error.column if isinstance(error, Damaged) else None
            place = place_of(f"{self._name}, after row {start}", column)
            raise BadInput(f"{place}: {why(error)}.") from error

    def _piece(self, batch: pa.RecordBatch, plan: Plan, start: int) -> Piece:
        import pyarrow as pa

        columns, wrong = {}, dict[int, str]()
        for name, named in plan.wanted:
            cells = batch.column(name)
            if named:
                cells, no_unicode = _texts(cells)
                for row in no_unicode:
                    wrong.setdefault(row, name)
            else:
                cells = cells.cast(pa.float64(), safe=False)  # of a large integer the nearest
            columns[name] = cells
        table, place = pa.table(columns), self._place(range(start, start + batch.num_rows))
        if not wrong:
            return Piece(table, place, [])
        good = [row for row in range(batch.num_rows) if row not in wrong]
        said = "found bytes that are no UTF-8; expected text in UTF-8."
        bad = [
            Bad(row - before, f"{place(row, wrong[row])}: {said}")
            for before, row in enumerate(sorted(wrong))
        ]
        return Piece(table.take(good), self._place([start + row for row in good]), bad)

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
            f"{self._name}, column {quoted(field.name)}: found the type "
            f"{printable(str(field.type), 100)}; expected numbers or names."
        )

    def _check_kinds(self, plan: Plan) -> None:
        names = {column.name for column in self.columns if column.named}
        for column in plan.columns:
            if column.name in names and not column.named:
                raise BadInput(
                    f"{self._name}, column {quoted(column.name)}: found names; expected numbers"
                    f"{', as was learned' if plan.learned else ', as in the first file'}."
                )

    def _place(self, rows: Any) -> Place:
        def place(row: int, column: str | None) -> str:
            return place_of(f"{self._name}, row {rows[row] + 1}", column)

        return place


def _texts(cells: pa.Array) -> tuple[pa.Array, list[int]]:
    """Return cells as texts, and the rows that have bytes that are none, where there is nothing."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if not (types.is_binary(cells.type) or types.is_large_binary(cells.type)):
        return cells.cast(pa.string()), []
    every = cells.to_pylist()
    bad = [row for row, cell in enumerate(every) if cell is not None and not _is_text(cell)]
    for row in bad:
        every[row] = None
    return pa.array(every, pa.binary()).cast(pa.string()), bad


def _is_text(cell: bytes) -> bool:
    try:
        cell.decode()
    except UnicodeDecodeError:
        return False
    return True


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
