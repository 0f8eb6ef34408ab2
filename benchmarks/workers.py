"""Rows per second on two real workers against one process, one thread each; and memory.

    python benchmarks/workers.py [--rows N] [--workers W] [--rounds R] [--learners vvm,committee]
        [--default-settings]

Rows are in a file that is mapped into memory, so that reading takes next to nothing: learning is
all there is to do. One process learns the same pieces one after the other. Both are measured by the
clock, after kernels have been loaded: the machine has to be idle, with a core for each worker, and
client and scheduler take theirs from them. So processor seconds are told as well: of one process,
of each worker, of client and scheduler, less what these take by the clock when there is nothing to
do (which on a busy machine is most of it); and what the ratio would be if the clock had gone by
them, with nothing of the client's hidden behind the workers. The aim is 1.7 times the rows per
second on two workers. Memory is that of the process that has client and scheduler, after a tenth of
the time and at the end. Dask has `virtualvector.dask.lean_settings`; with ``--default-settings``
its own.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import dask
import dask.array as da
import numpy as np
import psutil
from distributed import Client, LocalCluster

from virtualvector import AutoVVMClassifier, VVMClassifier
from virtualvector.dask import DaskAutoVVMClassifier, DaskVVMClassifier, lean_settings

AIM = 1.7
PIECE = 10_000  # rows
IDLE = 5.0  # seconds in which nothing is done
SECONDS = 0.1  # between two looks at the memory
LEARNERS: dict[str, Any] = {
    "vvm": (VVMClassifier, DaskVVMClassifier, {"buffer_size": 30, "margin_noise": 1.0}),
    "committee": (AutoVVMClassifier, DaskAutoVVMClassifier, {}),
}


def write_rows(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write rows and labels, which depend on nothing but their number."""
    weights = np.random.default_rng(0).normal(size=n_columns) / np.sqrt(n_columns)
    options = {"mode": "w+", "dtype": float}
    rows = np.lib.format.open_memmap(folder / "rows.npy", shape=(n_rows, n_columns), **options)
    labels = np.empty(n_rows, int)
    for k in range(0, n_rows, PIECE):
        rng = np.random.default_rng([7, k])
        some = rng.normal(size=(PIECE, n_columns))
        margins = some @ weights + 0.3 * some[:, 0] * some[:, 1] + 0.5 * rng.normal(size=PIECE)
        rows[k : k + PIECE], labels[k : k + PIECE] = some, margins > 0.0
    rows.flush()
    np.save(folder / "labels.npy", labels)


def part(folder: Path, name: str, k: int) -> Any:
    """Return a piece of the rows, or of the labels."""
    return np.load(folder / f"{name}.npy", mmap_mode="r")[k * PIECE : (k + 1) * PIECE]


def arrays(folder: Path, pieces: range, n_columns: int) -> tuple[Any, Any]:
    """Return pieces of both as Dask arrays, of which nothing is loaded."""

    def each(name: str, widths: tuple[tuple[int], ...], dtype: type) -> Any:
        return da.map_blocks(
            lambda block_id: part(folder, name, pieces[block_id[0]]),
            chunks=((PIECE,) * len(pieces), *widths),
            meta=np.empty((0,) * (1 + len(widths)), dtype),
        )

    return each("rows", ((n_columns,),), float), each("labels", (), int)


def memory() -> int:
    return int(psutil.Process().memory_info().rss)


class Sizes:
    """The memory of this process, looked at now and then meanwhile."""

    def __enter__(self) -> Sizes:
        self._sizes, self._over = [memory()], threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._sizes.append(memory())

    def _look(self) -> None:
        while not self._over.wait(SECONDS):
            self._sizes.append(memory())

    def after(self, share: float) -> int:
        """Return the memory after a share of the time."""
        return self._sizes[round(share * (len(self._sizes) - 1))]


def one_process(model: Any, folder: Path, n_pieces: int) -> None:
    for k in range(n_pieces):
        rows, labels = part(folder, "rows", k), part(folder, "labels", k)
        model.partial_fit(rows, labels, [0, 1] if k == 0 else None)


class Taken(NamedTuple):
    """Seconds by the clock, and of the processor in each process."""

    clock: float
    here: float
    workers: list[float]

    def less(self, idle: Taken) -> Taken:
        """Return the same without what is taken when there is nothing to do."""
        share = self.clock / idle.clock
        workers = [a - share * b for a, b in zip(self.workers, idle.workers, strict=True)]
        return Taken(self.clock, self.here - share * idle.here, workers)


def timed(work: Callable[[], Any], client: Client) -> Taken:
    before = client.run(process_time)
    clock, here = perf_counter(), process_time()
    work()
    clock, here = perf_counter() - clock, process_time() - here
    after = client.run(process_time)
    return Taken(clock, here, [after[name] - before[name] for name in before])


def measured(name: str, folder: Path, asked: argparse.Namespace, client: Client) -> None:
    local, spread, parameters = LEARNERS[name]
    n_pieces, d = asked.rows // PIECE, asked.columns
    n_rows = n_pieces * PIECE
    warm = spread(shards=asked.workers, **parameters)
    warm.partial_fit(*arrays(folder, range(3), d), classes=[0, 1])
    one_process(local(**parameters), folder, 1)
    ones, manies = [], []
    for _ in range(asked.rounds):
        model = spread(shards=asked.workers, **parameters)

        def learn(model: Any = model) -> None:
            model.partial_fit(*arrays(folder, range(n_pieces), d), classes=[0, 1])

        ones.append(timed(lambda: one_process(local(**parameters), folder, n_pieces), client))
        idle = timed(lambda: sleep(IDLE), client)
        with Sizes() as sizes:
            manies.append(timed(learn, client).less(idle))
        print(f"{name}: {told(ones[-1], manies[-1], n_rows)}", flush=True)
        begun, ended = (sizes.after(share) / 1e6 for share in (0.1, 1.0))
        print(f"client and scheduler {begun:,.0f} MB after a tenth, {ended:,.0f} MB at the end")
    if asked.rounds > 1:
        print(f"{name}, best of each: {told(best(ones), best(manies), n_rows)}", flush=True)


def best(rounds: list[Taken]) -> Taken:
    """Return the one that took the least time by the clock: what others did came on top."""
    return min(rounds, key=lambda taken: taken.clock)


def told(one: Taken, many: Taken, n_rows: int) -> str:
    by_processor = one.here / (max(many.workers) + many.here)
    return (
        f"{n_rows:,} rows: {n_rows / one.clock:,.0f} rows/s in one process, "
        f"{n_rows / many.clock:,.0f} on {len(many.workers)} workers: "
        f"{one.clock / many.clock:.2f} times (aim {AIM}); processor seconds {one.here:.1f} in one "
        f"process, {', '.join(f'{each:.1f}' for each in many.workers)} in workers, {many.here:.1f} "
        f"in client and scheduler: {by_processor:.2f} times by these"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--columns", type=int, default=99)
    parser.add_argument("--learners", default="vvm,committee")
    parser.add_argument("--rounds", type=int, default=1, help="one process and workers in turn")
    parser.add_argument(
        "--default-settings", action="store_true", help="of Dask, not virtualvector.dask's"
    )
    asked = parser.parse_args()
    options = {"n_workers": asked.workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set({} if asked.default_settings else lean_settings()),
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(**options) as cluster,
        Client(cluster) as client,
    ):
        write_rows(Path(folder), max(asked.rows // PIECE, 3) * PIECE, asked.columns)
        for name in asked.learners.split(","):
            measured(name, Path(folder), asked, client)


if __name__ == "__main__":
    main()
