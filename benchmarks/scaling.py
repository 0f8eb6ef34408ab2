"""Rows per second on clusters that are not here: a simulation from constants measured here.

    python benchmarks/scaling.py [--weights 21,101,201] [--json FILE]

Measured, by the processor's time: learning a row, pooling 2, 8 and 32 shards, the bytes of a model,
and what Dask takes for a task. Assumed: a network of ``NETWORK`` bytes a second for each machine. A
round takes as long as its longest span, its tasks one after the other on the scheduler, models on
their way, and pooling. Up to ``FEW`` shards each worker gets what all others know and pools it by
itself, side by side with the others; of more shards one gets it, pools, and sends the result to all
others. Left out are reading rows, which are taken to be on the workers, and the model on its way to
the client, every ten seconds. There are as many shards as workers.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Callable
from copy import copy
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from virtualvector import ADFClassifier, VVMClassifier
from virtualvector.learners.rounds import begun, ended, rounds

LEARNERS = {
    "ADF": lambda: ADFClassifier(margin_noise=1.0),
    "VVM(30)": lambda: VVMClassifier(30, margin_noise=1.0),
}
WORKERS = (1, 2, 8, 64, 512)
ROWS = (10**6, 10**8)
NETWORK = 1e9  # bytes a second
FEW = 16  # as in `virtualvector.dask.rounds`
_SHARDS = (2, 8, 32)
_ROWS_HERE = 1600


class Constants(NamedTuple):
    """Seconds, and the bytes of a model."""

    row: float
    pooling: float  # whatever the shards
    pooling_a_shard: float
    task: float
    model: int


def seconds(constants: Constants, n_rows: int, n_workers: int) -> float:
    """Return how long rows take on so many workers."""
    if n_workers == 1:  # which is one process without a cluster
        return n_rows * constants.row
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


def measured(make: Callable[[], Any], n_weights: int, task: float) -> Constants:
    rng = np.random.default_rng(0)
    d = n_weights - 1
    X = rng.normal(size=(_ROWS_HERE, d))
    y = (X @ rng.normal(size=d) + 0.5 * np.sqrt(d) * rng.normal(size=_ROWS_HERE) > 0) * 1
    model = make().partial_fit(X[:256], y[:256], classes=[0, 1])
    rest = slice(256, _ROWS_HERE)
    row = best_of(lambda: copy(model).partial_fit(X[rest], y[rest])) / (_ROWS_HERE - 256)
    start, pooling = begun(model), []
    for k in _SHARDS:
        parts = np.array_split(np.arange(256, _ROWS_HERE), k)
        shards = [copy(start).partial_fit(X[part], y[part]) for part in parts]
        pooling.append(best_of(lambda shards=shards: ended(model, shards)))
    per_shard, fixed = np.polyfit(_SHARDS, pooling, 1)
    size = len(pickle.dumps(model))
    return Constants(row, max(float(fixed), 0.0), max(float(per_shard), 0.0), task, size)


def seconds_of_a_task(n_tasks: int = 500) -> float:
    """Return what Dask takes for a task that does nothing: client, scheduler and worker."""
    from distributed import Client, LocalCluster

    here = {"processes": False, "n_workers": 1, "threads_per_worker": 1}
    with LocalCluster(dashboard_address=":0", **here) as cluster, Client(cluster) as client:

        def work() -> None:
            client.gather([client.submit(abs, k, pure=False) for k in range(n_tasks)])

        return best_of(work) / n_tasks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", default="21,101,201,501")
    parser.add_argument("--json")
    asked = parser.parse_args()
    task = seconds_of_a_task()
    print(f"A task takes {1e3 * task:.2f} ms.\n")
    head = [f"{n:.0e} rows" for n in ROWS]
    print(f"| weights | learner | row, µs | pooling, ms | {' | '.join(head)} |")
    print("|---" * (4 + len(ROWS)) + "|")
    results = []
    for n_weights in map(int, asked.weights.split(",")):
        for name, make in LEARNERS.items():
            found = measured(make, n_weights, task)
            speeds = {n: [n / seconds(found, n, w) for w in WORKERS] for n in ROWS}
            results.append({"weights": n_weights, "learner": name, **found._asdict()})
            results[-1]["rows per second"] = {str(n): each for n, each in speeds.items()}
            pooling = f"{1e3 * found.pooling:.1f} + {1e3 * found.pooling_a_shard:.2f} a shard"
            cells = [", ".join(f"{each:.3g}" for each in speeds[n]) for n in ROWS]
            row = f"{1e6 * found.row:.1f}"
            print(f"| {n_weights} | {name} | {row} | {pooling} | {' | '.join(cells)} |", flush=True)
    print(f"\nRows per second on {', '.join(map(str, WORKERS))} workers.")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
