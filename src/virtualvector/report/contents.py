"""What a report is made of: plain data, so that a page can be made without a model."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from virtualvector.evaluation.tally import Tally
from virtualvector.types import Array


class Weight(NamedTuple):
    """What is known of the weight of a column."""

    column: str
    class_: str  # that it speaks for if positive; "" if there are two classes, for the second one
    mean: float
    deviation: float

    @property
    def certainty(self) -> float:
        """How many deviations it is away from zero."""
        return abs(self.mean) / self.deviation if self.deviation > 0.0 else math.inf


class Points(NamedTuple):
    """Virtual points: directions, of about unit length, that the weights should agree with."""

    columns: list[str]
    array: Array  # (n_points, n_columns)
    classes: list[str]  # that each point is about, as in `Weight`


class Report(NamedTuple):
    """All that the page says about a stream that was learned."""

    title: str
    about: dict[str, str]  # source, rows, label, seconds ... in words
    tally: Tally
    weights: list[Weight]  # the most certain first
    points: Points | None  # of the most trusted expert; None if that has no place for them
    buffer: dict[str, float]  # evicted, merged, divergence_lost, divergence_score ...
    experts: list[dict[str, Any]]  # expert (in words), weight, awake; the most trusted first
    history: list[tuple[int, dict[str, float]]]  # rows seen, and the weight of each expert then
    parameters: dict[str, str]
