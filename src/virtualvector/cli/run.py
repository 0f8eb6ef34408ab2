"""A run over a stream: predict, learn, measure, and keep what was learned safe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.cli.model_file import class_texts
from virtualvector.cli.signals import Signals, nothing
from virtualvector.jit.garbage import give_back_memory
from virtualvector.jit.listener import on_first_compilation
from virtualvector.learners.validation import as_learned
from virtualvector.learners.weights import rounded
from virtualvector.streams.bad_input import BadInput, NothingToLearn
from virtualvector.streams.columns import sparse_type
from virtualvector.streams.digest import RowDigest, RowSum

if TYPE_CHECKING:
    import pyarrow as pa

    from virtualvector.auto.classifier import AutoVVMClassifier
    from virtualvector.cli.console import Show
    from virtualvector.evaluation import Tally
    from virtualvector.streams import Batch, Column, Reader
    from virtualvector.streams.shuffle import ShuffledReader
    from virtualvector.types import Labels
    from virtualvector.values import Kind
    from virtualvector.wide.classifier import WideVVMClassifier

AT_ONCE = 1024  # rows
LEAST_AT_ONCE = 32  # however long that takes: for few rows, most of it is copying what is known
WELCOME = 1000  # rows in which classes may come that were not declared
MOST_PROBLEMS = 10  # that are told
SECONDS = 10.0  # between two checkpoints, at the most, unless one takes more than a tenth of that
SHARE = 0.05  # of the time, that checkpoints may take
FEW_PLACES, FEW_ROWS = 64, 50  # of wide rows, and pairs of them, that need all kernels
STEP_SECONDS = 0.25  # after which a step is long: signals wait for its end


class Progress(NamedTuple):
    """All that a run has learned, and that it needs to go on."""

    model: AutoVVMClassifier | WideVVMClassifier
    tally: Tally
    n_passes: int = 0  # over the stream, finished
    n_rows: int = 0  # of the pass under way, or of the last one, those left out included
    n_strange: int = 0  # rows left out because their class was not known
    digest: str | None = None  # of those rows; None if there are none
    n_repeated: int = 0  # how much more often rows were learned than they came, by their weights

    @property
    def n_learned(self) -> int:
        """How many rows have been learned, of any source; one of weight zero is one, too."""
        return (self.model.n_seen_ if self.is_fitted else 0) - self.n_repeated

    @property
    def is_fitted(self) -> bool:
        """Whether anything has been learned."""
        return hasattr(self.model, "classes_")

    def from_the_start(self) -> Progress:
        """Return the same before the first row of another pass, or of another source."""
        return self._replace(n_rows=0, digest=None)


@dataclass
class Run:
    """A run over a stream, which can end at any moment and be taken up again.

    Parameters
    ----------
    progress : Progress
        What to go on from; at any moment, what has been learned so far.
    label : str
        The column that has the class.
    classes : tuple of str
        Those declared; if there are none, they are taken as they come.
    show : callable
        Called now and then with the tally and the number of experts awake.
    signals : Signals
        Which wait while a step is made.
    save : callable, optional
        Called with the progress, now and then, and at the end, whatever ends the run.
    checkpoint_every : int, optional
        Rows between two calls of ``save``, beside those that are made every ten seconds.
    new_classes : bool, default=False
        Whether a class may come at any time. Otherwise those that were not declared have to come
        within the first thousand rows, or until there are two: later on it is more likely that
        something is wrong with the row.
    skip : bool, default=False
        Whether to leave out rows of a class that is not known, and go on.
    """

    progress: Progress
    label: str
    classes: tuple[str, ...]
    show: Show
    signals: Signals = field(default_factory=Signals)
    save: Callable[[Progress], None] | None = None
    checkpoint_every: int | None = None
    new_classes: bool = False
    skip: bool = False
    problems: list[str] = field(default_factory=list)  # the first few
    observed: set[str] = field(default_factory=set)  # classes of the rows that were learned
    _digest: RowDigest | RowSum | None = None  # of the rows of this pass
    _at_once: int = AT_ONCE
    _hurries: bool = True  # someone waits for the end of each step
    _is_test: bool = True  # rows are new to the model
    _saved: Progress | None = None
    _saved_at: float = field(default_factory=perf_counter)
    _next: float = SECONDS  # between this checkpoint and the next

    def learn(self, reader: Reader | ShuffledReader, n_passes: int = 1) -> None:
        """Learn what comes, in one pass or several, of which only the first is a test.

        If all passes are finished, learn what the stream has grown by since the only one.
        """
        self.signals.idle = self._checkpoint_if_late
        is_new = self.progress.n_passes == 0 and self.progress.n_rows == 0
        try:
            if self.progress.n_passes >= n_passes:
                self._grow(reader, n_passes)
            while self.progress.n_passes < n_passes:
                self._is_test = self.progress.n_passes == 0
                for batch in self._ahead(reader):
                    self._learn(batch)
                if is_new and not self.observed:
                    raise NothingToLearn("Every row was left out; nothing was learned.")
                n_finished = self.progress.n_passes + 1
                after = self.progress._replace(n_passes=n_finished)
                self.progress = after if n_finished == n_passes else after.from_the_start()
        finally:
            self.signals.idle = nothing
            with self.signals.shielded():
                self._checkpoint()

    def learn_some(self, batches: Iterable[Batch], digest: RowDigest | RowSum) -> None:
        """Learn some rows, of which nobody else looks at how it goes."""
        self._digest, self._hurries = digest, False
        for batch in batches:
            self._learn(batch)

    def _grow(self, reader: Reader | ShuffledReader, n_passes: int) -> None:
        for batch in self._ahead(reader):
            if n_passes > 1:
                raise BadInput(
                    f"{batch.place(0, None)}: found more rows than in the {n_passes} passes that "
                    "are finished; expected the same. Only a single pass can go on with more rows; "
                    "--append learns other ones."
                )
            self._learn(batch)

    def _ahead(self, reader: Reader | ShuffledReader) -> Iterator[Batch]:
        """Yield what has not been learned yet, once it is clear that the rest is what was."""
        n_learned, n_read = self.progress.n_rows, 0
        self._digest = RowDigest(reader.columns, weighted=reader.weight is not None)
        for batch in reader:
            n_rows = batch.table.num_rows
            n_known = min(max(n_learned - n_read, 0), n_rows)
            n_read += n_rows
            if n_known:
                self._digest = self._digest.with_rows(batch.part(0, n_known))
                if n_read >= n_learned and self._digest.hexdigest() != self.progress.digest:
                    raise BadInput(other_rows(f"found other rows than the {n_learned:,} learned"))
            if n_known < n_rows:
                yield batch.part(n_known, n_rows)
        if n_read < n_learned:
            found = f"found {n_read:,} rows, fewer than the {n_learned:,} learned"
            raise BadInput(other_rows(found))

    def _learn(self, batch: Batch) -> None:
        start, n_rows = 0, batch.table.num_rows
        while start < n_rows:
            stop = self._end_of_step(batch, start)
            strange = self._strange(batch.labels[start:stop])
            if batch.weights is not None:
                strange &= rounded(batch.weights[start:stop]) > 0.0
            if strange.any() and not self.skip:
                stop = start + int(np.argmax(strange))
                if stop == start:
                    raise BadInput(self._problem(batch, start))
                strange = strange[: stop - start]
            for row in np.flatnonzero(strange)[: MOST_PROBLEMS - len(self.problems)]:
                self.problems.append(self._problem(batch, start + int(row)))
            with self.signals.shielded():
                self._step(batch.part(start, stop), strange)
            start = stop

    def _step(self, batch: Batch, strange: NDArray[np.bool_]) -> None:
        assert self._digest is not None
        began = perf_counter()
        digest = self._digest.with_rows(batch)
        self.progress = self._after(batch, strange)._replace(digest=digest.hexdigest())
        self._digest = digest
        seconds = perf_counter() - began
        if self._hurries and seconds > STEP_SECONDS:
            self._at_once = max(self._at_once // 2, LEAST_AT_ONCE)
        elif seconds < STEP_SECONDS / 4:
            self._at_once = min(self._at_once * 2, AT_ONCE)
        self._end_step()

    def _end_of_step(self, batch: Batch, start: int) -> int:
        """Return up to which row of a batch to learn before looking up."""
        stop: int = min(start + self._n_next(), batch.table.num_rows)
        if batch.weights is None:
            return stop
        n_visits = np.cumsum(np.ceil(batch.weights[start:stop]))
        return start + max(int((n_visits <= self._at_once).sum()), 1)

    def _n_next(self) -> int:
        """Return how many rows to learn before looking up."""
        tally, n_rows = self.progress.tally, self.progress.n_rows
        n_tested, n_learned = tally.now.n_rows, self.progress.n_learned
        steps = [
            self._at_once,
            (1 << n_tested.bit_length()) - n_tested,
            WELCOME - n_learned % WELCOME,
        ]
        if self.checkpoint_every is not None:
            steps.append(self.checkpoint_every - n_rows % self.checkpoint_every)
        return min(steps)

    def _strange(self, labels: Labels) -> NDArray[np.bool_]:
        """Whether each label is of a class that may not come any more."""
        model = self.progress.model
        if not self.progress.is_fitted:
            return ~np.isin(labels, self.classes) if self.classes else np.zeros(len(labels), bool)
        if model.takes_new_classes_ and (self.new_classes or not self._appends):
            return np.zeros(len(labels), bool)
        return ~np.isin(self._spelled(labels), class_texts(model))

    @property
    def _appends(self) -> bool:
        """Whether rows of another source have been learned before this one."""
        progress = self.progress
        return progress.n_learned + progress.n_strange > progress.n_rows

    def _spelled(self, labels: Labels) -> Labels:
        """Return labels as the model's classes are written, which mean the same."""
        if not self.progress.is_fitted:
            return labels
        return as_learned(labels, class_texts(self.progress.model), may_be_new=True)

    def _problem(self, batch: Batch, row: int) -> str:
        known = self.progress.tally.classes or self.classes
        hint = "; labels come in blocks, and --shuffle mixes them"
        in_blocks = self.progress.tally.label_order.in_blocks
        return (
            f"{batch.place(row, self.label)}: found the class {str(batch.labels[row])!r}; expected "
            f"one of {', '.join(map(repr, known))} (--new-classes lets others come at any time"
            f"{hint if in_blocks else ''})."
        )

    def _after(self, batch: Batch, strange: NDArray[np.bool_]) -> Progress:
        """Return the progress after some more rows."""
        before = self.progress
        model, tally = copy(before.model), before.tally
        table, labels, weights = batch.table, self._spelled(batch.labels), None
        left_out = strange
        if batch.weights is not None:
            weights = rounded(batch.weights)
            left_out = strange | (weights == 0.0)
            weights = weights[~left_out]
        if left_out.any():
            table, labels = table.filter(~left_out), labels[~left_out]
        n_visits = len(labels) if weights is None else int(np.ceil(weights).sum())
        if len(labels):
            self.observed.update(labels.tolist())
            # Declared in the first call; none declared: they are taken as they come.
            classes = None if before.is_fitted else list(self.classes)
            predicted = model.predict_then_learn(table, labels, classes, weights)
            if self._is_test:
                texts = class_texts(model)
                order = np.argsort(texts)
                probabilities = np.asarray(predicted.probabilities)[:, order]
                tally = tally.with_rows(labels, probabilities, texts[order])
        after = before._replace(
            model=model,
            tally=tally,
            n_rows=before.n_rows + len(strange),
            n_strange=before.n_strange + int(strange.sum()),
            n_repeated=before.n_repeated + n_visits - int((~strange).sum()),
        )
        if not self.new_classes and _may_close(after):
            model.close_classes()
        return after

    def _end_step(self) -> None:
        if not self.progress.is_fitted:  # all rows were left out so far
            return
        self.show(self.progress.tally, self.progress.model.n_awake_)
        every = self.checkpoint_every
        if every is not None and self.progress.n_rows % every == 0:
            self._checkpoint()
        else:
            self._checkpoint_if_late()

    def _checkpoint_if_late(self) -> None:
        if perf_counter() - self._saved_at > self._next:
            self._checkpoint()

    def _checkpoint(self) -> None:
        progress = self.progress
        is_new = progress.digest is not None and progress is not self._saved
        if self.save is not None and progress.is_fitted and is_new:
            began = perf_counter()
            self.save(progress)
            self._saved, self._saved_at = progress, perf_counter()
            self._next = max(SECONDS, (self._saved_at - began) / SHARE)


