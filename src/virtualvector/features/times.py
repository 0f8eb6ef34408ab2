"""Dates and times as inputs: where in time, at which hour, on which day of week and year."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

import numpy as np

from virtualvector.types import Array
from virtualvector.values import Times

PARTS = (
    "days",
    "hour, sine",
    "hour, cosine",
    "weekday, sine",
    "weekday, cosine",
    "day of year, sine",
    "day of year, cosine",
)
_DAY = 86_400_000_000  # microseconds
_THURSDAY = 3  # the first of January 1970, from Monday on
_YEAR = 365.25  # days
_EPOCH = dt.date(1970, 1, 1).toordinal()


def parts_of(times: Times) -> Array:
    """Return the inputs of times in microseconds, a column for each of `PARTS`; nan where missing.

    A cycle is two inputs, so that its end is beside its beginning. What does not vary, such as the
    hour of dates, becomes zero once it is scaled.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.features.times import parts_of
    >>> monday_at_six = np.array(["1970-01-05T06:00"], "M8[us]")
    >>> parts_of(monday_at_six).round(2).tolist()
    [[4.25, 1.0, 0.0, 0.0, 1.0, 0.07, 1.0]]
    """
    there = ~np.isnat(times)
    known = times[there]
    day, within = np.divmod(known.astype(np.int64), _DAY)
    new_year = known.astype("M8[Y]").astype("M8[D]").astype(np.int64)
    cycles = (within / _DAY, (day + _THURSDAY) % 7 / 7, (day - new_year) / _YEAR)
    phases = [2.0 * np.pi * cycle for cycle in cycles]
    parts = np.full((len(times), len(PARTS)), np.nan)
    parts[there, 0] = known.astype(np.int64) / _DAY
    for k, phase in enumerate(phases):
        parts[there, 2 * k + 1] = np.sin(phase)
        parts[there, 2 * k + 2] = np.cos(phase)
    return parts


@lru_cache(2**10)  # whoever is predicted is learned next
def parts_of_time(microseconds: int) -> tuple[float, ...]:
    """Return the same for one time, to the last bit, in less time.

    Examples
    --------
    >>> from virtualvector.features.times import parts_of_time
    >>> [round(part, 2) for part in parts_of_time(4 * 86_400_000_000 + 6 * 3_600_000_000)]
    [4.25, 1.0, 0.0, 0.0, 1.0, 0.07, 1.0]
    """
    day, within = divmod(microseconds, _DAY)
    year = dt.date.fromordinal(day + _EPOCH).year
    in_year = day + _EPOCH - dt.date(year, 1, 1).toordinal()
    cycles = (within / _DAY, (day + _THURSDAY) % 7 / 7, in_year / _YEAR)
    phases = np.array([2.0 * np.pi * cycle for cycle in cycles])
    sines, cosines = np.sin(phases).tolist(), np.cos(phases).tolist()
    parts = [part for both in zip(sines, cosines, strict=True) for part in both]
    return (float(microseconds) / _DAY, *parts)
