"""Arrays that begin at a cache line: elsewhere, loops take up to a fifth longer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from virtualvector.types import Array

_LINE = 64  # bytes
_ENTRY = 8


def aligned_zeros(*shapes: tuple[int, ...]) -> list[Array]:
    """Return contiguous arrays of zeros, which share one block of memory: that is made faster.

    Examples
    --------
    >>> vector, matrix = aligned_zeros((3,), (3, 4))
    >>> matrix.shape, matrix.flags.c_contiguous, matrix.ctypes.data % 64
    ((3, 4), True, 0)
    """
    sizes = [math.prod(shape) for shape in shapes]
    per_line = _LINE // _ENTRY
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + -(-size // per_line) * per_line)
    memory = np.zeros(starts[-1] + per_line)
    first = -memory.__array_interface__["data"][0] % _LINE // _ENTRY
    return [
        memory[first + start : first + start + size].reshape(shape)
        for shape, size, start in zip(shapes, sizes, starts, strict=False)
    ]


def aligned_copies(arrays: Iterable[Any]) -> list[Any]:
    """Return contiguous copies of arrays of 64-bit numbers."""
    arrays = list(arrays)
    copies = aligned_zeros(*(array.shape for array in arrays))
    for k, array in enumerate(arrays):
        copies[k] = copies[k].view(array.dtype)
        copies[k][...] = array
    return copies
