"""Which figures differ between two runs of `benchmarks/bench.py`.

    python benchmarks/compare.py OLD.json NEW.json [--worse 0.1]

Only what hardly depends on how busy the machine was is compared: ratios to something measured at
the same time, and bytes. Of all of them less is better. How far chance goes is seen in the figures
of other packages, whose code is the same in both runs. The exit code is 1 if anything became worse
by more than that, and by more than a tenth.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from speed.figures import Report

UNITS = ("× limit", "× river", "× products", "last tenth / first", "kB")


OTHERS = ("river", "Vowpal Wabbit", "SGD", "limit")  # their code is the same in both runs


class Change(NamedTuple):
    """A figure of two runs."""

    what: str
    old: float
    new: float

    @property
    def ratio(self) -> float:
        """How much more it has become."""
        return self.new / self.old


def comparable(report: Report, others: bool) -> dict[str, float]:
    """Return the figures that can be held against those of another moment, by a full name."""
    found = {}
    for figure in report.figures:
        at = "".join(f", {name} = {number}" for name, number in figure.at.items())
        if figure.name.startswith(OTHERS) is others:
            for unit in UNITS:
                if unit in figure.values:
                    found[f"{figure.part}: {figure.name}{at}, {unit}"] = figure.values[unit]
    return found


def changes(old: Report, new: Report, others: bool = False) -> list[Change]:
    """Return what both have, of this package or of others, what became most worse first."""
    before, after = comparable(old, others), comparable(new, others)
    both = [Change(what, before[what], after[what]) for what in before if what in after]
    return sorted(both, key=lambda change: -change.ratio)


def chance(others: list[Change]) -> float:
    """Return by how much nine in ten figures differ, at most, whose code is the same."""
    if not others:
        return 0.0
    differences = [abs(math.log(change.ratio)) for change in others]
    return math.expm1(float(np.quantile(differences, 0.9)))


def main(arguments: list[str] | None = None) -> int:
    """Print all changes, and what became worse."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--worse", type=float, default=0.1, help="how much more is worse")
    options = parser.parse_args(arguments)
    old, new = Report.read(options.old), Report.read(options.new)
    found = changes(old, new)
    if not found:
        sys.exit(f"{options.old} and {options.new} have no figure in common")
    by_chance = chance(changes(old, new, others=True))
    least = max(options.worse, by_chance)
    worse = [change for change in found if change.ratio > 1.0 + least]
    print(f"{'new / old':>10}{'old':>12}{'new':>12}")
    for change in found:
        numbers = f"{change.ratio:>10.3f}{change.old:>12.4g}{change.new:>12.4g}"
        print(f"{numbers}  {change.what}{'  WORSE' if change in worse else ''}")
    print(f"\nOf what other packages cost, nine in ten figures differ by up to {by_chance:.0%}.")
    print(f"{len(worse)} of {len(found)} figures are worse by more than {least:.0%}.")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
