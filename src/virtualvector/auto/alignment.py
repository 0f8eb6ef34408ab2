"""Committees that have come to differ in who there is, brought to the same experts.

While committees learn apart, some of their experts fall asleep, the best one grows, and it gets
twins that forget. Before such committees are multiplied each gets all experts that there are in
one of them: of those that it lacks, it knows what the one knows from whom they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from virtualvector.auto.committee import Committee
from virtualvector.auto.decisions import FRESH_SHARE
from virtualvector.auto.feature_space import FeatureSpace
from virtualvector.learners.expert import Expert
from virtualvector.learners.log_pool import Pool
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior.low_rank_state import LowRankState
from virtualvector.posterior.permutation import permuted


def some_of(committee: Committee, kept: list[int]) -> Committee:
    """Return a committee of some of its experts."""
    weights = committee.weights[kept]
    return replace(
        committee,
        experts=tuple(committee.experts[e] for e in kept),
        posteriors=tuple(committee.posteriors[e] for e in kept),
        weights=weights if committee.alone else weights / weights.sum(),
        awake=committee.awake[kept],
        evidence=committee.evidence[kept],
        pool=committee.pool.of(kept),
    )


def without_forgetful(committee: Committee) -> Committee:
    """Return a committee without experts that forget; who they came from gets their part."""
    if any(expert.half_life is not None for expert in committee.at_start):
        raise ValueError(
            "found experts with a half-life; expected none: what each has forgotten of what all "
            "have in common cannot be put together"
        )
    forgetful = np.array([expert.half_life is not None for expert in committee.experts])
    if not forgetful.any():
        return committee
    weights = committee.weights.copy()
    places = {expert: e for e, expert in enumerate(committee.experts) if committee.awake[e]}
    for e in np.flatnonzero(forgetful & committee.awake):
        origin = places.get(committee.experts[e]._replace(half_life=None))
        if origin is not None:
            weights[origin] += weights[e]
    kept = np.flatnonzero(~forgetful).tolist()
    if not np.any(weights[kept] > 0.0):
        raise ValueError("found only experts awake that forget; expected another one")
    pool = committee.pool.without(forgetful)
    return some_of(replace(committee, weights=weights, pool=pool), kept)


def heirs(committees: Sequence[Committee]) -> tuple[Expert, ...]:
    """Return the experts of all: those of the first one, and whoever has grown elsewhere."""
    first = committees[0].experts
    grown = {expert for each in committees for expert in each.experts}.difference(first)
    of_age = sorted(grown, key=lambda each: (first.index(_origin(each, first)), each.detail))
    return (*first, *of_age)


def aligned(committee: Committee, experts: Sequence[Expert], n_inputs: int) -> Committee:
    """Return a committee of experts that has room for so many inputs; whoever it lacks is asleep.

    The first of them have to be its own first ones, too.
    """
    own = committee.experts
    # Who began anew may assume the same as who was kept: then the place tells them apart.
    there = {expert: e for e, expert in enumerate(own)}
    sources = [
        e if own[e : e + 1] == (expert,) else there.get(expert, -1)
        for e, expert in enumerate(experts)
    ]
    origins = [
        e if e >= 0 else there[_origin(expert, own)]
        for e, expert in zip(sources, experts, strict=True)
    ]
    has = np.array(sources) >= 0
    kept = [e for e in sources if e >= 0]
    n = len(experts)
    wide = committee.feature_space._replace(n_inputs=n_inputs)
    return replace(
        committee,
        feature_space=wide,
        experts=tuple(experts),
        posteriors=tuple(
            _grown(committee, e, expert, wide) for e, expert in zip(origins, experts, strict=True)
        ),
        weights=np.where(has, 1.0, FRESH_SHARE) * committee.weights[origins],
        awake=has & committee.awake[origins],
        evidence=committee.evidence[origins],
        pool=Pool(np.zeros(n), np.zeros((n, n))).updated(
            np.flatnonzero(has).tolist(), committee.pool.of(kept)
        ),
    )


def reordered(committee: Committee, start: Committee, places: Sequence[int]) -> Committee:
    """Return a committee whose input k is at ``places[k]``; both have the same experts.

    Exact for who has a weight for each category and sees nothing else of it. Others, who see it by
    frequencies that go by its place, know what they knew at the start (`sees_by_place`).
    """
    order = np.full(committee.feature_space.n_inputs, -1)
    order[list(places)] = range(len(places))
    order[order < 0] = range(len(places), len(order))  # of which nothing is known

    def moved(e: int) -> OneVsRest:
        posterior, expert = committee.posteriors[e], committee.experts[e]
        if sees_by_place(posterior, expert):
            return start.posteriors[e]
        linear, _ = committee.feature_space.linear_part(expert)
        of_all = np.arange(len(posterior.states[0].mean))
        of_all[linear] = linear.start + order
        return posterior.each(lambda state: permuted(state, of_all.tolist()))

    return replace(committee, posteriors=tuple(map(moved, range(len(committee.experts)))))


def sees_by_place(posterior: OneVsRest, expert: Expert) -> bool:
    """Whether what an expert knows of a category cannot be made over to another place."""
    is_low_rank = isinstance(posterior.states[0], LowRankState)
    return is_low_rank or (expert.bandwidth is not None and expert.columns != 1)


def _origin(expert: Expert, among: Sequence[Expert]) -> Expert:
    """Return the expert that one has grown from; maybe one that has no rank."""
    for rank in (expert.rank, None):
        origin = expert._replace(rank=rank)
        while origin not in among and origin.detail > 1:
            origin = origin._replace(detail=origin.detail // 2)
        if origin in among:
            break
    return origin


def _grown(committee: Committee, e: int, expert: Expert, wide: FeatureSpace) -> OneVsRest:
    """Return what an expert would know that has grown from another one, with room for more inputs.

    As if all rows had had zeros there; so it is for who slept when inputs came. Who has a rank that
    the other one has not begins with nothing.
    """
    posterior, own = committee.posteriors[e], committee.experts[e]
    if own.rank != expert.rank:
        return replace(committee, feature_space=wide).prior(expert)
    n_weights, n_there = wide.n_weights(own), len(posterior.states[0].mean)
    if n_there < n_weights:
        behind = wide.linear_part(own)[0].stop - (n_weights - n_there)
        posterior = posterior.with_more_weights(behind, n_weights - n_there)
    n_more = wide.n_weights(expert) - n_weights
    return posterior.with_more_weights(n_weights - 1, n_more) if n_more else posterior
