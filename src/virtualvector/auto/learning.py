"""Tables through a committee: what it says of rows, and what it learns of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import methodcaller

import numpy as np
from numpy.typing import NDArray

from virtualvector.auto.committee import BLOCK, Committee
from virtualvector.auto.first_rows import Replay
from virtualvector.auto.working import WorkingCommittee
from virtualvector.auto.workplace import opinions_of
from virtualvector.concurrency import Team
from virtualvector.jit.struct_table import StructTable
from virtualvector.kernels.opinions import Opinions, conclude_at
from virtualvector.posterior import WHOLE, ensemble, write_each_probabilities
from virtualvector.types import Array, Labels

AT_ONCE = 8 * BLOCK  # rows that are looked at before they are predicted; bounds the memory
NO_REPLAYS: Mapping[int, Replay] = {}


def predict(committee: Committee, inputs: Array) -> Array:
    """Return the mixed probability of each class; a row's does not depend on other rows."""
    if len(committee.classes) == 1:  # there is nothing to ask
        return np.ones((len(inputs), 1))
    room = committee.feature_space.n_inputs
    n_used = _inputs_used(inputs, room)
    if not n_used.any():
        return _predict(committee, inputs)
    predicted = np.zeros((len(inputs), len(committee.classes)))
    rooms = [committee.feature_space.wider(n).n_inputs for n in n_used.tolist()]
    for n_inputs in set(rooms):
        rows = np.flatnonzero(np.array(rooms) == n_inputs)
        predicted[rows] = _predict(committee.wide_enough(n_inputs), inputs[rows])
    return predicted


def _predict(committee: Committee, inputs: Array) -> Array:
    """Do so where there is room for the inputs of all rows."""
    return Panel(committee, min(len(inputs), AT_ONCE)).predict(inputs)


class Panel:
    """Those experts of a committee who are awake, asked time and again, in memory made once.

    Not for several threads at once.

    Parameters
    ----------
    committee : Committee
        It stays as it is.
    n_rows : int
        There is room for; more are taken one part after the other.
    """

    def __init__(self, committee: Committee, n_rows: int) -> None:
        awake: list[int] = np.flatnonzero(committee.awake).tolist()
        views = [committee.view(e) for e in awake]
        self._n_rows, self._n_classes = n_rows, len(committee.classes)
        self._views = committee.feature_space.views(views, n_rows)
        self._opinions = opinions_of(committee, n_rows)
        self._rows = [self._views.rows[view] for view in views]
        posteriors = [committee.posteriors[e] for e in awake]
        self._noises = [each.settings.label_noise for each in posteriors]
        self._predictors = [
            each.predictors(rows) for each, rows in zip(posteriors, self._rows, strict=True)
        ]
        self._of_opinions = StructTable(self._opinions)
        self._table = self._for_all()

    def _for_all(self) -> StructTable | None:
        """Return what one kernel needs for all experts; None if that cannot do it."""
        addresses = [[each.address for each in of_expert] for of_expert in self._predictors]
        if any(None in of_expert for of_expert in addresses):
            return None
        places = np.array(addresses, np.int64)
        n_margins = places.shape[1]
        room = np.zeros((n_margins, self._n_rows)), np.zeros(n_margins)
        table = ensemble.Panel(
            self._views.table, self._opinions, places, np.array(self._noises), *room
        )
        return StructTable(table)

    def predict(self, inputs: Array) -> Array:
        """Return the mixed probability of each class, for rows whose inputs have room."""
        n, views = self._n_rows, self._views
        width = min(inputs.shape[1], views.inputs.shape[1])
        predicted = np.empty((len(inputs), self._n_classes))
        for start in range(0, len(inputs), n):
            some = inputs[start : start + n, :width]
            size = len(some)
            views.inputs[:size, :width] = some
            if self._table is None or not ensemble.predict_rows(self._table.address, size):
                self._ask_each(size)
            predicted[start : start + size] = self._opinions.predicted[:size]
        return predicted

    def _ask_each(self, n_rows: int) -> None:
        """Write what is said of the first rows: some experts have to do more than predict."""
        self._views.look(n_rows)
        for e, predictors in enumerate(self._predictors):
            rows = self._rows[e][:n_rows]
            margins = np.array([predictor.margins(rows) for predictor in predictors])
            out = self._opinions.of_experts[e, :n_rows]
            write_each_probabilities(np.ascontiguousarray(margins.T), self._noises[e], out)
        conclude_at(self._of_opinions.address, n_rows, False)


