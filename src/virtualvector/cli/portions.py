"""Something done to each batch of a source by workers of a cluster, which read it themselves.

A source comes in portions: what is parsed of a text at once, or a batch of a table that has types.
A task takes the next few of them, passes over what is before, and gives back what came of each
batch, in order. Batches are the same as in one process, and so is all that comes of them.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from distributed import Client

from virtualvector.cli.bookmark import Bookmark
from virtualvector.cli.cluster import result_of
from virtualvector.dask.cluster import check_here, environment, in_turn, known, submitted
from virtualvector.streams import Batch, Reader
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.reader import TOLD

PORTIONS = 8  # of a task: one more is parsed to see where the last one ends
AHEAD = 3  # tasks for each worker, done or under way, that wait for those before them

Work = Callable[[Any, Batch], Any]


class PortionJob(NamedTuple):
    """What is read, and what is done to each batch."""

    key: str  # of the run
    reader: Reader  # which has not opened anything
    work: Work
    expected: dict[str, str]  # versions of the client


@dataclass
class Done:
    """What came of some portions."""

    results: list[Any] = field(default_factory=list)  # of each batch
    skipped: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: BadInput | None = None  # that ended it, after all these results
    is_last: bool = False  # the source ends with them


def spread(client: Client, model: Any, reader: Reader, work: Work) -> Iterator[Any]:
    """Yield what came of each batch, in order, and let the reader know what was skipped."""
    job = PortionJob(uuid.uuid4().hex, reader.detached(), work, environment())
    sent = submitted(client, known, model, job.expected)
    starts, workers = count(0, PORTIONS), in_turn(client)
    waiting: deque[Any] = deque()
    while True:
        while len(waiting) < AHEAD * max(len(client.nthreads()), 1):
            waiting.append(submitted(client, done, sent, job, next(starts), at=next(workers)))
        found: Done = result_of(client, waiting.popleft())
        yield from found.results
        reader.skipped += found.skipped
        reader.problems += found.problems[: TOLD - len(reader.problems)]
        if found.error is not None:
            raise found.error
        if found.is_last:
            reader.notes = found.notes
            return


def done(model: Any, job: PortionJob, first: int) -> Done:
    """Do the work for some portions."""
    check_here(job.expected)
    portions = Portions.of(job, first)
    found = Done()
    try:
        for batch in portions.between(first, first + PORTIONS, found):
            found.results.append(job.work(model, batch))
    except BadInput as error:
        found.error = error
    found.is_last = portions.is_over
    found.notes = list(portions.reader.notes) if portions.is_over else []
    return found


class Portions(Bookmark):
    """The portions of a source, and how far they have been read: up to within which of them."""

    _next: Batch | None = None  # the first batch of the portion, if nobody had it yet

    def __init__(self, job: PortionJob) -> None:
        super().__init__(job, at=-1)

    @property
    def has_begun(self) -> bool:
        """Whether there were any portions."""
        return self.at >= 0

    def over_group(self, n_rows: int) -> bool:
        """Pass over single portions only, as it is these that are counted."""
        return False

    def over(self, count: Callable[[], int]) -> bool:
        """Whether a portion is before what is asked for."""
        self.at += 1
        return self.at < self._first

    def between(self, first: int, stop: int, found: Done) -> Iterator[Batch]:
        """Yield the batches of some portions; there may be fewer, or none."""
        with self._reading(first) as batches:
            while True:
                batch, at, skipped = self._next, self.at, self.reader.skipped
                problems = len(self.reader.problems)
                self._next = None
                try:
                    batch = next(batches, None) if batch is None else batch
                except BadInput:
                    if self.at >= stop:  # which is for who reads that
                        return
                    raise
                if first <= at < stop:
                    found.skipped += self.reader.skipped - skipped
                    found.problems += self.reader.problems[problems:]
                if batch is None:
                    self.is_over = True
                    return
                if self.at >= stop:
                    self._next = batch
                    break
                if self.at >= first:
                    yield batch
            self._goes_on = True
