"""The smallest program that uses numba and scikit-learn: no other can start faster."""

from __future__ import annotations

import numba
import sklearn.base  # noqa: F401


@numba.njit(cache=True)
def successor(x: int) -> int:
    return x + 1
