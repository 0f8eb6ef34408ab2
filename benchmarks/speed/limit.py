"""The least that any method with a full covariance must do at a row.

That is one matrix-vector product and one rank-one update of a d × d matrix, by BLAS on one thread,
called from Python as cheaply as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle, islice

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemv, dger

from speed.machine import last_level_cache
from speed.timing import Job

IN_CACHE, OUT_OF_CACHE = "limit", "limit, out of cache"
_CACHE_LINE = 64  # bytes
_TIMES_THE_CACHE = 4  # memory that the matrices out of cache take


def limit(d: int) -> Job:
    """Return V @ x and V += αxxᵀ, with one matrix again and again: it stays where it is fast."""
    return _updates(_matrices(1, d))


def limit_out_of_cache(d: int) -> Job:
    """Return the same with matrices in turn that do not fit into any cache together."""
    return _updates(_matrices(1 + _TIMES_THE_CACHE * last_level_cache() // (8 * d * d), d))


def _matrices(n: int, d: int) -> list[NDArray[np.float64]]:
    """Return matrices in Fortran's order, so that BLAS works on them in place.

    They begin where cache lines do: elsewhere, as NumPy puts them, BLAS takes up to a quarter more.
    """
    doubles = _CACHE_LINE // 8
    stride = -(-d * d // doubles) * doubles
    memory = np.full(n * stride + doubles, 0.01)
    first = -memory.ctypes.data % _CACHE_LINE // 8
    starts = range(first, first + n * stride, stride)
    matrices = [memory[start : start + d * d].reshape(d, d).T for start in starts]
    for matrix in matrices:
        np.fill_diagonal(matrix, 1.0)
    return matrices


def _updates(matrices: Sequence[NDArray[np.float64]]) -> Job:
    x = np.random.default_rng(0).normal(size=len(matrices[0]))
    endless = cycle(matrices)

    def update(n_calls: int) -> None:
        for matrix in islice(endless, n_calls):
            dgemv(1.0, matrix, x)
            # Positional arguments are cheaper; the last three say: overwrite x, y, matrix.
            dger(1e-12, x, x, 1, 1, matrix, 1, 1, 1)

    def job(n_calls: int) -> Callable[[], object]:
        update(1)  # others had the cache since
        return lambda: update(n_calls)

    return job
