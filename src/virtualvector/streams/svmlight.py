"""The format of SVMlight and LIBSVM: a label, then ``index:value`` for what is not zero."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from virtualvector.escaping import printable
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.byte_source import blocks
from virtualvector.streams.chunks import Chunk, after_last_line, chunks, line_ends
from virtualvector.streams.columns import Column, Plan, Problem, shown, sparse_type
from virtualvector.streams.limits import WIDEST
from virtualvector.streams.sources import Source
from virtualvector.streams.text import Cell, Record, Text
from virtualvector.values import Marks, number_in

if TYPE_CHECKING:
    import pyarrow as pa

LABEL = "label"
FEATURES = "features"  # the column of sparse rows
_COMMENT = re.compile(rb"#[^\r\n]*")
_INDEX = re.compile(rb"[ \t](\d+):")
_NAME = re.compile(r"f(\d+)", re.ASCII)
_LARGEST = 10**9  # index that is told from larger ones


class SvmLight(Text):
    """The rows of such a file, with a column for each index, whether it is there or not."""

    absent: Cell = "0"

    def __init__(
        self,
        name: str,
        blocks: Iterable[bytes],
        marks: Marks,
        indices: range,
        expected: frozenset[str] | None = None,
    ) -> None:
        self._indices = indices
        parts = chunks(name, blocks, after_last_line)
        super().__init__(name, parts, after_last_line, marks, expected)
        self.columns = (*self._inputs(), Column(LABEL, categorical=True))

    def _inputs(self) -> list[Column]:
        return [Column(f"f{index}", categorical=False) for index in self._indices]

    def records(self, chunk: Chunk) -> Iterator[tuple[int, Record | Problem]]:
        """Yield each line that has fields, and its cells."""
        for line, fields in self._fields(chunk):
            yield line, self._record(*fields)

    def count(self, chunk: Chunk) -> int:
        """Return how many lines have fields."""
        return sum(1 for _ in self._fields(chunk, 1))

    def _fields(self, chunk: Chunk, most_cuts: int = -1) -> Iterator[tuple[int, list[str]]]:
        """Yield each line that has fields, and these."""
        for line, data in enumerate(_COMMENT.sub(b"", chunk.data).splitlines(), chunk.line):
            fields = data.decode("utf-8", "backslashreplace").split(None, most_cuts)
            if fields:
                yield line, fields

    def number(self, cell: str) -> float | None:
        """Return the number that a cell is, or None."""
        return number_in(cell)

    def parse(self, chunk: Chunk, plan: Plan) -> pa.Table | None:
        """Return the cells that the plan wants, or None if that takes a closer look."""
        import pyarrow as pa

        found = self._loaded(chunk.data, zero_based=self._indices.start == 0)
        if found is None:
            return None
        sparse, labels = found
        names = [column.name for column in self.columns if not column.categorical]
        columns = dict(zip(names, sparse.toarray(order="F").T, strict=True))
        texts = _texts(labels)
        return pa.table({c.name: texts if c.categorical else columns[c.name] for c in plan.wanted})

    def _loaded(self, data: bytes, zero_based: bool) -> tuple[Any, NDArray[np.float64]] | None:
        """Return rows and labels, or None if that takes a closer look."""
        from sklearn.datasets import load_svmlight_file

        # Which may stand in Python's numbers, or end a line where it seems to be a blank.
        if b"_" in data or data.count(b"\r") > data.count(b"\r\n"):
            return None
        try:
            sparse, labels = load_svmlight_file(
                io.BytesIO(data), n_features=len(self._indices), zero_based=zero_based
            )
        except (ValueError, OverflowError):
            return None
        return (sparse, labels) if np.isfinite(labels).all() else None

    def _record(self, label: str, *pairs: str) -> Record | Problem:
        record: Record = {}
        number = number_in(label)
        if number is None or not np.isfinite(number):
            return Problem(LABEL, f"found {shown(label)}; expected a number as a label.")
        record[LABEL] = _label(number)
        last = -1
        for pair in pairs:
            index = self._index(pair)
            if isinstance(index, Problem):
                return index
            if index is None:
                continue
            if index <= last:
                return Problem(
                    None, f"found the index {index} after {last}; expected them to rise."
                )
            record[f"f{index}"] = pair.partition(":")[2]
            last = index
        return record

    def _index(self, pair: str) -> int | Problem | None:
        """Return the index of what is not zero, what is wrong with it, or None if it is none."""
        key, colon, _ = pair.partition(":")
        if key == "qid":  # which query it belongs to
            return None
        if not (colon and key.isascii() and key.isdigit()):
            return Problem(None, f"found {shown(pair)}; expected index:value.")
        index = _number(key.encode())
        if index not in self._indices:
            last_index = self._indices.stop - 1
            message = (
                f"expected indices from {self._indices.start} to {last_index} (--on-error skip "
                "leaves such rows out)."
            )
            return Problem(None, f"found the index {printable(key, 40)}; {message}")
        return index


class SparseSvmLight(SvmLight):
    """The same rows by their non-zeros: one column has them all, whatever their indices.

    Indices may come in any order, which says the same; one that comes twice says two things.
    """

    absent = None

    def __init__(
        self,
        name: str,
        blocks: Iterable[bytes],
        marks: Marks,
        n_places: int,
        expected: frozenset[str] | None = None,
    ) -> None:
        super().__init__(name, blocks, marks, range(n_places), expected)

    def _inputs(self) -> list[Column]:
        return [Column(FEATURES, categorical=False, n_places=len(self._indices))]

    def parse(self, chunk: Chunk, plan: Plan) -> pa.Table | None:
        """Return the rows, or None if that takes a closer look."""
        import pyarrow as pa

        found = self._loaded(chunk.data, zero_based=True)
        if found is None or not np.isfinite(found[0].data).all():
            return None
        sparse, labels = found
        sparse.eliminate_zeros()  # which are written out here and there
        rows = sparse_column(sparse)
        columns = {FEATURES: rows, LABEL: _texts(labels)}
        return pa.table({column.name: columns[column.name] for column in plan.wanted})

    def _record(self, label: str, *pairs: str) -> Record | Problem:
        record = super()._record(label)
        if isinstance(record, Problem):
            return record
        entries: dict[int, float] = {}
        for pair in pairs:
            key, _, value = pair.partition(":")
            index = self._index(pair)
            if isinstance(index, Problem):
                return index
            if index is None:
                continue
            number = number_in(value)
            if number is None or not np.isfinite(number):
                return Problem(
                    None, f"found {shown(pair)}; expected a finite number behind the colon."
                )
            if index in entries:
                return Problem(None, f"found the index {key} twice; expected each once.")
            entries[index] = number
        return record | {FEATURES: sorted(entry for entry in entries.items() if entry[1] != 0.0)}


def sparse_column(rows: Any) -> pa.Array:
    """Return sparse rows of SciPy's as a column of Arrow's."""
    import pyarrow as pa

    places, values = pa.array(rows.indices.astype(np.int64)), pa.array(rows.data)
    entries = pa.StructArray.from_arrays([places, values], ["index", "value"])
    starts = pa.array(rows.indptr.astype(np.int32))
    return pa.ListArray.from_arrays(starts, entries).cast(sparse_type())


def indices_in(sources: Sequence[Source], most: int = WIDEST) -> range:
    """Return the indices of the columns, for which all is read through."""
    first, last = 1, 0
    for source in sources:
        if not source.rereadable:
            raise BadInput(
                f"{source.name}: found a pipe; expected a file, as svmlight has to be read through "
                "to know its columns."
            )
        for chunk in chunks(source.name, blocks(source), after_last_line):
            data = _COMMENT.sub(b"", chunk.data)
            found = [_number(index) for index in set(_INDEX.findall(data))]
            first, last = min([first, *found]), max([last, *found])
            if last > most:
                wide = next(m for m in _INDEX.finditer(data) if _number(m[1]) > most)
                line = chunk.line + line_ends(data[: wide.start()])
                raise BadInput(f"{source.name}, line {line}: {_too_wide(wide[1].decode(), most)}")
    return range(first, last + 1)


def indices_of(columns: Sequence[Column]) -> range:
    """Return the indices of the columns that a model expects."""
    names = [match[1] for column in columns if (match := _NAME.fullmatch(column.name))]
    found = [_number(name.encode()) for name in names]
    first, last = min(found, default=1), max(found, default=0)
    if last > WIDEST:
        raise BadInput(f"A model for svmlight: {_too_wide(names[found.index(last)])}")
    return range(first, last + 1)


def _number(digits: bytes) -> int:
    """Return an index; those that are far too large are all the same."""
    digits = digits.lstrip(b"0")
    return int(digits or b"0") if len(digits) < len(str(_LARGEST)) else _LARGEST


def _too_wide(index: str, most: int = WIDEST) -> str:
    more = " (--covariance low-rank takes more)" if most == WIDEST else ""
    return f"found the index {printable(index, 40)}; expected at most {most:,} columns{more}."


def _texts(labels: NDArray[np.float64]) -> pa.Array:
    import pyarrow as pa

    return pa.array([_label(label) for label in labels.tolist()], pa.string())


def _label(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)
