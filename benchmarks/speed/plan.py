"""How much is measured: in full, in about a minute, and just to see that all of it runs."""

from __future__ import annotations

from typing import NamedTuple

from speed.startup import PROGRAMS
from speed.timing import Portion


class Plan(NamedTuple):
    """What to measure, and for how long."""

    dimensions: tuple[int, ...] = (20, 57, 100, 200, 500, 1000)
    buffers: tuple[int, ...] = (0, 5, 10, 15, 20, 30, 40, 50, 70, 100)
    stream_rows: int = 1_000_000
    batch_rows: int = 10_000
    programs: tuple[str, ...] = tuple(PROGRAMS)
    starts: int = 5
    committee: tuple[int, ...] = (5, 20, 57, 200)  # columns
    rounds: int = 11
    unit: Portion = Portion(0.02, 20, 1000)  # of the limit, timed at once
    portion: Portion = Portion(0.05, 50, 1000)  # of rows


FULL = Plan()
QUICK = Plan(
    dimensions=(57, 100, 500),
    buffers=(0, 10, 30, 50),
    stream_rows=50_000,
    programs=("import virtualvector", "VVM 30, first prediction"),
    starts=1,
    rounds=5,
    unit=Portion(0.005, 20, 200),
    portion=Portion(0.01, 20, 200),
)
SMALLEST = QUICK._replace(
    dimensions=(100,),
    buffers=(0, 10, 30),
    stream_rows=10_000,
    batch_rows=500,
    programs=("import virtualvector",),
    committee=(5,),
    rounds=1,
)
