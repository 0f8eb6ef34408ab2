"""What a predicted and learned row costs, beside the limit of the machine and other packages.

    python benchmarks/bench.py [--quick] [--only PART] [--json FILE] [--pictures FOLDER]
    python benchmarks/bench.py --smallest        # shows that all of it runs
    python benchmarks/bench.py --page FILE       # docs/speed.md, from such a FILE

Everything is measured in one process and one run (speed/timing.py says how), BLAS on one thread.
Parts are rows, separable, real, points, stream, bytes, batches, committee, wide and start. Learners
whose package is not installed are left out, and named. The exit code is 1 if the default learner
costs more than its ceiling (speed/aims.py); aims are printed beside what was measured.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from threadpoolctl import threadpool_limits

from speed import growth, tables
from speed.aims import exceeds_ceiling, print_aims
from speed.batches import measure_batches
from speed.committee import measure_committee
from speed.contestants import engines
from speed.figures import Figure, Report
from speed.limit import IN_CACHE, limit
from speed.machine import machine
from speed.pictures import draw_all
from speed.plan import FULL, QUICK, SMALLEST, Plan
from speed.problem import NOISY, SEPARABLE
from speed.readme import rewrite
from speed.real import REAL, measure_real
from speed.rows import everybody, measure_rows
from speed.startup import measure_start
from speed.timing import microseconds
from speed.wide import measure_wide

PAGE = Path(__file__).parents[1] / "docs" / "speed.md"


def say(text: str) -> None:
    """Show how far it is; results go to the other stream."""
    print(f"… {text}", file=sys.stderr, flush=True)


def rows(plan: Plan) -> Iterator[Figure]:
    call = microseconds(limit(1), 10 * plan.unit.most)
    yield Figure("call", IN_CACHE, {"d": 1}, {"µs": call})
    present = [contestant for contestant in everybody() if not contestant.missing]
    for d in plan.dimensions:
        say(f"rows: {len(present)} learners, d = {d}")
        yield from measure_rows("rows", NOISY, d, present, plan)


def separable(plan: Plan) -> Iterator[Figure]:
    for d in plan.dimensions:
        say(f"separable rows: d = {d}")
        yield from measure_rows("separable", SEPARABLE, d, engines(), plan)


def real(plan: Plan) -> Iterator[Figure]:
    for name in REAL:
        say(f"real rows: {name}")
        yield from measure_real(name, plan)


def points(plan: Plan) -> Iterator[Figure]:
    say(f"points: {', '.join(map(str, plan.buffers))}")
    yield from growth.measure_buffers(plan)


def stream(plan: Plan) -> Iterator[Figure]:
    for contestant in growth.streaming():
        say(f"stream: {plan.stream_rows:,} rows, {contestant.name}")
        yield from growth.measure_stream(contestant, plan)


def n_bytes(plan: Plan) -> Iterator[Figure]:
    yield from growth.count_bytes(plan)


def batches(plan: Plan) -> Iterator[Figure]:
    for d in plan.dimensions:
        say(f"batches: {plan.batch_rows:,} rows, d = {d}")
        yield from measure_batches(d, plan)


def committee(plan: Plan) -> Iterator[Figure]:
    for d in plan.committee:
        say(f"committee: d = {d}")
        yield from measure_committee(d, plan)


def wide(plan: Plan) -> Iterator[Figure]:
    say("wide: sparse rows of 2^18 places, and dense ones of 10,000 columns")
    yield from measure_wide(plan)


def start(plan: Plan) -> Iterator[Figure]:
    for name in plan.programs:
        say(f"start: {name}")
        yield measure_start(name, plan.starts)


PARTS: dict[str, Callable[[Plan], Iterator[Figure]]] = {
    "stream": stream,  # first: what others leave behind would hide how memory grows
    "rows": rows,
    "separable": separable,
    "real": real,
    "points": points,
    "bytes": n_bytes,
    "batches": batches,
    "committee": committee,
    "wide": wide,
    "start": start,
}


def show(report: Report) -> None:
    """Print all tables."""
    print(", ".join(f"{key} {value}" for key, value in report.machine.items()))
    for name, package in report.left_out.items():
        print(f"Left out: {name}; {package} is not installed.")
    for part, problem in (("rows", NOISY), ("separable", SEPARABLE)):
        if report.of(part):
            noise = f"a linear rule, variance of the noise {problem.margin_noise:g}"
            tables.print_rows(report, part, f"A row, predicted and then learned: {noise}")
    call = report.value("call", IN_CACHE, {"d": 1}, "µs")
    if call is not None:
        print(f"  Of the limit, {call:.2f} µs is calling BLAS from Python (measured with d = 1).")
    for part, title in (
        ("real", "Real rows, VVM 30 with and without merging and label noise"),
        ("points", "Against the points kept"),
        ("stream", "Against the rows learned"),
        ("flatness", "The end of the stream against its beginning"),
        ("exponents", "Exponents"),
        ("bytes", "What is kept between rows"),
        ("batches", "predict_proba on many rows"),
        ("committee", "A row of a committee, predicted and then learned"),
        ("wide", "A row of many columns, predicted and then learned"),
        ("start", "From the start of Python"),
    ):
        tables.print_figures(report, part, title)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and say whether the ceiling holds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="about a minute, less precise")
    parser.add_argument("--smallest", action="store_true", help="numbers that mean nothing")
    parser.add_argument("--only", choices=PARTS, action="append", help="a part; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here too")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="draw how costs grow")
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="measure nothing: write a report's numbers into docs/speed.md",
    )
    options = parser.parse_args(arguments)
    if options.page:
        rewrite(PAGE, options.page)
        return 0

    plan = SMALLEST if options.smallest else QUICK if options.quick else FULL
    command = shlex.join(["python", "benchmarks/bench.py", *(["--quick"] * options.quick)])
    left_out = {c.name: c.needs for c in everybody() if c.missing}
    report = Report(machine(), command, left_out=left_out)
    with threadpool_limits(1):
        for part in options.only or PARTS:
            report.figures.extend(PARTS[part](plan))
    report.figures.extend(growth.exponents_in_d(report))

    show(report)
    print_aims(report, plan.dimensions)
    if options.json:
        report.write(options.json)
    if options.pictures:
        for path in draw_all(report, options.pictures):
            print(f"Drawn: {path}")
    return int(exceeds_ceiling(report))


if __name__ == "__main__":
    sys.exit(main())
