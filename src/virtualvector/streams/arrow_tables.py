"""Rows of tables whose columns have types: shipped data sets, Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from virtualvector.escaping import argument, printable, quoted
from virtualvector.streams.arrow_sparse import is_sparse, largest_index
from virtualvector.streams.arrow_validation import Part, Validity
from virtualvector.streams.bad_input import BadInput, Damaged
from virtualvector.streams.batches import Bad, Piece, Place, longest_in, why_not
from virtualvector.streams.chunks import why
from virtualvector.streams.columns import Column, Plan, check_names, is_index, place_of
from virtualvector.streams.limits import MOST_PLACES
from virtualvector.streams.passing import Passing
from virtualvector.values import BLANKS, PEEK, USUAL, Kind, Marks, in_microseconds, kind_of

if TYPE_CHECKING:
    import pyarrow as pa


Batches = Callable[[], Iterable["pa.RecordBatch"]]
Groups = Callable[[list[str]], Iterable[tuple[int, Batches]]]  # of some columns: rows of each


class Typed:
    """The rows of a table, which come in batches of some of its columns."""

    n_in_time = None
    notes: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        groups: Groups,
        marks: Marks,
        n_rows: int | None = None,
        classes: tuple[str, ...] | None = None,
        n_places: int = 0,
    ) -> None:
        self._name, self._groups, self._marks = name, groups, marks
        check_names(name, schema.names)
        self._types = {field.name: field.type for field in schema}
        self.typed = frozenset(n for n, kind in self._types.items() if not _is_text(kind))
        self.index = index_of(schema)
        self.n_rows, self.classes = n_rows, classes
        texts = [name for name, kind in self._types.items() if _is_text(kind)]
        first = self._first(texts, marks.of_numbers)
        kinds = {name: kind_of(cells) for name, cells in first.items() if cells}
        self.columns = tuple(
            Column(name, categorical=False, n_places=n_places or self._places_in(name))
            if is_sparse(kind)
            else Column.of_kind(name, kinds.get(name) or _kind(kind) or "number")
            for name, kind in self._types.items()
        )

    def _places_in(self, column: str) -> int:
        """Return the places of a column of sparse rows, for which all is read through."""
        import pyarrow as pa

        last, start = 0, 0
        try:
            for _, batches in self._groups([column]):
                for batch in batches():
                    batch.validate(full=True)
                    last = max(last, largest_index(batch.column(0)))
                    start += batch.num_rows
        except (pa.ArrowException, OSError, Damaged) as error:
            place = place_of(f"{self._name}, after row {start}", column)
            raise BadInput(f"{place}: {why(error)}.") from error
        if last >= MOST_PLACES:
            raise BadInput(
                f"{place_of(self._name, column)}: found the index {last}; expected indices below "
                f"{MOST_PLACES:,} (--ignore {argument(column)} leaves the column out)."
            )
        return last + 1

    def first(self, column: str) -> list[str]:
        """Return what the first rows have in a column, as far as they have something."""
        self.check_type(column)
        if is_sparse(self._types[column]):
            raise BadInput(f"{place_of(self._name, column)}: found sparse rows; expected labels.")
        return self._first([column], self._marks.of_labels, column)[column]

    def heads(self, columns: Sequence[str]) -> dict[str, list[str]]:
        """Return what the first rows have in some columns, as texts."""
        for column in columns:
            self.check_type(column)
        return self._first(columns, self._marks.of_numbers)

    def _first(
        self, columns: Sequence[str], marks: Marks, label: str | None = None
    ) -> dict[str, list[str]]:
        cells: dict[str, list[str | None]] = {column: [] for column in columns}
        if not columns:
            return {}
        try:
            n_rows = 0
            for _, part in self._checked(list(columns), label):
                few = part.batch.slice(0, PEEK - n_rows)
                for column in columns:
                    cells[column] += _text(few.column(column)).to_pylist()
                n_rows += part.n_rows
                if n_rows >= PEEK:
                    break
        except BadInput:  # which is said once all before it has been read
            if label is not None:
                raise
        return {
            column: [
                text
                for each in found
                if each is not None and (text := each.strip(BLANKS)) not in marks
            ]
            for column, found in cells.items()
        }

    def pieces(self, plan: Plan, passing: Passing | None = None) -> Iterator[Piece]:
        """Yield all rows that are not passed over, once."""
        self._check_kinds(plan)
        columns = [column.name for column in plan.wanted]
        n_places = {column.name: column.n_places for column in plan.wanted if column.n_places}
        for start, part in self._checked(columns, plan.label, passing, n_places):
            yield self._piece(part, plan, start)

    def close(self) -> None:
        """Do nothing: a file is open only while pieces of it are read."""

    def _checked(
        self,
        columns: list[str],
        label: str | None,
        passing: Passing | None = None,
        n_places: Mapping[str, int] | None = None,
    ) -> Iterator[tuple[int, Part]]:
        """Yield a few rows at a time, of arrays that are what they say, and the first's number."""
        import pyarrow as pa

        validity = Validity({name: longest_in(name, label) for name in columns}, n_places or {})
        start = 0
        try:
            for n_rows, batches in self._groups(columns):
                if passing is not None and passing.over_group(n_rows):
                    start += n_rows
                    continue
                for batch in batches():
                    if passing is not None and passing.over(partial(len, batch)):
                        start += batch.num_rows
                        continue
                    for part in validity.parts(batch):
                        yield start, part
                        start += part.n_rows
        except (pa.ArrowException, OSError, Damaged) as error:
            column = error.column if isinstance(error, Damaged) else None
            place = place_of(f"{self._name}, after row {start}", column)
            raise BadInput(f"{place}: {why(error)}.") from error

    def _piece(self, part: Part, plan: Plan, start: int) -> Piece:
        import pyarrow as pa

        table = pa.table({c.name: self._cells(part.batch.column(c.name), c) for c in plan.wanted})
        place = self._place(range(start, start + part.n_rows))
        bad = [
            Bad(row - before, partial(why_not, place, row, part.wrong[row]))
            for before, row in enumerate(sorted(part.wrong))
        ]
        return Piece(table, self._place([start + row for row in part.good]) if bad else place, bad)

    def _cells(self, cells: pa.Array, column: Column) -> pa.Array:
        if column.kind == "sparse":
            return cells
        convert = {"category": _text, "number": _number, "time": _time, "text": _text}
        try:
            return convert[column.kind](cells)
        except OverflowError as error:
            raise BadInput(
                f"{place_of(self._name, column.name)}: {error}; expected none (--ignore "
                f"{argument(column.name)} leaves the column out)."
            ) from error

    def check_type(self, column: str) -> None:
        """Raise if a column can be neither learned nor handed on."""
        kind = self._types[column]
        if _kind(kind) is None:
            raise BadInput(
                f"{self._name}, column {quoted(column)}: found the type "
                f"{printable(str(kind), 100)}; expected numbers, categories, dates or times "
                f"(--ignore {argument(column)} leaves it out)."
            )

    def _check_kinds(self, plan: Plan) -> None:
        for column in plan.wanted:
            self.check_type(column.name)
        if plan.weight is not None and _kind(self._types[plan.weight]) != "number":
            raise BadInput(
                f"{self._name}, column {quoted(plan.weight)}: found the type "
                f"{printable(str(self._types[plan.weight]), 100)}; expected numbers, which weights "
                "are."
            )
        for column in plan.columns:
            found = _kind(self._types[column.name])
            is_read = (column.time or column.text) and _is_text(self._types[column.name])
            if (column.categorical and found != "sparse") or found == column.kind or is_read:
                continue
            words = {"number": "numbers", "category": "categories", "time": "dates or times"}
            words |= {"text": "texts", "sparse": "sparse rows, as svmlight or lists have them"}
            because = "was learned" if plan.learned else "in the first file"
            raise BadInput(
                f"{self._name}, column {quoted(column.name)}: found {words[str(found)]}; expected "
                f"{words[column.kind]}, as {because}."
            )

    def _place(self, rows: Sequence[int]) -> Place:
        def place(row: int, column: str | None) -> str:
            return place_of(f"{self._name}, row {rows[row] + 1}", column)

        return place


