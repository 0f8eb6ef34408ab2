"""Arrays that came from a file, checked before anything looks into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from virtualvector.streams.arrow_sparse import checked_rows
from virtualvector.streams.bad_input import Damaged
from virtualvector.streams.batches import BATCH, too_long
from virtualvector.streams.chunks import why
from virtualvector.streams.columns import Problem
from virtualvector.streams.limits import CELLS, may_repeat

if TYPE_CHECKING:
    import pyarrow as pa

TEXT = 2**26  # bytes of texts that rows may have which are taken up at once
_NONE: dict[str, int] = {}
NO_UNICODE = "found bytes that are no UTF-8; expected text in UTF-8."

Wrong = dict[int, Problem]  # what is wrong with a row, or with an entry of a dictionary


class Part(NamedTuple):
    """Some rows of a file, whose arrays are what they say."""

    n_rows: int
    wrong: Wrong  # rows that are left out
    good: list[int]  # rows that are not
    batch: pa.RecordBatch  # the good ones


class _Dictionary(NamedTuple):
    """What batches share. It is checked once: a file may have many batches and one dictionary."""

    original: pa.Array  # held, so that nothing else comes to lie at its place
    entries: pa.Array  # with nothing for those that are wrong
    wrong: Wrong
    longest: int  # bytes of an entry
    written: int  # bytes of an entry of the original


class Validity:
    """Checks batches of one file, whose texts may be so long and sparse rows so wide, by column.

    Compiled code trusts the offsets, lengths and indices of an array, and a file can have any.
    """

    def __init__(self, longest: Mapping[str, int], n_places: Mapping[str, int] = _NONE) -> None:
        self._longest, self._n_places = longest, n_places
        self._dictionaries: dict[str, _Dictionary] = {}  # by column

    def parts(self, batch: pa.RecordBatch) -> Iterator[Part]:
        """Yield the rows of a batch, a few at a time, and what used a dictionary without it."""
        from pyarrow import types

        for name, cells in zip(batch.schema.names, batch.columns, strict=True):
            with _naming(name):
                cells.validate()  # what can be seen without looking at each cell
                if types.is_dictionary(cells.type):
                    self._take(name, cells.dictionary)
                    written = self._dictionaries[name].written
                    if not may_repeat(written, batch.num_rows):
                        raise Damaged(
                            f"found {batch.num_rows:,} rows with texts of up to {written:,} bytes; "
                            "expected fewer, or shorter ones",
                            name,
                        )
        batch.validate()  # that all columns have as many cells
        longest = sum(known.longest for known in self._dictionaries.values())
        rows = max(1, min(BATCH, CELLS // max(1, batch.num_columns), TEXT // max(1, longest)))
        for start in range(0, batch.num_rows, rows):
            yield self._part(batch.slice(start, rows))

    def _take(self, name: str, dictionary: pa.Array) -> None:
        known = self._dictionaries.get(name)
        if known is None or _place(known.original) != _place(dictionary):
            entries, wrong = _texts(name, dictionary, self._longest[name])
            lengths = _longest(entries), _longest(dictionary)
            self._dictionaries[name] = _Dictionary(dictionary, entries, wrong, *lengths)

    def _part(self, batch: pa.RecordBatch) -> Part:
        import pyarrow as pa

        names, columns = batch.schema.names, []
        problems: Wrong = {}
        for name, cells in zip(names, batch.columns, strict=True):
            with _naming(name):
                checked, wrong = self._checked(name, cells)
            columns.append(checked)
            problems = wrong | problems if wrong else problems
        good = [row for row in range(batch.num_rows) if row not in problems]
        if problems:
            columns = [cells.take(pa.array(good, pa.int64())) for cells in columns]
        columns = [_without_dictionary(cells) for cells in columns]
        return Part(
            batch.num_rows, problems, good, pa.RecordBatch.from_arrays(columns, names=names)
        )

    def _checked(self, name: str, cells: pa.Array) -> tuple[pa.Array, Wrong]:
        import pyarrow as pa
        from pyarrow import types

        if name in self._n_places:
            cells.validate(full=True)
            return checked_rows(name, cells, self._n_places[name])
        if not types.is_dictionary(cells.type):
            return _texts(name, cells, None)
        known, indices = self._dictionaries[name], cells.indices
        indices.validate(full=True)
        cells = pa.DictionaryArray.from_arrays(indices, known.entries, safe=True)
        return cells, _rows_of(indices, known.wrong) if known.wrong else {}


class _naming:
    """Says which column is not what it says."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import pyarrow as pa

        if isinstance(error, pa.ArrowException):
            raise Damaged(why(error), self._name) from error


def _texts(name: str, cells: pa.Array, longest: int | None) -> tuple[pa.Array, Wrong]:
    """Return cells with nothing for texts that are none, or longer than that, and which these are.

    Cells of other kinds are only checked.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if not (types.is_string(cells.type) or types.is_large_string(cells.type)):
        cells.validate(full=True)
        return cells, {}
    kind = pa.binary() if types.is_string(cells.type) else pa.large_binary()
    raw = cells.view(kind)
    raw.validate(full=True)
    try:
        cells.validate(full=True)
        if longest is None or (pc.max(pc.binary_length(cells)).as_py() or 0) <= longest:
            return cells, {}
    except pa.ArrowInvalid:
        pass
    every, wrong = raw.to_pylist(), {}
    for entry, text in enumerate(every):
        if text is not None and (message := _complaint(text, longest)):
            every[entry], wrong[entry] = None, Problem(name, message)
    return pa.array(every, kind).view(cells.type), wrong


def _complaint(text: bytes, longest: int | None) -> str | None:
    try:
        length = len(text.decode())
    except UnicodeDecodeError:
        return NO_UNICODE
    return too_long(length, longest) if longest is not None and length > longest else None


def _rows_of(indices: pa.Array, wrong: Wrong) -> Wrong:
    """Return the rows that have an entry that is wrong."""
    there = indices.is_valid().to_numpy(zero_copy_only=False)
    found = indices.fill_null(0).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(np.isin(found, list(wrong)) & there)
    return {
        row: wrong[entry] for row, entry in zip(rows.tolist(), found[rows].tolist(), strict=True)
    }


def _without_dictionary(cells: pa.Array) -> pa.Array:
    from pyarrow import types

    return cells.dictionary_decode() if types.is_dictionary(cells.type) else cells


def _place(cells: pa.Array) -> tuple[object, ...]:
    """Return where an array is in memory."""
    buffers = cells.buffers()
    places = [None if buffer is None else (buffer.address, buffer.size) for buffer in buffers]
    return (cells.type, cells.offset, len(cells), *places)


def _longest(cells: pa.Array) -> int:
    """Return the length in bytes of the longest text."""
    import pyarrow.compute as pc
    from pyarrow import types

    if not (types.is_string(cells.type) or types.is_large_string(cells.type)):
        return 0
    return int(pc.max(pc.binary_length(cells)).as_py() or 0)
