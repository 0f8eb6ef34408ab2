"""How far a thread of a worker has read a source: its next task goes on from there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
        self._goes_on = False  # the next task of the thread may go on from here
        self._batches = self.reader.batches(self if passes else None)

    @classmethod
    def of(cls, job: Job, first: int) -> Self:
        """Return where this thread has stopped reading, or the start if that is too far."""
        left: _Left | None = getattr(_here, "left", None)
        kept = None if left is None else left.bookmark
        if isinstance(kept, cls) and kept.key == job.key and kept.at <= first:
            return kept
        _here.left = None
        return cls(job)

    @contextmanager
    def _reading(self, first: int) -> Iterator[Iterator[Batch]]:
        """Lend the batches that come next; close them, unless they were read as they should."""
        left: _Left | None = getattr(_here, "left", None)
        if left is not None and left.bookmark is self:
            left.bookmark = None
        self._first, self._goes_on = first, False
        try:
            yield self._batches
        finally:
            if self._goes_on:
                _here.left = _Left(self)
            else:
                self.close()

    def close(self) -> None:
        """Close what is open: not garbage, in which files may be found before who reads them."""
        self._batches.close()


class _Left:
    """A bookmark between two tasks; if its thread ends, or reads something else, it is closed."""

    def __init__(self, bookmark: Bookmark) -> None:
        self.bookmark: Bookmark | None = bookmark

    def __del__(self) -> None:
        if self.bookmark is not None:
            self.bookmark.close()


_here = threading.local()  # what a thread of a worker is reading
