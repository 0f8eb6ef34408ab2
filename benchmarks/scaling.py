"""Rows per second on clusters that are not here: a simulation from constants measured here.

    python benchmarks/scaling.py [--weights 51,201,501] [--buffers 0,30,100] [--columns 99]
                                 [--json FILE]

Measured, by the processor's time: learning a row, pooling 2, 8 and 32 shards, the bytes of a model,
and what Dask takes for a task; against the number of weights d, of points B, and of a committee's
experts. Assumed: a network of ``NETWORK`` bytes a second for each machine. A round takes as long as
its longest span, its tasks one after the other on the scheduler, models on their way, and pooling.
Up to ``FEW`` shards each worker gets what all others know and pools it by itself, side by side with
the others; of more shards one gets it, pools, and sends the result to all others. Left out are
reading rows, which are taken to be on the workers, and the model on its way to the client, every
ten seconds. There are as many shards as workers.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Callable, Sequence
from copy import copy
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from virtualvector import ADFClassifier, AutoVVMClassifier, VVMClassifier
from virtualvector.auto.shards import begun, ended
from virtualvector.learners.rounds import rounds

WORKERS = (1, 2, 8, 64, 512)
ROWS = (10**6, 10**8)
NETWORK = 1e9  # bytes a second
FEW = 16  # as in `virtualvector.dask.rounds`
SHARDS = (2, 8, 32)
POINTS = 30  # where they are the same for all
WEIGHTS_OF_POINTS = 101  # where it is the points that differ
_FIRST, _ROWS_HERE = 256, 1600
_FIRST_OF_COMMITTEE = 4096  # after which those sleep that most rounds would not wake


class Constants(NamedTuple):
    """Seconds, and the bytes of a model."""

    row: float  # in a round
    pooling: float  # whatever the shards
    pooling_a_shard: float
    task: float
    model: int
    alone: float | None = None  # a row without rounds, in one process, if it takes another time


class Case(NamedTuple):
    """Who learns, and rows of how many columns."""

    name: str
    make: Callable[[], Any]
    n_columns: int
    n_first: int = _FIRST


class Measured(NamedTuple):
    """What a case takes, and what pooling so many shards did, in seconds."""

    case: Case
    constants: Constants
    pooling: tuple[float, ...]
    note: str


def cases(weights: Sequence[int], buffers: Sequence[int], n_columns: int) -> list[Case]:
    """Return who is measured: by weights, by points, and a committee."""
    return [
        *(case for d in weights for case in (_linear(0, d), _linear(POINTS, d))),
        *(_linear(b, WEIGHTS_OF_POINTS) for b in buffers),
        Case("committee", AutoVVMClassifier, n_columns, _FIRST_OF_COMMITTEE),
    ]


def _linear(n_points: int, n_weights: int) -> Case:
    if n_points == 0:
        return Case("ADF", lambda: ADFClassifier(margin_noise=1.0), n_weights - 1)
    make = lambda: VVMClassifier(n_points, margin_noise=1.0)  # noqa: E731
    return Case(f"VVM({n_points})", make, n_weights - 1)


def seconds(constants: Constants, n_rows: int, n_workers: int) -> float:
    """Return how long rows take on so many workers."""
    if n_workers == 1:  # which is one process without a cluster
        return n_rows * (constants.row if constants.alone is None else constants.alone)
    total = 0.0
    for spans in rounds(0, n_rows, n_workers):
        total += max(span.stop - span.start for span in spans) * constants.row
        k = len(spans)
        # The first shard brings along what all went on from.
        n_models, n_tasks = (k, k) if k <= FEW else (2 * k, k + 1)
        total += n_tasks * constants.task + n_models * constants.model / NETWORK
        if k > 1:
            total += constants.pooling + k * constants.pooling_a_shard
    return total


def best_of(work: Callable[[], Any], times: int = 3) -> float:
    taken = []
    for _ in range(times):
        start = process_time()
        work()
        taken.append(process_time() - start)
    return min(taken)


def measured(case: Case, task: float) -> Measured:
    rng = np.random.default_rng(0)
    d, first = case.n_columns, case.n_first
    n_rows = first + _ROWS_HERE - _FIRST
    X = rng.normal(size=(n_rows, d))
    y = (X @ rng.normal(size=d) + 0.5 * np.sqrt(d) * rng.normal(size=n_rows) > 0) * 1
    model = case.make().partial_fit(X[:first], y[:first], classes=[0, 1])
    start, rest = begun(model), slice(first, n_rows)
    row, alone = (
        best_of(lambda one=one: copy(one).partial_fit(X[rest], y[rest])) / (n_rows - first)
        for one in (start, model)
    )
    pooling = []
    for k in SHARDS:
        parts = np.array_split(np.arange(first, n_rows), k)
        shards = [copy(start).partial_fit(X[part], y[part]) for part in parts]
        pooling.append(best_of(lambda shards=shards: ended(model, shards)))
    per_shard, fixed = np.polyfit(SHARDS, pooling, 1)
    size = len(pickle.dumps(start))
    slope, offset = max(float(per_shard), 0.0), max(float(fixed), 0.0)
    constants = Constants(row, offset, slope, task, size, alone)
    is_committee = isinstance(model, AutoVVMClassifier)
    note = f"{model.n_awake_} of {len(model.experts_)} experts awake" if is_committee else ""
    return Measured(case, constants, tuple(pooling), note)


def seconds_of_a_task(n_tasks: int = 500) -> float:
    """Return what Dask takes for a task that does nothing: client, scheduler and worker."""
    from distributed import Client, LocalCluster

    here = {"processes": False, "n_workers": 1, "threads_per_worker": 1}
    with LocalCluster(dashboard_address=":0", **here) as cluster, Client(cluster) as client:

        def work() -> None:
            client.gather([client.submit(abs, k, pure=False) for k in range(n_tasks)])

        return best_of(work) / n_tasks


def cost(found: Measured) -> str:
    """Return a line of the table of what a round's parts take."""
    case, constants = found.case, found.constants
    who = case.name if not found.note else f"{case.name}: {found.note}"
    rows = [f"{1e6 * each:.1f} µs" for each in (constants.alone or 0.0, constants.row)]
    pooling = ", ".join(f"{1e3 * each:.1f}" for each in found.pooling)
    cells = [str(case.n_columns + 1), who, *rows, f"{pooling} ms", f"{constants.model:,}"]
    return f"| {' | '.join(cells)} |"


