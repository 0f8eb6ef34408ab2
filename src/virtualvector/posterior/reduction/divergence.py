"""Evict the point whose factor is closest to a Gaussian: it maximises E (eq. 13)."""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.likelihood import clip_margin, expected_divergence
from virtualvector.posterior.approximation import marginal
from virtualvector.posterior.reduction.eviction import may_evict
from virtualvector.posterior.site import cavity
from virtualvector.posterior.state import (
    MATCHED_DIVERGENCE,
    MATCHED_VARIANCE,
    POINTS,
    State,
    in_margin_space,
)
from virtualvector.posterior.workspace import Workspace


@compiled
def is_known(state: State, i: int) -> bool:
    """Whether the divergence has been measured since the site was matched."""
    return (
        in_margin_space(state)
        and state.matched[i, MATCHED_VARIANCE] > 0.0
        and state.matched[i, MATCHED_DIVERGENCE] >= 0.0
    )


@compiled
def measure_divergences(state: State, work: Workspace) -> None:
    """Write each factor's divergence from its site to ``work.divergences`` (eq. 31).

    It is infinite where the cavity is improper: nobody knows what would be lost. Where a site
    has been left as it was, so has this.
    """
    for i in range(state.counts[POINTS]):
        if is_known(state, i):
            work.divergences[i] = state.matched[i, MATCHED_DIVERGENCE]
            continue
        mean, variance = marginal(state, i, work)
        proper, mean, variance = cavity(
            mean, variance, state.site_precisions[i], state.site_shifts[i]
        )
        work.divergences[i] = math.inf
        if proper:
            z = clip_margin(mean / math.sqrt(variance + state.margin_noises[i]))
            work.divergences[i] = expected_divergence(
                z, variance, state.margin_noises[i], state.label_noises[i]
            )
            if in_margin_space(state):
                state.matched[i, MATCHED_DIVERGENCE] = work.divergences[i]


@compiled
def smallest_divergence(state: State, work: Workspace) -> int:
    """The point that costs least, or −1 if none may go."""
    best, least = -1, math.inf
    for j in range(state.counts[POINTS]):
        if work.divergences[j] < least and may_evict(state, j, work):
            best, least = j, work.divergences[j]
    return best
