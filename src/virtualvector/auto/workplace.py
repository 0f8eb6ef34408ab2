"""Where a committee works between two decisions: its engines, and what they share."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from virtualvector.auto.committee import BLOCK, Committee
from virtualvector.auto.views import Views
from virtualvector.concurrency import ALONE, Team, computed_once
from virtualvector.jit.compiled import entry
from virtualvector.jit.struct_table import StructTable
from virtualvector.kernels.mixing import SHARE
from virtualvector.kernels.opinions import Opinions, opinions_for
from virtualvector.kernels.views import PARTS
from virtualvector.posterior import Engine
from virtualvector.posterior.ensemble import (
    LEARNED,
    Ensemble,
    MixedAddress,
    Numbers,
    learn_one_row,
    look_at_rows,
    predict_one_row,
)
from virtualvector.types import Array

ROOM = 2 * BLOCK  # rows: those that are learned, and the next ones, which are looked at meanwhile
# To wake a thread and to wait for it takes as long as so many multiplications. It is counted and
# not measured: bits are the same either way, but what is done by whom should not depend on chance.
WAKING = 2e6


def opinions_of(committee: Committee, n_rows: int) -> Opinions:
    """Return room for what a committee says of rows, and its trust, in memory of its own."""
    awake = np.flatnonzero(committee.awake)
    return opinions_for(
        n_rows,
        len(committee.classes),
        0.0 if committee.alone else SHARE,
        committee.weights[awake],
        committee.evidence[awake],
        *committee.pool.of(awake.tolist()),
        committee.corrections.copy(),
        np.array([committee.drift.excess, committee.drift.variance]),
        committee.counts.copy(),
        committee.recalibration.copy(),
    )


class Workplace:
    """All that a committee works with between two decisions; exchanged in one step."""

    def __init__(
        self, committee: Committee, views: Views, engines: list[list[Engine]], numbers: Numbers,
        powers: Array,
    ) -> None:  # fmt: skip
        self.committee, self.views, self.engines, self.powers = committee, views, engines, powers
        self.awake: list[int] = np.flatnonzero(committee.awake).tolist()
        self.all = [each for of_expert in engines for each in of_expert]
        # Side by side, who takes longest begins: else all would wait for who comes last.
        space = committee.feature_space
        costs = [space.operations(committee.experts[e], 1) for e in self.awake]
        order = np.argsort(np.negative(costs), kind="stable").tolist()
        self.longest_first = [each for e in order for each in engines[e]]
        self.costs = [costs[e] for e in order for _ in engines[e]]  # multiplications per row
        self.opinions = opinions_of(committee, BLOCK)
        n_classes = len(committee.classes)
        positives = [1] if n_classes == 2 else list(range(n_classes)) if n_classes > 2 else []
        if committee.takes_new_classes or n_classes < 2:
            positives.append(-1)
        progress = np.array([0, 0, 0, 0, committee.n_rows, 0])
        self.progress: Any = progress.data  # Python reads it faster than an array
        self.addresses = np.array([each.address for each in self.all], np.int64)
        table = Ensemble(
            numbers=numbers,
            sight=views.table,
            opinions=self.opinions,
            posteriors=self.addresses,
            of_low_rank=np.array([each.is_of_low_rank for each in self.all], np.int64),
            positives=np.array(positives * len(engines), np.int64),
            firsts=np.arange(len(engines) + 1) * len(positives),
            margins=np.zeros(n_classes if n_classes > 2 else 1),
            progress=progress,
        )
        self._table = StructTable(table)
        self.address = self._table.address
        some_of_low_rank = any(each.is_of_low_rank for each in self.all)
        # Single rows are learned and predicted by one kernel for posteriors of all kinds.
        self._kind: type = MixedAddress if some_of_low_rank else int
        self.address_of_row: Any = self._kind(self.address)
        self.decided = committee.n_rows  # rows after which it was decided who is awake
        self.due: Committee | None = None  # what was decided then, until it is done

    @computed_once
    def learn_one(self) -> Any:
        """What learns a row; compiled when first used."""
        return entry(learn_one_row, self._kind)

    @computed_once
    def predict_one(self) -> Any:
        """What predicts a row."""
        return entry(predict_one_row, self._kind)

    def is_place_of(self, committee: Committee) -> bool:
        """Whether a committee that this one has become differs in nothing but trust."""
        mine = self.committee
        return committee.experts is mine.experts and committee.awake is mine.awake

    def trust(self, due: Committee) -> None:
        """Trust as was decided; if that is interrupted, it can be done again."""
        self.opinions.weights[:] = due.weights[self.awake]
        self.opinions.tally[:] = due.drift.excess, due.drift.variance
        self.committee, self.decided = due, due.n_rows
        self.due = None

    @property
    def n_rows(self) -> int:
        """The number of rows learned."""
        n_rows: int = self.progress[LEARNED]
        return n_rows

    def readdress(self) -> None:
        """Follow engines that have moved to where there is more room."""
        self.addresses[:] = [each.address for each in self.all]

    def looks(self, inputs: Array, start: int, n_parts: int) -> list[partial[None]]:
        """Write inputs of rows from a place on; return tasks that look at them, in some parts."""
        n = len(inputs)
        rows = self.views.inputs[start : start + n]
        width = min(rows.shape[1], inputs.shape[1])
        rows[:, :width], rows[:, width:] = inputs[:, :width], 0.0
        n_parts = n_parts if n > 2 * PARTS else 1
        edges = [start + n * part // n_parts for part in range(n_parts + 1)]
        looks = zip(edges[:-1], edges[1:], range(n_parts), strict=True)
        return [partial(self._look, *look) for look in looks]

    def _look(self, start: int, stop: int, part: int) -> None:
        """Do so; threads that are late keep what they work on."""
        look_at_rows(self.address, start, stop, part)

    def who_learns(self, team: Team, n_rows: int, n_ahead: int) -> Team:
        """Return the team, if it pays to learn rows side by side, and to look at the next ones."""
        if team.n_threads == 1:
            return ALONE
        looks = [self.views.operations * n_ahead / PARTS] * PARTS
        return _at_work(team, [*(cost * n_rows for cost in self.costs), *looks])

    def who_looks(self, team: Team, n_rows: int) -> Team:
        """Return the team, if it pays to look at rows side by side."""
        return _at_work(team, [self.views.operations * n_rows / PARTS] * PARTS)


def _at_work(team: Team, costs: list[float]) -> Team:
    """Return a team if threads save more than it takes to wake them, else one that is alone.

    Examples
    --------
    >>> from virtualvector.auto.workplace import _at_work
    >>> from virtualvector.concurrency import Team
    >>> two = Team(2)
    >>> [_at_work(two, costs) is two for costs in ([9e6, 9e6], [9e6, 1e6], [1e6, 1e6, 1e6])]
    [True, False, False]
    """
    if team.n_threads == 1:
        return ALONE
    taken = [0.0] * team.n_threads
    for cost in costs:  # by whoever is the first to be done with those before
        taken[taken.index(min(taken))] += cost
    return team if sum(costs) - max(taken) > WAKING else ALONE
