"""`vvm learn`: from a file or a pipe to a model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from virtualvector.command.choice import Choice, Features, Learner
from virtualvector.command.options import (
    READING,
    FormatOption,
    JsonOption,
    LabelOption,
    MissingOption,
    OnError,
    OnErrorOption,
    SeedOption,
    Sources,
    listed,
    reading,
)
from virtualvector.streams.bad_input import BadInput

if TYPE_CHECKING:
    from virtualvector.command.keeping import Kept
    from virtualvector.command.learning import Known

LEARNING, KEEPING = "Learning", "Keeping"


def learn(
    source: Sources,
    label: LabelOption = None,
    names: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,...",
            help="Columns that hold names, whatever they look like.",
            rich_help_panel=READING,
        ),
    ] = None,
    missing: MissingOption = None,
    format: FormatOption = None,
    on_error: OnErrorOption = OnError.stop,
    seed: SeedOption = 0,
    learner: Annotated[
        Learner | None,
        typer.Option(
            help="auto, the default: a committee that needs no settings. vvm: a Gaussian and "
            "virtual points; adf: a Gaussian; window-ep: a Gaussian and the last rows.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    buffer_size: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="B",
            help="Points of vvm, and rows of window-ep; by default 30.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    features: Annotated[
        Features | None,
        typer.Option(
            help="linear, the default: planes. rbf: curves, by random waves. Not for auto.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    label_noise: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=0.49,
            metavar="E",
            help="Share of labels that are wrong whatever the row; by default 0. Not for auto.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    margin_noise: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="S2",
            help="Variance of the noise near the boundary; by default 1, for rbf 0.1. "
            "Not for auto.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    half_life: Annotated[
        float | None,
        typer.Option(
            min=1e-3,
            metavar="ROWS",
            help="In which weights drift half away; by default never. Not for auto.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            metavar="N",
            help="Multiplications per row that may be spent; by default a few hundred thousand.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS,...",
            help="All classes that will ever come; by default those that come in the first "
            "thousand rows.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    new_classes: Annotated[
        bool,
        typer.Option(
            "--new-classes",
            help="Let classes come at any time, at the cost of one more posterior.",
            rich_help_panel=LEARNING,
        ),
    ] = False,
    passes: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Over the whole source. One is right: rows that are learned twice count twice, "
            "and make probabilities too bold.",
            rich_help_panel=LEARNING,
        ),
    ] = 1,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Threads for experts to learn in; changes no result.",
            rich_help_panel=LEARNING,
        ),
    ] = 1,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Model file to write, now and then and at the end.",
            dir_okay=False,
            rich_help_panel=KEEPING,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on where the model file stopped in this source; start if there is none.",
            rich_help_panel=KEEPING,
        ),
    ] = False,
    append: Annotated[
        bool,
        typer.Option(
            "--append",
            help="Learn this source on top of what the model file has learned.",
            rich_help_panel=KEEPING,
        ),
    ] = False,
    checkpoint_every: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Rows after which the model file is written; by default every ten seconds.",
            rich_help_panel=KEEPING,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Report to write, in one file for any browser.",
            dir_okay=False,
            rich_help_panel=KEEPING,
        ),
    ] = None,
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
    """
    from virtualvector.command.compiling import saying_when_compiling
    from virtualvector.command.keeping import Kept, check_folder
    from virtualvector.command.learning import Known, Run, warm_up
    from virtualvector.command.live import live
    from virtualvector.command.summary import (
        introduce,
        print_summary,
        summarise,
        tell_left_out,
        write_json,
        write_report,
    )
    from virtualvector.evaluation import Tally
    from virtualvector.streams import open_rows

    _check_together(source, model, resume, append, passes)
    for option, path in {"--model": model, "--report": report, "--json": json}.items():
        check_folder(path, option)
    choice = Choice(learner, buffer_size, features, label_noise, margin_noise, half_life, budget)
    choice.experts()  # wrong combinations are found before anything is read
    before = _before(model, resume, append, quiet)
    with open_rows(
        source,
        label=label or (before.label if before else None),
        columns=before.columns if before else None,
        names=listed(names),
        **reading(missing, format, on_error, seed),
    ) as reader:
        declared = tuple(sorted(listed(classes) or reader.classes or ()))
        if before is None:
            fresh = choice.model(reader.columns, len(declared or reader.first_classes), seed)
            kept = Kept(Known(fresh, Tally(declared)), str(reader.label), reader.columns)
        else:
            kept = before._replace(label=str(reader.label))
            choice.check_same(kept.known.model)
        kept.known.model.set_params(n_jobs=jobs)
        if not quiet:
            introduce(source, reader)
        with saying_when_compiling(quiet):
            warm_up(kept.known.model, reader.columns)
        began = perf_counter()
        with live(kept.known.tally, quiet) as show:
            run = Run(
                kept.known,
                str(reader.label),
                declared,
                show,
                save=None if model is None else _keeping(model, kept),
                checkpoint_every=checkpoint_every,
                new_classes=new_classes,
                skip=on_error is OnError.skip,
            )
            try:
                run.learn(reader, passes)
            except BadInput as error:
                n_rows = run.known.tally.now.n_rows
                if model is None or n_rows == 0:
                    raise
                raise BadInput(f"{error} The {n_rows:,} rows before it are in {model}.") from error
        seconds = perf_counter() - began
        n_new = run.known.tally.now.n_rows - kept.known.tally.now.n_rows
        n_skipped = reader.skipped + run.known.n_strange
        problems = reader.problems + run.problems
    kept = kept._replace(known=run.known)
    result = summarise(kept, n_new, seconds, n_skipped)
    tell_left_out(problems, n_skipped)
    if not quiet:
        print_summary(result)
    if json is not None:
        write_json(result, json)
    if report is not None:
        write_report(kept, result, " ".join(source), report)


def _keeping(model: Path, kept: Kept) -> Callable[[Known], None]:
    from virtualvector.command.keeping import keep

    return lambda known: keep(model, kept._replace(known=known))


def _check_together(
    source: list[str], model: Path | None, resume: bool, append: bool, passes: int
) -> None:
    """Raise for options that do not go together."""
    if (resume or append) and model is None:
        raise typer.BadParameter("--resume and --append need a --model to go on with.")
    if resume and append:
        raise typer.BadParameter(
            "--resume goes on in the same source, --append with another one; expected one of them."
        )
    if passes > 1 and "-" in source:
        raise typer.BadParameter("standard input can be read only once; expected --passes 1.")


def _before(model: Path | None, resume: bool, append: bool, quiet: bool) -> Kept | None:
    """Return what to go on from, if anything; what would be replaced is kept beside it."""
    from virtualvector.command.keeping import make_room, take_up

    if model is None or (resume and not model.exists()):
        return None
    if resume:
        return take_up(model)
    if append:
        kept = take_up(model)
        return kept._replace(known=kept.known._replace(n_passes=0, n_rows=0))
    old = make_room(model)
    if old is not None and not quiet:
        print(f"{model}: there was one before, which is now {old}.", file=sys.stderr)
    return None
