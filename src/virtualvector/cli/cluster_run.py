"""A run over a stream on a Dask cluster: in rounds, whose spans workers read themselves."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any, NamedTuple

from virtualvector.cli.cluster import result_of, telling_losses
from virtualvector.cli.run import Run, other_rows
from virtualvector.cli.signals import nothing
from virtualvector.cli.spans import (
    Round,
    SpanJob,
    Told,
    end_of_round,
    learn_span,
    start_of_round,
    sum_of_rows,
    told_of,
)
from virtualvector.dask.cluster import environment, in_turn, known, submitted
from virtualvector.dask.rounds import LINKED
from virtualvector.learners.rounds import cut, rounds, rows_alone
from virtualvector.streams import Reader
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.digest import RowSum

ENDLESS = 2**53  # rows; a source ends where it ends
SECONDS = 1.0  # between two checkpoints
ADVICE = "--resume goes on from the last round that ended."


class UnderWay(NamedTuple):
    """Futures of a round: of its spans, of what is known at its end, and of how far that goes."""

    parts: list[Any]
    whole: Any
    told: Any


@dataclass
class ClusterRun(Run):
    """A run in rounds on a cluster; the last round that ended is what is kept.

    The parameters are those of `Run`, and

    Parameters
    ----------
    client : distributed.Client
        Where.
    shards : int
        Into how many spans a round is cut.
    """

    client: Any = None
    shards: int = 1

    def learn(self, reader: Any, n_passes: int = 1) -> None:
        """Learn all rows that there are, in one pass, or what the source has grown by since."""
        self.signals.idle = self._checkpoint_if_late
        is_new = self.progress.n_passes == 0 and self.progress.n_rows == 0
        job = SpanJob(
            uuid.uuid4().hex,
            reader.detached(),
            self.label,
            self.classes,
            self.new_classes,
            self.skip,
            environment(),
        )
        try:
            with telling_losses(ADVICE):
                self._check_rows(job)
                self._learn_rounds(job, reader)
            if is_new and not self.observed:
                raise NothingToLearn("Every row was left out; nothing was learned.")
            self.progress = self.progress._replace(n_passes=1)
        finally:
            self.signals.idle = nothing
            with self.signals.shielded():
                self._checkpoint()

    def _learn_rounds(self, job: SpanJob, reader: Reader) -> None:
        following: UnderWay | None = self._begin(job, told_of(self.progress), None)
        linked_at = monotonic()
        while following is not None:
            under_way, following = following, None
            told = self._told(under_way)
            # What is known goes on from round to round on the cluster: it is saved here meanwhile.
            if not told.is_last and monotonic() - linked_at < LINKED:
                following = self._begin(job, told, under_way.whole)
            found: Round = result_of(self.client, under_way.whole)
            with self.signals.shielded():
                self.progress = found.progress
                self.observed |= found.observed
                self.problems += found.problems[: max(10 - len(self.problems), 0)]
                self._end_step()
            if not told.is_last and following is None:
                linked_at = monotonic()
                following = self._begin(job, told, None)
        reader.skipped, reader.problems = found.skipped, found.skipped_problems

    def _end_step(self) -> None:
        """Save what is known at the end of a round, but not after every one of the first."""
        if not self.progress.is_fitted:  # all rows were left out so far
            return
        self.show(self.progress.tally, self.progress.model.n_awake_)
        if self.checkpoint_every is not None or perf_counter() - self._saved_at > SECONDS:
            self._checkpoint()

    def _begin(self, job: SpanJob, told: Told, known_there: Any) -> UnderWay:
        """Begin one more round, from what is known on the cluster, or else from here."""
        spans = next(rounds(told.n_learned, ENDLESS, self.shards, decides=True))
        alone = self.shards == 1 or told.n_learned < rows_alone()
        common = known_there
        if common is None:
            common = self._submit(known, self.progress, job.expected)
        start = self._submit(start_of_round, common, len(spans), alone)
        n_rows = told.n_rows
        parts = [
            self._submit(learn_span, start, job, n_rows + span.start, n_rows + span.stop, at=worker)
            for span, worker in zip(spans, in_turn(self.client), strict=False)
        ]
        whole = self._submit(end_of_round, common, parts, job)
        return UnderWay(parts, whole, self._submit(told_of, whole))

    def _told(self, under_way: UnderWay) -> Told:
        """Wait for the end of a round, and return how far it went."""
        try:
            told: Told = result_of(self.client, under_way.told)
        except BadInput:
            for part in under_way.parts:  # of several bad rows the first is told
                result_of(self.client, part)
            raise
        return told

    def _check_rows(self, job: SpanJob) -> None:
        """Raise unless the rows that were learned are still those that the source begins with."""
        n_rows = self.progress.n_rows
        if n_rows == 0:
            return
        spans = cut(0, n_rows, min(self.shards, n_rows))
        parts = [self._submit(sum_of_rows, job, *span) for span in spans]
        found = [result_of(self.client, part) for part in parts]
        n_found = sum(n for n, _ in found)
        if n_found < n_rows:
            raise BadInput(other_rows(f"found {n_found:,} rows, fewer than the {n_rows:,} learned"))
        if RowSum.added_up(digest for _, digest in found) != self.progress.digest:
            raise BadInput(other_rows(f"found other rows than the {n_rows:,} learned"))

    def _submit(self, function: Any, *arguments: Any, at: str | None = None) -> Any:
        return submitted(self.client, function, *arguments, at=at)
