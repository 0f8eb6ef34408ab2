"""Who of a committee is awake, who begins anew, and who joins: what is decided between blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from virtualvector.auto.committee import Committee
from virtualvector.learners.expert import Expert
from virtualvector.learners.one_vs_rest import OneVsRest

PATIENCE = 400  # rows that all experts have, from the start or an alarm, to show what they can
FEWEST = 0.3  # the share of experts that stay awake for good
FRESH_SHARE = 0.05  # of the weight, to those that begin
HALF_LIVES = (1_000.0, 20_000.0)  # of the forgetful twins of the best expert
TOO_MUCH = 0.9  # of the budget: who takes more can have no twin awake beside it
LARGEST_SHARE = 0.5  # of the budget, for one that grows: the others see what it does not
YOUTH = 2048  # rows in which one that has grown is spared, where decisions are far between
JOINING = 512  # calm rows before others join, and between one that sees more and the next
LATE = PATIENCE / FEWEST**2  # calm rows before one of low rank joins: nobody falls asleep any more
RANKS = (100, 50, 20)  # that it may have
PER_WEIGHT = 8  # calm rows for each weight that it will have: fewer teach it nothing
SURE = 4.0  # the evidence by which the pool has to need it afterwards: two standard deviations


def end_block(committee: Committee, may_forget: bool = True) -> Committee:
    """Decide who is awake in the next block, and whether the best one may have forgetful twins."""
    drift, alarm = committee.drift.end_block()
    of_all = committee.weights.tolist()
    weights = dict(zip(committee.experts, of_all, strict=True))
    if len(weights) < len(of_all):  # who began anew may assume the same as who was kept
        weights = dict.fromkeys(weights, 0.0)
        for expert, weight in zip(committee.experts, of_all, strict=True):
            weights[expert] += weight
    known = replace(
        committee, drift=drift, history=committee.history.with_block(committee.n_rows, weights)
    )
    if alarm:
        return _begin_anew(known)
    calm_rows = known.calm_rows
    if may_forget:
        fewer = _put_to_sleep(known, calm_rows, _best_forgetful(known))
        return _grow(_fork(fewer, calm_rows), calm_rows)
    # One more has the place of who would forget.
    return _grow(_put_to_sleep(known, calm_rows, _youngest(known), n_more=1), calm_rows)


def _begin_anew(committee: Committee) -> Committee:
    """Let all begin anew, beside the most trusted and the most trusted that forgets."""
    forgetful = _best_forgetful(committee)
    kept = sorted({_best(committee)} | (set() if forgetful is None else {forgetful}))
    n = len(committee.at_start)
    of_kept = committee.weights[kept] / committee.weights[kept].sum()
    fresh = tuple(committee.prior(expert) for expert in committee.at_start)
    return replace(
        committee,
        experts=committee.at_start + tuple(committee.experts[e] for e in kept),
        posteriors=fresh + tuple(committee.posteriors[e] for e in kept),
        weights=np.append(np.full(n, FRESH_SHARE / n), (1.0 - FRESH_SHARE) * of_kept),
        awake=np.ones(n + len(kept), bool),
        evidence=np.append(np.zeros(n), committee.evidence[kept]),
        pool=committee.pool.without(_all_but(committee, kept)).of(kept).joined(n, 0),
        calm_since=committee.n_rows,
        grown_at=committee.n_rows,
        counts=np.zeros_like(committee.counts),
    )


def _put_to_sleep(
    committee: Committee, calm_rows: float, spared: int | None, n_more: int = 0
) -> Committee:
    """Let the worst fall asleep: half of all after 1600 calm rows, seven tenths after 4400.

    One is spared: who forgets, to notice when the stream drifts away slowly; where nobody may
    forget, who has grown last. In any case the budget is kept, once all have had time to show what
    they can.
    """
    share = max(FEWEST, min(1.0, (PATIENCE / max(calm_rows, PATIENCE)) ** 0.5))
    most = max(1, int(share * len(committee.experts))) + n_more
    order = _order(committee)
    if spared is not None and spared != order[0]:
        order.remove(spared)
        order.insert(1, spared)
        most += share > FEWEST  # not at the cost of others yet
    young, failed = _on_trial(committee, order)
    kept = _affordable(committee, [e for e in order if e not in failed])[:most]
    for e in young:  # spared in the place of the last one
        others = kept[: most - 1]
        if e not in kept and committee.feature_space.budget >= sum(
            _cost(committee, each) for each in (*others, e)
        ):
            kept = [*others, e]
    if len(kept) == len(order):
        return replace(committee, weights=committee.weights / committee.weights.sum())
    awake = np.zeros_like(committee.awake)
    awake[kept] = True
    weights = np.where(awake, committee.weights, 0.0)
    pool = committee.pool.without(committee.awake & ~awake)
    return replace(committee, awake=awake, weights=weights / weights.sum(), pool=pool)


def _affordable(committee: Committee, order: list[int]) -> list[int]:
    """Return who can be awake within the budget: the first, and then whoever still fits."""
    kept, left = order[:1], committee.feature_space.budget - _cost(committee, order[0])
    for e in order[1:]:
        if (cost := _cost(committee, e)) <= left:
            kept.append(e)
            left -= cost
    return kept


def _cost(committee: Committee, e: int) -> float:
    return committee.operations_of(committee.experts[e])


def _order(committee: Committee) -> list[int]:
    """Return who is awake: whom the mix trusts most and whom the pool can spare least, in turn."""
    awake, everybody = committee.awake.tolist(), range(len(committee.experts))
    weights, importance = committee.weights.tolist(), committee.pool.importance().tolist()
    trusted = sorted(everybody, key=weights.__getitem__, reverse=True)
    needed = sorted(everybody, key=importance.__getitem__, reverse=True)
    in_turn = dict.fromkeys(e for both in zip(trusted, needed, strict=True) for e in both)
    return [e for e in in_turn if awake[e]]


def _fork(committee: Committee, calm_rows: float) -> Committee:
    """Let the best one have twins that know all it knows, and forget."""
    best = _best(committee)
    expert, posterior = committee.experts[best], committee.posteriors[best]
    if calm_rows < JOINING or expert.half_life is not None or _joined_with_rank(committee, best):
        return committee
    twins = [expert._replace(half_life=half_life) for half_life in HALF_LIVES]
    if twins[0] in committee.experts:
        return committee
    if committee.operations_of(expert) > TOO_MUCH * committee.feature_space.budget:
        return committee
    return _with_heirs(
        committee, {twin: replace(posterior, settings=twin.settings()) for twin in twins}
    )


def _grow(committee: Committee, calm_rows: float) -> Committee:
    """Let the best one have a twin that knows all it knows, and sees more from now on."""
    best = _best(committee)
    expert = committee.experts[best]
    too_soon = min(calm_rows, committee.n_rows - committee.grown_at) < JOINING
    if expert.bandwidth is None or too_soon:
        return committee
    larger = expert._replace(detail=2 * expert.detail)
    cost, budget = committee.operations_of(larger), committee.feature_space.budget
    if larger in committee.experts:
        return _grow_in_rank(committee, larger._replace(detail=2 * larger.detail), calm_rows)
    if cost > LARGEST_SHARE * budget:
        return _grow_in_rank(committee, larger, calm_rows)
    if committee.operations + cost > budget:
        return committee
    n_weights = committee.feature_space.n_weights(expert)
    n_more = committee.feature_space.n_weights(larger) - n_weights
    heir = committee.posteriors[best].with_more_weights(n_weights - 1, n_more)
    return replace(_with_heirs(committee, {larger: heir}), grown_at=committee.n_rows)


def _grow_in_rank(committee: Committee, expert: Expert, calm_rows: float) -> Committee:
    """Let an expert begin with a precision of low rank: a covariance was tried, or is too much.

    It begins with nothing, and so late that it is in nobody's way: before, what is left of the
    budget is worth more to who grows with all it knows (see docs/auto_measured.md).
    """
    chosen = any(each.rank is not None for each in committee.at_start)  # ranks, by others
    if chosen or expert.rank is not None or expert.margin_noise == 0.0:
        return committee
    n_weights = committee.feature_space.n_weights(expert)
    if calm_rows < max(_next_of_low_rank(committee), PER_WEIGHT * n_weights):
        return committee
    budget = committee.feature_space.budget
    heirs = [expert._replace(rank=rank) for rank in RANKS]
    room = min(LARGEST_SHARE * budget, budget - committee.operations)
    affordable = [heir for heir in heirs if committee.operations_of(heir) <= room]
    if not affordable or not set(committee.experts).isdisjoint(heirs):
        return committee
    heir = {affordable[0]: committee.prior(affordable[0])}
    return replace(_with_heirs(committee, heir), grown_at=committee.n_rows)


def _next_of_low_rank(committee: Committee) -> float:
    """Return after how many calm rows one may join: twice as many as when the last one did."""
    joined = any(_joined_with_rank(committee, e) for e in range(len(committee.experts)))
    return 2.0 * (committee.grown_at - committee.calm_since) if joined else LATE


def _with_heirs(committee: Committee, heirs: dict[Expert, OneVsRest]) -> Committee:
    """Let experts join, with a part of the trust in the best one, from whom most of them know."""
    best, n = _best(committee), len(heirs)
    weights = committee.weights.copy()
    weights[best] *= 1.0 - FRESH_SHARE
    return replace(
        committee,
        experts=(*committee.experts, *heirs),
        posteriors=(*committee.posteriors, *heirs.values()),
        weights=np.append(weights, np.full(n, FRESH_SHARE * committee.weights[best] / n)),
        awake=np.append(committee.awake, np.ones(n, bool)),
        evidence=np.append(committee.evidence, np.full(n, committee.evidence[best])),
        pool=committee.pool.joined(0, n),
    )


def _all_but(committee: Committee, kept: list[int]) -> NDArray[np.bool_]:
    others = np.ones(len(committee.experts), bool)
    others[kept] = False
    return others


def _best(committee: Committee) -> int:
    weights: list[float] = committee.weights.tolist()
    return weights.index(max(weights))


def _best_forgetful(committee: Committee) -> int | None:
    each = enumerate(zip(committee.experts, committee.awake.tolist(), strict=True))
    forgetful = [e for e, (expert, awake) in each if awake and expert.half_life is not None]
    return max(forgetful, key=committee.weights.tolist().__getitem__, default=None)


def _youngest(committee: Committee) -> int | None:
    """Return who has grown last, while it has not had the time to show what it can."""
    last = len(committee.experts) - 1
    is_young = committee.n_rows - committee.grown_at < YOUTH and last >= len(committee.at_start)
    return last if is_young and committee.awake[last] else None


def _on_trial(committee: Committee, order: list[int]) -> tuple[list[int], list[int]]:
    """Return who of low rank has not had the time to show what it can, and who has not shown it.

    Who has had it, and is neither trusted by the mix nor needed by the pool, would only cost: it
    takes as long for a row as all others together.
    """
    joined = [e for e in order if _joined_with_rank(committee, e)]
    if not joined or committee.n_rows - committee.grown_at < YOUTH:
        return joined, []
    needed = (committee.pool.mean > 0.0) & (committee.pool.importance() >= SURE)
    failed = (committee.weights < FRESH_SHARE) & ~needed
    return [], [e for e in joined if failed[e] and e != order[0]]


def _joined_with_rank(committee: Committee, e: int) -> bool:
    """Whether one is of low rank where nobody was at the start."""
    if committee.experts[e].rank is None:
        return False
    return all(each.rank is None for each in committee.at_start)
