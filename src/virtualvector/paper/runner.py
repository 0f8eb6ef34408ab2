"""Run experiments: tasks side by side, each kept as soon as it is done, results written at the end.

Whatever interrupts a run, the tasks that were done are not done again. A task is known by its
arguments and by the code that does it, so nothing stale is ever taken for done.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.metadata import version
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from virtualvector.paper.experiment import Experiment, Options, Record, Task

_LIBRARIES = ("virtualvector", "numpy", "scipy", "numba", "scikit-learn", "matplotlib")

# Given a number of tasks and a title, the context in which to say, task by task, what is done.
Progress = Callable[[int, str], AbstractContextManager[Callable[[str], None]]]


@dataclass(frozen=True)
class Part:
    """A task and the file that keeps its records once it is done."""

    task: Task
    file: Path

    @property
    def done(self) -> bool:
        """Whether the task has been done by this very code."""
        return self.file.exists()

    def records(self) -> list[Record]:
        """Return the records of a task that is done."""
        records: list[Record] = json.loads(self.file.read_text(encoding="utf-8"))
        return records


def run(
    experiment: Experiment, options: Options, folder: Path, jobs: int, progress: Progress
) -> dict[str, Any]:
    """Run an experiment and write what it came to into a folder.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    options : Options
        How many runs, from which seed.
    folder : Path
        Where ``NAME.csv``, ``NAME.json``, ``NAME.png`` and ``NAME.svg`` go, and, below ``parts/``,
        the records of tasks that are done.
    jobs : int
        How many tasks to do at the same time; does not change any result.
    progress : callable
        Shows how far the tasks are.

    Returns
    -------
    dict
        The summary, as in ``NAME.json``.
    """
    parts: dict[str, Part] = {}
    records: list[Record] = []
    while new := [
        Part(task, _file(folder, experiment, task))
        for task in experiment.plan(options, records)
        if task.name not in parts
    ]:
        parts |= {part.task.name: part for part in new}
        with progress(len(new), experiment.name) as advance:
            todo = [part for part in new if not part.done]
            for _ in range(len(new) - len(todo)):
                advance("done before")
            for name in _work(experiment, todo, jobs):
                advance(name)
        records += [record for part in new for record in part.records()]
    summary = _summary(experiment, records, options)
    _write_results(experiment, records, summary, folder)
    return summary


def _work(experiment: Experiment, parts: Sequence[Part], jobs: int) -> Iterator[str]:
    """Do tasks, several at a time; yield the name of each when its records are safe."""
    # Threads of BLAS would fight over the processors; and sums in another order, other bits.
    with threadpool_limits(1):
        work = Parallel(n_jobs=min(jobs, max(len(parts), 1)), return_as="generator_unordered")
        yield from work(delayed(_do)(experiment, part) for part in parts)


def _do(experiment: Experiment, part: Part) -> str:
    with threadpool_limits(1):
        records = experiment.work(part.task.arguments)
    write_safely(part.file, json.dumps(records, allow_nan=False).encode())
    return part.task.name


def _file(folder: Path, experiment: Experiment, task: Task) -> Path:
    known_by = json.dumps([_code(), _versions(), task.arguments], sort_keys=True)
    digest = hashlib.sha256(known_by.encode()).hexdigest()[:16]
    return folder / "parts" / experiment.name / f"{task.name}-{digest}.json"


@cache
def _code() -> str:
    """Return a digest of all the code that a result can depend on."""
    digest = hashlib.sha256()

    def add(place: Traversable) -> None:
        for item in sorted(place.iterdir(), key=lambda item: item.name):
            if item.is_dir() and item.name != "command":
                add(item)
            elif item.name.endswith((".py", ".gz")):
                digest.update(item.name.encode() + item.read_bytes())

    add(resources.files("virtualvector"))
    return digest.hexdigest()


@cache
def _versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}


def _summary(experiment: Experiment, records: Sequence[Record], options: Options) -> dict[str, Any]:
    summary = experiment.summarise(records, options)
    return summary | {
        "name": experiment.name,
        "title": experiment.title,
        "caption": experiment.caption,
        "seed": options.seed,
        "quick": options.quick,
        "versions": _versions(),
        "statements": [statement._asdict() for statement in experiment.statements(summary)],
        "remarks": experiment.remarks(summary),
    }


def _write_results(
    experiment: Experiment, records: Sequence[Record], summary: dict[str, Any], folder: Path
) -> None:
    import matplotlib as mpl

    place = folder / experiment.name
    write_safely(place.with_suffix(".csv"), _as_csv(records))
    # Names of parts of an SVG are random unless they are seeded.
    with mpl.rc_context({"svg.hashsalt": experiment.name}):
        figure = experiment.draw(records, summary)
        for kind, unsaid in (("png", "Software"), ("svg", "Date")):
            picture = io.BytesIO()
            figure.savefig(picture, format=kind, dpi=200, metadata={unsaid: None})
            write_safely(place.with_suffix("." + kind), picture.getvalue())
    # The summary comes last: where it is, the rest is there too.
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_safely(place.with_suffix(".json"), text.encode())


def _as_csv(records: Sequence[Record]) -> bytes:
    columns = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(records)
    return text.getvalue().encode()


def write_safely(file: Path, content: bytes) -> None:
    """Write a file so that, whatever happens, it is there as a whole or as it was before."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
