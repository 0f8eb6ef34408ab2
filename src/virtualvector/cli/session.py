"""One call of `vvm learn`, from the lock on the model file to the report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from virtualvector import AutoVVMClassifier, Expert, WideVVMClassifier
from virtualvector.cli.checkpoint import Checkpoint, ModelFile
from virtualvector.cli.cluster_options import OnCluster, needing_dask
from virtualvector.cli.console import compilation_notice, live
from virtualvector.cli.errors import say
from virtualvector.cli.mark import MarkFile, marking
from virtualvector.cli.model_file import class_texts
from virtualvector.cli.outputs import leaving_room_for
from virtualvector.cli.run import Progress, Run, warm_up
from virtualvector.cli.signals import Signals, Stopped
from virtualvector.cli.start import Asked, Start, begin
from virtualvector.cli.summary import (
    called,
    introduce,
    print_summary,
    summarise,
    tell_blocks,
    tell_given_up,
    tell_learner,
    tell_left_out,
    telling_notes,
    write_json,
    write_report,
)
from virtualvector.escaping import counted, quoted
from virtualvector.evaluation import Tally
from virtualvector.streams import Dialect, Reader, open_rows
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.shuffle import ShuffledReader

USUAL_SHARDS = 8  # into which a round is cut


class Handling(NamedTuple):
    """What changes nothing of what is learned."""

    model: Path | None
    report: Path | None
    json: Path | None
    quiet: bool
    jobs: int
    checkpoint_every: int | None
    format: str | None
    skip: bool
    dialect: Dialect
    workers: int | None = None
    scheduler: str | None = None


def carry_out(asked: Asked, handling: Handling) -> None:
    """Learn what was asked for, and say how it went."""
    quiet = handling.quiet
    with Signals() as signals:
        with _starting(asked, handling) as (start, marks), _open(asked, start, handling) as reader:
            before = _first(start, reader, handling)
            before.progress.model.set_params(n_jobs=handling.jobs)
            if marks is not None and not start.is_marked:
                marks.write(asked.sources, start.appends, before.options, start.choice)
            if not quiet:
                introduce(asked.sources, reader, is_label_asked=asked.options.label is not None)
                tell_learner(before.progress.model)
            with compilation_notice(quiet):
                warm_up(before.progress.model, reader.columns)
            with (
                _making(before, handling) as make,
                telling_notes(reader, quiet),
                live(before.progress.tally, quiet) as show,
            ):
                began = perf_counter()
                run = make(
                    before.progress,
                    str(before.label),
                    before.options.classes or reader.classes or (),
                    show,
                    signals,
                    save=_saving(handling.model, before),
                    checkpoint_every=handling.checkpoint_every,
                    new_classes=bool(before.options.new_classes),
                    skip=handling.skip,
                )
                with _saying_what_is_kept(run, handling.model, signals):
                    try:
                        run.learn(reader, before.options.passes or 1)
                    except NothingToLearn:
                        tell_left_out(reader.problems + run.problems, _n_skipped(reader, run))
                        if marks is not None and not start.is_marked:
                            marks.remove()  # there is nothing to go on with
                        raise
            seconds = perf_counter() - began
            if marks is not None:
                marks.remove()
            n_skipped = _n_skipped(reader, run)
            problems = reader.problems + run.problems
        after = before._replace(progress=run.progress)
        n_new = after.progress.tally.now.n_rows - before.progress.tally.now.n_rows
        result = summarise(after, n_new, seconds, n_skipped)
        tell_left_out(problems, n_skipped)
        tell_blocks(result)
        if not quiet:
            tell_given_up(result)
            if n_new == 0 and run.progress.n_passes == before.progress.n_passes:
                say(f"{called(asked.sources)}: all of it had been learned; there is nothing new.")
            with leaving_room_for(handling.json):
                print_summary(result)
        if handling.json is not None:
            write_json(result, handling.json)
        if handling.report is not None:
            write_report(after, result, " ".join(asked.sources), handling.report)
        _check_classes(before, run)


def _shards(start: Start, handling: Handling) -> int | None:
    """Return into how many spans rounds are cut; None if there are no rounds."""
    shards = start.options.shards
    if shards is not None or (handling.workers is None and handling.scheduler is None):
        return shards
    if start.before is not None and start.before.progress.n_rows > 0:
        raise BadInput(
            "--workers and --scheduler: the run began without them, on one machine; expected the "
            "same to go on with it."
        )
    return USUAL_SHARDS


@contextmanager
def _making(before: Checkpoint, handling: Handling) -> Iterator[Callable[..., Run]]:
    """Give what makes a run: of this process, or of a cluster."""
    shards = before.options.shards
    if shards is None:
        yield Run
        return
    if handling.workers is None and handling.scheduler is None:
        raise BadInput(
            f"the run began with --shards {shards}; expected --workers or --scheduler to go on "
            "with it."
        )
    with needing_dask():
        from virtualvector.cli.cluster import connected
        from virtualvector.cli.cluster_run import ClusterRun
    with connected(OnCluster(handling.workers, handling.scheduler)) as client:
        yield partial(ClusterRun, client=client, shards=shards)


def _n_skipped(reader: Reader | ShuffledReader, run: Run) -> int:
    return reader.skipped + run.progress.n_strange


def _check_classes(before: Checkpoint, run: Run) -> None:
    """Raise if all rows ever learned are of one class, whatever else was declared."""
    model = before.progress.model
    known = class_texts(model).tolist() if before.progress.is_fitted else ()
    seen = {*known, *run.observed}
    if len(seen) == 1:
        only = quoted(seen.pop())
        n_rows = run.progress.tally.now.n_rows
        raise NothingToLearn(
            f"Found only the class {only} in {counted(n_rows, 'row')}: there was nothing to tell "
            "apart; expected two classes or more."
        )


@contextmanager
def _starting(asked: Asked, handling: Handling) -> Iterator[tuple[Start, MarkFile | None]]:
    if handling.model is None:
        yield Start(None, asked.options.with_defaults(), asked.choice), None
        return
    with marking(handling.model) as marks:
        yield begin(asked, handling.model, marks, handling.quiet), marks


def _open(asked: Asked, start: Start, handling: Handling) -> Reader | ShuffledReader:
    options, before = start.options, start.before
    reader = open_rows(
        asked.sources,
        label=options.label or (before.label if before else None),
        columns=before.columns if before else None,
        categorical=(options.categorical or ()) if before is None else (),
        text=(options.text or ()) if before is None else (),
        find_text=before is None and start.choice.may_be_wide,
        sparse=True if start.choice.is_wide else None if start.choice.may_be_wide else False,
        ignore=(*(options.ignore or ()), *(options.id or ())),
        weight=options.weight or None,
        missing=options.missing or (),
        dialect=handling.dialect,
        seed=options.seed or 0,
        format=handling.format,
        on_error="skip" if handling.skip else "stop",
    )
    if not options.shuffle:
        return reader
    if not handling.quiet:
        print("Reading all rows first, to shuffle them …", file=sys.stderr, flush=True)
    return ShuffledReader(reader, options.seed or 0)


def _first(start: Start, reader: Reader | ShuffledReader, handling: Handling) -> Checkpoint:
    """Return what is known before the first row."""
    label = str(reader.label)
    options = start.options._replace(label=label, shards=_shards(start, handling))
    if start.before is not None:
        if options.shards is not None:
            _check_can_be_shared(start.before.progress.model)
        return start.before._replace(label=label, options=options)
    declared = tuple(sorted(options.classes or reader.classes or ()))
    n_classes = len(declared or reader.first_classes)
    missing = options.missing or None
    model = start.choice.model(reader.columns, n_classes, options.seed or 0, missing)
    if options.shards is not None:
        _check_can_be_shared(model)
    return Checkpoint(Progress(model, Tally(declared)), label, reader.columns, options)


def _check_can_be_shared(model: AutoVVMClassifier | WideVVMClassifier) -> None:
    """Raise for a model that workers cannot go on with side by side."""
    if isinstance(model, WideVVMClassifier):
        raise BadInput(
            "--workers and --scheduler: a covariance of low rank, as texts and sparse rows have, "
            "is learned on one machine; expected neither."
        )
    experts = () if model.experts is None else model.experts
    if any(Expert(*each).half_life is not None for each in experts):
        raise BadInput(
            "--workers and --scheduler: the model was begun with a --half-life, and what workers "
            "forget apart cannot be put together; expected neither."
        )


def _saving(model: Path | None, before: Checkpoint) -> Callable[[Progress], None] | None:
    if model is None:
        return None
    file = ModelFile(model)

    def save(progress: Progress) -> None:
        file.save(before._replace(progress=progress))

    return save


@contextmanager
def _saying_what_is_kept(run: Run, model: Path | None, signals: Signals) -> Iterator[None]:
    """Let a run that ends too early say where what it has learned is, and how to go on."""
    try:
        yield
    except (Exception, Stopped) as end:
        n_rows = run.progress.tally.now.n_rows
        if signals.stop is not None:
            raise signals.stop.saying(_kept(n_rows, model)) from None
        is_bad_row = isinstance(end, BadInput) and not isinstance(end, NothingToLearn)
        if model is None or n_rows == 0 or not is_bad_row:
            raise
        before = "The row before it is" if n_rows == 1 else f"The {n_rows:,} rows before it are"
        raise BadInput(f"{end} {before} in {model}.") from end


def _kept(n_rows: int, model: Path | None) -> str:
    if n_rows == 0:
        return "nothing had been learned yet."
    learned = "the row learned is" if n_rows == 1 else f"the {n_rows:,} rows learned are"
    if model is None:
        return f"{learned} lost, as there was no --model."
    return f"{learned} in {model}; the same with --resume goes on."
