"""`vvm pool`: models that were learned apart, as one."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from virtualvector.cli.errors import say
from virtualvector.cli.options import JsonOption
from virtualvector.escaping import counted, in_a_list, printable
from virtualvector.persistence.errors import BadModelFile
from virtualvector.streams.bad_input import BadInput

if TYPE_CHECKING:
    from virtualvector.cli.mark import MarkFile

_MOST_NAMED = 6
_LONGEST = 60  # characters of a name among others


class Pooled(NamedTuple):
    """A model that was pooled, by the name of its file, and how many rows it had learned."""

    file: str
    rows: int


def pool(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Model files to pool.", show_default=False),
    ],
    model: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Model file to write.", dir_okay=False),
    ],
    common: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Model file that all of them went on from; without it, each began with nothing.",
        ),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Make one model of several that were learned apart, from rows of their own.

    As if one had learned all rows, but for what each has condensed before
    it knew the others: the less each learned on its own since --common,
    the closer. No row may have been learned by two of them. All have to be
    of one kind, with the same settings and columns; what differs is named.

    For example:

        vvm pool north.vvm south.vvm --model all.vvm
        vvm pool monday/*.vvm --common sunday.vvm --model monday.vvm
    """
    from virtualvector import persistence
    from virtualvector.cli.checkpoint import make_room
    from virtualvector.cli.console import compilation_notice
    from virtualvector.cli.mark import marking
    from virtualvector.cli.model_file import class_texts
    from virtualvector.cli.outputs import check_outputs, leaving_room_for
    from virtualvector.cli.summary import write_json
    from virtualvector.pooling import pooled

    read = [*files, *(() if common is None else (common,))]
    check_outputs([], [("--model", model), ("--json", json)], models=read)
    with marking(model) as marks:
        _check_no_run(model, marks)
        models = [_read(file) for file in files]
        start = None if common is None else _read(common)
        names = [printable(str(file)) for file in files]
        try:
            with compilation_notice(), warnings.catch_warnings(record=True) as noted:
                warnings.simplefilter("always", UserWarning)
                result = pooled(models, start, names, printable(str(common)))
        except (ValueError, TypeError) as error:
            raise BadInput(f"{str(error).rstrip('.')}. Nothing was written.") from error
        of = sorted(Pooled(f.name, m.n_seen_) for f, m in zip(files, models, strict=True))
        notes: dict[str, Any] = {"pooled": [list(each) for each in of]}
        if common is not None and start is not None:
            notes["common"] = [common.name, start.n_seen_]
        old = make_room(model)
        persistence.save(result, model, about=notes)
    for each in noted:
        say(f"note: {each.message}")
    if old is not None:
        say(f"{model}: the model that was there is kept as {old}.")
    with leaving_room_for(json):
        print(f"{printable(str(model))}: {described(notes)}; {result.n_seen_:,} rows in all.")
    if json is not None:
        facts = {
            "model": str(model),
            "rows": result.n_seen_,
            "classes": class_texts(result).tolist(),
        }
        write_json(facts | notes, json)


def _read(file: Path) -> Any:
    """Return the model of a file; of several with the same name, the folder tells which is bad."""
    from virtualvector import persistence

    try:
        return persistence.read(file).model
    except BadModelFile as error:
        raise BadModelFile(f"{file}{str(error).removeprefix(file.name)}") from error


def described(about: dict[str, Any] | None) -> str | None:
    """Return what a model was pooled from, if its notes say so.

    Examples
    --------
    >>> from virtualvector.cli.pool import described
    >>> described({"pooled": [["a.vvm", 1200], ["b.vvm", 1]], "common": ["c.vvm", 0]})
    'pooled from a.vvm (1,200 rows), b.vvm (1 row), which went on from c.vvm (0 rows)'
    """
    notes = about or {}
    listed = notes.get("pooled")
    models = [_model(each) for each in listed] if isinstance(listed, list) else []
    if not models or None in models:
        return None
    shown = ", ".join(str(each) for each in models[:_MOST_NAMED])
    more = f" and {len(models) - _MOST_NAMED} more" if len(models) > _MOST_NAMED else ""
    common = _model(notes.get("common"))
    return f"pooled from {shown}{more}" + (
        "" if common is None else f", which went on from {common}"
    )


def _model(noted: Any) -> str | None:
    """Return what a model is called if that is what was noted: files come from anywhere."""
    if not isinstance(noted, list) or [type(each) for each in noted] != [str, int]:
        return None
    name, rows = noted
    return f"{in_a_list(name, _LONGEST)} ({counted(rows, 'row')})"


def _check_no_run(model: Path, marks: MarkFile) -> None:
    if marks.read() is not None:
        raise BadInput(
            f"{model}: a run of vvm learn was cut short; --resume finishes it. To give up the rest "
            f"of it, delete {marks.path}."
        )
