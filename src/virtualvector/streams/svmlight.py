"""The format of SVMlight and LIBSVM: a label, then ``index:value`` for what is not zero."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from virtualvector.escaping import printable
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.byte_source import blocks
from virtualvector.streams.chunks import Chunk, after_last_line, chunks, line_ends
from virtualvector.streams.columns import Column, Plan, Problem, shown
from virtualvector.streams.limits import WIDEST
from virtualvector.streams.sources import Source
from virtualvector.streams.text import Record, Text
from virtualvector.values import Marks, number_in

if TYPE_CHECKING:
    import pyarrow as pa

LABEL = "label"
_COMMENT = re.compile(rb"#[^\r\n]*")
_INDEX = re.compile(rb"[ \t](\d+):")
_NAME = re.compile(r"f(\d+)", re.ASCII)
_LARGEST = 10**9  # index that is told from larger ones


class SvmLight(Text):
    """The rows of such a file, with a column for each index, whether it is there or not."""

    absent = "0"

    def __init__(
        self,
        name: str,
        blocks: Iterable[bytes],
        marks: Marks,
        indices: range,
        expected: frozenset[str] | None = None,
    ) -> None:
        self._indices = indices
        self._names = [f"f{index}" for index in indices]
        parts = chunks(name, blocks, after_last_line)
        super().__init__(name, parts, after_last_line, marks, expected)
        numbers = [Column(name, categorical=False) for name in self._names]
        self.columns = (*numbers, Column(LABEL, categorical=True))

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
        from sklearn.datasets import load_svmlight_file

        data = chunk.data
        # Which may stand in Python's numbers, or end a line where it seems to be a blank.
        if b"_" in data or data.count(b"\r") > data.count(b"\r\n"):
            return None
        try:
            sparse, labels = load_svmlight_file(
                io.BytesIO(data),
                n_features=len(self._indices),
                zero_based=self._indices.start == 0,
            )
        except (ValueError, OverflowError):
            return None
        if not np.isfinite(labels).all():
            return None
        columns = dict(zip(self._names, sparse.toarray(order="F").T, strict=True))
        texts = pa.array([_label(label) for label in labels.tolist()], pa.string())
        return pa.table({c.name: texts if c.categorical else columns[c.name] for c in plan.wanted})

    def _record(self, label: str, *pairs: str) -> Record | Problem:
        record: Record = {}
        number = number_in(label)
        if number is None or not np.isfinite(number):
            return Problem(LABEL, f"found {shown(label)}; expected a number as a label.")
        record[LABEL] = _label(number)
        last = -1
        for pair in pairs:
            key, colon, value = pair.partition(":")
            if key == "qid":  # which query it belongs to
                continue
            if not (colon and key.isascii() and key.isdigit()):
                return Problem(None, f"found {shown(pair)}; expected index:value.")
            index = _number(key.encode())
            if index not in self._indices:
                last_index = self._indices.stop - 1
                message = f"expected indices from {self._indices.start} to {last_index}."
                return Problem(None, f"found the index {printable(key, 40)}; {message}")
            if index <= last:
                return Problem(
                    None, f"found the index {index} after {last}; expected them to rise."
                )
            record[f"f{index}"] = value
            last = index
        return record


def indices_in(sources: Sequence[Source]) -> range:
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
            found = [_number(index) for index in _INDEX.findall(data)]
            first, last = min([first, *found]), max([last, *found])
            if last > WIDEST:
                wide = next(m for m in _INDEX.finditer(data) if _number(m[1]) > WIDEST)
                line = chunk.line + line_ends(data[: wide.start()])
                raise BadInput(f"{source.name}, line {line}: {_too_wide(wide[1].decode())}")
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


def _too_wide(index: str) -> str:
    return f"found the index {printable(index, 40)}; expected at most {WIDEST:,} columns."


def _label(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)
