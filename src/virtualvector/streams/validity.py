"""Arrays that came from a file, checked before anything looks into them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from virtualvector.streams.bad_input import Damaged
from virtualvector.streams.chunks import why
from virtualvector.streams.limits import CELLS
from virtualvector.streams.pieces import BATCH

if TYPE_CHECKING:
    import pyarrow as pa

TEXT = 2**26  # bytes of texts that rows may have which are taken up at once


class _Dictionary(NamedTuple):
    """What batches share. It is checked once: a file may have many batches and one dictionary."""

    original: pa.Array  # held, so that nothing else comes to lie at its place
    checked: pa.Array
    longest: int


class Validity:
    """Checks batches of one file.

    Compiled code trusts the offsets, lengths and indices of an array, and a file can have any.
    """

    def __init__(self) -> None:
        self._dictionaries: dict[str, _Dictionary] = {}  # by column

    def parts(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a batch, a few at a time.

        What has a dictionary in which a text is long can become large when it has none.
        """
        import pyarrow as pa

        batch.validate()
        columns = []
        for name, cells in zip(batch.schema.names, batch.columns, strict=True):
            try:
                columns.append(self._checked(name, cells))
            except pa.ArrowException as error:
                raise Damaged(why(error), name) from error
        checked = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        longest = sum(known.longest for known in self._dictionaries.values())
        rows = max(1, min(BATCH, CELLS // max(1, len(columns)), TEXT // max(1, longest)))
        for start in range(0, checked.num_rows, rows):
            yield checked.slice(start, rows)

    def _checked(self, name: str, cells: pa.Array) -> pa.Array:
        """Return the cells; texts of which some are no UTF-8 become bytes."""
        import pyarrow as pa
        from pyarrow import types

        if not types.is_dictionary(cells.type):
            return _valid(cells)
        cells.indices.validate(full=True)
        known = self._dictionaries.get(name)
        if known is None or _place(known.original) != _place(cells.dictionary):
            checked = _valid(cells.dictionary)
            known = _Dictionary(cells.dictionary, checked, _longest(checked))
            self._dictionaries[name] = known
        return pa.DictionaryArray.from_arrays(cells.indices, known.checked, safe=True)


def _valid(cells: pa.Array) -> pa.Array:
    import pyarrow as pa
    from pyarrow import types

    try:
        cells.validate(full=True)
    except pa.ArrowInvalid:
        if types.is_string(cells.type):
            cells = cells.view(pa.binary())
        elif types.is_large_string(cells.type):
            cells = cells.view(pa.large_binary())
        else:
            raise
        cells.validate(full=True)
    return cells


def _place(cells: pa.Array) -> tuple[object, ...]:
    """Return where an array is in memory."""
    buffers = cells.buffers()
    places = [None if buffer is None else (buffer.address, buffer.size) for buffer in buffers]
    return (cells.type, cells.offset, len(cells), *places)


def _longest(cells: pa.Array) -> int:
    """Return the length in bytes of the longest text."""
    import pyarrow.compute as pc
    from pyarrow import types

    kind = cells.type
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if not any(is_kind(kind) for is_kind in texts):
        return 0
    return int(pc.max(pc.binary_length(cells)).as_py() or 0)
