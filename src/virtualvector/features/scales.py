"""Numbers on their running scales, some columns in each of several threads."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from virtualvector.concurrency import ALONE, Team
from virtualvector.kernels.scaling import rescale_rows, scale_rows
from virtualvector.types import Array

ENOUGH = 8192  # numbers for each thread: they take about twice as long as it does to wake one

Scales = tuple[Array, Array, Array]  # of each column: how many there were, mean, mean square


def scaled(rows: Array, known: Scales, learn: bool, team: Team = ALONE) -> tuple[Array, Scales]:
    """Return rows as `scale_rows` writes them, and the scales after them.

    No column knows of another: they may be scaled side by side.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.concurrency import Team
    >>> from virtualvector.features.scales import scaled
    >>> rows, known = np.random.default_rng(0).normal(size=(1000, 20)), tuple(np.zeros((3, 20)))
    >>> with Team(2) as team:
    ...     inputs, scales = scaled(rows, known, True, team)
    >>> alone, scales_alone = scaled(rows, known, True)
    >>> np.array_equal(inputs, alone), np.array_equal(scales, scales_alone)
    (True, True)
    """
    # Copies, because what was unpickled may be read-only.
    counts, means, squares = (of_columns.copy() for of_columns in known)
    inputs, n = np.empty_like(rows), rows.shape[1]
    n_parts = min(team.n_threads, rows.size // ENOUGH, n)

    def scale(some: slice) -> None:
        part = np.ascontiguousarray(rows[:, some])
        written = np.empty_like(part)
        scale_rows(part, counts[some], means[some], squares[some], learn, written)
        inputs[:, some] = written

    if n_parts < 2:
        scale_rows(rows, counts, means, squares, learn, inputs)
    else:
        edges = [n * part // n_parts for part in range(n_parts + 1)]
        team.do([partial(scale, slice(*some)) for some in pairwise(edges)])
    return inputs, (counts, means, squares)


def rescaled(rows: Array, means: Array, squares: Array) -> Array:
    """Return rows that have been learned, all on one scale."""
    inputs = np.empty_like(rows)
    rescale_rows(rows, means.copy(), squares.copy(), inputs)
    return inputs
