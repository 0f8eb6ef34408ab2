"""Arrays that begin at a cache line: elsewhere, loops take up to a fifth longer.

Large blocks of memory that nobody holds any more are used again. A posterior of many weights is
copied for every table that is learned, and to be given new memory takes longer than to write to it.
So does making twenty arrays of it, which nobody may ever ask for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from virtualvector.types import Array

_LINE = 64  # bytes
_ENTRY = 8
_LARGE, _MOST_SPARE = 2**15, 2**23  # entries: of a block, and of all that are kept for later

_spare: list[Array] = []


class _Block:
    """Memory of arrays that were made here."""

    def __init__(self, memory: Array) -> None:
        self._memory = memory
        self.__array_interface__ = memory.__array_interface__


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


def aligned_zeros(*shapes: tuple[int, ...]) -> list[Array]:
    """Return contiguous arrays of zeros, which share one block of memory: that is made faster.

    Examples
    --------
    >>> vector, matrix = aligned_zeros((3,), (3, 4))
    >>> matrix.shape, matrix.flags.c_contiguous, matrix.ctypes.data % 64
    ((3, 4), True, 0)
    """
    return _aligned(shapes, clear=True)


def _aligned(shapes: Iterable[tuple[int, ...]], clear: bool) -> list[Array]:
    shapes = list(shapes)
    sizes = [math.prod(shape) for shape in shapes]
    per_line = _LINE // _ENTRY
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + -(-size // per_line) * per_line)
    memory = _memory(starts[-1] + per_line, clear)
    first = _first(memory)
    return [
        memory[first + start : first + start + size].reshape(shape)
        for shape, size, start in zip(shapes, sizes, starts, strict=False)
    ]


def _first(memory: Array) -> int:
    """Return which entry of a block is the first at a cache line."""
    return -_address(memory) % _LINE // _ENTRY


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def aligned_copies(arrays: Iterable[Any]) -> list[Any]:
    """Return contiguous copies of arrays of 64-bit numbers."""
    return copied_for_later(arrays)()


def copied_for_later(arrays: Iterable[Any]) -> Callable[[], list[Any]]:
    """Copy arrays of 64-bit numbers; return what makes contiguous arrays of the copy.

    Those that share a block that was made here are copied as one.

    Examples
    --------
    >>> arrays = aligned_zeros((3,), (2, 2))
    >>> later = copied_for_later(arrays)
    >>> arrays[1][:] = 1.0
    >>> [array.tolist() for array in later()]
    [[0.0, 0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]]
    """
    arrays = list(arrays)
    block = arrays[0].base
    of_one = all(array.base is block and array.flags.c_contiguous for array in arrays)
    if not of_one or not isinstance(getattr(block, "base", None), _Block):
        copies = _aligned((array.shape for array in arrays), clear=False)
        for k, array in enumerate(arrays):
            copies[k] = copies[k].view(array.dtype)
            copies[k][...] = array
        return lambda: copies
    memory = _memory(block.size, clear=False)
    used, here, there = block.size - _LINE // _ENTRY, _first(block), _first(memory)
    memory[there : there + used] = block[here : here + used]

    def made() -> list[Any]:
        begin = _address(block) + _ENTRY * (here - there)
        starts = [(_address(array) - begin) // _ENTRY for array in arrays]
        return [
            memory[start : start + array.size].reshape(array.shape).view(array.dtype)
            for start, array in zip(starts, arrays, strict=True)
        ]

    return made
