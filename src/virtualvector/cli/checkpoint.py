"""The model file of a run: what is in it beside the model, and how it is taken up again."""

from __future__ import annotations

import os
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from virtualvector.cli.run_options import RunOptions
from virtualvector.persistence.disk import kept_copy, replace_file
from virtualvector.persistence.errors import CannotSave
from virtualvector.streams.bad_input import BadInput

if TYPE_CHECKING:
    from virtualvector.cli.run import Progress
    from virtualvector.streams import Column


class Checkpoint(NamedTuple):
    """What a run knows, what its rows look like, and what it was told."""

    progress: Progress
    label: str | None  # None: nobody said
    columns: tuple[Column, ...]
    options: RunOptions = RunOptions()  # with defaults; without, if no run made it
    store: dict[str, Any] | None = None  # what vvm serve notes of the labels that it has learned


class ModelFile:
    """A model file that one run writes to, again and again.

    It is replaced only while it is what this run has found or written itself: not every file system
    has locks, and not everyone who writes asks for one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp = self._found()

    def save(self, checkpoint: Checkpoint) -> list[Any]:
        """Write the model file; return its parts. The same run gives the same bytes."""
        from virtualvector.persistence.mixin import parts_of_model

        if self._found() != self._stamp:
            raise CannotSave(
                f"{self.path}: another process has changed it since this one wrote or read it; "
                "nothing was overwritten, and what this run learned since is not saved."
            )
        model = copy(checkpoint.progress.model).set_params(n_jobs=1)  # which should not show
        parts = parts_of_model(model, _notes(checkpoint))
        replace_file(self.path, *parts)
        self._stamp = self._found()
        return parts

    def _found(self) -> tuple[int, int, int] | None:
        with suppress(FileNotFoundError):
            found = os.stat(self.path)
            return found.st_ino, found.st_mtime_ns, found.st_size
        return None


def _notes(checkpoint: Checkpoint) -> dict[str, Any]:
    progress = checkpoint.progress
    repeated = {"repeated": progress.n_repeated} if progress.n_repeated else {}
    served = {} if checkpoint.store is None else {"store": checkpoint.store}
    return (
        repeated
        | served
        | {
            "label": checkpoint.label,
            "columns": [column.as_list() for column in checkpoint.columns],
            "passes": progress.n_passes,
            "rows": progress.n_rows,
            "digest": progress.digest,
            "strange": progress.n_strange,
            "tally": progress.tally.as_dict(),
            "options": checkpoint.options.as_dict(),
        }
    )


def take_up(path: Path) -> Checkpoint:
    """Read a model file to go on from; one that was saved in Python has learned no stream yet."""
    from virtualvector import AutoVVMClassifier, WideVVMClassifier
    from virtualvector.cli.model_file import trained
    from virtualvector.cli.run import Progress
    from virtualvector.evaluation import Tally

    found = trained(path)
    kinds = AutoVVMClassifier, WideVVMClassifier
    if not isinstance(found.model, kinds) or found.columns is None:
        raise BadInput(
            f"{path}: found a model that vvm learn cannot go on with; expected an "
            "AutoVVMClassifier or a WideVVMClassifier that knows the names of its columns."
        )
    notes = found.about
    if notes is None:
        progress = Progress(found.model, Tally(tuple(found.classes.tolist())))
        return Checkpoint(progress, found.label, found.columns)
    try:
        tally = Tally.from_dict(notes["tally"])
        passes, rows, strange = (int(notes[name]) for name in ("passes", "rows", "strange"))
        digest = None if notes.get("digest") is None else str(notes["digest"])
        options = RunOptions.from_dict(notes.get("options", {}))
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path}: the notes of vvm learn in it are damaged: {error}.") from error
    repeated = int(notes.get("repeated", 0))
    progress = Progress(found.model, tally, passes, rows, strange, digest, repeated)
    return Checkpoint(progress, found.label, found.columns, options)


def check_same_source(path: Path, checkpoint: Checkpoint) -> None:
    """Raise if a model does not say what it was learned from."""
    if checkpoint.progress.digest is None:
        raise BadInput(
            f"{path}: found a model that does not say which rows of a source it has learned; "
            "expected one that vvm learn has written. --append learns a source on top of it."
        )


def make_room(path: Path) -> Path | None:
    """Keep what a new model would replace; return where, if there is anything to keep."""
    from virtualvector import persistence

    if not path.exists():
        return None
    try:
        persistence.read_header(path)
    except ValueError as error:
        raise BadInput(f"{error} It is not replaced.") from error
    return kept_copy(path)
