"""The one thread that learns, beside those who answer: from durable labels to the next snapshot."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread, get_native_id
from typing import Any, NamedTuple

from virtualvector.persistence.errors import CannotSave
from virtualvector.serve.learning import AT_ONCE, Learned
from virtualvector.serve.rows import RowFormat
from virtualvector.serve.store import Base, Store, StoreLost

LATEST = 10  # conflicts that are shown
NICE = 5  # a quarter of the processor where others want it, too
EVERY = 0.4  # seconds in which labels gather: those that come together cost less


class Upkeep(NamedTuple):
    """How often a model is saved, and which rows of the store may go."""

    every_rows: int = 10_000  # labels between two checkpoints, at the most
    every_seconds: float = 60.0
    keep_seconds: float | None = None  # rows that are older go
    keep_rows: int | None = None  # the latest stay


USUAL = Upkeep()


class Learner:
    """Learns the labels of a store, and has a model that stays as it is for whoever answers.

    Attributes
    ----------
    snapshot : Learned
        The latest model; a new one takes its place, and none ever changes.
    trouble : dict of str
        What cannot be done now, and why: "learning", "saving".
    """

    def __init__(
        self,
        learned: Learned,
        form: RowFormat,
        store: Store,
        save: Callable[[Learned], bytes],
        upkeep: Upkeep = USUAL,
    ) -> None:
        self.snapshot = learned
        self.trouble: dict[str, str] = {}
        self.n_pruned = 0
        self.counts: dict[str, int] = {}  # of the store, a few seconds ago
        self.conflicts: list[dict[str, Any]] = []  # the latest
        self._count_at = 0.0
        self._form, self._store, self._save, self._upkeep = form, store, save, upkeep
        self._saved, self._saved_at = learned.sequence, time.monotonic()
        self._stop = Event()
        self._thread = Thread(target=self._run, name="vvm-learner", daemon=True)

    def start(self) -> None:
        """Begin."""
        self.snapshot = self.snapshot.ready(self._form.example)
        self._thread.start()

    def stop(self) -> None:
        """Learn no more, save what was learned, and end; the store has the rest."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        _step_back()
        due = time.monotonic() + EVERY
        while not self._stop.wait(due - time.monotonic()):
            due = time.monotonic() + EVERY
            self.learn()
            self._count()
            if self._is_due():
                self.save()
        self.save()

    def learn(self) -> None:
        """Learn the labels that are durable by now, or as many as can be before the stop."""
        try:
            while rows := self._store.labelled(self.snapshot.sequence, AT_ONCE):
                after = self.snapshot.after(rows, self._form)
                self.snapshot = after.ready(self._form.example)
                is_all = len(rows) < AT_ONCE  # but for those that came meanwhile, which gather
                if is_all or self._stop.is_set() or self._is_due():
                    break
            self.trouble.pop("learning", None)
        except StoreLost as error:
            self.trouble["learning"] = f"the store cannot be read: {error}"
        except Exception as error:  # a label that was acknowledged is never left out
            self.trouble["learning"] = f"{type(error).__name__}: {error}"

    def save(self) -> None:
        """Write a checkpoint, unless there is nothing new, and prune the store."""
        learned = self.snapshot
        self._saved_at = time.monotonic()
        try:
            base = None
            if learned.sequence != self._saved:
                base = Base(learned.sequence, self._save(learned))
                self._saved = learned.sequence
            self._prune(base)
            self.trouble.pop("saving", None)
        except (CannotSave, ValueError, StoreLost) as error:
            self.trouble["saving"] = str(error)

    def _count(self) -> None:
        """Count what the store holds, but spend no more than a small share of the time on it."""
        began = time.monotonic()
        if began < self._count_at:
            return
        with suppress(StoreLost):
            self.counts, self.conflicts = self._store.counts(), self._store.conflicts(LATEST)
        ended = time.monotonic()
        self._count_at = ended + max(1.0, 50.0 * (ended - began))

    def _is_due(self) -> bool:
        n_new = self.snapshot.sequence - self._saved
        late = time.monotonic() - self._saved_at > self._upkeep.every_seconds
        return n_new >= self._upkeep.every_rows or late

    def _prune(self, base: Base | None) -> None:
        seconds, most = self._upkeep.keep_seconds, self._upkeep.keep_rows
        if seconds is not None or most is not None:
            before = None if seconds is None else time.time() - seconds
            self.n_pruned += self._store.prune(base, before, most)


def _step_back() -> None:
    """Let those who answer go first, where each thread has a priority of its own."""
    if sys.platform == "linux":
        with suppress(OSError):
            own = get_native_id()
            before = os.getpriority(os.PRIO_PROCESS, own)  # of a service that is nice itself, too
            os.setpriority(os.PRIO_PROCESS, own, before + NICE)