def speeds(found: Measured) -> dict[int, list[float]]:
    """Return rows per second on each number of workers, by how many rows there are."""
    return {n: [n / seconds(found.constants, n, w) for w in WORKERS] for n in ROWS}


def simulated(found: Measured) -> str:
    """Return a line of the table of rows per second, in thousands."""
    each = speeds(found).values()
    cells = [", ".join(three_digits(speed / 1e3) for speed in some) for some in each]
    return f"| {found.case.n_columns + 1} | {found.case.name} | {' | '.join(cells)} |"


def three_digits(value: float) -> str:
    """Return a number in its first three digits, without exponents."""
    return f"{float(f'{value:.3g}'):,.10g}"


def print_tables(results: Sequence[Measured]) -> None:
    """Print, in Markdown, what the parts of a round take, and what they come to."""
    shards, workers = (", ".join(map(str, each)) for each in (SHARDS, WORKERS))
    print(f"| weights | learner | a row | in a round | pooling {shards} shards | bytes |")
    print("|---|---|---|---|---|---|", *map(cost, results), sep="\n")
    print(f"\nThousands of rows per second on {workers} workers, simulated:\n")
    print(f"| weights | learner | {' | '.join(f'{n:,} rows' for n in ROWS)} |")
    print("|---|---|---|---|", *map(simulated, results), sep="\n")


def as_facts(found: Measured) -> dict[str, Any]:
    """Return what was measured and simulated as JSON has it."""
    case = found.case
    facts = {"weights": case.n_columns + 1, "learner": case.name, **found.constants._asdict()}
    more = {str(n): each for n, each in speeds(found).items()}
    return facts | {"pooling by shards": found.pooling, "rows per second": more}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", default="51,201,501", help="d of ADF and VVM(30)")
    parser.add_argument("--buffers", default="0,30,100", help=f"B with d = {WEIGHTS_OF_POINTS}")
    parser.add_argument("--columns", type=int, default=99, help="of the committee")
    parser.add_argument("--json")
    asked = parser.parse_args()
    weights, buffers = (
        [int(n) for n in each.split(",")] for each in (asked.weights, asked.buffers)
    )
    task = seconds_of_a_task()
    results = [measured(case, task) for case in cases(weights, buffers, asked.columns)]
    print(f"A task takes {1e3 * task:.2f} ms.\n")
    print_tables(results)
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump([as_facts(each) for each in results], file, indent=1)


if __name__ == "__main__":
    main()
