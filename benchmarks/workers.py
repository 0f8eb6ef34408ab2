"""Rows per second on two real workers against one process, one thread each; and memory.

    python benchmarks/workers.py [--rows N] [--workers W] [--columns D] [--learners vvm,committee]

Rows are drawn where they are learned, from a seed for each piece, so that nothing is read: learning
is all there is to do. One process learns the same pieces one after the other. Both are measured by
the clock, after kernels have been loaded: the machine has to be idle, with a core for each worker.
The aim is 1.7 times the rows per second on two workers. Memory is that of the process that has
client and scheduler, after a tenth of the rows and at the end.
"""

from __future__ import annotations

import argparse
import os
from time import perf_counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import dask
import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster

from virtualvector import AutoVVMClassifier, VVMClassifier
from virtualvector.dask import DaskAutoVVMClassifier, DaskVVMClassifier

AIM = 1.7
PIECE = 10_000  # rows
LEARNERS: dict[str, Any] = {
    "vvm": (VVMClassifier, DaskVVMClassifier, {"buffer_size": 30, "margin_noise": 1.0}),
    "committee": (AutoVVMClassifier, DaskAutoVVMClassifier, {}),
}


def piece(k: int, n_rows: int, n_columns: int) -> tuple[Any, Any]:
    """Return some rows, which depend on nothing but their number."""
    rng = np.random.default_rng([7, k])
    rows = rng.normal(size=(n_rows, n_columns))
    weights = np.random.default_rng(0).normal(size=n_columns) / np.sqrt(n_columns)
    margins = rows @ weights + 0.3 * rows[:, 0] * rows[:, 1] + 0.5 * rng.normal(size=n_rows)
    return rows, (margins > 0.0) * 1


def arrays(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    pieces = [dask.delayed(piece)(k, PIECE, n_columns) for k in range(n_rows // PIECE)]
    X = [da.from_delayed(each[0], (PIECE, n_columns), dtype=float) for each in pieces]
    y = [da.from_delayed(each[1], (PIECE,), dtype=int) for each in pieces]
    return da.concatenate(X), da.concatenate(y)


def memory() -> int:
    return int(psutil.Process().memory_info().rss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--columns", type=int, default=99)
    parser.add_argument("--learners", default="vvm,committee")
    asked = parser.parse_args()
    n_rows = asked.rows // PIECE * PIECE
    options = {"n_workers": asked.workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        for name in asked.learners.split(","):
            local, spread, parameters = LEARNERS[name]
            warm = arrays(2 * PIECE, asked.columns)
            spread(shards=asked.workers, **parameters).partial_fit(*warm, classes=[0, 1])
            model = local(**parameters).partial_fit(*piece(0, 500, asked.columns), classes=[0, 1])
            began = perf_counter()
            model = local(**parameters)
            for k in range(n_rows // PIECE):
                model.partial_fit(*piece(k, PIECE, asked.columns), [0, 1] if k == 0 else None)
            one = n_rows / (perf_counter() - began)
            X, y = arrays(n_rows, asked.columns)
            tenth = n_rows // 10 // PIECE * PIECE
            began = perf_counter()
            model = spread(shards=asked.workers, **parameters)
            model.partial_fit(X[:tenth], y[:tenth], classes=[0, 1])
            before = memory()
            model.partial_fit(X[tenth:], y[tenth:])
            many = n_rows / (perf_counter() - began)
            print(
                f"{name}: {n_rows:,} rows × {asked.columns}: {one:,.0f} rows/s in one process, "
                f"{many:,.0f} on {asked.workers} workers: {many / one:.2f} times (aim {AIM}); "
                f"client and scheduler {before / 1e6:,.0f} MB after a tenth, {memory() / 1e6:,.0f} "
                "MB at the end",
                flush=True,
            )
        client.close()


if __name__ == "__main__":
    main()