def index_of(schema: pa.Schema) -> tuple[str, ...]:
    """Return the columns that pandas has written as the index of a table."""
    try:
        found = (schema.pandas_metadata or {}).get("index_columns", [])
    except ValueError:  # anyone can write it
        found = []
    written = [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
    return tuple(name for name in schema.names if name in written or is_index(name))


def _kind(kind: pa.DataType) -> Kind | None:
    """Return what a column of a type holds, or None if that is nothing to learn from."""
    from pyarrow import types

    if is_sparse(kind):
        return "sparse"
    if types.is_dictionary(kind):
        return None if _kind(kind.value_type) is None else "category"
    if types.is_boolean(kind) or _is_text(kind):
        return "category"
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_time(kind):
        return "time"
    numbers = (types.is_integer, types.is_floating, types.is_null, types.is_decimal)
    return "number" if any(is_kind(kind) for is_kind in numbers) else None


def _is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def _text(cells: pa.Array) -> pa.Array:
    import pyarrow as pa

    return cells.cast(pa.string())


def _number(cells: pa.Array) -> pa.Array:
    import pyarrow as pa

    return cells.cast(pa.float64(), safe=False)  # of a large integer the nearest number


def _time(cells: pa.Array) -> pa.Array:
    """Return times in microseconds, in UTC; texts as they are."""
    import pyarrow as pa
    from pyarrow import types

    if _is_text(cells.type):
        return cells.cast(pa.string())
    if types.is_time(cells.type):  # of the first day
        cells = cells.cast(pa.time64("ns")).cast(pa.int64()).cast(pa.timestamp("ns"))
    return pa.array(in_microseconds(cells.to_numpy(zero_copy_only=False)), pa.timestamp("us"))


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
        name,
        batch.schema,
        lambda names: [(batch.num_rows, lambda: [batch.select(names)])],
        USUAL,
        batch.num_rows,
        classes,
    )
