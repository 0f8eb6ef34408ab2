"""Learn a stream as it comes: predict, learn, measure, and keep what was learned safe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.streams.bad_input import BadInput

if TYPE_CHECKING:
    from virtualvector.auto.classifier import AutoVVMClassifier
    from virtualvector.command.live import Show
    from virtualvector.evaluation import Tally
    from virtualvector.evaluation.metrics import Labels
    from virtualvector.streams import Batch, Column, Reader

AT_ONCE = 1024  # rows
WELCOME = 1000  # rows in which classes may come that were not declared
MOST_PROBLEMS = 10  # that are told
SECONDS = 10.0  # between two checkpoints, unless they are counted in rows


class Known(NamedTuple):
    """All that a run has learned, and that it needs to go on."""

    model: AutoVVMClassifier
    tally: Tally
    n_passes: int = 0  # over the stream, finished
    n_rows: int = 0  # of the pass under way, those left out included
    n_strange: int = 0  # rows left out because their class was not known


@dataclass
class Run:
    """A run over a stream, which can end at any moment and be taken up again.

    Parameters
    ----------
    known : Known
        What to go on from; at any moment, what has been learned so far.
    label : str
        The column that has the class.
    classes : tuple of str
        Those declared; if there are none, they are taken as they come.
    show : callable
        Called now and then with the tally and the number of experts awake.
    save : callable, optional
        Called with what is known, now and then, and at the end, whatever ends the run.
    checkpoint_every : int, optional
        Rows between two calls of ``save``; by default there are ten seconds.
    new_classes : bool, default=False
        Whether a class may come at any time. Otherwise those that were not declared have to come
        within the first thousand rows, or until there are two: later on it is more likely that
        something is wrong with the row.
    skip : bool, default=False
        Whether to leave out rows of a class that is not known, and go on.
    """

    known: Known
    label: str
    classes: tuple[str, ...]
    show: Show
    save: Callable[[Known], None] | None = None
    checkpoint_every: int | None = None
    new_classes: bool = False
    skip: bool = False
    problems: list[str] = field(default_factory=list)  # the first few
    _saved: Known | None = None
    _saved_at: float = field(default_factory=perf_counter)

    def learn(self, reader: Reader, n_passes: int = 1) -> None:
        """Learn what comes, in one pass or several, of which only the first is a test."""
        try:
            while self.known.n_passes < n_passes:
                for batch in self._ahead(reader):
                    self._learn(batch)
                if not _is_fitted(self.known.model):
                    raise BadInput("Every row was left out; expected some that can be learned.")
                self.known = self.known._replace(n_passes=self.known.n_passes + 1, n_rows=0)
        finally:
            self._checkpoint()

    def _ahead(self, reader: Reader) -> Iterator[Batch]:
        """Yield what has not been learned yet."""
        n_learned, n_read = self.known.n_rows, 0
        for batch in reader:
            n_rows = batch.table.num_rows
            n_known = min(max(n_learned - n_read, 0), n_rows)
            n_read += n_rows
            if n_known < n_rows:
                yield _part(batch, n_known, n_rows)
        if n_read < n_learned:
            raise BadInput(
                f"The stream has {n_read} rows, but {n_learned} of it have been learned; expected "
                "the same stream to go on with. --append learns another one."
            )

    def _learn(self, batch: Batch) -> None:
        start, n_rows = 0, batch.table.num_rows
        while start < n_rows:
            stop = min(start + self._n_next(), n_rows)
            strange = self._strange(batch.labels[start:stop])
            if strange.any() and not self.skip:
                stop = start + int(np.argmax(strange))
                if stop == start:
                    raise BadInput(self._problem(batch, start))
                strange = strange[: stop - start]
            for row in np.flatnonzero(strange)[: MOST_PROBLEMS - len(self.problems)]:
                self.problems.append(self._problem(batch, start + int(row)))
            # One assignment: whatever interrupts it, what is known fits together.
            self.known = self._after(_part(batch, start, stop), strange)
            self._end_step()
            start = stop

    def _n_next(self) -> int:
        """Return how many rows to learn before looking up."""
        model, tally, _, n_rows, _ = self.known
        n_tested, n_learned = tally.now.n_rows, model.n_seen_ if _is_fitted(model) else 0
        steps = [AT_ONCE, (1 << n_tested.bit_length()) - n_tested, WELCOME - n_learned % WELCOME]
        if self.checkpoint_every is not None:
            steps.append(self.checkpoint_every - n_rows % self.checkpoint_every)
        return min(steps)

    def _strange(self, labels: Labels) -> NDArray[np.bool_]:
        """Whether each label is of a class that may not come any more."""
        model = self.known.model
        if not _is_fitted(model):
            return ~np.isin(labels, self.classes) if self.classes else np.zeros(len(labels), bool)
        if model.takes_new_classes_:
            return np.zeros(len(labels), bool)
        return ~np.isin(labels, model.classes_)

    def _problem(self, batch: Batch, row: int) -> str:
        known = self.known.tally.classes or self.classes
        return (
            f"{batch.place(row, self.label)}: found the class {str(batch.labels[row])!r}; expected "
            f"one of {', '.join(map(repr, known))} (--new-classes lets others come at any time)."
        )

    def _after(self, batch: Batch, strange: NDArray[np.bool_]) -> Known:
        """Return what is known after some more rows."""
        model, tally, n_passes, n_rows, n_strange = self.known
        model = copy(model)
        table, labels, _ = batch
        if strange.any():
            table, labels = table.filter(~strange), labels[~strange]
        if len(labels):
            # Declared in the first call; none declared: they are taken as they come.
            classes = None if _is_fitted(model) else list(self.classes)
            said = model.predict_then_learn(table, labels, classes)
            if n_passes == 0:
                tally = tally.with_rows(labels, np.asarray(said.probabilities), model.classes_)
        n_rows += len(strange)
        if not self.new_classes and _may_close(model):
            model.close_classes()
        return Known(model, tally, n_passes, n_rows, n_strange + int(strange.sum()))

    def _end_step(self) -> None:
        if not _is_fitted(self.known.model):  # all rows were left out so far
            return
        self.show(self.known.tally, self.known.model.n_awake_)
        if self.checkpoint_every is not None:
            due = self.known.n_rows % self.checkpoint_every == 0
        else:
            due = perf_counter() - self._saved_at > SECONDS
        if due:
            self._checkpoint()

    def _checkpoint(self) -> None:
        learned = _is_fitted(self.known.model)
        if self.save is not None and learned and self.known is not self._saved:
            self.save(self.known)
            self._saved, self._saved_at = self.known, perf_counter()


def _part(batch: Batch, start: int, stop: int) -> Batch:
    return batch._replace(
        table=batch.table.slice(start, stop - start),
        labels=batch.labels[start:stop],
        place=lambda row, column: batch.place(row + start, column),
    )


def warm_up(model: AutoVVMClassifier, columns: Sequence[Column]) -> None:
    """Let kernels be compiled, or read from the cache, before rows are counted by the second."""
    import pyarrow as pa
    from sklearn.base import clone

    cells = {
        column.name: pa.array(["a", "b"] if column.named else [0.0, 1.0]) for column in columns
    }
    clone(model).partial_fit(pa.table(cells), ["a", "b"]).predict_proba(pa.table(cells))


def _may_close(model: AutoVVMClassifier) -> bool:
    return (
        _is_fitted(model)
        and model.takes_new_classes_
        and model.n_seen_ % WELCOME == 0
        and len(model.classes_) > 1
    )


def _is_fitted(model: AutoVVMClassifier) -> bool:
    return hasattr(model, "classes_")
