"""The one thread that writes to a store: what comes together is made durable together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple

from virtualvector.serve.store import Entry, Store, StoreLost, Written

AT_ONCE = 1000  # entries in a transaction
MOST_PENDING = 20_000  # entries that wait to be written
PROBE = 1.0  # seconds after which a store that was lost is tried again


class Overloaded(Exception):
    """More comes than can be written."""


class _Job(NamedTuple):
    entries: Sequence[Entry]
    done: asyncio.Future[list[Written]]


class Writer:
    """Writes entries in the order in which they come, in as few transactions as they allow.

    Attributes
    ----------
    lost : str or None
        Why the store cannot be written to now; None if it can.
    """

    def __init__(self, store: Store) -> None:
        self.lost: str | None = None
        self.n_pending = 0
        self._store = store
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="vvm-writer", daemon=True)

    def start(self) -> None:
        """Begin; called where the loop runs that waits for what is written."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def stop(self) -> None:
        """Write what is there, and end."""
        self._jobs.put(None)
        self._thread.join()

    def submit(self, entries: Sequence[Entry]) -> asyncio.Future[list[Written]]:
        """Return what will be known once entries are durable."""
        if self.n_pending + len(entries) > MOST_PENDING:
            raise Overloaded(f"{self.n_pending:,} rows and labels wait to be written; try later.")
        self.n_pending += len(entries)
        done: asyncio.Future[list[Written]] = self._loop.create_future()
        self._jobs.put(_Job(entries, done))
        return done

    def _run(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=PROBE if self.lost else None)
            except Empty:
                self._probe()
                continue
            jobs = [] if job is None else [job]
            while job is not None and sum(len(each.entries) for each in jobs) < AT_ONCE:
                try:
                    job = self._jobs.get_nowait()
                except Empty:
                    break
                if job is not None:
                    jobs.append(job)
            if jobs:
                self._write(jobs)
            if job is None:
                return

    def _probe(self) -> None:
        try:
            self._store.check()
            self.lost = None
        except StoreLost as error:
            self.lost = str(error)

    def _write(self, jobs: list[_Job]) -> None:
        entries = [entry for job in jobs for entry in job.entries]
        written: list[Written] | StoreLost
        try:
            written = self._store.write(entries)
            self.lost = None
        except StoreLost as error:
            written, self.lost = error, str(error)
        except Exception as error:  # whatever it is, nobody may wait for ever
            written = StoreLost(type(error).__name__)
            self.lost = str(written)
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell, jobs, written)

    def _tell(self, jobs: list[_Job], written: list[Written] | StoreLost) -> None:
        start = 0
        for entries, done in jobs:
            self.n_pending -= len(entries)
            stop = start + len(entries)
            if not done.done():  # or nobody waits for it any more
                if isinstance(written, StoreLost):
                    done.set_exception(written)
                else:
                    done.set_result(written[start:stop])
            start = stop
