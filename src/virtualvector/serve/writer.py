"""The one thread that writes to a store: what comes together is made durable together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from threading import Event, Thread
from typing import NamedTuple

from virtualvector.serve.entries import Entry, Written
from virtualvector.serve.store import Store, StoreLost

AT_ONCE = 1000  # entries in a transaction
MOST_PENDING = 20_000  # entries that wait to be written
PROBE = 1.0  # seconds after which a store that was lost is tried again
GATHER = 0.1  # seconds for which entries that nobody waits for gather


class Overloaded(Exception):
    """More comes than can be written."""


class _Job(NamedTuple):
    entries: Sequence[Entry]
    done: asyncio.Future[list[Written]] | None  # None: nobody waits for it


class Writer:
    """Writes entries in the order in which they come, in as few transactions as they allow.

    Attributes
    ----------
    lost : str or None
        Why the store cannot be written to now; None if it can.
    is_sure : bool
        Whether the last transaction was written. If not, it may be that not all can be.
    n_pending : int
        Entries that wait to be written.
    """

    def __init__(self, store: Store) -> None:
        self.lost: str | None = None
        self.is_sure = True
        self.n_pending = 0
        self._store = store
        self._jobs: deque[_Job] = deque()
        self._unwritten: list[_Job] = []  # that nobody waits for: they are tried again
        self._is_due, self._is_told, self._is_ending = Event(), False, False
        self._thread = Thread(target=self._run, name="vvm-writer", daemon=True)

    def start(self) -> None:
        """Begin; called where the loop runs that waits for what is written."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Write what is there, and end."""
        self._is_ending = True
        self._is_due.set()
        self._thread.join()

    @property
    def n_unwritten(self) -> int:
        """Entries that nobody waits for and that could not be written so far."""
        return sum(len(job.entries) for job in self._unwritten)

    def submit(self, entries: Sequence[Entry]) -> asyncio.Future[list[Written]]:
        """Return what will be known once entries are durable."""
        self._check_room(len(entries))
        done: asyncio.Future[list[Written]] = self._loop.create_future()
        self._add(_Job(entries, done))
        self._is_due.set()
        return done

    def keep(self, entries: Sequence[Entry]) -> None:
        """Let entries become durable soon; those of ids that nobody can have used before.

        If the store is lost meanwhile, they are written once it is back.
        """
        self._check_room(len(entries))
        self._add(_Job(entries, None))
        if not self._is_told:
            self._is_told = True
            self._loop.call_later(GATHER, self._tell_thread)

    def _check_room(self, n_entries: int) -> None:
        if self.n_pending + n_entries > MOST_PENDING:
            raise Overloaded(f"{self.n_pending:,} rows and labels wait to be written; try later.")

    def _add(self, job: _Job) -> None:
        self.n_pending += len(job.entries)
        self._jobs.append(job)

    def _tell_thread(self) -> None:
        self._is_told = False
        self._is_due.set()

    def _run(self) -> None:
        while not (self._is_ending and not self._jobs):
            if not self._is_ending and not self._is_due.wait(PROBE if self.lost else None):
                self._probe()
                continue
            self._is_due.clear()
            # What nobody waits for and comes meanwhile gathers again: few at a time cost more.
            n_due = len(self._jobs)
            while n_due > 0:
                jobs = self._taken()
                n_due -= len(jobs)
                self._write(jobs)
        if self._unwritten:
            self._write([])

    def _probe(self) -> None:
        if self._unwritten:
            self._write([])
            return
        try:
            self._store.check()
            self.lost = None
        except StoreLost as error:
            self.lost = str(error)

    def _taken(self) -> list[_Job]:
        """Return the next jobs, as many as a transaction is to have."""
        jobs, size = [], 0
        while self._jobs and size < AT_ONCE:
            jobs.append(self._jobs.popleft())
            size += len(jobs[-1].entries)
        return jobs

    def _write(self, jobs: list[_Job]) -> None:
        jobs = [*self._unwritten, *jobs]
        entries = [entry for job in jobs for entry in job.entries]
        self._unwritten = []
        written: list[Written] | StoreLost
        try:
            written = self._store.write(entries)
            self.lost = None
        except StoreLost as error:
            written, self.lost = error, str(error)
        except Exception as error:  # whatever it is, nobody may wait for ever
            written = StoreLost(type(error).__name__)
            self.lost = str(written)
        self.is_sure = not isinstance(written, StoreLost)
        if isinstance(written, StoreLost):
            # Perhaps it has been written all the same: next time they are looked for first.
            self._unwritten = [
                _Job([entry._replace(is_new=False) for entry in job.entries], None)
                for job in jobs
                if job.done is None
            ]
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell, jobs, written)

    def _tell(self, jobs: list[_Job], written: list[Written] | StoreLost) -> None:
        start = 0
        for entries, done in jobs:
            stop = start + len(entries)
            if done is not None or not isinstance(written, StoreLost):
                self.n_pending -= len(entries)
            if done is not None and not done.done():  # or nobody waits for it any more
                if isinstance(written, StoreLost):
                    done.set_exception(written)
                else:
                    done.set_result(written[start:stop])
            start = stop
