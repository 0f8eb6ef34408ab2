"""`vvm learn --workers` beside `vvm learn`: rows per second of whole commands, by the clock.

    python benchmarks/learn_on_workers.py [--rows N] [--columns D] [--workers W]
        [--formats parquet,csv]

A file of rows like those of `benchmarks/workers.py` is written, then both commands learn it, one
after the other: from the start of Python to the end of the process, cluster and checkpoints
included. Kernels have been compiled before. Processor seconds are those of all processes of the
command together; half of them is what two workers would take at best.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from workers import PIECE, part, write_rows

WARM = 20_000  # rows, of which the last thousands are learned by several shards


class Taken(NamedTuple):
    """Seconds by the clock, and of the processor."""

    clock: float
    processor: float


def write_file(path: Path, arrays: Path, n_rows: int) -> None:
    """Write rows with labels as Parquet or CSV, a piece at a time."""
    writer = None
    for k in range(n_rows // PIECE):
        rows = np.asarray(part(arrays, "rows", k)).round(6)
        columns = {f"x{j}": each for j, each in enumerate(rows.T)}
        table = pa.table(columns | {"y": part(arrays, "labels", k)})
        if writer is None:
            make = parquet.ParquetWriter if path.suffix == ".parquet" else csv.CSVWriter
            writer = make(path, table.schema)
        writer.write_table(table)
    writer.close()


def learned(path: Path, *more: str) -> Taken:
    """Run the command, and return what it took."""
    model = path.with_suffix(".vvm")
    model.unlink(missing_ok=True)
    run = "from virtualvector.cli.main import main; main()"
    command = [sys.executable, "-c", run, "learn", str(path), "--label", "y"]
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    subprocess.run([*command, "--model", str(model), "--quiet", *more], check=True)
    clock, after = perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return Taken(clock, user + system)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--columns", type=int, default=99)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--formats", default="parquet,csv")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, workers = Path(name), ("--workers", str(asked.workers))
        write_rows(folder, max(asked.rows, WARM) // PIECE * PIECE, asked.columns)
        for kind in asked.formats.split(","):
            few, many = (folder / f"{each}.{kind}" for each in ("few", "many"))
            write_file(few, folder, WARM)
            write_file(many, folder, asked.rows)
            learned(few)
            learned(few, *workers)
            one, several = learned(many), learned(many, *workers)
            n_rows = asked.rows // PIECE * PIECE
            print(
                f"{kind}, {n_rows:,} rows × {asked.columns}: {n_rows / one.clock:,.0f} rows/s by "
                f"vvm learn, {n_rows / several.clock:,.0f} with --workers {asked.workers}: "
                f"{one.clock / several.clock:.2f} times; processor seconds of all processes "
                f"{one.processor:.1f} and {several.processor:.1f}",
                flush=True,
            )
            many.unlink()


if __name__ == "__main__":
    main()
