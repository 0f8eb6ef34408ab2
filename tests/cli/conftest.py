"""The command, on real files."""

import io
import os
import signal
import sys
import time
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import numpy as np
import pytest

from tests import forking
from tests.forking import Done
from virtualvector import persistence
from virtualvector.cli.main import main
from virtualvector.cli.signals import Signals

VVM = Path(sys.executable).with_name("vvm")
COMMAND = "from virtualvector.cli.main import main; main()"


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
    """Run the command in an empty folder, as a process of its own, after some other code."""

    def run(*arguments, before="", **options):
        return forking.run(f"{before}\n{COMMAND}", *arguments, cwd=tmp_path, **options)

    return run


def on_terminal(*arguments, cwd, **environment):
    """Return what the command writes to a terminal."""
    ours, theirs = os.openpty()
    with forking.start(
        COMMAND, *arguments, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs,
        TERM="xterm", **environment,
    ) as run:  # fmt: skip
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # which is how the end of a terminal shows
            while piece := os.read(ours, 65536):
                shown += piece
    os.close(ours)
    assert run.returncode == 0, shown
    return shown


def small_files(n_bytes):
    """Return code after which no file can be larger, as if the disk were full."""
    return f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({n_bytes}, {n_bytes}))"


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


@pytest.fixture
def model(vvm, rows):
    """Learn sixty rows, and return what the model is called."""
    rows(60)
    assert vvm("learn", "rows.csv", "--model", "m.vvm", "-q", "--learner", "adf").code == 0
    return "m.vvm"


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)


def learned_rows(path):
    return persistence.read_header(path)["counters"]["rows"]
