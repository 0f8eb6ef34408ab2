"""What `vvm` spends besides learning: reading, starting, memory.

    python benchmarks/command.py [--rows 1000000] [--starts 5]

Prints the split of `vvm learn --learner adf` on a CSV file of 20 columns between reading and the
rest, its peak memory, and where the time goes when `vvm predict` says ten rows.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

VVM = Path(sys.executable).with_name("vvm")
COLUMNS = 20


def write_rows(path: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(COLUMNS)
    with path.open("w") as file:
        file.write(",".join([*(f"x{k}" for k in range(COLUMNS)), "label"]) + "\n")
        for start in range(0, n_rows, 10_000):
            rows = rng.standard_normal((min(10_000, n_rows - start), COLUMNS))
            noise = rng.standard_normal(len(rows))
            labels = np.where(rows @ weights + noise > 0.0, "yes", "no")
            for row, label in zip(rows.tolist(), labels.tolist(), strict=True):
                file.write(",".join([*(f"{cell:.6f}" for cell in row), label]) + "\n")


class Timed:
    """An iterator that knows how much processor time was spent in it."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.columns = reader.columns
        self.weight = reader.weight
        self.seconds = 0.0

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self.reader)
        while True:
            start = process_time()
            batch = next(batches, None)
            self.seconds += process_time() - start
            if batch is None:
                return
            yield batch


def print_split(path: Path, n_rows: int) -> None:
    """Learn in this process, as the command does, and print what reading takes of it."""
    from virtualvector.cli.learner_options import Choice, Learner
    from virtualvector.cli.run import Progress, Run, warm_up
    from virtualvector.evaluation import Tally
    from virtualvector.streams import open_rows

    with open_rows([str(path)]) as reader:
        model = Choice(Learner.adf).model(reader.columns, 2, 0)
        warm_up(model, reader.columns)
        timed: Any = Timed(reader)
        run = Run(Progress(model, Tally()), str(reader.label), (), lambda tally, n_awake: None)
        start = process_time()
        run.learn(timed)
        total = process_time() - start
    print(f"{n_rows} rows of {COLUMNS} columns, --learner adf, processor time:")
    print(f"  reading and parsing  {timed.seconds:6.2f} s  {timed.seconds / total:6.1%}")
    print(f"  learning and the rest{total - timed.seconds:6.2f} s")
    print(f"  error                {run.progress.tally.measures.error:.4f}")


def print_memory(path: Path) -> None:
    """Learn by the command, and print the most memory it had."""
    start = perf_counter()
    subprocess.run([VVM, "learn", path, "--learner", "adf", "--quiet"], check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"vvm learn: {perf_counter() - start:.1f} s in all, peak memory {peak:.0f} MB")


def print_start(folder: Path, rows: Path, starts: int) -> None:
    """Print how long commands take to start, and which imports that is."""
    model, ten = folder / "m.vvm", folder / "ten.csv"
    lines = rows.read_text()[:100_000].splitlines()
    ten.write_text("\n".join(lines[:11]) + "\n")
    (folder / "some.csv").write_text("\n".join(lines[:400]) + "\n")
    learn = [VVM, "learn", folder / "some.csv", "--model", model, "--quiet", "--learner", "adf"]
    subprocess.run(learn, check=True)
    predict = ["predict", ten, "--model", model]
    for arguments in (["--help"], predict):
        best = min(_seconds([VVM, *arguments]) for _ in range(starts))
        print(f"vvm {arguments[0]}: {best:.2f} s of processor time, best of {starts}")
    timed = [sys.executable, "-X", "importtime", VVM, *predict]
    done = subprocess.run(timed, capture_output=True, text=True, check=True)
    print("  of which imports, in ms, with all that they import:")
    wanted = {"numba", "sklearn.base", "scipy", "numpy", "pyarrow", "typer", "safetensors.numpy"}
    for line in done.stderr.splitlines():
        _, cumulative, name = line.removeprefix("import time:").split("|")
        if name.strip() in wanted:
            print(f"    {name.strip():<20}{int(cumulative) / 1000:7.0f}")


def _seconds(command: list[Any]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--starts", type=int, default=5)
    options = parser.parse_args()
    n_rows = options.rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        write_rows(path, n_rows)
        print_split(path, n_rows)
        print_memory(path)
        print_start(Path(folder), path, options.starts)


if __name__ == "__main__":
    main()
