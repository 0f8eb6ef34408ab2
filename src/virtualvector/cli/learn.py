"""`vvm learn`: from a file or a pipe to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from virtualvector.cli.cluster_options import CLUSTER, OnCluster, SchedulerOption, WorkersOption
from virtualvector.cli.learner_options import LEARNING, Choice
from virtualvector.cli.option_groups import takes_groups
from virtualvector.cli.options import (
    Columns,
    JsonOption,
    OnError,
    Reading,
    ShuffleOption,
    Sources,
    TextOption,
    WeightOption,
    listed,
)

FILES = "Files"


class Passing(NamedTuple):
    """How rows are gone through, as `vvm learn` was told."""

    classes: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS,...",
            help="All classes that will ever come; by default those that come in the first "
            "thousand rows.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    new_classes: Annotated[
        bool | None,
        typer.Option(
            "--new-classes",
            help="Let classes come at any time, at the cost of one more posterior.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    passes: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Over the whole source. One, the default, is right: rows that are learned twice "
            "count twice, and make probabilities too bold.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Threads for experts to learn in; changes no result.",
            rich_help_panel=LEARNING,
        ),
    ] = 1


class Files(NamedTuple):
    """What is written, and gone on with, as `vvm learn` was told."""

    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Model file to write, now and then and at the end.",
            dir_okay=False,
            rich_help_panel=FILES,
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on where a run over this source stopped, with what it was told then; start if "
            "there was none. If the source has grown since, learn what is new.",
            rich_help_panel=FILES,
        ),
    ] = False
    append: Annotated[
        bool,
        typer.Option(
            "--append",
            help="Learn this source on top of what the model file has learned.",
            rich_help_panel=FILES,
        ),
    ] = False
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Rows after which the model file is written, beside every ten seconds.",
            rich_help_panel=FILES,
        ),
    ] = None
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Report to write, in one file for any browser.",
            dir_okay=False,
            rich_help_panel=FILES,
        ),
    ] = None
    from_store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Learn the labels of a store of vvm serve, as the service does, instead of a "
            "source; needs only a --model to write.",
            rich_help_panel=FILES,
        ),
    ] = None

    def check(self, source: list[str], passes: int | None) -> None:
        """Raise for options that do not go together."""
        if not source:
            raise typer.BadParameter("found no source; expected one, or --from-store.")
        if (self.resume or self.append) and self.model is None:
            raise typer.BadParameter("--resume and --append need a --model to go on with.")
        if self.resume and self.append:
            raise typer.BadParameter(
                "--resume goes on in the same source, --append with another one; expected one of "
                "them."
            )
        if (passes or 1) > 1 and "-" in source:
            raise typer.BadParameter("standard input can be read only once; expected --passes 1.")


class Spreading(NamedTuple):
    """Where the work is done, as `vvm learn` was told."""

    workers: WorkersOption = None
    scheduler: SchedulerOption = None
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            help="Spans that a round is cut into; by default 8. The result depends on that, and "
            "not on the number of workers, of which no more than K are busy.",
            rich_help_panel=CLUSTER,
        ),
    ] = None

    def check(
        self,
        source: list[str],
        shuffle: bool | None,
        passes: int | None,
        half_life: float | None,
    ) -> None:
        """Raise for options that do not go together."""
        cluster = OnCluster(self.workers, self.scheduler)
        cluster.check(source)
        if not cluster.is_asked_for:
            if self.shards is not None:
                raise typer.BadParameter("--shards: expected --workers or --scheduler with it.")
            return
        if shuffle:
            raise typer.BadParameter(
                "--shuffle reads all rows at one place, which workers cannot; expected a source "
                "in a random order."
            )
        if (passes or 1) > 1:
            raise typer.BadParameter("--passes: a cluster learns in one; expected --passes 1.")
        if half_life is not None:
            raise typer.BadParameter(
                "--half-life: what each worker forgets of what all have in common cannot be put "
                "together; expected neither --workers nor --scheduler with it."
            )


@takes_groups
def learn(
    source: Sources = [],  # noqa: B006 (never changed)
    *,
    columns: Columns,
    text: TextOption = None,
    weight: WeightOption = None,
    reading: Reading,
    shuffle: ShuffleOption = None,
    choice: Choice,
    passing: Passing,
    files: Files,
    spreading: Spreading,
    json: JsonOption = None,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Say nothing but what is wrong."),
    ] = False,
) -> None:
    """Learn labelled rows in one pass, each predicted before it is learned.

    Shows how well it does on rows it has not yet seen, and writes a model.
    A killed run goes on with --resume, as if nothing had happened.

    For example:

        vvm learn spambase
        vvm learn rows.csv --label outcome --model outcome.vvm --report outcome.html
        zcat old.csv.gz | vvm learn - --model outcome.vvm --resume
        vvm learn today.parquet --model outcome.vvm --append
        vvm learn "rows/*.csv" --model outcome.vvm --workers 4
    """
    from virtualvector.cli.outputs import check_outputs
    from virtualvector.cli.run_options import RunOptions
    from virtualvector.cli.session import Handling, carry_out
    from virtualvector.cli.start import Asked, Mode
    from virtualvector.values import spelled

    if files.from_store is not None:
        others = (*columns, text, weight, *reading, shuffle, *choice, *passing, *spreading, json)
        _learn_store(source, files, others)
        return
    files.check(source, passing.passes)
    spreading.check(source, shuffle, passing.passes, choice.half_life)
    written = (("--model", files.model), ("--report", files.report), ("--json", json))
    check_outputs(source, written, reading.format)
    choice.check()  # wrong combinations are found before anything is read
    classes = _if_told(passing.classes)
    options = RunOptions(
        label=columns.label,
        categorical=_if_told(columns.categorical),
        missing=_if_told(reading.missing),
        seed=reading.seed,
        classes=None if classes is None else tuple(sorted(map(spelled, classes))),
        new_classes=passing.new_classes,
        passes=passing.passes,
        shuffle=shuffle,
        ignore=_if_told(columns.ignore),
        id=_if_told(columns.id),
        weight=weight,
        shards=spreading.shards,
        text=_if_told(text),
    )
    mode = Mode.RESUME if files.resume else Mode.APPEND if files.append else Mode.NEW
    carry_out(
        Asked(source, mode, options, choice),
        Handling(
            model=files.model,
            report=files.report,
            json=json,
            quiet=quiet,
            jobs=passing.jobs,
            checkpoint_every=files.checkpoint_every,
            format=None if reading.format is None else reading.format.value,
            skip=reading.on_error is OnError.skip,
            dialect=reading.dialect,
            workers=spreading.workers,
            scheduler=spreading.scheduler,
        ),
    )


def _learn_store(source: list[str], files: Files, others: tuple[object, ...]) -> None:
    """Learn the labels of a store, which takes no other options."""
    from virtualvector.cli.served_model import learn_store

    unasked = (*Choice(), *Passing(), *Spreading())
    usual = (*Columns(), None, None, *Reading(), None, *unasked, None)
    own = files._replace(model=None, from_store=None)
    if source or files.model is None or others != usual or own != Files():
        raise typer.BadParameter("--from-store learns what a store has: expected only a --model.")
    learn_store(str(files.from_store), files.model)


def _if_told(texts: str | None) -> tuple[str, ...] | None:
    return None if texts is None else listed(texts)
