"""What of a report is shown where not all of it has room, the most important first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from virtualvector.evaluation.tally import Moment, Tally
from virtualvector.report.contents import Points, Weight

MOST_WEIGHTS = 25
MOST_EXPERTS = 12
MOST_POINTS, MOST_COLUMNS, MOST_CLASSES = 30, 12, 5  # of a picture
SHORTEST_PART = 50  # rows
DEVIATIONS = 2.0  # on both sides of a mean


class Interval(NamedTuple):
    """What is known of a weight, and where that is drawn, from 0 to 100."""

    weight: Weight
    low: float
    high: float
    left: float
    middle: float
    right: float
    zero: float


def intervals(weights: list[Weight]) -> list[Interval]:
    """Return the intervals of the first weights, all drawn on one scale.

    Examples
    --------
    >>> from virtualvector.report.choice import intervals
    >>> from virtualvector.report.contents import Weight
    >>> first, second = intervals([Weight("a", "", 2.0, 0.5), Weight("b", "", -0.5, 0.25)])
    >>> first.low, first.high, first.left, first.right, first.zero
    (1.0, 3.0, 50.0, 100.0, 25.0)
    >>> second.left, second.middle, second.right
    (0.0, 12.5, 25.0)
    """
    ends = [
        (weight.mean - DEVIATIONS * weight.deviation, weight.mean + DEVIATIONS * weight.deviation)
        for weight in weights[:MOST_WEIGHTS]
    ]
    least = min((low for low, _ in ends), default=0.0)
    most = max((high for _, high in ends), default=0.0)
    start, stop = min(least, 0.0), max(most, 0.0)

    def place(value: float) -> float:
        return round(100.0 * (value - start) / ((stop - start) or 1.0), 1)

    return [
        Interval(weight, low, high, place(low), place(weight.mean), place(high), place(0.0))
        for weight, (low, high) in zip(weights, ends, strict=False)
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


def equal_parts(tally: Tally, most: int) -> list[Moment]:
    """Return the ends of about equal parts of a stream, as long as their errors can be compared.

    Examples
    --------
    >>> from virtualvector.evaluation.tally import Moment, Tally
    >>> from virtualvector.report.choice import equal_parts
    >>> tally = Tally(past=tuple(Moment(16 * k) for k in range(1, 20)), now=Moment(315))
    >>> [moment.n_rows for moment in equal_parts(tally, most=100)]
    [64, 128, 192, 256, 315]
    >>> [moment.n_rows for moment in equal_parts(tally, most=2)]
    [160, 315]
    """
    n_rows = tally.now.n_rows
    shortest = max(n_rows / most, SHORTEST_PART)
    ends: list[Moment] = []
    latest = n_rows - 0.9 * shortest  # for the last part is not to be much shorter
    for moment in tally.past:
        start = ends[-1].n_rows if ends else 0
        if start + shortest <= moment.n_rows <= latest:
            ends.append(moment)
    return [*ends, tally.now]
