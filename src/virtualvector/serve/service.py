"""A model that answers, and goes on learning from labels that come later."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

from virtualvector.serve.entries import Entry, Outcome, Written
from virtualvector.serve.learner import Learner
from virtualvector.serve.learning import Learned
from virtualvector.serve.rows import Checked, RowFormat
from virtualvector.serve.store import Store, StoreLost
from virtualvector.serve.texts import compact
from virtualvector.serve.writer import Overloaded, Writer
from virtualvector.types import Array

FEW = 8  # rows of a request that are predicted at once, however many others wait
WAIT = 1.0  # seconds that an answer waits for the store


class Answer(NamedTuple):
    """What is predicted about a row."""

    id: str
    label: str  # the most probable class
    probabilities: dict[str, float]
    learned: int  # labels of this store that the model had learned
    kept: bool  # whether a label for the id can come; if not, it has to come with its row
    left_out: list[str]  # keys of the row that the model does not know


class Service:
    """Answers, labels and learning, whatever way they come in.

    Parameters
    ----------
    learner : Learner
        Which has the latest model.
    form : RowFormat
        What rows look like.
    store : Store
        Where answers and labels are kept.
    new_classes : bool
        Whether a label may be of a class that was never seen.
    """

    def __init__(
        self, learner: Learner, form: RowFormat, store: Store, new_classes: bool = False
    ) -> None:
        self.learner, self.form, self.new_classes = learner, form, new_classes
        self.writer = Writer(store)
        self.unseen: Counter[str] = Counter()  # values of categories that were never learned
        self.outcomes: Counter[str] = Counter()
        self.is_stopping = False
        self._random = Random()  # of ids that are made
        self._has_categories = any(column.categorical for column in form.columns)
        self._store = store

    def start(self) -> None:
        """Begin; called where the loop runs."""
        self.writer.start()
        self.learner.start()

    def stop(self) -> None:
        """Write and save everything, and end."""
        self.is_stopping = True
        self.writer.stop()
        self.learner.stop()
        self._store.close()

    @property
    def snapshot(self) -> Learned:
        """The model that answers now."""
        return self.learner.snapshot

    async def predict(
        self, rows: Sequence[Mapping[str, Any]], ids: Sequence[str | None]
    ) -> list[Answer | Outcome]:
        """Return what the model says about rows, and keep it; TAKEN if another row has an id."""
        checked, entries, predicted = await self._predicted(rows, ids)
        return await self.kept(entries, predicted, checked.left_out)

    def predict_together(
        self, rows: Array, texts: Sequence[str], ids: Sequence[str | None]
    ) -> tuple[list[Entry], list[dict[str, float]]]:
        """Return what the model says about rows of finite numbers, which is still to be kept.

        What is said of a row does not depend, to the last bit, on the rows it is predicted with.
        """
        learned = self.snapshot
        classes = learned.classes
        predicted = [dict(zip(classes, said, strict=True)) for said in learned.said_of(rows)]
        return self._entries(ids, texts, predicted, learned), predicted

    async def kept(
        self,
        entries: list[Entry],
        predicted: Sequence[dict[str, float]],
        left_out: Sequence[str] = (),
    ) -> list[Answer | Outcome]:
        """Keep what was predicted, and return it; or what was said of a row before, or TAKEN."""
        written: Sequence[Written | None]
        if self.writer.is_sure and all(entry.is_new for entry in entries):
            kept = self.are_handed_over(entries)
            written = [Written(Outcome.ANSWERED) if kept else None] * len(entries)
        else:
            written = await self._kept(entries)
        return [
            _answer(entry, own, became, left_out)
            for entry, own, became in zip(entries, predicted, written, strict=True)
        ]

    async def learn(
        self, rows: Sequence[Mapping[str, Any]], labels: Sequence[Any], ids: Sequence[str | None]
    ) -> list[tuple[str, Outcome]]:
        """Keep rows, labels, which will be learned, and what was predicted before."""
        texts = [self.snapshot.label(label, self.new_classes) for label in labels]
        _, entries, _ = await self._predicted(rows, ids)
        entries = [entry._replace(label=text) for entry, text in zip(entries, texts, strict=True)]
        return await self._acknowledged(entries)

    async def label(self, labels: Sequence[tuple[str, Any]]) -> list[tuple[str, Outcome]]:
        """Keep labels of rows that were asked about, which will be learned."""
        now = time.time()
        entries = [
            Entry(own, now, label=self.snapshot.label(label, self.new_classes))
            for own, label in labels
        ]
        return await self._acknowledged(entries)

    def troubles(self) -> list[str]:
        """Return what the service cannot do now, in words; nothing if all is well."""
        found = [f"{what}: {why}" for what, why in self.learner.trouble.items()]
        if self.writer.lost is not None:
            found.insert(0, f"labels are refused: the store cannot be written: {self.writer.lost}")
        return [*found, "stopping"] if self.is_stopping else found

    async def _predicted(
        self, rows: Sequence[Mapping[str, Any]], ids: Sequence[str | None]
    ) -> tuple[Checked, list[Entry], list[dict[str, float]]]:
        """Check rows, and predict them; many of them where others need not wait for it."""
        if len(rows) > FEW:
            return await asyncio.to_thread(lambda: self._say(self.form.check(rows), ids))
        checked = self.form.check(rows)
        if not isinstance(checked.table, np.ndarray):
            return self._say(checked, ids)
        texts = list(map(compact, checked.values))
        return checked, *self.predict_together(checked.table, texts, ids)

    def _say(
        self, checked: Checked, ids: Sequence[str | None]
    ) -> tuple[Checked, list[Entry], list[dict[str, float]]]:
        learned = self.snapshot
        predicted = learned.probabilities(checked)
        self._count_unseen(checked)
        texts = list(map(compact, checked.values))
        return checked, self._entries(ids, texts, predicted, learned), predicted

    def _entries(
        self,
        ids: Sequence[str | None],
        texts: Sequence[str],
        predicted: Sequence[dict[str, float]],
        learned: Learned,
    ) -> list[Entry]:
        now = time.time()
        made = self._new_ids(now, len(ids))
        return [
            Entry(
                new if own is None else own,
                now,
                text,
                compact(each),
                learned.sequence,
                is_new=own is None,
            )
            for own, new, text, each in zip(ids, made, texts, predicted, strict=True)
        ]

    def _new_ids(self, now: float, n_ids: int) -> list[str]:
        """Return ids that nobody has used; those of a time are beside each other in an index."""
        time_of_all, bits = f"{int(now * 1e6):014x}", self._random.randbytes(9 * n_ids).hex()
        return [time_of_all + bits[k : k + 18] for k in range(0, len(bits), 18)]

    def are_handed_over(self, entries: list[Entry]) -> bool:
        """Let answers be kept soon, under ids that nobody knows yet; say whether they will be."""
        if self.writer.lost is not None:
            return False
        try:
            self.writer.keep(entries)
        except Overloaded:
            return False
        return True

    async def _kept(self, entries: list[Entry]) -> Sequence[Written | None]:
        """Keep answers; where that cannot be done they are given all the same."""
        none = [None] * len(entries)
        if self.writer.lost is not None:
            return none
        try:
            done = self.writer.submit(entries)
        except Overloaded:
            return none
        timer = asyncio.get_running_loop().call_later(WAIT, done.cancel)
        try:
            return await done
        except StoreLost:
            return none
        except asyncio.CancelledError:
            if done.cancelled():
                return none
            raise
        finally:
            timer.cancel()

    async def _acknowledged(self, entries: list[Entry]) -> list[tuple[str, Outcome]]:
        written = await self.writer.submit(entries)
        self.outcomes.update(each.outcome.value for each in written)
        return [(e.id, each.outcome) for e, each in zip(entries, written, strict=True)]

    def _count_unseen(self, checked: Checked) -> None:
        if self._has_categories:
            counts = self.snapshot.model.count_unseen(checked.table).tolist()
            self.unseen.update(
                {name: n for name, n in zip(self.form.names, counts, strict=True) if n}
            )


def _answer(
    entry: Entry, predicted: dict[str, float], became: Written | None, left_out: Sequence[str]
) -> Answer | Outcome:
    if became is not None and became.outcome is Outcome.TAKEN:
        return Outcome.TAKEN
    learned = entry.learned
    if became is not None and not entry.is_new:  # what was said at the time
        learned = became.learned
        if became.predicted != entry.predicted:
            predicted = json.loads(became.predicted or "{}")
    likeliest = likeliest_of(predicted)
    return Answer(entry.id, likeliest, predicted, learned, became is not None, [*left_out])


def likeliest_of(predicted: dict[str, float]) -> str:
    """Return the most probable class."""
    return max(predicted, key=predicted.__getitem__)
