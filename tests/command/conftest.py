"""The real command, on real files."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from virtualvector.command.main import app

VVM = Path(sys.executable).with_name("vvm")


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def vvm(tmp_path):
    """Run the command in an empty folder."""

    def run(*arguments, stdin=None, cwd=tmp_path, **options):
        done = subprocess.run(
            [VVM, *map(str, arguments)],
            cwd=cwd, input=stdin, capture_output=True, text=True, timeout=300, **options,
        )  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Run the command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin=None):
        done = CliRunner().invoke(app, list(map(str, arguments)), input=stdin)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Done(done.exit_code, done.stdout, done.stderr)

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
