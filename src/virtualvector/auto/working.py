"""A committee at work: the memory of its experts stays where it is while they learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from virtualvector.auto.committee import BLOCK, Committee
from virtualvector.auto.decisions import end_block
from virtualvector.auto.first_rows import FirstRows, Replay
from virtualvector.auto.history import History, HistoryEntry
from virtualvector.auto.views import Views
from virtualvector.auto.workplace import ROOM, Workplace
from virtualvector.concurrency import ALONE, Team
from virtualvector.kernels.opinions import Opinions
from virtualvector.kernels.views import PARTS
from virtualvector.learners.log_pool import Pool
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior import Engine, State, copied_for_later, copy_state
from virtualvector.posterior.ensemble import (
    BEFORE,
    LEARNED,
    LEARNED_ROW,
    NO_NUMBERS,
    TURN,
    UNDER_WAY,
    Numbers,
    begin_rows,
    end_rows,
)
from virtualvector.posterior.low_rank_state import sparse_rows
from virtualvector.types import Array, Labels

NOTHING = np.zeros((0, 0))
Engines = dict[int, list[Engine]]  # those of each posterior, by its identity


class WorkingCommittee:
    """A committee that learns rows in place; not for several threads at once.

    Parameters
    ----------
    committee : Committee
        What is known; it stays as it is.
    numbers : Numbers
        Where single rows and the scales of their columns are, if inputs are made of them here.
    decides : bool
        Whether it is decided after every block who is awake.
    ahead : bool
        Whether there is room for the next rows, too, so that threads can look at them.
    """

    def __init__(
        self, committee: Committee, numbers: Numbers = NO_NUMBERS, decides: bool = True,
        ahead: bool = False,
    ) -> None:  # fmt: skip
        self.numbers, self._decides = numbers, decides
        self._at = self._placed(committee, np.ones(ROOM if ahead else BLOCK), {})
        # Where the next rows have been looked at, and in what, if so.
        self._looked_at: tuple[int, Views] | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows learned."""
        return self._at.n_rows

    @property
    def classes(self) -> Labels:
        """The classes known so far."""
        return self._at.committee.classes

    @property
    def committee(self) -> Committee:
        """Who they are; what they know, and how much each is trusted, may be of earlier rows."""
        return self._at.committee

    @property
    def inputs(self) -> Array:
        """Where the inputs of rows are written to."""
        return self._at.views.inputs

    @property
    def opinions(self) -> Opinions:
        """What was said of the last rows."""
        return self._at.opinions

    @property
    def known(self) -> Committee:
        """What has been learned; it is used up when more is."""
        return self._known()[0]

    def copied_for_later(self) -> Callable[[], Committee]:
        """Copy what has been learned; return what makes a committee of the copy."""
        trusted, engines = self._trusted(), self._at.engines
        copies = [[copied_for_later(each.state) for each in of_expert] for of_expert in engines]
        return lambda: _who_knows(trusted, [[later() for later in of] for of in copies])

    def learn(
        self, inputs: Array, labels: Labels, powers: Array, team: Team, following: Array = NOTHING
    ) -> Array:
        """Learn up to a block of rows of known classes; return what was said of them before.

        Those ``following`` are looked at meanwhile, if there are threads for both; they have to be
        the next to be learned. If that is interrupted, some experts may have learned what others
        have not.
        """
        n = len(inputs)
        start = self._learn_apart(inputs, labels, powers, team, following)
        end_rows(self._at.address, start, n)
        said = self._at.opinions.predicted[:n]
        self._at.opinions.powers[:n] = self._at.powers[start : start + n] = 1.0
        self.settle()
        return said

    def look_ahead(self) -> None:
        """Make room for the next rows, too; threads look at them while others are learned."""
        if len(self._at.powers) < ROOM:
            self._looked_at = None
            self._at = self._placed(self.known, np.ones(ROOM), {})

    def keep(self, rows: FirstRows | None) -> None:
        """Keep the rows so far, which are to be replayed; or none any more."""
        self._at.committee = replace(self._at.committee, first_rows=rows)

    def replay(self, rows: Replay, team: Team) -> None:
        """Let all experts begin anew with rows that came before; whom to trust stays as it was.

        If that is interrupted, it has to be done again.
        """
        self._at.readdress()  # of who has more room since it was interrupted
        self._looked_at = None
        self._learn_apart(*rows, team, anew=True)
        self._at.powers[:] = self._at.opinions.powers[:] = 1.0

    def _learn_apart(
        self, inputs: Array, labels: Labels, powers: Array, team: Team, following: Array = NOTHING,
        anew: bool = False,
    ) -> int:  # fmt: skip
        """Let each expert learn rows; nothing is made of what they say. Return where these are."""
        team.finish()  # with looking at these rows
        at, n = self._at, len(inputs)
        n_ahead = len(following) if len(at.powers) == ROOM else 0
        start, seen_in = self._looked_at or (0, None)
        if seen_in is not at.views:
            start = 0
            looking = at.who_looks(team, n)
            looking.do(at.looks(inputs, 0, 1 if looking is ALONE else PARTS))
        self._looked_at = None
        at.opinions.observed[:n] = np.searchsorted(at.committee.classes, labels)
        if len(powers):
            at.opinions.powers[:n] = at.powers[start : start + n] = powers
        begin_rows(at.address, start, n)
        engines = at.longest_first
        tasks = [partial(each.learn_anew if anew else each.learn, n, start) for each in engines]
        learning = at.who_learns(team, n, n_ahead)
        ahead = BLOCK - start
        looks_ahead = n_ahead > 0 and learning is not ALONE
        learning.do(tasks, at.looks(following, ahead, PARTS) if looks_ahead else ())
        at.readdress()
        if looks_ahead:
            self._looked_at = ahead, at.views
        return start

    def learn_row(self) -> bool:
        """Learn the row that was written; if that was interrupted, go on with it.

        Its inputs, or the numbers they are made of, and what was observed, have to be there.
        Returns whether it was learned; not if a number is infinite.
        """
        at = self._at
        learn_one, address = at.learn_one, at.address_of_row
        g = learn_one(address)
        while g >= 0:
            each = at.all[g]
            each.finish_row(at.progress[BEFORE])
            at.addresses[g] = each.address
            at.progress[TURN] = g + 1
            g = learn_one(address)
        if at.progress[LEARNED] % BLOCK == 0:
            self.settle()
        return bool(g == LEARNED_ROW)

    def observe(self, place: int) -> None:
        """Write down of which class the row is that is to be learned."""
        self._at.opinions.observed[0] = place

    def predict_row(self) -> Array | None:
        """Return what is said of the row that was written; None if that takes more than a row."""
        at = self._at
        return at.opinions.predicted[0].copy() if at.predict_one(at.address_of_row) else None

    def settle(self) -> None:
        """Do what is left to do: the row under way, and decisions at the end of a block."""
        if self._at.progress[UNDER_WAY]:
            self.learn_row()
        at = self._at
        may_decide = self._decides and not at.committee.alone
        if not may_decide or at.n_rows % BLOCK or at.decided == at.n_rows:
            return
        # What experts know does not count, unless who is awake changes.
        if at.due is None:
            at.due = end_block(self._trusted())
        if at.is_place_of(at.due):
            at.trust(at.due)
        else:
            self.become(end_block)

    def become(self, change: Callable[[Committee], Committee]) -> None:
        """Change the committee in one step; whom the change leaves as they are stay in place."""
        known, engines = self._known()
        self._at = self._placed(change(known), self._at.powers, engines)

    def _trusted(self) -> Committee:
        """Return what has been learned of whom to trust; who was trusted may know more by now."""
        at, awake = self._at, self._at.awake
        weights, evidence = at.committee.weights.copy(), at.committee.evidence.copy()
        weights[awake], evidence[awake] = at.opinions.weights, at.opinions.evidence
        pool = Pool(at.opinions.exponents, at.opinions.covariance)
        excess, variance = at.opinions.tally.tolist()
        history = at.committee.history
        if at.committee.alone and at.n_rows:
            certain = HistoryEntry(at.n_rows, dict.fromkeys(at.committee.experts, 1.0))
            history = History((certain,))
        return replace(
            at.committee,
            weights=weights,
            evidence=evidence,
            pool=at.committee.pool.updated(awake, pool),
            corrections=at.opinions.corrections.copy(),
            recalibration=at.opinions.recalibration.copy(),
            counts=at.opinions.counts.copy(),
            drift=at.committee.drift._replace(excess=excess, variance=variance),
            history=history,
            n_rows=at.n_rows,
        )

    def _known(self) -> tuple[Committee, Engines]:
        """Return what has been learned, and who learns each of its posteriors."""
        states = [[each.state for each in of_expert] for of_expert in self._at.engines]
        known = _who_knows(self._trusted(), states)
        awake = np.flatnonzero(known.awake).tolist()
        each = zip(awake, self._at.engines, strict=True)
        return known, {id(known.posteriors[e]): of_expert for e, of_expert in each}

    def _placed(
        self, committee: Committee, powers: Array, engines: Mapping[int, list[Engine]]
    ) -> Workplace:
        before = self._at if engines else None
        awake: list[int] = np.flatnonzero(committee.awake).tolist()
        chosen = dict.fromkeys(committee.view(e) for e in awake)
        same = before is not None and (
            before.committee.feature_space == committee.feature_space
            and chosen.keys() == before.views.rows.keys()
        )
        views = (
            before.views
            if same and before is not None
            else committee.feature_space.views(chosen, len(powers))
        )
        of_experts = []
        for e in awake:
            posterior, rows = committee.posteriors[e], views.rows[committee.view(e)]
            if posterior.settings.rank >= 0:
                rows = sparse_rows(rows)  # all classes share its places, as large as the rows
            kept = engines.get(id(posterior))
            if kept is None:
                states = [copy_state(state) for state in _states(posterior)]
                how, sure = posterior.settings, committee.sure
                kept = [
                    Engine(state, how, rows, np.ones(len(powers)), powers, sure, alone=False)
                    for state in states
                ]
            elif not same:
                kept = [each.moved(rows) for each in kept]
            of_experts.append(kept)
        return Workplace(committee, views, of_experts, self.numbers, powers)


def _states(posterior: OneVsRest) -> list[State]:
    """Return the states that learn, each once: of one class there is no more than of none."""
    unseen = [] if posterior.unseen is None else [posterior.unseen]
    return (
        (unseen or [*posterior.states])
        if len(posterior.classes) < 2
        else [*posterior.states, *unseen]
    )


def _who_knows(committee: Committee, states: list[list[State]]) -> Committee:
    """Return a committee whose experts, as far as they are awake, have learned what states say."""
    posteriors = list(committee.posteriors)
    for e, of_expert in zip(np.flatnonzero(committee.awake), states, strict=True):
        posteriors[e] = _with_states(posteriors[e], of_expert)
    return replace(committee, posteriors=tuple(posteriors))


def _with_states(posterior: OneVsRest, states: list[State]) -> OneVsRest:
    is_open = posterior.unseen is not None
    if len(posterior.classes) < 2:
        return posterior.with_states(tuple(states), states[0] if is_open else None)
    unseen = states[-1] if is_open else None
    return posterior.with_states(tuple(states[:-1] if is_open else states), unseen)
