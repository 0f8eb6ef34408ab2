"""Forged model files: refused in one line, or as good as any model; see `forgeries` and `trying`.

A case is made from the seed and its number. Cases run in a process of their own, which may neither
crash nor take too long or too much memory; once as usual, and once with every index of every
compiled loop checked. What a case should not have led to is told, with the file to look at.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import monotonic
from typing import IO, Any

from faults.outcome import SECONDS, Outcome

FOLDER = Path("build/faults")
BEGINNING = 900.0  # seconds that compiling everything may take
PATIENCE = 600.0  # seconds without an answer, nor anything done


def attack(seconds: float, seed: int) -> Iterator[Outcome]:
    """Try forgeries for half of the time each, without and with a look at every index."""
    from faults.examples import examples

    folder = FOLDER / "models"
    folder.mkdir(parents=True, exist_ok=True)
    contents = examples()
    for old in folder.glob("*.vvm"):
        old.unlink()
    for name, each in contents.items():
        (folder / f"{name}.vvm").write_bytes(each)
    # Numba keeps what it compiles by sources, types and processor, not by this switch.
    cache = str((FOLDER / "checked").absolute())
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
    yield _attack("models", contents, seconds / 2, seed, {})
    yield _attack("models, every index checked", contents, seconds / 2, seed + 1, checked)


def _attack(
    name: str, contents: dict[str, bytes], seconds: float, seed: int, environment: dict[str, str]
) -> Outcome:
    outcome, worker = Outcome(name), _Worker(seed, environment)
    stop = monotonic() + seconds
    try:
        for number in count():
            if monotonic() > stop:
                break
            end, wrong = worker.answer(number)
            outcome.ends[end] += 1
            if wrong:
                outcome.failures.append(_told(contents, seed, number, wrong))
            if not worker.is_alive:
                worker = _Worker(seed, environment)
    finally:
        worker.end()
    return outcome


def _told(contents: dict[str, bytes], seed: int, number: int, wrong: str) -> str:
    """Keep the file of a case that went wrong, and say where."""
    from faults.trying import case

    name, forgery, _ = case(contents, seed, number)
    path = FOLDER / f"models-{seed}-{number}.vvm"
    path.write_bytes(forgery)
    return f"seed {seed}, case {number} ({name}), {path}: {wrong}"


class _Worker:
    """A process that tries cases."""

    def __init__(self, seed: int, environment: dict[str, str]) -> None:
        script = Path(__file__).with_name("trying.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script), str(FOLDER / "models"), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | environment,
            text=True,
        )
        if self._line(BEGINNING) != "ready":
            self.end()
            raise RuntimeError("models that were not forged do not come through")

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def answer(self, number: int) -> tuple[str, str]:
        """Return how a case ended, and what should not have happened."""
        stdin: IO[str] | None = self._process.stdin
        assert stdin is not None
        stdin.write(f"{number}\n")
        stdin.flush()
        most, patience = self._seconds + SECONDS, monotonic() + PATIENCE
        said = self._line(1.0)
        while said is None and self.is_alive and self._seconds < most and monotonic() < patience:
            said = self._line(1.0)
        if said is not None:
            return said[0], said[1]
        crashed = self._process.poll() is not None
        self.end()
        return ("crashed", "crashes") if crashed else ("hung", f"takes more than {SECONDS:.0f} s")

    @property
    def _seconds(self) -> float:
        """The time that a processor spent on it: others may keep the machine busy."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def _line(self, seconds: float) -> Any:
        """Return what the process says next; None if it ends or says nothing for so long."""
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], seconds)[0]:
            return None
        line = stdout.readline()
        if not line:
            self._process.wait()
            return None
        return json.loads(line)

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