def learn(
    working: WorkingCommittee,
    inputs: Array,
    labels: Labels,
    team: Team,
    powers: Array = WHOLE,
    listen: Callable[[Opinions, int, Array], None] | None = None,
    replays: Mapping[int, Replay] = NO_REPLAYS,
) -> Array:
    """Learn rows; return what was said of each before, one column per class.

    Of a row that is the first of its class, what is said is about the classes known before it:
    a class has probability 0 until it is known. Decisions fall after certain numbers of rows,
    however the stream is cut into calls. Of a row with a power, all likelihoods are raised to
    it; it is one row all the same. If someone is to ``listen``, they hear what is said of some
    rows at a time. After some numbers of rows all experts begin anew with ``replays`` of those so
    far.
    """
    may_be_new, known = working.committee.takes_new_classes, working.classes
    classes = np.union1d(known, labels) if may_be_new else known
    predicted = np.zeros((len(inputs), len(classes)))
    n_used = np.maximum.accumulate(_inputs_used(inputs, working.committee.feature_space.n_inputs))
    stops = sorted({0, *_stops(working, labels, n_used), *replays})
    for start, stop, later in zip(stops, stops[1:], [*stops[2:], len(inputs)], strict=False):
        rows, following = slice(start, stop), slice(stop, stop if stop in replays else later)
        if n_used[start] > working.inputs.shape[1]:
            working.become(methodcaller("wide_enough", n_used[start]))
        new = labels[start : start + 1]
        is_new = may_be_new and not np.isin(new[0], known)
        before = working.known if is_new else None
        if before is not None:
            of_known = predict(before, inputs[start : start + 1]) if len(known) else None
            working.become(methodcaller("welcome", new))
        at = np.searchsorted(classes, working.classes) if may_be_new else slice(None)
        predicted[rows, at] = working.learn(
            inputs[rows], labels[rows], powers[rows], team, inputs[following]
        )
        if listen is not None:
            listen(working.opinions, stop - start, powers[rows])
        if before is not None:
            predicted[start] = 0.0
            if of_known is not None:
                predicted[start, np.searchsorted(classes, known)] = of_known[0]
            known = np.union1d(known, new) if len(known) else new
        if stop in replays:
            working.replay(replays[stop], team)
    return predicted


def _stops(working: WorkingCommittee, labels: Labels, n_used: NDArray[np.int64]) -> list[int]:
    """Return where blocks end, and where a new class or more inputs than expected come next."""
    n = len(labels)
    stops = set(range(BLOCK - working.n_rows % BLOCK, n, BLOCK)) | {n}
    if working.committee.takes_new_classes:
        values, first = np.unique(labels, return_index=True)
        stops |= {int(f) for f in first[~np.isin(values, working.classes)] if f > 0}
    feature_space = working.committee.feature_space
    for row in np.flatnonzero(np.diff(n_used)) + 1:
        if n_used[row] > feature_space.n_inputs:
            feature_space = feature_space.wider(n_used[row])
            stops.add(int(row))
    return sorted(stops)


def _inputs_used(inputs: Array, room: int) -> NDArray[np.int64]:
    """Return how many inputs each row has; 0 where there is room for them anyway."""
    used = np.arange(room + 1, inputs.shape[1] + 1)
    n_used: NDArray[np.int64] = ((inputs[:, room:] != 0.0) * used).max(axis=1, initial=0)
    return n_used
