"""A run over a stream on a Dask cluster: in rounds, whose spans workers read themselves."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any, NamedTuple

from distributed import Client, KilledWorker, LocalCluster

from virtualvector.auto.shards import fewest_rows
from virtualvector.cli.run import Run, other_rows
from virtualvector.cli.spans import (
    Job,
    Round,
    end_of_round,
    learn_span,
    start_of_round,
    sum_of_rows,
)
from virtualvector.dask.cluster import (
    ClusterLost,
    WrongWorker,
    client_for,
    environment,
    known,
    noticing_loss,
    submitted,
)
from virtualvector.learners.rounds import ALONE, cut, rounds
from virtualvector.streams import Reader
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.digest import RowSum

ENDLESS = 2**53  # rows; a source ends where it ends
SECONDS = 1.0  # between two looks at whether anyone is there, or two checkpoints
TIMEOUT = "10s"  # to find a scheduler
PATIENCE = 30.0  # seconds without any worker


class Cluster(NamedTuple):
    """Where a run is to be made, as the command line says."""

    workers: int | None
    scheduler: str | None


@contextmanager
def connected(cluster: Cluster) -> Iterator[Client]:
    """Connect to a cluster, or start one; raise `BadInput` if that cannot be."""
    if cluster.scheduler is None:
        with (
            LocalCluster(
                n_workers=cluster.workers,
                threads_per_worker=1,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,
            ) as workers,
            Client(workers) as client,
        ):
            yield _checked(client)
        return
    try:
        client = Client(cluster.scheduler, timeout=TIMEOUT)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"--scheduler {cluster.scheduler}: found nobody there ({_shortly(error)}); expected "
            "the address of a Dask scheduler, such as tcp://10.0.0.1:8786."
        ) from error
    with client:
        yield _checked(client)


def _checked(client: Client) -> Client:
    if not client.nthreads():
        raise BadInput("found a scheduler without workers; expected one at least.")
    try:
        return client_for(client)
    except WrongWorker as error:
        raise BadInput(f"{error}.") from error


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
        job = Job(
            uuid.uuid4().hex,
            reader.detached(),
            self.label,
            self.classes,
            self.new_classes,
            self.skip,
            environment(),
        )
        try:
            with _telling_losses():
                self._check_rows(job)
                self._learn_rounds(job, reader)
            if is_new and not self.observed:
                raise NothingToLearn("Every row was left out; nothing was learned.")
            self.progress = self.progress._replace(n_passes=1)
        finally:
            self.signals.idle = lambda: None
            with self.signals.shielded():
                self._checkpoint()

    def _learn_rounds(self, job: Job, reader: Reader) -> None:
        is_last = False
        while not is_last:
            found = self._round(job)
            is_last = found.is_last
            with self.signals.shielded():
                self.progress = found.progress
                self.observed |= found.observed
                self.problems += found.problems[: max(10 - len(self.problems), 0)]
                self._end_step()
        reader.skipped, reader.problems = found.skipped, found.skipped_problems

    def _end_step(self) -> None:
        """Save what is known at the end of a round, but not after every one of the first."""
        if not self.progress.is_fitted:  # all rows were left out so far
            return
        self.show(self.progress.tally, self.progress.model.n_awake_)
        if self.checkpoint_every is not None or perf_counter() - self._saved_at > SECONDS:
            self._checkpoint()

    def _round(self, job: Job) -> Round:
        """Learn one more round."""
        before, n_rows = self.progress.n_learned, self.progress.n_rows
        spans = next(rounds(before, ENDLESS, self.shards, fewest_rows(self.progress.model)))
        alone = before < ALONE or self.shards == 1
        common = self._submit(known, self.progress, job.expected)
        start = self._submit(start_of_round, common, len(spans), alone)
        parts = [
            self._submit(learn_span, start, job, n_rows + span.start, n_rows + span.stop)
            for span in spans
        ]
        found: Round = self._result(self._submit(end_of_round, common, parts, job))
        return found

    def _check_rows(self, job: Job) -> None:
        """Raise unless the rows that were learned are still those that the source begins with."""
        n_rows = self.progress.n_rows
        if n_rows == 0:
            return
        spans = cut(0, n_rows, min(self.shards, n_rows))
        parts = [self._submit(sum_of_rows, job, *span) for span in spans]
        found = [self._result(part) for part in parts]
        n_found = sum(n for n, _ in found)
        if n_found < n_rows:
            raise BadInput(other_rows(f"found {n_found:,} rows, fewer than the {n_rows:,} learned"))
        if RowSum.added_up(digest for _, digest in found) != self.progress.digest:
            raise BadInput(other_rows(f"found other rows than the {n_rows:,} learned"))

    def _submit(self, function: Any, *arguments: Any) -> Any:
        return submitted(self.client, function, *arguments)

    def _has_workers(self) -> bool:
        try:
            return bool(self.client.nthreads())
        except (OSError, RuntimeError, TimeoutError) as error:
            raise ClusterLost("the scheduler is gone") from error

    def _result(self, future: Any) -> Any:
        """Wait for a result, while there is someone to work at it."""
        is_done, since = threading.Event(), monotonic()
        future.add_done_callback(lambda _: is_done.set())
        with noticing_loss("of this round"):
            while not is_done.wait(SECONDS):
                if self._has_workers():
                    since = monotonic()
                if monotonic() - since > PATIENCE:
                    raise ClusterLost("all workers are gone")
            return future.result()


@contextmanager
def _telling_losses() -> Iterator[None]:
    """Let whatever becomes of a cluster be told in one line."""
    try:
        yield
    except WrongWorker as error:
        raise BadInput(f"{_shortly(error)}.") from error
    except ClusterLost as error:
        cause = error.__cause__
        why = "the cluster was lost" if cause is not None else str(error)
        if isinstance(cause, KilledWorker):
            why = "the cluster was lost: workers died of the same rows, one after the other"
        raise BadInput(f"{why}; --resume goes on from the last round that ended.") from error


def _shortly(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
