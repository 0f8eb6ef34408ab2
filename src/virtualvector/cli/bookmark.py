"""How far a thread of a worker has read a source: its next task goes on from there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Protocol, Self

from virtualvector.streams import Batch, Reader
from virtualvector.streams.passing import Passing


class Job(Protocol):
    """What the tasks of a run have in common."""

    @property
    def key(self) -> str:
        """What no other run is called."""

    @property
    def reader(self) -> Reader:
        """Which has not opened anything."""


class Bookmark(Passing):
    """A source that is being read, and where; what is asked for begins there or later.

    What is before that is passed over, unless bad rows are skipped: those have to be parsed to see
    how many rows there are.

    Parameters
    ----------
    job : Job
        Whose source it is.
    at : int
        Where it is before anything has been read.
    passes : bool
        Whether anything is passed over.
    """

    def __init__(self, job: Job, at: int = 0, passes: bool = True) -> None:
        self.key, self.reader = job.key, job.reader.detached()  # as tasks may share a job
        self.at, self.is_over = at, False
        self._first = 0  # that is asked for
        self._batches = self.reader.batches(self if passes else None)

    @classmethod
    def of(cls, job: Job, first: int) -> Self:
        """Return where this thread has stopped reading, or the start if that is too far."""
        kept = getattr(_here, "bookmark", None)
        if isinstance(kept, cls) and kept.key == job.key and kept.at <= first:
            return kept
        return cls(job)

    def _open(self, first: int) -> Iterator[Batch]:
        """Return the batches that come next; nothing is kept until they are read as they should."""
        _here.bookmark = None
        self._first = first
        return self._batches

    def _keep(self) -> None:
        """Let the next task of this thread go on from here."""
        _here.bookmark = self


_here = threading.local()  # what a thread of a worker is reading
