"""Rows of tables whose columns have types: shipped data sets, Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from virtualvector.escaping import printable, quoted
from virtualvector.streams.arrow_validation import Part, Validity
from virtualvector.streams.bad_input import BadInput, Damaged
from virtualvector.streams.batches import Bad, Piece, Place, longest_in, why_not
from virtualvector.streams.chunks import why
from virtualvector.streams.columns import BLANKS, PEEK, Column, Plan, check_names, place_of

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
        self.columns = tuple(Column(field.name, self._is_categorical(field)) for field in schema)
        self.n_rows, self.classes = n_rows, classes

    def first(self, column: str) -> list[str]:
        """Return what the first rows have in a column, as far as they have something."""
        cells: list[str | None] = []
        n_rows = 0
        for part in self._checked([column], column):
            cells += _text(part.batch.column(0)).to_pylist()
            n_rows += part.n_rows
            if n_rows >= PEEK:
                break
        texts = [(cell or "").strip(BLANKS) for cell in cells[:PEEK]]
        return [text for text in texts if text not in self._missing]

    def pieces(self, plan: Plan) -> Iterator[Piece]:
        """Yield all rows, once."""
        self._check_kinds(plan)
        start = 0
        for part in self._checked([column.name for column in plan.wanted], plan.label):
            yield self._piece(part, plan, start)
            start += part.n_rows

    def _checked(self, columns: list[str], label: str | None) -> Iterator[Part]:
        """Yield a few rows at a time, of arrays that are what they say."""
        import pyarrow as pa

        validity = Validity({name: longest_in(name, label) for name in columns})
        start = 0
        try:
            for batch in self._batches(columns):
                for part in validity.parts(batch):
                    yield part
                    start += part.n_rows
        except (pa.ArrowException, OSError, Damaged) as error:
            column = error.column if isinstance(error, Damaged) else None
            place = place_of(f"{self._name}, after row {start}", column)
            raise BadInput(f"{place}: {why(error)}.") from error

    def _piece(self, part: Part, plan: Plan, start: int) -> Piece:
        import pyarrow as pa

        table = pa.table(
            {
                name: (_text if categorical else _number)(part.batch.column(name))
                for name, categorical in plan.wanted
            }
        )
        place = self._place(range(start, start + part.n_rows))
        bad = [
            Bad(row - before, partial(why_not, place, row, part.wrong[row]))
            for before, row in enumerate(sorted(part.wrong))
        ]
        return Piece(table, self._place([start + row for row in part.good]) if bad else place, bad)

    def _is_categorical(self, field: pa.Field) -> bool:
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
            f"{printable(str(field.type), 100)}; expected numbers or categories."
        )

    def _check_kinds(self, plan: Plan) -> None:
        names = {column.name for column in self.columns if column.categorical}
        for column in plan.columns:
            if column.name in names and not column.categorical:
                raise BadInput(
                    f"{self._name}, column {quoted(column.name)}: found categories; expected "
                    f"numbers, as {'was learned' if plan.learned else 'in the first file'}."
                )

    def _place(self, rows: Sequence[int]) -> Place:
        def place(row: int, column: str | None) -> str:
            return place_of(f"{self._name}, row {rows[row] + 1}", column)

        return place


def _text(cells: pa.Array) -> pa.Array:
    import pyarrow as pa

    return cells.cast(pa.string())


def _number(cells: pa.Array) -> pa.Array:
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
