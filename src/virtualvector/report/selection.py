"""What of a report is shown where not all of it has room, the most important first."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from virtualvector.evaluation.tally import Tally, Totals
from virtualvector.report.contents import Points, Weight

MOST_WEIGHTS = 25
MOST_EXPERTS = 12
MOST_POINTS, MOST_COLUMNS, MOST_CLASSES = 30, 12, 5  # of a picture
MOST_MEASURED = 30  # classes, and of a confusion matrix
MOST_NAMED = 8  # classes that head the columns of one by their names; more do by numbers
MOST_CONFUSED = 20  # pairs of classes, where a matrix has no room
SHORTEST_PART = 50  # rows
DEVIATIONS = 2.0  # on both sides of a mean


class Interval(NamedTuple):
    """What is known of a weight, in words, and where it is drawn, from 0 to 100."""

    weight: Weight
    mean: str
    low: str
    high: str
    left: float
    middle: float
    right: float
    zero: float


def intervals(weights: list[Weight]) -> list[Interval]:
    """Return the intervals of the first weights, all on one scale and with the same decimals.

    Examples
    --------
    >>> from virtualvector.report.selection import intervals
    >>> from virtualvector.report.contents import Weight
    >>> first, second = intervals([Weight("a", "", 2.0, 0.5), Weight("b", "", -0.5, 0.25)])
    >>> first.low, first.high, first.left, first.right, first.zero
    ('1.00', '3.00', 50.0, 100.0, 25.0)
    >>> second.mean, second.left, second.middle, second.right
    ('−0.50', 0.0, 12.5, 25.0)
    """
    spans = [
        (w.mean - DEVIATIONS * w.deviation, w.mean, w.mean + DEVIATIONS * w.deviation)
        for w in weights[:MOST_WEIGHTS]
    ]
    ends = np.array([0.0, *(end for span in spans for end in span)])
    start, length = ends.min(), float(np.ptp(ends)) or 1.0
    decimals = max(2 - math.floor(math.log10(abs(ends).max() or 1.0)), 0)

    def words(value: float) -> str:
        return f"{value:.{decimals}f}".replace("-", "−")

    def place(value: float) -> float:
        return round(100.0 * float(value - start) / length, 1)

    return [
        Interval(
            weight,
            words(mean),
            words(low),
            words(high),
            place(low),
            place(mean),
            place(high),
            place(0.0),
        )
        for weight, (low, mean, high) in zip(weights, spans, strict=False)
    ]


def points_to_draw(points: Points) -> Points:
    """Return as many points as a picture has room for, of the columns that they differ most in."""
    classes = list(dict.fromkeys(points.classes))[:MOST_CLASSES]
    of_class = [np.flatnonzero(np.array(points.classes) == name) for name in classes]
    rows = np.concatenate([some[: MOST_POINTS // len(classes)] for some in of_class])
    sizes = np.square(points.array[rows]).sum(axis=0)
    columns = np.argsort(-sizes, kind="stable")[:MOST_COLUMNS]
    return Points(
        [points.columns[k] for k in columns],
        points.array[np.ix_(rows, columns)],
        [points.classes[k] for k in rows],
    )


def equal_parts(tally: Tally, most: int) -> list[Totals]:
    """Return the ends of about equal parts of a stream, as long as their errors can be compared.

    Examples
    --------
    >>> from virtualvector.evaluation.tally import Totals, Tally
    >>> from virtualvector.report.selection import equal_parts
    >>> tally = Tally(past=tuple(Totals(16 * k) for k in range(1, 20)), now=Totals(315))
    >>> [totals.n_rows for totals in equal_parts(tally, most=100)]
    [64, 128, 192, 256, 315]
    >>> [totals.n_rows for totals in equal_parts(tally, most=2)]
    [160, 315]
    """
    n_rows = tally.now.n_rows
    shortest = max(n_rows / most, SHORTEST_PART)
    ends: list[Totals] = []
    latest = n_rows - 0.9 * shortest  # for the last part is not to be much shorter
    for totals in tally.past:
        start = ends[-1].n_rows if ends else 0
        if start + shortest <= totals.n_rows <= latest:
            ends.append(totals)
    return [*ends, tally.now]
