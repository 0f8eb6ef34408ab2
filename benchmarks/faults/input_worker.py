"""Reads files that may be anything, one after the other, in a process that may be lost.

A line of JSON on standard input is a case, a line on standard output what came of it. What ends the
process, or keeps it busy, is for the other side to tell.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from virtualvector.cli.errors import BAD_INPUT, NOTHING_TO_LEARN
from virtualvector.cli.main import main as vvm
from virtualvector.streams import BadInput, open_rows

MOST_CELLS, MOST_BYTES = 10**7, 2**28  # that are read of a file; a long stream is no fault
MOST_COLUMNS = 30  # of a table that is learned, for what that takes grows with their square
LONGEST = 10_000  # characters that a message may have

Told = dict[str, Any]


def read(path: Path, **options: Any) -> Told:
    """Read all rows, and look at every cell."""
    try:
        with open_rows([str(path)], **options) as reader:
            n_rows = n_bytes = 0
            for batch in reader:
                n_rows += batch.table.num_rows
                _look(batch, reader.columns)
                n_bytes += batch.table.nbytes
                if n_rows * len(reader.columns) > MOST_CELLS or n_bytes > MOST_BYTES:
                    break
            for problem in reader.problems:
                _check_said(problem)
            return {"end": "read", "columns": len(reader.columns), "rows": n_rows}
    except BadInput as error:
        cause = error.__cause__
        if isinstance(cause, MemoryError) or "malloc" in str(error):
            return {"end": "memory", "why": str(error)}
        _check_said(str(error))
        return {"end": "refused", "why": str(error)[:300]}


def _look(batch: Any, columns: Any) -> None:
    batch.table.validate(full=True)
    for name, categorical, *_ in columns:
        cells = batch.table[name]
        if not categorical and not np.isfinite(cells.drop_null().to_numpy()).all():
            raise AssertionError(f"column {name!r} has numbers that are not finite")
        if categorical:
            cells.to_pylist()
    if any(not label for label in batch.labels.tolist()):
        raise AssertionError("an empty label")
    if batch.table.num_rows:  # none, where only bad rows came
        batch.place(0, columns[0].name)


def _check_said(text: str) -> None:
    if len(text) > LONGEST or not text.isprintable():
        raise AssertionError(f"a message of {len(text)} characters: {text[:200]!r}")


def command(*arguments: str) -> Told:
    """Run the command, and look at what it says."""
    out, said = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["vvm", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            vvm()
        code: Any = 0
    except SystemExit as left:
        code = left.code or 0
    finally:
        sys.argv = before
    text = said.getvalue()
    if "Traceback" in text or code not in (0, BAD_INPUT, NOTHING_TO_LEARN):
        return {"end": "exit", "why": f"vvm {arguments[0]} exits with {code}: {text[-500:]}"}
    for line in text.splitlines():
        _check_said(line)
    if "nan" in out.getvalue().splitlines()[-1:]:
        return {"end": "nan", "why": out.getvalue()[-300:]}
    return {"end": "read" if code == 0 else "refused"}


def run(case: Told) -> Told:
    """Read a file in the way that a case says."""
    path = Path(case["path"])
    if case["way"] in ("stop", "skip"):
        return read(path, on_error=case["way"])
    seen = read(path, on_error="skip")
    if seen["end"] != "read" or seen["columns"] > MOST_COLUMNS or seen["rows"] > 5000:
        return seen
    model = path.with_name("model.vvm")
    model.unlink(missing_ok=True)
    error = ("--on-error", "skip")
    told = command("learn", str(path), "--learner", "adf", "-q", "--model", str(model), *error)
    if told["end"] in ("read", "refused") and model.exists():  # that of one class is refused
        told = command("predict", str(path), "--proba", "--model", str(model), *error)
    return told


def _shortly(error: BaseException) -> str:
    """Return an error and where it came from."""
    calls = traceback.extract_tb(error.__traceback__)[-2:]
    places = ", ".join(f"{Path(call.filename).name}:{call.lineno}" for call in calls)
    return f"{type(error).__name__}: {str(error)[:300]!r} at {places}"


def limit(n_bytes: int, seconds: float) -> None:
    """Let the process have so much more memory, and so many seconds more."""
    if n_bytes:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + n_bytes, resource.RLIM_INFINITY))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    until = int(usage.ru_utime + usage.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))


def main() -> None:
    """Answer until there are no more cases; the first few are sound and warm everything up."""
    answers = sys.stdout
    for line in sys.stdin:
        case = json.loads(line)
        limit(case["bytes"], case["seconds"])
        try:
            told = run(case)
        except MemoryError as error:
            told = {"end": "memory", "why": repr(error)}
        except BaseException as error:
            told = {"end": "raised", "why": _shortly(error)}
        print(json.dumps(told), file=answers, flush=True)


if __name__ == "__main__":
    main()
