"""Spans of a source, as workers of a cluster read and learn them.

A task is a pure function of what is known and of where its rows stand: it reads them itself. A
worker goes on reading where its last span ended, and counts the rows between without parsing them;
if it has to go back, it begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from virtualvector.auto.shards import ended, round_start
from virtualvector.cli.bookmark import Bookmark
from virtualvector.cli.run import WELCOME, Progress, Run
from virtualvector.dask.cluster import check_here
from virtualvector.evaluation import Tally
from virtualvector.evaluation.judgement import LabelOrder
from virtualvector.evaluation.tally import Totals
from virtualvector.streams import Batch, Reader
from virtualvector.streams.digest import RowSum
from virtualvector.types import Array, Labels


class SpanJob(NamedTuple):
    """What a run on a cluster learns, and how."""

    key: str  # of the run
    reader: Reader  # which has not opened anything
    label: str
    classes: tuple[str, ...]  # that are declared
    new_classes: bool
    skip: bool
    expected: dict[str, str]  # versions of the client


@dataclass
class Heard:
    """What was predicted of the rows of a span, to be added to a tally in their order."""

    classes: tuple[str, ...]
    n_before: int
    predicted: list[tuple[Labels, Array, Labels]] = field(default_factory=list)

    @property
    def label_order(self) -> LabelOrder:
        """Whether labels come in blocks, which is not known here: it takes the rows before."""
        return LabelOrder(0, 0.0, 0.0)

    @property
    def now(self) -> Totals:
        """How many rows have been heard of, as a tally has it."""
        return Totals(self.n_before + sum(len(labels) for labels, _, _ in self.predicted))

    def with_rows(self, labels: Labels, probabilities: Array, classes: Labels) -> Heard:
        """Hear what was predicted of some more rows."""
        known = tuple(sorted({*self.classes, *classes.tolist()}))
        return Heard(known, self.n_before, [*self.predicted, (labels, probabilities, classes)])


class Learned(NamedTuple):
    """What came of a span."""

    progress: Progress  # of the shard, with what was heard in place of a tally
    observed: set[str]
    problems: list[str]
    is_last: bool  # the source ends with it
    skipped: int  # bad rows of the whole source, if it ends here
    skipped_problems: list[str]


class Round(NamedTuple):
    """What is known after a round."""

    progress: Progress
    observed: set[str]
    problems: list[str]
    is_last: bool
    skipped: int
    skipped_problems: list[str]


class Told(NamedTuple):
    """How far rounds went: all that it takes to plan the next one."""

    n_learned: int
    n_rows: int
    is_last: bool


def told_of(known: Progress | Round) -> Told:
    """Return how far it went."""
    progress = _progress(known)
    is_last = isinstance(known, Round) and known.is_last
    return Told(progress.n_learned, progress.n_rows, is_last)


def _progress(known: Progress | Round) -> Progress:
    return known.progress if isinstance(known, Round) else known


def start_of_round(known: Progress | Round, n_shards: int, alone: bool) -> Progress:
    """Return what the shards of a round go on from; they need not know how it went so far."""
    known = _progress(known)
    model = known.model
    if known.is_fitted:
        model = round_start(model, n_shards, alone)
    return known._replace(model=model, tally=Tally(known.tally.classes, known.tally.now))


def learn_span(start: Progress, job: SpanJob, first: int, stop: int) -> Learned:
    """Read a span and learn it, each row predicted before."""
    check_here(job.expected)
    heard: Any = Heard(start.tally.classes, start.tally.now.n_rows)
    run = Run(
        start._replace(model=copy(start.model), tally=heard),
        job.label,
        job.classes,
        show=lambda *_: None,
        new_classes=True,  # whether more may come is decided between rounds
        skip=job.skip,
    )
    rows = Rows.of(job, first)
    run.learn_some(rows.between(first, stop), RowSum(job.reader.columns, first))
    skipped = (rows.reader.skipped, list(rows.reader.problems)) if rows.is_over else (0, [])
    return Learned(run.progress, run.observed, run.problems, rows.is_over, *skipped)


def end_of_round(known: Progress | Round, spans: Sequence[Learned], job: SpanJob) -> Round:
    """Return what is known after all spans of a round, in the order of their rows."""
    check_here(job.expected)
    known = _progress(known)
    parts = [span.progress for span in spans if span.progress.n_rows > known.n_rows]
    progress = _together(known, parts) if parts else known
    _close(progress, job)
    last = next((span for span in spans if span.is_last), None)
    return Round(
        progress,
        {label for span in spans for label in span.observed},
        [problem for span in spans for problem in span.problems],
        last is not None,
        0 if last is None else last.skipped,
        [] if last is None else last.skipped_problems,
    )


def _together(known: Progress, parts: Sequence[Progress]) -> Progress:
    """Return what is known once shards have learned some rows each."""
    shards = [part.model for part in parts if part.is_fitted]
    tally = known.tally
    for part in parts:
        heard: Any = part.tally
        for some in heard.predicted:
            tally = tally.with_rows(*some)
    return Progress(
        model=ended(known.model, shards) if shards else known.model,
        tally=tally,
        n_passes=known.n_passes,
        n_rows=known.n_rows + sum(part.n_rows - known.n_rows for part in parts),
        n_strange=known.n_strange + sum(part.n_strange - known.n_strange for part in parts),
        digest=RowSum.added_up([known.digest, *(part.digest for part in parts)]),
        n_repeated=known.n_repeated + sum(part.n_repeated - known.n_repeated for part in parts),
    )


def sum_of_rows(job: SpanJob, first: int, stop: int) -> tuple[int, str | None]:
    """Return how many rows there are in a span, and what they were."""
    check_here(job.expected)
    digest, n_rows = RowSum(job.reader.columns, first), 0
    for batch in Rows.of(job, first).between(first, stop):
        digest = digest.with_rows(batch)
        n_rows += batch.table.num_rows
    return n_rows, digest.hexdigest()


def _close(progress: Progress, job: SpanJob) -> None:
    """Let no more classes come once there were a thousand rows, as on one machine."""
    model = progress.model
    if job.new_classes or not progress.is_fitted or not model.takes_new_classes_:
        return
    if progress.n_learned >= WELCOME and len(model.classes_) > 1:
        model.close_classes()


class Rows(Bookmark):
    """The rows of a source, and how far they have been read; those of others are passed over."""

    _rest: Batch | None = None  # of the last batch

    def __init__(self, job: SpanJob) -> None:
        super().__init__(job, passes=not job.skip)

    @property
    def has_begun(self) -> bool:
        """Whether there were any rows."""
        return self.at > 0

    def over_group(self, n_rows: int) -> bool:
        """Whether all of so many rows are before what is asked for."""
        is_before = self.at + n_rows <= self._first
        self.at += n_rows if is_before else 0
        return is_before

    def over(self, count: Callable[[], int]) -> bool:
        """Whether all rows of a portion are."""
        return self.at < self._first and self.over_group(count())

    def between(self, first: int, stop: int) -> Iterator[Batch]:
        """Yield the rows from one number to another, in parts; there may be fewer."""
        with self._reading(first) as batches:
            while self.at < stop and not self.is_over:
                batch = next(batches, None) if self._rest is None else self._rest
                self._rest = None
                if batch is None:
                    self.is_over = True
                    return
                n_rows = batch.table.num_rows
                start, end = max(first - self.at, 0), min(stop - self.at, n_rows)
                self.at += end
                if end < n_rows:
                    self._rest = batch.part(end, n_rows)
                if start < end:
                    yield batch.part(start, end)
            self._goes_on = True
