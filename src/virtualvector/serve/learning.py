"""From a model and the labels of a store to the model that has learned them.

A pure function of the two: a service that ran through, one that was killed again and again, and
`vvm learn --from-store` come to the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.evaluation import Tally
from virtualvector.learners.validation import as_learned
from virtualvector.serve.monitor import Monitor, predictions_of
from virtualvector.serve.rows import Checked, RowFormat
from virtualvector.serve.store import Labelled, Store
from virtualvector.serve.texts import parsed_together
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.limits import LONGEST_LABEL
from virtualvector.types import Array
from virtualvector.values import Marks, spelled

if TYPE_CHECKING:
    from virtualvector.auto.classifier import AutoVVMClassifier
    from virtualvector.wide.classifier import WideVVMClassifier

_MARKS = Marks().of_labels
AT_ONCE = 256  # labels: not so many that two drift alarms could be raised
TOGETHER = 32  # rows of numbers that are predicted at a time: what requests that come at once have
MANY = 4  # rows for which that is quicker than one by one (measured: a committee of Spambase)


class Learned(NamedTuple):
    """A model that stays as it is, and which labels of a store it has learned."""

    model: AutoVVMClassifier | WideVVMClassifier
    tally: Tally  # of the model file
    sequence: int  # of the last label
    monitor: Monitor = Monitor()
    predicting: Callable[[Array], Array] | None = None  # rows of numbers, for one thread
    beside: Callable[[Array], Array] | None = None  # the same for all others

    @property
    def classes(self) -> list[str]:
        """The classes as texts, in the order of the model's."""
        return [each if isinstance(each, str) else spelled(each) for each in self._own.tolist()]

    @property
    def _own(self) -> NDArray[Any]:
        classes: NDArray[Any] = self.model.classes_
        return classes

    def probabilities(self, rows: Checked) -> list[dict[str, float]]:
        """Return the probability of each class for each row; for any thread."""
        table, classes = rows.table, self.classes
        if isinstance(table, np.ndarray) and self.beside is not None:
            predicted = self.beside(table).tolist()
        elif isinstance(table, np.ndarray):
            predicted = self._said_at_once(table)
        else:
            predicted = self.model.predict_proba(table).tolist()
        return [dict(zip(classes, row, strict=True)) for row in predicted]

    def said_of(self, rows: Array) -> list[list[float]]:
        """Return as much of a few rows of finite numbers; called by one thread only."""
        if not hasattr(self.model, "predict_proba_one"):
            return self._said_at_once(rows)
        if len(rows) < MANY or self.predicting is None:
            return [self.model.predict_proba_one(row).tolist() for row in rows]
        said: list[list[float]] = self.predicting(rows).tolist()
        return said

    def _said_at_once(self, rows: Array) -> list[list[float]]:
        names = self.model.feature_names_in_.tolist()
        said: list[list[float]] = self.model.predict_proba(
            dict(zip(names, rows.T, strict=True))
        ).tolist()
        return said

    def ready(self, example: Checked) -> Learned:
        """Return the same, with all made that whoever answers first would wait for."""
        if not isinstance(example.table, np.ndarray):
            self.probabilities(example)
            return self
        made = getattr(self.model, "predicting", None)  # which only committees have
        own = None if made is None else made(TOGETHER)
        now = self._replace(predicting=own)
        if made is not None and own is not None:
            own(example.table)
            now = now._replace(beside=_in_turn(made))
        now.said_of(example.table)
        return now

    def label(self, text: Any, may_be_new: bool = False) -> str:
        """Return a label as the classes are written; raise `BadInput` if it is none of them."""
        if isinstance(text, bool | int | float):
            text = spelled(text)
        classes = self.classes
        if isinstance(text, str) and 0 < len(text) <= LONGEST_LABEL and text.isprintable():
            if text in classes:
                return text
            (found,) = as_learned(np.array([text]), np.array(classes), may_be_new=True).tolist()
            is_new = text == text.strip() and text not in _MARKS
            if found in classes or (may_be_new and is_new):
                return str(found)
        other = ", or a new class" if may_be_new else ""
        known = _listed(classes)
        raise BadInput(f"label: found {_shortly(text)}; expected one of {known}{other}.")

    def after(self, rows: Sequence[Labelled], form: RowFormat) -> Learned:
        """Return what there is when some more labels have been learned, in their order."""
        table = form.table(parsed_together([row.row for row in rows], form.only_numbers))
        model = copy(self.model)
        calm = _calm_since(model)
        # As vvm learn does it: what learns single rows in place would have to be compiled, too.
        model.predict_then_learn(table, self._as_classes([row.label for row in rows]))
        after = self._replace(model=model, sequence=rows[-1].sequence, predicting=None, beside=None)
        columns, predicted = predictions_of(rows, after.classes)
        labels = np.array([row.label for row in rows])
        monitor = self.monitor.with_labels(rows, columns, predicted)
        since = _calm_since(model)
        if since != calm:
            monitor = monitor.with_alarm(after.sequence - (model.n_seen_ - since))
        return after._replace(
            tally=self.tally.with_rows(labels, predicted, columns), monitor=monitor
        )

    def _as_classes(self, labels: list[str]) -> NDArray[Any]:
        """Return texts as the labels that the model was learned with."""
        own = dict(zip(self.classes, self._own.tolist(), strict=True))
        return np.array([own.get(label, label) for label in labels], self._own.dtype)

    def caught_up(self, store: Store, form: RowFormat) -> Learned:
        """Return what there is when all labels of a store have been learned."""
        now = self
        while rows := store.labelled(now.sequence, AT_ONCE):
            now = now.after(rows, form)
        return now

    def notes(self, store: str) -> dict[str, Any]:
        """Return what a model file says about its service."""
        return {"id": store, "sequence": self.sequence, "monitor": self.monitor.as_dict()}


def _calm_since(model: AutoVVMClassifier | WideVVMClassifier) -> int:
    """Return the row since which there was no alarm; who learns texts raises none."""
    committee = getattr(model, "_committee", None)
    return 0 if committee is None else int(committee.calm_since)


def taken_up(
    model: AutoVVMClassifier | WideVVMClassifier,
    tally: Tally,
    notes: Mapping[str, Any] | None,
    sequence: int,
) -> Learned:
    """Return what a model file holds; without notes of a service it has learned no label of one."""
    if notes is None:
        learned = Learned(model, tally, sequence)
        return learned._replace(monitor=Monitor(Tally(tuple(sorted(learned.classes)))))
    try:
        return Learned(model, tally, int(notes["sequence"]), Monitor.from_dict(notes["monitor"]))
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"the notes of vvm serve in the model file are damaged: {error}.") from error


def _in_turn(made: Callable[[int], Callable[[Array], Array] | None]) -> Callable[[Array], Array]:
    """Return what predicts for several threads, one after the other; made by who comes first."""
    lock, predict = Lock(), None

    def predict_in_turn(rows: Array) -> Array:
        nonlocal predict
        with lock:
            predict = predict or made(TOGETHER)
            assert predict is not None
            return predict(rows)

    return predict_in_turn


def _shortly(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _listed(classes: Sequence[str]) -> str:
    return ", ".join(map(repr, classes[:20])) + (" …" if len(classes) > 20 else "")
