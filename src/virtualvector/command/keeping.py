"""The model file of a run: what is in it beside the model, and how it is taken up again."""

from __future__ import annotations

import shutil
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from virtualvector.streams.bad_input import BadInput

if TYPE_CHECKING:
    from virtualvector.command.learning import Known
    from virtualvector.streams import Column


class Kept(NamedTuple):
    """What a run knows, and what its rows look like."""

    known: Known
    label: str | None  # None: nobody said
    columns: tuple[Column, ...]


def keep(path: Path, kept: Kept) -> None:
    """Write the model file; the same run gives the same bytes at the same row."""
    from virtualvector import files

    model, tally, n_passes, n_rows, n_strange = kept.known
    about = {
        "label": kept.label,
        "columns": [list(column) for column in kept.columns],
        "passes": n_passes,
        "rows": n_rows,
        "strange": n_strange,
        "tally": tally.as_dict(),
    }
    model = copy(model).set_params(n_jobs=1)  # how many learned should not show
    files.save(model, path, about)


def take_up(path: Path) -> Kept:
    """Read a model file to go on from; one that was saved in Python has learned no stream yet."""
    from virtualvector import AutoVVMClassifier
    from virtualvector.command.learning import Known
    from virtualvector.command.trained import trained
    from virtualvector.evaluation import Tally

    found = trained(path)
    if not isinstance(found.model, AutoVVMClassifier) or found.columns is None:
        raise BadInput(
            f"{path}: found a model that vvm learn cannot go on with; expected an "
            "AutoVVMClassifier that knows the names of its columns."
        )
    about = found.about
    if about is None:
        known = Known(found.model, Tally(tuple(found.classes.tolist())))
    else:
        try:
            tally = Tally.from_dict(about["tally"])
            known = Known(
                found.model, tally, *(int(about[n]) for n in ("passes", "rows", "strange"))
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path}: the notes of vvm learn in it are damaged: {error}.") from error
    return Kept(known, found.label, found.columns)


def make_room(path: Path) -> Path | None:
    """Keep what a new model would replace; return where, if there is anything to keep."""
    from virtualvector import files

    if not path.exists():
        return None
    try:
        files.read_header(path)
    except ValueError as error:
        raise BadInput(f"{error} It is not replaced: expected a model file or none.") from error
    old = path.with_name(path.name + "~")
    shutil.copy2(path, old)
    return old


def check_folder(path: Path | None, option: str) -> None:
    """Raise if there is no folder to write a file into, before hours of learning."""
    if path is not None and str(path) != "-" and not path.parent.is_dir():
        raise BadInput(f"{option} {path}: there is no folder {path.parent}.")
