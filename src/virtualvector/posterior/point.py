"""A labelled row as a point of unit length: b = ±x/|x|, with its own noise s²/|x|².

Where points are kept, and as what kind of vector, is known here only; what is `dispatched` has
another version for those that are mostly zeros (`sparse.py`).
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, dispatched
from virtualvector.kernels.triangular import copy, dot, largest_entry
from virtualvector.posterior.state import State
from virtualvector.posterior.workspace import Workspace
from virtualvector.types import Array


@compiled
def write_point(row: Array, sign: float, margin_noise: float, point: Array) -> float:
    """Write ±(row, 1)/length to ``point``; return s²/length².

    The constant of the bias is added if ``point`` has room for it. A row that says nothing, because
    it is zero or drowned in noise, gets infinite noise.
    """
    n = row.shape[0]
    bias = point.shape[0] - n
    largest = largest_entry(row, float(bias))
    if largest == 0.0:
        return math.inf
    scale = sign / largest
    if math.isinf(scale):  # the largest entry is denormal
        return math.inf
    for k in range(n):
        point[k] = row[k] * scale
    if bias:
        point[n] = scale
    # Summing in the loop above would give other bits if row and point happen to lie side by side
    # in memory: whether such a loop is vectorised is decided when it runs.
    inverse = 1.0 / math.sqrt(dot(point, point))
    for k in range(point.shape[0]):
        point[k] *= inverse
    noise = math.sqrt(margin_noise) * inverse / largest
    return noise * noise if noise < 1e50 else math.inf


@compiled
def write_points(rows: Array, margin_noise: float, points: Array, noises: Array) -> None:
    """Write all rows as points of positive sign; one that says nothing is written as zero."""
    for t in range(rows.shape[0]):
        noises[t] = write_point(rows[t], 1.0, margin_noise, points[t])
        if math.isinf(noises[t]):
            for k in range(points.shape[1]):
                points[t, k] = 0.0


@dispatched
def is_finite(rows: Array, t: int) -> bool:
    """Whether no entry of a row is nan or infinite."""
    row = rows[t]
    total = 0.0
    for k in range(row.shape[0]):
        total += row[k] - row[k]
    return total == 0.0


@dispatched
def write_row(
    rows: Array, t: int, sign: float, margin_noise: float, state: State, place: int
) -> float:
    """Write row t to the place of a point, as `write_point` does; return its noise."""
    return write_point(rows[t], sign, margin_noise, state.points[place])


@dispatched
def write_query(rows: Array, t: int, margin_noise: float, work: Workspace) -> tuple[float, Array]:
    """Write row t as a vector to ask about, of positive sign; return its noise, and the vector."""
    return write_point(rows[t], 1.0, margin_noise, work.vector), work.vector


@dispatched
def take_point(state: State, i: int, work: Workspace) -> None:
    """Copy point i to scratch memory: it may then go."""
    copy(state.points[i], work.vector)


@dispatched
def copy_point(state: State, source: int, target: int) -> None:
    """Write a point where another one is."""
    copy(state.points[source], state.points[target])


@dispatched
def put_point(state: State, place: int, vector: Array) -> None:
    """Write a vector to the place of a point."""
    copy(vector, state.points[place])


@dispatched
def combined(
    state: State, i: int, j: int, first: tuple[float, float], second: tuple[float, float],
    scale: float, work: Workspace,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Two combinations of two points, and ``scale`` times their sum, in scratch memory."""
    one, two = state.points[i], state.points[j]
    for k in range(one.shape[0]):
        work.vector[k] = first[0] * one[k] + first[1] * two[k]
        work.other[k] = second[0] * one[k] + second[1] * two[k]
        work.merged[k] = scale * (one[k] + two[k])
    return work.vector, work.other, work.merged


@dispatched
def squared_distance(state: State, i: int, j: int) -> float:
    """The squared distance of two points."""
    total = 0.0
    for k in range(state.points.shape[1]):
        difference = state.points[i, k] - state.points[j, k]
        total += difference * difference
    return total


@dispatched
def keep_query(vector: Array, work: Workspace) -> bool:
    """Keep what vector a query was about, if that is worth while; return whether it is kept."""
    copy(vector, work.cached_row)
    return True


@dispatched
def is_kept_query(state: State, i: int, sign: float, work: Workspace) -> bool:
    """Whether point i is ``sign`` times the vector that was kept."""
    point, different = state.points[i], 0
    for k in range(point.shape[0]):
        different += point[k] != sign * work.cached_row[k]
    return different == 0