def other_rows(found: str) -> str:
    """Return what to say of a source that is not the one that was being learned."""
    return (
        f"This is not the source that the model was learning: {found}; expected the same rows, "
        "and perhaps more behind them, or none with --shuffle. --append learns these on top of "
        "what was learned; without --resume a new model is learned."
    )


def warm_up(model: AutoVVMClassifier | WideVVMClassifier, columns: Sequence[Column]) -> None:
    """Let kernels be compiled, or read from the cache, before rows are counted by the second.

    Of wide rows on few places, and with cuts: what compiling takes, where it has to be done, is
    given back before there is memory for all places.
    """
    from sklearn.base import clone

    from virtualvector.wide.classifier import WideVVMClassifier

    small, n_times = clone(model), 1
    if isinstance(small, WideVVMClassifier):
        n_times, n_few = FEW_ROWS, FEW_PLACES + 2 * small.buffer_size
        is_sparse = any(column.kind == "sparse" for column in columns)
        small.set_params(n_places=n_few if is_sparse else None, n_hashed=n_few)
    _learn_few(small, columns, n_times)


def warm_up_heirs(model: AutoVVMClassifier | WideVVMClassifier, columns: Sequence[Column]) -> None:
    """Do so for those that may join a committee later: a service cannot stop for them then."""
    from sklearn.base import clone

    from virtualvector.auto.classifier import AutoVVMClassifier
    from virtualvector.learners.expert import Expert

    if isinstance(model, AutoVVMClassifier) and model.experts is None:
        of_low_rank = Expert(bandwidth=1.0, margin_noise=1.0, rank=1)
        small = clone(model).set_params(experts=[of_low_rank], n_frequencies=4)
        _learn_few(small, columns, FEW_ROWS)


def _learn_few(small: Any, columns: Sequence[Column], n_times: int) -> None:
    import pyarrow as pa

    table = pa.concat_tables([two_rows(columns)] * n_times)
    compiled: list[bool] = []
    with on_first_compilation(lambda: compiled.append(True)):
        small.partial_fit(table, ["a", "b"] * n_times).predict_proba(table)
    if compiled:
        give_back_memory()


def two_rows(columns: Sequence[Column]) -> pa.Table:
    """Return a table of two rows that has such columns."""
    import pyarrow as pa

    cells: dict[Kind, pa.Array] = {
        "time": pa.array([0, 1], pa.timestamp("us")),
        "category": pa.array(["a", "b"]),
        "text": pa.array(["a", "b"]),
        "number": pa.array([0.0, 1.0]),
        "sparse": pa.array([[], [(0, 1.0)]], sparse_type()),
    }
    return pa.table({column.name: cells[column.kind] for column in columns})


def _may_close(progress: Progress) -> bool:
    model = progress.model
    return (
        progress.is_fitted
        and model.takes_new_classes_
        and progress.n_learned % WELCOME == 0
        and len(model.classes_) > 1
    )
