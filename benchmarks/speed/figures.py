"""What was measured, as numbers that can be written, read, looked up and compared."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """What was measured for one thing in one place."""

    part: str  # of the benchmark
    name: str
    at: dict[str, int]  # where: number of weights d, of points B, of rows T
    values: dict[str, float]  # by unit


@dataclass(frozen=True)
class Report:
    """All that one run has found."""

    machine: dict[str, str]
    command: str
    figures: list[Figure] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)  # learner → the package that is missing

    def of(self, part: str) -> list[Figure]:
        """Return the figures of one part."""
        return [figure for figure in self.figures if figure.part == part]

    def value(self, part: str, name: str, at: dict[str, int], unit: str) -> float | None:
        """Return one number, or None if it was not measured."""
        for figure in self.of(part):
            if (figure.name, figure.at) == (name, at) and unit in figure.values:
                return figure.values[unit]
        return None

    def write(self, path: Path) -> None:
        """Write all of it as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Report:
        """Read what was written."""
        found = json.loads(path.read_text(encoding="utf-8"))
        return cls(**found | {"figures": [Figure(**figure) for figure in found["figures"]]})


def in_order(values: Iterable[str]) -> list[str]:
    """Return each name once, where it came first."""
    return list(dict.fromkeys(values))
