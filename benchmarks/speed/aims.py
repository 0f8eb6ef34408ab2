"""What the benchmark is measured against."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from speed.committee import (
    ONE_ROW,
    PER_FOREST,
    PER_THREAD,
    PREDICTED,
    PREDICTED_TIMES,
    THREADS,
    TIMES_BATCHES,
)
from speed.contestants import SGD_LEARNS, VVM_LEARNS
from speed.figures import Report
from speed.growth import STREAMING
from speed.plan import FULL
from speed.real import (
    LABEL_NOISES,
    MERGING,
    MOST,
    MOST_WITH_LABEL_NOISE,
    NOISES,
    PER_EVICTING,
    PER_NO_LABEL_NOISE,
    name_of,
    with_label_noise,
)
from speed.wide import DENSE, PER_FULL, PER_RIVER, PER_VOWPAL, PLACES, RANK_0, SPARSE_MOST

CEILING = 20.0  # times the limit: more than this and the benchmark fails
CEILING_FOR = ("rows", "VVM 30, merging", {"d": 100}, "× limit")


@dataclass(frozen=True)
class Aim:
    """A figure, or its ratio to that of another, that should be within bounds."""

    part: str
    name: str
    unit: str
    most: float
    at: dict[str, int] = field(default_factory=dict)
    against: str | None = None  # the other
    least: float = -math.inf

    def found(self, report: Report) -> float | None:
        """Return what was measured, or None if it was not."""
        value = report.value(self.part, self.name, self.at, self.unit)
        if value is None or self.against is None:
            return value
        other = report.value(self.part, self.against, self.at, self.unit)
        return None if other is None else value / other

    def __str__(self) -> str:
        at = "".join(f", {name} = {number}" for name, number in self.at.items())
        unit = self.unit if self.against is None else f"× {self.against}"
        bounds = f"at most {self.most:g}"
        if self.least > -math.inf:
            bounds = f"between {self.least:g} and {self.most:g}"
        return f"{self.name}{at}: {bounds} {unit}"


_TIMES_THE_LIMIT = {  # for each number of weights
    "VVM 0 (ADF)": {57: 2.0, 100: 1.5, 200: 1.3, 500: 1.15},
    "VVM 10, evicting": {57: 4.0, 100: 2.5, 200: 2.0, 500: 1.4},
    "VVM 30, evicting": {57: 8.0, 100: 4.0, 200: 3.0, 500: 2.0},
    "VVM 30, merging": {57: 14.0, 100: 8.0, 200: 5.0, 500: 2.5},
}
_LONG = {"T": 1_000_000}


def aims(dimensions: tuple[int, ...]) -> list[Aim]:
    """Return all that should hold, where it is measured in these dimensions."""
    one_row = "VVM 30, merging, one row"
    return [
        *(
            Aim("rows", name, "× limit", most, {"d": d})
            for name, row in _TIMES_THE_LIMIT.items()
            for d, most in row.items()
        ),
        *(Aim("rows", one_row, "× river", 1.0, {"d": d}) for d in dimensions),
        *(Aim("rows", VVM_LEARNS, "× limit", 0.2, {"d": d}, SGD_LEARNS) for d in dimensions),
        *(
            Aim("flatness", name, "last tenth / first", 1.05, _LONG, least=0.95)
            for name in STREAMING
        ),
        *(Aim("flatness", name, "MB more", 2.0, _LONG) for name in STREAMING),
        *(Aim("exponents", name, "in d", 2.05) for name in ("VVM 0 (ADF)", "VVM 30, merging")),
        *(
            Aim("exponents", f"VVM, {how}", "in B, beyond B = 0", 2.2)
            for how in ("evicting", "merging")
        ),
        *(
            Aim("real", name_of("spambase", noise, MERGING), PER_EVICTING, MOST, {"d": 57})
            for noise in NOISES
        ),
        *(
            Aim(
                "real",
                name_of("spambase", noise, with_label_noise(label_noise)),
                PER_NO_LABEL_NOISE,
                MOST_WITH_LABEL_NOISE,
                {"d": 57},
            )
            for noise in NOISES
            for label_noise in LABEL_NOISES
        ),
        Aim("batches", "VVM 30, merging", "× products", 2.0, {"d": 100}),
        *(Aim("committee", ONE_ROW, TIMES_BATCHES, 1.5, {"d": d}) for d in FULL.committee),
        *(Aim("committee", PREDICTED, PREDICTED_TIMES, 0.75, {"d": d}) for d in FULL.committee),
        *(Aim("committee", ONE_ROW, PER_FOREST, 1 / 8, {"d": d}) for d in FULL.committee),
        *(
            Aim("committee", THREADS, PER_THREAD, math.inf, {"d": d}, least=1.5)
            for d in FULL.committee
            if d >= 57
        ),
        Aim("wide", "ADF, rank 0", PER_VOWPAL, SPARSE_MOST, {"d": PLACES}),
        Aim("wide", "ADF, rank 0", PER_RIVER, 1.0, {"d": PLACES}),
        # Five times what rank 0 may take, and, which is stricter, what it takes.
        Aim("wide", "ADF, rank 20", PER_VOWPAL, 5.0 * SPARSE_MOST, {"d": PLACES}),
        Aim("wide", "ADF, rank 20", RANK_0, 5.0, {"d": PLACES}),
        Aim("wide", "ADF, rank 20, dense", PER_FULL, math.inf, {"d": DENSE}, least=100.0),
        Aim("start", "VVM 30, first prediction", "cold, s", 10.0),
        Aim("start", "VVM 30, first prediction", "warm, s", 1.5),
    ]


def print_aims(report: Report, dimensions: tuple[int, ...]) -> None:
    """Print every aim that was measured, and whether it holds."""
    print("\nAims\n")
    for aim in aims(dimensions):
        value = aim.found(report)
        if value is not None:
            verdict = "held" if aim.least <= value <= aim.most else "MISSED"
            print(f"  {verdict:<8}{value:8.2f}  {aim}")


def exceeds_ceiling(report: Report) -> bool:
    """Print whether the default learner stays below what it must not cost."""
    value = report.value(*CEILING_FOR)
    if value is None:
        return False
    exceeded = value > CEILING
    print(
        f"\n{CEILING_FOR[1]}, d = 100: {value:.1f} × the limit; "
        f"the ceiling is {CEILING:g}: {'EXCEEDED' if exceeded else 'OK'}"
    )
    return exceeded
