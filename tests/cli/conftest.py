"""The command, on real files."""

import io
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from virtualvector import persistence
from virtualvector.cli.main import main
from virtualvector.cli.signals import Signals

VVM = Path(sys.executable).with_name("vvm")


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def vvm(tmp_path, monkeypatch):
    """Run the command in an empty folder, within this process: starting one takes seconds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # which the command sets
    monkeypatch.setattr(Signals, "of_a_program", False)  # and this

    def run(*arguments, stdin=""):
        out, err = _Text(), _Text()
        with monkeypatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "argv", ["vvm", *map(str, arguments)])
            patch.setattr(sys, "stdin", _Text(stdin))
            with pytest.raises(SystemExit) as left, signals_as_they_are():
                main()
        return Done(left.value.code or 0, out.text(), err.text())

    return run


@contextmanager
def signals_as_they_are():
    """Let handlers be what they were: a command that is stopped ignores signals from then on."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


class _Text(io.TextIOWrapper):
    """Text that is written or read as a file's, in bytes."""

    def __init__(self, text=""):
        contents = text.encode(errors="surrogateescape") if isinstance(text, str) else text
        super().__init__(io.BytesIO(contents), encoding="utf-8", errors="surrogateescape")

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode(errors="surrogateescape")


@pytest.fixture
def process(tmp_path):
    """Run the command in an empty folder, as a process of its own."""

    def run(*arguments, stdin=None, cwd=tmp_path, **options):
        done = subprocess.run(
            [VVM, *map(str, arguments)],
            cwd=cwd, input=stdin, capture_output=True, text=True, timeout=300, **options,
        )  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def lines_of(n_rows, seed=0, n_numbers=3):
    """Return lines of CSV: numbers, a column of names, some gaps, and a noisy label."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((n_rows, n_numbers))
    colours = rng.choice(["red", "green", "blue"], n_rows)
    score = numbers[:, 0] - 0.5 * numbers[:, 1] + (colours == "red") + rng.normal(0, 0.5, n_rows)
    gaps = rng.random((n_rows, n_numbers)) < 0.02
    yield ",".join([f"x{k}" for k in range(n_numbers)] + ["colour", "outcome"])
    for row, missing, colour, s in zip(numbers.tolist(), gaps, colours, score, strict=True):
        cells = ["" if gap else f"{cell:.6g}" for cell, gap in zip(row, missing, strict=True)]
        yield ",".join([*cells, colour, "good" if s > 0 else "bad"])


@pytest.fixture
def rows(tmp_path):
    """Write a CSV file of some rows."""

    def write(n_rows=600, name="rows.csv", seed=0):
        path = tmp_path / name
        path.write_text("\n".join(lines_of(n_rows, seed)) + "\n")
        return path

    return write


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)


def learned_rows(path):
    return persistence.read_header(path)["counters"]["rows"]
