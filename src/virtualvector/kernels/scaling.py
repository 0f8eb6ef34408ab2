"""Numbers on a running scale: in deviations from the mean so far, outliers brought close.

Means and deviations follow Welford's recursion: with the nth value x and δ = x − m,

    m' = m + δ/n,    s'² = s² + [δ(δ − δ/n) − s²]/n = s²(n−1)/n + δ²(n−1)/n².

`running_square` takes the first form, for numbers whose squares are bounded; with another n than
the number of values, some count for more than others. `running_deviation` takes the root of the
second, which neither overflows nor underflows.

What learns from scaled rows learns weights of deviations from a mean: if these move, so does what
the weights mean. Where a scale lies matters little; that rows are on the same one matters much.
So the first thirty values count as three hundred from then on, and scales move slowly after them.

Welford, B. P. (1962). Note on a method for calculating corrected sums of squares and products.
Technometrics 4, 419-420.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from virtualvector.jit.compiled import compiled, jitable
from virtualvector.types import Array, IntArray

Numbers = TypeVar("Numbers", float, Array)

LONGEST_MEMORY = 10_000.0  # rows after which a mean begins to follow a drifting column
EARLY, EARLY_COUNT = 30.0, 300.0  # the first values, and how many they count as from then on
_FIRST = 10.0  # rows of which each counts in full
_EDGE = 4.0  # standard deviations beyond which a later one does not
LARGEST = 1e150  # squares of what is larger overflow


@jitable
def running_mean(mean: Numbers, apart: Numbers, count: float) -> Numbers:
    """Return the mean of ``count`` values of which the last is so far from the mean before it."""
    return mean + apart / count


@jitable
def running_square(square: float, apart: float, count: float) -> float:
    """Return their mean squared deviation, given that of the values before."""
    return square + (apart * (apart - apart / count) - square) / count


def settled(n_values: Array) -> Array:
    """Return what so many values of a column count as.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.kernels.scaling import settled
    >>> settled(np.array([0.0, 29.0, 30.0, 100.0, 20_000.0])).tolist()
    [0.0, 29.0, 300.0, 370.0, 10000.0]
    """
    counts = np.where(n_values < EARLY, n_values, n_values - EARLY + EARLY_COUNT)
    return np.minimum(counts, LONGEST_MEMORY)


def running_deviation(deviation: Array, apart: Array, count: int) -> Array:
    """Return their standard deviations, given those of the values before, column by column."""
    before = deviation * np.sqrt((count - 1) / count)
    return np.hypot(before, apart * (np.sqrt(count - 1) / count))


@compiled
def _asinh(x: float) -> float:
    """Asinh to 16 digits after the point, which is all that inputs need, in half the time."""
    size = min(abs(x), LARGEST)
    far = math.log(size + math.sqrt(size * size + 1.0))
    return far if x > 0.0 else -far


@compiled
def _in_deviations(value: float, mean: float, square: float) -> float:
    """Asinh((x − mean)/deviation); 0 in a column that is constant."""
    # Rounding leaves a constant column with a square of its own; it says nothing.
    noise = 1e-12 * abs(mean)
    deviation = math.sqrt(max(square, 0.0))
    return _asinh((value - mean) / deviation) if deviation > noise else 0.0


@compiled
def scale_rows(
    rows: Array, counts: Array, means: Array, squares: Array, learn: bool, scaled: Array
) -> None:
    """Write asinh((x − mean)/deviation) of each number, by the rows before it and itself.

    A missing value (nan) becomes 0, as its column's mean would. If ``learn``, each row is
    remembered in ``counts``, ``means`` and ``squares`` (mean squared deviations) before the next.
    The first `EARLY` values count as `EARLY_COUNT` once they have come.
    """
    for t in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            value = rows[t, k]
            if math.isnan(value):
                scaled[t, k] = 0.0
                continue
            value = min(max(value, -LARGEST), LARGEST)
            count = min(counts[k] + 1.0, LONGEST_MEMORY)
            apart = value - means[k]
            if count > _FIRST and squares[k] > 0.0:
                # A value far out counts as one at the edge: one slip should not blind the column.
                edge = _EDGE * math.sqrt(squares[k])
                apart = min(max(apart, -edge), edge)
            mean = running_mean(means[k], apart, count)
            square = running_square(squares[k], apart, count)
            scaled[t, k] = _in_deviations(value, mean, square)
            if learn:
                counts[k] = EARLY_COUNT if count == EARLY else count
                means[k] = mean
                squares[k] = square


@compiled
def rescale_rows(rows: Array, means: Array, squares: Array, scaled: Array) -> None:
    """Write asinh((x − mean)/deviation) of each number of rows that have been counted; 0 for nan.

    All by the same means and mean squared deviations, which stay as they are.
    """
    for t in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            value = min(max(rows[t, k], -LARGEST), LARGEST)
            missing = math.isnan(rows[t, k])
            scaled[t, k] = 0.0 if missing else _in_deviations(value, means[k], squares[k])


@compiled
def scale_entries(
    starts: IntArray, places: IntArray, values: Array, counts: Array, squares: Array, learn: bool,
    scaled: Array,
) -> None:  # fmt: skip
    """Write x/√(mean of x²) of each entry of sparse rows, by those before it and itself.

    The mean is over entries that are not zero, so that zeros stay zeros, and what is always the
    same becomes ±1. One beyond four times the root is taken to be there. If ``learn``, each row is
    remembered in ``counts`` and ``squares`` before the next.
    """
    for t in range(starts.shape[0] - 1):
        for k in range(starts[t], starts[t + 1]):
            place = places[k]
            value = min(max(values[k], -LARGEST), LARGEST)
            count = min(counts[place] + 1.0, LONGEST_MEMORY)
            square = value * value
            if count > _FIRST:
                square = min(square, _EDGE * _EDGE * squares[place])
            square = squares[place] + (square - squares[place]) / count
            root = math.sqrt(square)
            scaled[k] = min(max(value / root, -_EDGE), _EDGE) if root > 0.0 else 0.0
            if learn:
                counts[place] = count
                squares[place] = square


@compiled
def count_missing(rows: Array, missing: IntArray) -> None:
    """Count missing values, column by column."""
    for t in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            missing[k] += math.isnan(rows[t, k])


@compiled
def has_infinity(rows: Array) -> bool:
    """Whether an entry is infinite; nan stands for a missing one."""
    found = 0
    for t in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            found += math.isinf(rows[t, k])
    return found > 0
