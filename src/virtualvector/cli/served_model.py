"""The model of a store: where it comes from, and how it is saved."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from virtualvector import persistence
from virtualvector.cli.checkpoint import Checkpoint, ModelFile, make_room, take_up
from virtualvector.cli.errors import say
from virtualvector.cli.mark import marking
from virtualvector.cli.outputs import check_outputs
from virtualvector.cli.run import Progress
from virtualvector.escaping import counted
from virtualvector.persistence.disk import read_file, replace_file
from virtualvector.serve.learning import Learned, taken_up
from virtualvector.serve.rows import RowFormat
from virtualvector.serve.store import Store, StoreLost
from virtualvector.streams.bad_input import BadInput


class ServedModel(NamedTuple):
    """A model, the store that it learns from, and what a file says of both."""

    learned: Learned
    form: RowFormat
    store: Store
    checkpoint: Checkpoint

    @property
    def new_classes(self) -> bool:
        """Whether a label may be of a class that was never seen."""
        return bool(self.checkpoint.options.new_classes) and (self.learned.model.takes_new_classes_)

    def saving_to(self, path: Path) -> Callable[[Learned], bytes]:
        """Return what writes a model file, and returns its contents."""
        file, own = ModelFile(path), str(self.store.id)
        before = self.checkpoint
        repeated = before.progress.n_repeated

        def save(learned: Learned) -> bytes:
            progress = Progress(learned.model, learned.tally, n_repeated=repeated)
            notes = learned.notes(own)
            return b"".join(file.save(before._replace(progress=progress, store=notes)))

        return save


def of_service(path: Path, address: str) -> ServedModel:
    """Return the model of a file that goes on with a store, or begins it."""
    checkpoint, names = _taken_up(path)
    contents = read_file(path)
    store = Store(address)  # none is made for a model that is refused
    notes = checkpoint.store
    store.begun(contents, names, None if notes is None else str(notes.get("id")))
    base = store.base
    if notes is None or notes.get("id") != store.id:
        if contents != base.model:
            raise BadInput(
                f"{path}: the store has labels for another model, or this one was learned "
                f"elsewhere since; expected the model of the store. vvm learn --from-store makes "
                f"it anew; another --store begins with this one."
            )
        notes = None
    served = _served(path, checkpoint, store, notes, base.sequence)
    sequence = served.learned.sequence
    if not base.sequence <= sequence <= store.last:
        raise BadInput(
            f"{path}: found a model that has learned {sequence:,} labels of the store, which has "
            f"{base.sequence:,} to {store.last:,}; expected one of these. vvm learn --from-store "
            "makes it anew."
        )
    return served


def of_store(store: Store) -> ServedModel:
    """Return the model that the labels of a store lead on from."""
    if store.id is None:
        raise BadInput("--from-store: found a store without a model; expected one of vvm serve.")
    base = store.base
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "base.vvm")
        replace_file(path, base.model)
        checkpoint, _ = _taken_up(path)
    return _served(path, checkpoint, store, checkpoint.store, base.sequence)


def learn_store(address: str, model: Path) -> None:
    """Write the model that has learned all labels of a store: the bytes that a service writes."""
    check_outputs([], [("--model", model)])
    with marking(model):
        try:
            served = of_store(Store(address, must_exist=True))
            learned = served.learned.caught_up(served.store, served.form)
        except StoreLost as error:
            raise BadInput(f"--from-store: cannot be read: {error}.") from error
        old = make_room(model)
        if old is not None:
            say(f"{model}: the model that was there is kept as {old}.")
        served.saving_to(model)(learned)
        served.store.close()
    say(f"{model}: has learned {counted(learned.sequence, 'label')} of the store.")


def _taken_up(path: Path) -> tuple[Checkpoint, list[str]]:
    checkpoint = take_up(path)
    if any(column.kind == "sparse" for column in checkpoint.columns):
        raise BadInput(
            f"{path}: found a model of sparse rows, which is not served: a row of JSON would have "
            "to name its places. Expected one of a table, which may have texts."
        )
    about = persistence.read_header(path)["about"] or {}
    notes = about.get("store")
    checkpoint = checkpoint._replace(store=notes if isinstance(notes, dict) else None)
    return checkpoint, [column.name for column in checkpoint.columns]


def _served(
    path: Path,
    checkpoint: Checkpoint,
    store: Store,
    notes: dict[str, object] | None,
    sequence: int,
) -> ServedModel:
    progress = checkpoint.progress
    try:
        learned = taken_up(progress.model, progress.tally, notes, sequence)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    missing = progress.model.missing_values or ()
    form = RowFormat(checkpoint.columns, missing, checkpoint.label)
    return ServedModel(learned, form, store, checkpoint)
