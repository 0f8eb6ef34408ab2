"""How everything is timed: in rounds that alternate with a yardstick.

A ratio is taken between neighbours in time, so that a machine which is busy for a while slows down
both, and medians are reported. Time is the processor's, spent in this process: what others use in
between does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import process_time
from typing import NamedTuple

# Prepares so many units of work; only doing them is timed.
Job = Callable[[int], Callable[[], object]]


class Portion(NamedTuple):
    """How much of a job is timed at once: what fits into the time, within bounds."""

    seconds: float
    least: int
    most: int


class Taken(NamedTuple):
    """What a unit of a job takes; medians over the rounds."""

    microseconds: float
    ratio: float  # to a unit of the yardstick


def microseconds(job: Job, n_units: int) -> float:
    """Time a job once, and return the microseconds for each unit."""
    run = job(n_units)
    start = process_time()
    run()
    return 1e6 * (process_time() - start) / n_units


def units_for(job: Job, portion: Portion) -> int:
    """Return how many units of a job to time at once."""
    microseconds(job, portion.least)  # compiles, imports, warms up
    cost = 1e-6 * microseconds(job, portion.least)
    return int(min(max(portion.seconds / cost, portion.least), portion.most))


def side_by_side(
    yardstick: Job, jobs: Mapping[str, Job], rounds: int, unit: Portion, portion: Portion
) -> dict[str, Taken]:
    """Time all jobs in turns with the yardstick, of which ``unit`` is timed at once."""
    measured = units_for(yardstick, unit)
    portions = {name: units_for(job, portion) for name, job in jobs.items()}
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    before = microseconds(yardstick, measured)
    for _ in range(rounds):
        for name, job in jobs.items():
            cost, after = microseconds(job, portions[name]), microseconds(yardstick, measured)
            pairs[name].append((cost, 0.5 * (before + after)))
            before = after
    return {
        name: Taken(median(cost for cost, _ in found), median(cost / unit for cost, unit in found))
        for name, found in pairs.items()
    }
