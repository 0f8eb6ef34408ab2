"""How everything is timed: in rounds that alternate with yardsticks.

A ratio is taken between neighbours in time, so that a machine which is busy for a while slows down
both, and medians are reported. Time is the processor's, spent in this process: what others use in
between does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Prepares so many units of work; only doing them is timed.
Job = Callable[[int], Callable[[], object]]


class Portion(NamedTuple):
    """How much of a job is timed at once: what fits into the time, within bounds."""

    seconds: float
    least: int
    most: int


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
    yardsticks: Mapping[str, Job],
    jobs: Mapping[str, Job],
    rounds: int,
    unit: Portion,
    portion: Portion,
) -> dict[str, dict[str, float]]:
    """Time all jobs in turns with the yardsticks, of which ``unit`` is timed at once.

    Returns for each job the microseconds for a unit of it, and their ratio to those of each
    yardstick, by the yardstick's name.
    """
    units = {name: units_for(job, unit) for name, job in yardsticks.items()}
    portions = {name: units_for(job, portion) for name, job in jobs.items()}

    def measure_yardsticks() -> Array:
        return np.array([microseconds(yardsticks[name], n) for name, n in units.items()])

    found: dict[str, list[Array]] = {name: [] for name in jobs}
    before = measure_yardsticks()
    for _ in range(rounds):
        for name, job in jobs.items():
            cost, after = microseconds(job, portions[name]), measure_yardsticks()
            found[name].append(np.append(cost, cost / (0.5 * (before + after))))
            before = after
    return {
        name: dict(zip(("µs", *yardsticks), np.median(every, axis=0).tolist(), strict=True))
        for name, every in found.items()
    }
