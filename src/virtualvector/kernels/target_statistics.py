"""What was observed for a category so far: how the odds of a class differ there from elsewhere."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from virtualvector.jit.compiled import compiled
from virtualvector.types import Array

SHRINKAGE = 4.0  # rows at the usual rates that are added to those of a category


@compiled
def target_statistics(
    cells: NDArray[np.int64], came: NDArray[np.int64], counts: Array, totals: Array, learn: bool,
    written: Array,
) -> None:  # fmt: skip
    """Write the statistics of each row by what came before it; then count it, if ``learn``.

    Of n rows in a cell n_k were of class k, of all N rows N_k were. With b = (N_k + ½)/(N + 1) and
    m rows more at these rates, the statistic is by how much the log-odds differ,

        log (n_k + m b) / (n − n_k + m (1 − b)) − log b / (1 − b),

    zero for a cell where nothing was, and before the class came. The row's own class does not count
    before its statistics are written.

    Parameters
    ----------
    cells : array of shape (T,)
        The cell of each row's category; −1: it needs no statistics.
    came : array of shape (T,)
        The number of the class that came; not looked at unless ``learn``.
    counts : array of shape (C, 1 + K)
        Rows in each cell: all, then those of class 1 to K, of which there may be more classes;
        changed in place.
    totals : array of shape (1 + K,)
        The same of all rows.
    learn : bool
        Whether to count.
    written : array of shape (T, K)
        Written to.
    """
    n_statistics = written.shape[1]
    for t in range(len(cells)):
        c = cells[t]
        for k in range(1, n_statistics + 1):
            if c < 0 or counts[c, 0] == 0.0 or totals[k] == 0.0:
                written[t, k - 1] = 0.0
                continue
            rate = (totals[k] + 0.5) / (totals[0] + 1.0)
            there = counts[c, k] + SHRINKAGE * rate
            not_there = counts[c, 0] - counts[c, k] + SHRINKAGE * (1.0 - rate)
            written[t, k - 1] = math.log(there / not_there) - math.log(rate / (1.0 - rate))
        if learn:
            totals[0] += 1.0
            if c >= 0:
                counts[c, 0] += 1.0
            if 1 <= came[t] <= n_statistics:
                totals[came[t]] += 1.0
                if c >= 0:
                    counts[c, came[t]] += 1.0
