"""Symmetric matrices over points, of which a leading block is in use."""

from __future__ import annotations

from virtualvector.jit.compiled import compiled, noalias
from virtualvector.types import Array


@noalias
def rank_one(matrix: Array, size: int, width: int, column: Array, scale: float) -> None:
    """Add ``scale·column·columnᵀ`` to the leading block of ``size`` rows and ``width`` columns."""
    for i in range(size):
        entry = scale * column[i]
        for j in range(width):
            matrix[i, j] += entry * column[j]


@compiled
def write_column(matrix: Array, i: int, column: Array) -> None:
    """Write column i."""
    for k in range(column.shape[0]):
        matrix[k, i] = column[k]


@compiled
def write_cross(matrix: Array, i: int, entries: Array) -> None:
    """Write row and column i of a symmetric matrix as far as its diagonal."""
    for k in range(i + 1):
        matrix[i, k] = entries[k]
    for k in range(i):
        matrix[k, i] = entries[k]


@compiled
def move_last(matrix: Array, target: int, last: int) -> None:
    """Let the last row and column of a symmetric matrix take the place of others, and clear it."""
    matrix[last, target] = matrix[last, last]
    for k in range(last):
        entry = matrix[last, k]
        matrix[target, k] = entry
        matrix[k, target] = entry
        matrix[last, k] = 0.0
        matrix[k, last] = 0.0
    matrix[last, last] = 0.0
