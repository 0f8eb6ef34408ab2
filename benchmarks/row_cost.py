"""What one learned row costs, beside the least that any method with a full covariance must do.

That limit is one matrix-vector product and one rank-one update of a d × d matrix, by BLAS on one
thread, called from Python as cheaply as possible. Everything is measured in one process, in rounds
that alternate between the limit and each learner, and medians are reported: a ratio is taken
between neighbours in time, so that a machine which is busy for a while slows down both. Time is
the processor's, spent in this process: what others use in between does not count.

    python benchmarks/row_cost.py [--quick] [--json FILE]

The exit code is 1 if the default learner costs more than its ceiling (see ``CEILING``). What is
aimed at (see ``AIMS``) is printed beside what was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemv, dger
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from virtualvector import ADFClassifier, VVMClassifier, WindowEPClassifier
from virtualvector.posterior import Events, Settings, copy_state, empty_state, learn_in_place
from virtualvector.posterior.losing import WAS_MERGED

Array = NDArray[np.float64]

DIMENSIONS = (57, 100, 200, 500)
LEARNERS: dict[str, Settings] = {
    "ADF": ADFClassifier()._settings(),
    "window-EP 30": WindowEPClassifier(30)._settings(),
    "VVM 10, evicting": VVMClassifier(10, merge_pairs=0)._settings(),
    "VVM 10, merging": VVMClassifier(10)._settings(),
    "VVM 30, evicting": VVMClassifier(30, merge_pairs=0)._settings(),
    "VVM 30, merging": VVMClassifier(30)._settings(),
}
AIMS: dict[str, tuple[float, ...]] = {  # times the limit, for each dimension
    "ADF": (2.0, 1.5, 1.3, 1.15),
    "VVM 10, evicting": (4.0, 2.5, 2.0, 1.4),
    "VVM 30, evicting": (8.0, 4.0, 3.0, 2.0),
    "VVM 30, merging": (14.0, 8.0, 5.0, 2.5),
}
CEILING = 20.0  # times the limit, for the learner and dimension below, on the first problem
CEILING_FOR = ("VVM 30, merging", 100)


@dataclass(frozen=True)
class Problem:
    """Rows and labels of a linear rule; the learner is told the true variance of the noise."""

    name: str
    margin_noise: float

    def draw(self, n_rows: int, d: int) -> tuple[Array, Array]:
        """Return Gaussian rows of length about one and signs; margins have a variance near one."""
        generator = np.random.default_rng(d)
        rows = generator.normal(size=(n_rows, d)) / np.sqrt(d)
        noise = np.sqrt(self.margin_noise) * generator.normal(size=n_rows)
        return rows, np.where(rows @ generator.normal(size=d) + noise > 0.0, 1.0, -1.0)


PROBLEMS = (Problem("noisy", 0.1), Problem("separable", 0.0))


@dataclass(frozen=True)
class Plan:
    """How much to measure."""

    rounds: int = 11
    warm_up_rows: int = 100  # learned before timing: by then every buffer is full
    rows: int = 1000
    limit_calls: int = 1000


@dataclass(frozen=True)
class Figure:
    """What was measured for one learner; medians over the rounds."""

    problem: str
    d: int
    learner: str
    microseconds_per_row: float
    limit_microseconds: float
    ratio: float
    sweeps_per_row: float
    merged_share: float  # of the rows, those that merged a pair; the others only tried


def limit_timer(d: int, n_calls: int) -> Callable[[], float]:
    """Return a function that times V @ x and V += αxxᵀ, in microseconds for both."""
    generator = np.random.default_rng(d)
    matrix = np.asfortranarray(np.eye(d) + 0.01 * generator.normal(size=(d, d)))
    x = generator.normal(size=d)

    def measure() -> float:
        start = process_time()
        for _ in range(n_calls):
            dgemv(1.0, matrix, x)
            # Positional arguments are cheaper; the last three ones say: overwrite x, y, matrix.
            dger(1e-12, x, x, 1, 1, matrix, 1, 1, 1)
        return 1e6 * (process_time() - start) / n_calls

    return measure


def learner_timer(
    problem: Problem, d: int, settings: Settings, plan: Plan
) -> tuple[Callable[[], float], Events]:
    """Return a function that times the same rows each time, and what happens to these rows.

    It returns microseconds per row. The engine is compiled by then.
    """
    settings = settings._replace(margin_noise=problem.margin_noise)
    rows, signs = problem.draw(plan.warm_up_rows + plan.rows, d)
    early, late = slice(plan.warm_up_rows), slice(plan.warm_up_rows, None)
    state, _ = learn_in_place(empty_state(d, settings), rows[early], signs[early], settings)
    _, events = learn_in_place(copy_state(state), rows[late], signs[late], settings)

    def measure() -> float:
        used_up = copy_state(state)
        start = process_time()
        learn_in_place(used_up, rows[late], signs[late], settings)
        return 1e6 * (process_time() - start) / plan.rows

    return measure, events


def compare(problem: Problem, d: int, plan: Plan) -> list[Figure]:
    """Measure all learners in one dimension."""
    limit = limit_timer(d, plan.limit_calls)
    timers = {name: learner_timer(problem, d, LEARNERS[name], plan) for name in LEARNERS}
    pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in timers}
    before = limit()
    for _ in range(plan.rounds):
        for name, (measure, _) in timers.items():
            cost, after = measure(), limit()
            pairs[name].append((cost, 0.5 * (before + after)))
            before = after
    return [
        Figure(
            problem=problem.name,
            d=d,
            learner=name,
            microseconds_per_row=median(cost for cost, _ in pairs[name]),
            limit_microseconds=median(least for every in pairs.values() for _, least in every),
            ratio=median(cost / least for cost, least in pairs[name]),
            sweeps_per_row=float(events.sweeps.mean()),
            merged_share=float(np.mean(events.event == WAS_MERGED)),
        )
        for name, (_, events) in timers.items()
    ]


def print_table(problem: Problem, figures: list[Figure]) -> None:
    """Print one line per learner, one column per dimension."""
    cells = {(f.learner, f.d): f for f in figures}
    noise = f"noise variance {problem.margin_noise:g}" if problem.margin_noise else "no noise"
    print(f"\nA {problem.name} linear rule, {noise}: µs per row (× limit, sweeps of EP per row)\n")
    print("  d".ljust(20) + "".join(f"{d:>22}" for d in DIMENSIONS))
    limits = "".join(f"{cells['ADF', d].limit_microseconds:10.2f}{'':12}" for d in DIMENSIONS)
    print("  gemv + ger".ljust(20) + limits.rstrip())
    for learner in LEARNERS:
        row = (cells[learner, d] for d in DIMENSIONS)
        texts = (
            f"{f.microseconds_per_row:10.1f} ({f.ratio:5.1f}, {f.sweeps_per_row:.1f})" for f in row
        )
        print(f"  {learner}".ljust(20) + "".join(f"{text:22}" for text in texts).rstrip())
        if learner in AIMS:
            aims = (f"{'aim':>10} ({aim:5g})" for aim in AIMS[learner])
            print(" " * 20 + "".join(f"{text:22}" for text in aims).rstrip())
    most = max(f.merged_share for f in figures)
    print(f"\n  Merging tries pairs at every row; at most {most:.1%} of the rows merged one.")


def machine() -> dict[str, str]:
    """Describe what this ran on."""
    description = {
        "platform": platform.platform(),
        "cpu": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "python": platform.python_version(),
    }
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        if models:
            description["cpu"] = models[0].partition(":")[2].strip()
    packages = ("virtualvector", "numpy", "scipy", "numba", "scikit-learn")
    return description | {package: version(package) for package in packages}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and say whether the ceiling holds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few seconds, less precise")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here too")
    options = parser.parse_args(arguments)
    plan = Plan(rounds=7, rows=200, limit_calls=200) if options.quick else Plan()

    print(", ".join(f"{key} {value}" for key, value in machine().items()))
    print(f"{plan.rounds} rounds; rows {plan.warm_up_rows + 1} to {plan.warm_up_rows + plan.rows}")
    figures = []
    with threadpool_limits(1, user_api="blas"):
        call = limit_timer(1, plan.limit_calls)
        call_cost = median(call() for _ in range(plan.rounds))
        for problem in PROBLEMS:
            found = [figure for d in DIMENSIONS for figure in compare(problem, d, plan)]
            print_table(problem, found)
            figures += found
    print(f"\nOf the limit, {call_cost:.2f} µs is calling BLAS from Python (measured with d = 1).")

    checked = next(f for f in figures if (f.learner, f.d) == CEILING_FOR)
    exceeded = checked.ratio > CEILING
    print(
        f"{checked.learner}, d = {checked.d}, {checked.problem}: {checked.ratio:.1f} × the limit; "
        f"the ceiling is {CEILING:g}: {'EXCEEDED' if exceeded else 'OK'}"
    )
    if options.json:
        report = {
            "machine": machine(),
            "plan": asdict(plan),
            "call_microseconds": call_cost,
            "figures": [asdict(figure) for figure in figures],
            "ceiling": {"ratio": checked.ratio, "most": CEILING, "exceeded": exceeded},
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return int(exceeded)


if __name__ == "__main__":
    sys.exit(main())
