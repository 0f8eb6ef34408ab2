"""Input files that lie: each format, damaged and forged, read in a process with little memory.

    python benchmarks/faults inputs --seconds 120
    python benchmarks/faults/inputs.py SEED CASE    # one case again

A case is made of the seed and its number alone. It fails if the process is lost or takes longer
than it may, takes more memory than it may, or ends with anything but rows or a refusal in one line.
"""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from faults.input_files import ENDINGS, TEXTS, WRITERS, packed, table
from faults.input_forgeries import BOMBS, DAMAGE, FORGED, FORGED_TEXT
from faults.outcome import BYTES, SECONDS, Outcome

FORMATS = tuple(WRITERS)
SAVED = Path("build/faults")
PATIENCE = 60 * SECONDS  # with a process that sleeps; one that works has the processor's seconds
FINE = ("read", "refused")
WAYS = ("stop", "skip", "stop", "skip", "stop", "skip", "command")


class Case(NamedTuple):
    """A file, and how it is read."""

    format: str
    ending: str
    data: bytes
    way: str


def case_of(seed: int, number: int) -> Case:
    """Return a case; the same one each time."""
    rng = random.Random(f"{seed}/{number}")
    format = FORMATS[number % len(FORMATS)]
    data = WRITERS[format](rng, table(rng, rng.choice((1, 5, 30, 150))))
    if rng.random() < 0.02:
        data = BOMBS[format](rng, data)
    else:
        forgeries = FORGED_TEXT if format in TEXTS else FORGED[format]
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            data = rng.choice((rng.choice(DAMAGE), rng.choice(forgeries)))(rng, data)
    ending = rng.choice(("", "", ".gz", ".zst")) if format in TEXTS else ""
    data = packed(data, ending)
    if ending and rng.random() < 0.3:
        data = rng.choice(DAMAGE)(rng, data)
    return Case(format, ENDINGS[format] + ending, data, rng.choice(WAYS))


class Worker:
    """A process that reads cases; it is made anew when it is lost."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._begin()

    def _begin(self) -> None:
        environment = {
            **os.environ,
            # Memory is taken when it is needed, and counted then.
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "MALLOC_ARENA_MAX": "2",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("input_worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        rng = random.Random(0)
        for format in FORMATS:  # all that is imported and compiled is so before limits count
            sound = Case(format, ENDINGS[format], WRITERS[format](rng, table(rng, 50)), "command")
            told = self._ask(sound, 0, 600.0)
            assert told["end"] == "read", (format, told)

    def run(self, case: Case) -> dict[str, Any]:
        """Return what came of a case."""
        told = self._ask(case, BYTES, SECONDS)
        if told["end"] in ("lost", "memory"):
            self.close()
            self._begin()
        return told

    def _ask(self, case: Case, n_bytes: int, seconds: float) -> dict[str, Any]:
        path = self._folder / f"rows{case.ending}"
        path.write_bytes(case.data)
        asked = {"path": str(path), "way": case.way, "bytes": n_bytes, "seconds": seconds}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        self._process.stdin.flush()
        answered, _, _ = select.select([self._process.stdout], [], [], max(PATIENCE, seconds))
        line = self._process.stdout.readline() if answered else b""
        path.unlink()
        if line:
            told: dict[str, Any] = json.loads(line)
            return told
        self._process.kill()  # if it is not lost already
        return {"end": "lost", "why": f"signal {-self._process.wait()}"}

    def close(self) -> None:
        """Let the process go."""
        with self._process:  # which closes its pipes
            self._process.kill()


def attack(seconds: float, seed: int, most: int | None = None) -> Iterator[Outcome]:
    """Yield what came of each format after so many seconds, or so many cases."""
    outcomes = {format: Outcome(f"inputs: {format}") for format in FORMATS}
    until = monotonic() + seconds
    number = 0
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(Path(folder))
        try:
            while monotonic() < until and number != most:
                case = case_of(seed, number)
                told = worker.run(case)
                outcomes[case.format].ends[told["end"]] += 1
                if told["end"] not in FINE:
                    outcomes[case.format].failures.append(_kept(case, seed, number, told))
                number += 1
        finally:
            worker.close()
    yield from outcomes.values()


def _kept(case: Case, seed: int, number: int, told: dict[str, Any]) -> str:
    """Keep the file of a case that failed; return how to repeat it, and what happened."""
    SAVED.mkdir(parents=True, exist_ok=True)
    path = SAVED / f"input-{seed}-{number}{case.ending}"
    path.write_bytes(case.data)
    again = f"python benchmarks/faults/inputs.py {seed} {number}"
    return f"{again} ({case.way}, {path}): {told['end']}, {told.get('why')}"


def main() -> None:
    """Run one case again."""
    seed, number = map(int, sys.argv[1:])
    case = case_of(seed, number)
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(Path(folder))
        try:
            print(case.format, case.ending, case.way, f"{len(case.data)} bytes", worker.run(case))
        finally:
            worker.close()


if __name__ == "__main__":
    main()
