"""Arrays that begin at a cache line: elsewhere, loops take up to a fifth longer.

Large blocks of memory that nobody holds any more are used again. A posterior of many weights is
copied for every table that is learned, and to be given new memory takes longer than to write to it.
So does making twenty arrays of it, which nobody may ever ask for. Where the arrays of a block are
is found out once for all blocks of the same shapes (`Layout`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, Generic, TypeVar

import numpy as np

from virtualvector.types import Array, IntArray

_LINE = 64  # bytes
_ENTRY = 8
_LARGE, _MOST_SPARE = 2**15, 2**23  # entries: of a block, and of all that are kept for later

Shape = tuple[int, ...]
Arrays = TypeVar("Arrays", bound=Sequence[Any])

_spare: list[Array] = []
_base = attrgetter("base")


class Layout(Generic[Arrays]):
    """Where the arrays of a named tuple are in one block of memory; the same for all of its kind.

    Parameters
    ----------
    kind : type
        Of the named tuple; `list` for arrays without names.
    shapes : mapping of str to tuple
        By the names of fields; of arrays without names by any.
    integers : sequence of str
        Which arrays are of integers; the others are of floats.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Counted(NamedTuple):
    ...     counts: IntArray
    ...     means: Array
    >>> Layout(Counted, {"means": (2,), "counts": (1,)}, ["counts"]).zeros()
    Counted(counts=array([0]), means=array([0., 0.]))
    """

    def __init__(
        self, kind: Any, shapes: Mapping[str, Shape], integers: Sequence[str] = ()
    ) -> None:
        names = getattr(kind, "_fields", tuple(shapes))
        kinds = [np.int64 if name in integers else np.float64 for name in names]
        self._set([shapes[name] for name in names], kinds, getattr(kind, "_make", list))

    @classmethod
    def like(cls, arrays: Sequence[Any]) -> Layout[Any]:
        """Return that of arrays as there are."""
        layout: Layout[Any] = cls.__new__(cls)
        layout._set([array.shape for array in arrays], [array.dtype for array in arrays], list)
        return layout

    def _set(self, shapes: list[Shape], kinds: list[Any], make: Callable[[list[Any]], Any]) -> None:
        self.shapes, self._make = shapes, make
        self.size, self._places, lines = 0, [], []
        for shape, kind in zip(shapes, kinds, strict=True):
            size, offset = math.prod(shape), _ENTRY * self.size
            self._places.append((shape, kind, offset))
            lines.append((offset if size else 0, *shape, *(0,) * (3 - len(shape))))
            self.size += -(-size // (_LINE // _ENTRY)) * (_LINE // _ENTRY)
        self._lines = np.array(lines, np.int64).reshape(-1, 4)
        self._there = np.array([math.prod(shape) > 0 for shape in shapes], np.int64)

    def zeros(self) -> Arrays:
        """Return arrays of zeros."""
        return self.arrays_in(self.room(clear=True))

    def room(self, clear: bool) -> Array:
        """Return a block for them, of which a part of a cache line is skipped."""
        return _memory(self.size + _LINE // _ENTRY, clear)

    def arrays_in(self, memory: Array) -> Arrays:
        """Return the arrays in a block that has room for them."""
        block: Any = memory.base
        start = block.skipped
        arrays = [
            np.ndarray(shape, kind, memory, start + offset) for shape, kind, offset in self._places
        ]
        block.layout, block.made = self, [*map(id, arrays)]
        made: Arrays = self._make(arrays)
        return made

    def lines(self, first: int) -> IntArray:
        """Return the address and the shape of each array, given that of the first cache line."""
        lines = self._lines.copy()
        lines[:, 0] += first * self._there
        return lines


class _Block:
    """Memory of arrays that were made here."""

    layout: Layout[Any]
    made: list[int] | None = None  # the identities of all of them, in their order

    def __init__(self, memory: Array) -> None:
        self._memory = memory
        self.__array_interface__ = memory.__array_interface__
        address: int = self.__array_interface__["data"][0]
        self.skipped = -address % _LINE  # bytes
        self.first = address + self.skipped


class _LargeBlock(_Block):
    """Memory that is kept for later once the last array in it is gone."""

    def __del__(self, spare: list[Array] = _spare, most: int = _MOST_SPARE) -> None:
        # These are names of its own, because those of a module go when the interpreter ends.
        spare.append(self._memory)
        try:
            while sum(memory.size for memory in spare) > most:
                del spare[0]
        except IndexError:  # another thread was faster
            pass


def _memory(size: int, clear: bool) -> Array:
    """Return that many entries in one block; zeros, if they are to be clear."""
    if size < _LARGE:
        return np.asarray(_Block(np.zeros(size) if clear else np.empty(size)))
    for k in range(len(_spare) - 1, -1, -1):
        with suppress(IndexError):  # another thread was faster
            if _spare[k].size == size:
                memory = _spare.pop(k)
                if memory.size == size:
                    if clear:
                        memory[:] = 0.0
                    return np.asarray(_LargeBlock(memory))
                _spare.append(memory)
    return np.asarray(_LargeBlock(np.zeros(size)))


def aligned_zeros(*shapes: Shape) -> list[Array]:
    """Return contiguous arrays of zeros, which share one block of memory: that is made faster.

    Examples
    --------
    >>> vector, matrix = aligned_zeros((3,), (3, 4))
    >>> matrix.shape, matrix.flags.c_contiguous, matrix.ctypes.data % 64
    ((3, 4), True, 0)
    """
    layout: Layout[list[Array]] = Layout(list, {str(k): each for k, each in enumerate(shapes)})
    return layout.zeros()


def _block_of(arrays: Sequence[Any]) -> Any:
    """Return the block of which these are all the arrays, as they were made; None if there is none.

    That they are the same objects says where they are; reading their addresses takes much longer.
    """
    memory = getattr(arrays[0], "base", None) if arrays else None
    block = getattr(memory, "base", None)
    if not isinstance(block, _Block) or block.made != [*map(id, arrays)]:
        return None
    return block if {*map(id, map(_base, arrays))} == {id(memory)} else None


def lines_of(arrays: Sequence[Any]) -> IntArray | None:
    """Return where each array is and its shape, in four words; None unless made together here."""
    block = _block_of(arrays)
    return None if block is None else block.layout.lines(block.first)


def clear(arrays: Sequence[Any]) -> None:
    """Make all entries zero."""
    if _block_of(arrays) is not None:
        arrays[0].base[:] = 0.0
        return
    for array in arrays:
        array[...] = 0


def aligned_copies(arrays: Iterable[Any]) -> list[Any]:
    """Return contiguous copies of arrays of 64-bit numbers."""
    return [*copied_for_later(arrays)()]


def copied_for_later(arrays: Iterable[Any]) -> Callable[[], Sequence[Any]]:
    """Copy arrays of 64-bit numbers; return what makes contiguous arrays of the copy.

    Those that were made together here are copied as one.

    Examples
    --------
    >>> arrays = aligned_zeros((3,), (2, 2))
    >>> later = copied_for_later(arrays)
    >>> arrays[1][:] = 1.0
    >>> [array.tolist() for array in later()]
    [[0.0, 0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]]
    """
    arrays = list(arrays)
    block = _block_of(arrays)
    if block is None:
        copies = (layout := Layout.like(arrays)).arrays_in(layout.room(clear=False))
        for copy, array in zip(copies, arrays, strict=True):
            copy[...] = array
        return lambda: copies
    layout, whole = block.layout, arrays[0].base
    memory = layout.room(clear=False)
    here, there = block.skipped // _ENTRY, memory.base.skipped // _ENTRY
    memory[there : there + layout.size] = whole[here : here + layout.size]
    return lambda: layout.arrays_in(memory)
