"""Runs of `vvm learn` that are killed, stopped, starved of disk, or not alone.

Whatever happened, the run goes on in the end and has to leave the bytes of an undisturbed one.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from faults.outcome import BYTES, SECONDS, Outcome

ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
FATES = ("none", "killed", "stopped", "stopped twice", "full disk", "not alone")
PATIENCE = 6 * SECONDS  # for a run on a busy machine, most of which is learning


class Ended(NamedTuple):
    """How a command ended."""

    code: int  # below zero: killed by that signal
    said: str


def attack(seconds: float, seed: int) -> Iterator[Outcome]:
    """Disturb runs for so long, each until it has finished all the same."""
    _import_everything()
    end = time.monotonic() + seconds
    outcome = Outcome("runs")
    case = 0
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            try:
                for fate in _case(Path(folder), np.random.default_rng([seed, case])):
                    outcome.ends[fate] += 1
            except AssertionError as error:
                outcome.failures.append(f"seed {seed}, case {case}: {error}")
        case += 1
    yield outcome


def _case(folder: Path, rng: np.random.Generator) -> Iterator[str]:
    """Disturb one run, again and again; yield what was done to it."""
    n_rows, n_before = int(rng.integers(20, 4000)), int(rng.choice([0, 300]))
    learner = str(rng.choice(["adf", "vvm", "auto"], p=[0.5, 0.4, 0.1]))
    if learner == "auto":
        n_rows = n_rows // 4 + 20
    _write_rows(folder, n_before, n_rows, rng)
    every = ("--checkpoint-every", str(rng.integers(20, 1000))) if rng.random() < 0.7 else ()
    options = ("--learner", learner, "--quiet", *every)
    begin = ("--append",) if n_before else ()
    if n_before:
        for name in ("m.vvm", "whole.vvm"):
            _expect(_ended(_start(folder, "learn", "before.csv", "--model", name, *options)), 0)
    whole = _ended(_start(folder, "learn", "rows.csv", "--model", "whole.vvm", *begin, *options))
    _expect(whole, 0)
    model, base = folder / "m.vvm", _contents(folder / "m.vvm")

    def command() -> tuple[str, ...]:
        begun = _contents(model) != base or (folder / "m.vvm.run").exists()
        how = ("--resume",) if begun else begin
        return ("learn", "rows.csv", "--model", "m.vvm", *how, *options)

    for _ in range(int(rng.integers(1, 6))):
        fate = str(rng.choice(FATES))
        _disturb(folder, command, fate, rng)
        yield fate
    _expect(_ended(_start(folder, *command())), 0)
    _check(_contents(model) == _contents(folder / "whole.vvm"), "another model than undisturbed")
    left = sorted(path.name for path in folder.iterdir() if path.name.startswith((".", "m.vvm.")))
    _check(not left, f"left behind: {left}")


def _disturb(
    folder: Path, command: Callable[[], tuple[str, ...]], fate: str, rng: np.random.Generator
) -> None:
    moment = float(rng.exponential(0.3))
    if fate == "full disk":
        done = _ended(_start(folder, *command(), largest=int(rng.integers(0, 30_000))))
        _check(done.code in (0, 1), f"{fate}: {done}")
        return
    first = _start(folder, *command())
    if fate == "not alone":
        time.sleep(moment / 4)
        # To append twice, one after the other, would be to learn the rows twice.
        again = ["--resume" if each == "--append" else each for each in command()]
        second = _ended(_start(folder, *again))
        _check(second.code in (0, 1, 2), f"{fate}: {second}")
    elif fate != "none":
        time.sleep(moment)
        names = ["SIGKILL"] if fate == "killed" else [str(rng.choice(ENDING))]
        for name in names * (2 if fate == "stopped twice" else 1):
            os.kill(first.process, getattr(signal, name))
            time.sleep(float(rng.uniform(0, 0.02)))
        done = _ended(first)
        allowed = {"SIGKILL": -signal.SIGKILL}.get(names[0], 128 + getattr(signal, names[0]))
        # Before the command has begun, and after it has ended, a signal does what it always does.
        _check(done.code in (0, allowed, -getattr(signal, names[0])), f"{fate} {names}: {done}")
        return
    done = _ended(first)
    _check(done.code in ((0, 1, 2) if fate == "not alone" else (0,)), f"{fate}: {done}")


class _Started(NamedTuple):
    process: int
    output: Path


def _start(folder: Path, *arguments: str, largest: int | None = None) -> _Started:
    """Run a command in a process that has imported everything already."""
    output = Path(tempfile.mkstemp(prefix="said-", dir=folder)[1])
    process = os.fork()
    if process == 0:
        _become(folder, arguments, output, largest)
    return _Started(process, output)


def _become(
    folder: Path, arguments: tuple[str, ...], output: Path, largest: int | None
) -> NoReturn:
    from virtualvector.cli.main import main

    code = 70
    try:
        os.chdir(folder)
        descriptor = os.open(output, os.O_WRONLY)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        for name in ENDING:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
        sys.argv = ["vvm", *arguments]
        main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def _ended(started: _Started) -> Ended:
    """Wait for the end of a command; one that does not come to it is killed and told."""
    end = time.monotonic() + PATIENCE
    while True:
        process, status, used = os.wait4(started.process, os.WNOHANG)
        if process:
            break
        if time.monotonic() > end:
            os.kill(started.process, signal.SIGKILL)
            os.waitpid(started.process, 0)
            raise AssertionError(f"still running after {PATIENCE:.0f} s")
        time.sleep(0.005)
    said = started.output.read_text()
    started.output.unlink()
    _check("Traceback" not in said, said)
    _check(used.ru_maxrss * 1024 < BYTES, f"took {used.ru_maxrss >> 10} MB")
    return Ended(os.waitstatus_to_exitcode(status), said)


def _write_rows(folder: Path, n_before: int, n_rows: int, rng: np.random.Generator) -> None:
    numbers = rng.standard_normal((n_before + n_rows, 4))
    good = numbers[:, 0] + rng.normal(0, 0.5, len(numbers)) > 0
    lines = [
        ",".join([*(f"{x:.5g}" for x in row), "good" if y else "bad"])
        for row, y in zip(numbers.tolist(), good, strict=True)
    ]
    for name, some in {"before.csv": lines[:n_before], "rows.csv": lines[n_before:]}.items():
        (folder / name).write_text("\n".join(["a,b,c,d,y", *some]) + "\n")


def _contents(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _expect(done: Ended, code: int) -> None:
    _check(done.code == code, f"expected exit {code}: {done}")


def _check(holds: bool, failure: str) -> None:
    if not holds:
        raise AssertionError(" ".join(failure.split())[:500])


def _import_everything() -> None:
    """Import and compile once, for all processes."""
    import virtualvector.cli.main
    import virtualvector.evaluation
    import virtualvector.streams  # noqa: F401
    from virtualvector import AutoVVMClassifier, VVMClassifier

    rows, labels = np.random.default_rng(0).standard_normal((50, 4)), np.arange(50) % 2
    for model in (AutoVVMClassifier(), VVMClassifier(5, margin_noise=1.0)):
        model.partial_fit(rows, labels, [0, 1])
