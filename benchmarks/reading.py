"""What reading costs: rows of 20 columns from CSV, JSON lines and Parquet.

    python benchmarks/reading.py [--rows 1000000]

Prints, for each format, the processor's microseconds per row to read and parse, the best of three
passes, and the most memory that the process has held by then.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from virtualvector.streams import open_rows

COLUMNS = 20
PIECE = 10_000


def pieces(n_rows: int) -> Iterator[pa.Table]:
    """Yield random numbers of six digits behind the point, and labels."""
    random = np.random.default_rng(0)
    for _ in range(n_rows // PIECE):
        rows = random.normal(size=(PIECE, COLUMNS)).round(6)
        columns = {f"x{index}": column for index, column in enumerate(rows.T)}
        yield pa.table(columns | {"label": np.where(rows[:, 0] > 0, "yes", "no")})


def write_csv(path: Path, n_rows: int) -> None:
    with path.open("wb") as file:
        for index, piece in enumerate(pieces(n_rows)):
            csv.write_csv(piece, file, csv.WriteOptions(include_header=index == 0))


def write_json_lines(path: Path, n_rows: int) -> None:
    with path.open("w") as file:
        for piece in pieces(n_rows):
            file.writelines(json.dumps(row) + "\n" for row in piece.to_pylist())


def write_parquet(path: Path, n_rows: int) -> None:
    schema = next(pieces(PIECE)).schema
    with parquet.ParquetWriter(path, schema) as writer:
        for piece in pieces(n_rows):
            writer.write_table(piece)


def seconds(path: Path, n_rows: int) -> float:
    """Return the processor time of one pass."""
    start = process_time()
    with open_rows([str(path)]) as reader:
        found = sum(batch.table.num_rows for batch in reader)
    assert found == n_rows
    return process_time() - start


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args(arguments).rows // PIECE * PIECE
    writers = {"rows.csv": write_csv, "rows.parquet": write_parquet, "rows.jsonl": write_json_lines}
    print(f"{'file':<14}{'MB':>8}{'µs per row':>12}{'memory, MB':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for name, write in writers.items():
            path = Path(folder) / name
            write(path, n_rows)
            best = min(seconds(path, n_rows) for _ in range(3))
            held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            size = path.stat().st_size / 1e6
            print(f"{name:<14}{size:>8.0f}{1e6 * best / n_rows:>12.2f}{held:>12.0f}")
            path.unlink()


if __name__ == "__main__":
    main()
