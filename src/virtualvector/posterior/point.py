"""A labelled row as a point of unit length: b = ±x/|x|, with its own noise s²/|x|²."""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.triangular import dot, largest_entry
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


@compiled
def is_finite(row: Array) -> bool:
    """Whether no entry is nan or infinite."""
    total = 0.0
    for k in range(row.shape[0]):
        total += row[k] - row[k]
    return total == 0.0
