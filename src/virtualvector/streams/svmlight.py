"""The format of SVMlight and LIBSVM: a label, then ``index:value`` for what is not zero."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.bytes_in import CHUNK, blocks
from virtualvector.streams.chunks import Chunk, after_last_line, chunks
from virtualvector.streams.columns import Column, Plan, Problem, number_in, shown
from virtualvector.streams.sources import Source
from virtualvector.streams.text import Record, Text

if TYPE_CHECKING:
    import pyarrow as pa

LABEL = "label"
WIDEST = 100_000  # columns
_COMMENT = re.compile(rb"#[^\r\n]*")
_INDEX = re.compile(rb"[ \t](\d+):")
_NAME = re.compile(r"f(\d+)")


class SvmLight(Text):
    """The rows of such a file, with a column for each index, whether it is there or not."""

    def __init__(
        self, name: str, blocks: Iterable[bytes], missing: Iterable[str], indices: range
    ) -> None:
        self._indices = indices
        self._names = [f"f{index}" for index in indices]
        super().__init__(name, chunks(name, blocks, after_last_line), after_last_line, missing)
        numbers = [Column(name, named=False) for name in self._names]
        self.columns = (*numbers, Column(LABEL, named=True))

    def records(self, chunk: Chunk) -> Iterator[tuple[int, Record | Problem]]:
        """Yield each line that has fields, and its cells."""
        for line, data in enumerate(_COMMENT.sub(b"", chunk.data).splitlines(), chunk.line):
            fields = data.decode("utf-8", "backslashreplace").split()
            if fields:
                yield line, self._record(*fields)

    def number(self, cell: str) -> float | None:
        """Return the number that a cell is, or None."""
        return number_in(cell)

    def parse(self, chunk: Chunk, plan: Plan) -> pa.Table | None:
        """Return the cells that the plan wants, or None if that takes a closer look."""
        import pyarrow as pa
        from sklearn.datasets import load_svmlight_file

        if b"_" in chunk.data:  # which may stand in Python's numbers
            return None
        try:
            sparse, labels = load_svmlight_file(
                io.BytesIO(chunk.data),
                n_features=len(self._indices),
                zero_based=self._indices.start == 0,
            )
        except ValueError:
            return None
        if not np.isfinite(labels).all():
            return None
        columns = dict(zip(self._names, sparse.toarray(order="F").T, strict=True))
        texts = pa.array([_label(label) for label in labels.tolist()], pa.string())
        return pa.table({name: texts if named else columns[name] for name, named in plan.wanted})

    def _record(self, label: str, *pairs: str) -> Record | Problem:
        record: Record = dict.fromkeys(self._names, "0")
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
            index = int(key)
            if index not in self._indices:
                last_index = self._indices.stop - 1
                said = f"expected indices from {self._indices.start} to {last_index}."
                return Problem(None, f"found the index {index}; {said}")
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
            found = [int(index) for index in _INDEX.findall(_COMMENT.sub(b"", chunk.data))]
            first, last = min([first, *found]), max([last, *found])
    if last > WIDEST:
        raise BadInput(
            f"{sources[0].name}: found the index {last}; expected at most {WIDEST} columns."
        )
    return range(first, last + 1)


def indices_of(columns: Sequence[Column]) -> range:
    """Return the indices of the columns that a model expects."""
    found = [int(match[1]) for column in columns if (match := _NAME.fullmatch(column.name))]
    return range(min(found, default=1), max(found, default=0) + 1)


def bytes_at_once(indices: range) -> int:
    """Return the size of a chunk, which is less the more columns there are, as most are zero."""
    return max(2**12, min(CHUNK, 20 * CHUNK // max(1, len(indices))))


def _label(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)
