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
    label: str
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
    """Read a model file that `vvm learn` wrote."""
    from virtualvector import AutoVVMClassifier, files
    from virtualvector.command.learning import Known
    from virtualvector.evaluation import Tally
    from virtualvector.streams import Column

    model, notes, _ = files.read(path)
    about = notes or {}
    if not isinstance(model, AutoVVMClassifier) or "tally" not in about:
        raise BadInput(
            f"{path}: found a model that was saved in Python; expected one that vvm learn wrote."
        )
    try:
        tally = Tally.from_dict(about["tally"])
        known = Known(model, tally, int(about["passes"]), int(about["rows"]), int(about["strange"]))
        columns = tuple(Column(str(name), bool(named)) for name, named in about["columns"])
        return Kept(known, str(about["label"]), columns)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path}: the notes of vvm learn in it are damaged ({error}).") from error


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
