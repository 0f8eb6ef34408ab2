"""The mark of a run: who is at work on a model file, and what was to be learned if it was killed.

Beside ``m.vvm`` it is ``m.vvm.run``, from the start of a run until it has finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from virtualvector.cli.learner_options import Choice
from virtualvector.cli.run_options import RunOptions
from virtualvector.persistence.disk import read_file
from virtualvector.persistence.lock import Busy, LockedFile, locked
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.sources import SHIPPED, STANDARD_INPUT


class Mark(NamedTuple):
    """What a run is going to learn."""

    sources: list[str]  # wherever they are looked at from
    model: str | None  # digest of the model file when the run began; None: there was none
    appends: bool  # to that model
    options: RunOptions
    choice: Choice

    def describes(self, sources: Sequence[str]) -> bool:
        """Whether it is about these sources."""
        return self.sources == places(sources)


class MarkFile:
    """The file that has the mark, locked for as long as the run takes."""

    def __init__(self, file: LockedFile, model: Path) -> None:
        self._file, self._model = file, model

    def read(self) -> Mark | None:
        """Return the mark of a run that did not finish."""
        line = self._file.last_line()
        if line is None:
            return None
        try:
            found = json.loads(line)
            return Mark(
                sources=[str(source) for source in found["sources"]],
                model=found["model"],
                appends=bool(found["appends"]),
                options=RunOptions.from_dict(found["options"]),
                choice=Choice.from_dict(found["learner"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(
                f"{self.path}: found something else than the mark of a run; expected one of vvm "
                "learn. If no run is to be finished, delete the file."
            ) from error

    def write(
        self, sources: Sequence[str], appends: bool, options: RunOptions, choice: Choice
    ) -> None:
        """Mark the beginning of a run."""
        mark: dict[str, Any] = {
            "sources": places(sources),
            "model": digest_of(self._model),
            "appends": appends,
            "options": options.as_dict(),
            "learner": choice.as_dict(),
        }
        self._file.add_line(json.dumps(mark))

    def remove(self) -> None:
        """Mark the end of the run."""
        self._file.remove()

    @property
    def path(self) -> Path:
        """Where the mark is."""
        return self._file.path


@contextmanager
def marking(model: Path) -> Iterator[MarkFile]:
    """Be the only run that learns a model file, or raise `Busy`."""
    path = Path(os.path.realpath(model))
    try:
        with locked(path.with_name(path.name + ".run")) as file:
            if not file.is_locked:
                print(
                    f"vvm: {file.path.parent} is on a file system without locks: see to it that "
                    f"no other process learns {model} meanwhile.",
                    file=sys.stderr,
                )
            yield MarkFile(file, path)
    except Busy as error:
        raise Busy(
            f"{model}: another process is learning it; expected to be the only one. Nothing was "
            "changed."
        ) from error


def digest_of(model: Path) -> str | None:
    """Return what tells a model file from any other, or None if there is none."""
    return hashlib.sha256(read_file(model)).hexdigest() if model.exists() else None


def places(sources: Sequence[str]) -> list[str]:
    """Return sources by names that mean the same in any folder."""
    return [
        source if source in (*SHIPPED, STANDARD_INPUT) else os.path.abspath(source)
        for source in sources
    ]
