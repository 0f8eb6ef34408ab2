"""What a run begins with: nothing, a model to append to, or where a run was cut short."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from virtualvector.cli.checkpoint import Checkpoint, check_same_source, make_room, take_up
from virtualvector.cli.errors import say
from virtualvector.cli.learner_options import Choice
from virtualvector.cli.mark import Mark, MarkFile, digest_of
from virtualvector.cli.run_options import RunOptions
from virtualvector.streams.bad_input import BadInput


class Mode(Enum):
    """How a run begins."""

    NEW = "new"
    RESUME = "resume"
    APPEND = "append"


class Asked(NamedTuple):
    """What the command line says about a run."""

    sources: list[str]
    mode: Mode
    options: RunOptions
    choice: Choice


class Start(NamedTuple):
    """What a run begins with."""

    before: Checkpoint | None  # None: nothing is known yet
    options: RunOptions  # with defaults
    choice: Choice  # of the learner, if there is none yet
    is_marked: bool = False  # the mark of the run stands, or is not needed

    @property
    def appends(self) -> bool:
        """Whether the run adds another source to a model."""
        return self.before is not None


def begin(asked: Asked, model: Path, marks: MarkFile, quiet: bool) -> Start:
    """Return what to begin with, or raise if that is not what the model file and its mark say."""
    mark = marks.read()
    if asked.mode is Mode.RESUME:
        if mark is not None and digest_of(model) == mark.model:
            return _from_mark(asked, model, mark)
        return _from_checkpoint(asked, model) if model.exists() else _anew(asked)
    if asked.mode is Mode.APPEND:
        if mark is not None:
            raise BadInput(
                f"{model}: a run over {', '.join(mark.sources)} was cut short; --resume with that "
                f"source finishes it. To give up the rest of it, delete {marks.path}."
            )
        return _append(asked, take_up(model))
    old = make_room(model)
    if old is not None and not quiet:
        say(f"{model}: the model that was there is kept as {old}.")
    return _anew(asked)


def _anew(asked: Asked) -> Start:
    return Start(None, asked.options.with_defaults(), asked.choice)


def _append(asked: Asked, before: Checkpoint) -> Start:
    asked.options.check_fits(before)
    asked.choice.check_same(before.progress.model)
    progress = before.progress._replace(n_passes=0).from_the_start()
    # Some of these were about another source.
    told = before.options._replace(passes=None, shuffle=None, shards=None)
    options = asked.options.over(told).with_defaults()
    return Start(before._replace(progress=progress, options=options), options, Choice())


def _from_mark(asked: Asked, model: Path, mark: Mark) -> Start:
    """Begin a run again that was cut short before anything of it was saved."""
    if not mark.describes(asked.sources):
        raise BadInput(
            f"{model}: the run that was cut short is over {_listed(mark.sources)}; found "
            f"{_listed(asked.sources)}; expected the same to go on with. Without --resume a new "
            "model is learned."
        )
    asked.options.check_same(mark.options)
    again = asked._replace(options=mark.options)
    if mark.appends:
        start = _append(again, take_up(model))
    else:
        asked.choice.check_same_choice(mark.choice)
        start = _anew(again._replace(choice=mark.choice))
    return start._replace(is_marked=True)


def _from_checkpoint(asked: Asked, model: Path) -> Start:
    before = take_up(model)
    check_same_source(model, before)
    begun = before.options._replace(label=before.label)
    fixed = ("label", "missing", "seed", "passes", "shuffle", "weight", "shards")
    asked.options.check_same(begun, *fixed)
    asked.options.check_fits(before)
    asked.choice.check_same(before.progress.model)
    options = asked.options.over(begun).with_defaults()
    return Start(before._replace(options=options), options, Choice(), is_marked=True)


def _listed(sources: Sequence[str]) -> str:
    return ", ".join(sources)
