"""Evict the point whose factor is closest to a Gaussian: it maximises E (eq. 13)."""

from __future__ import annotations

import math

from virtualvector.kernels.compiled import compiled
from virtualvector.kernels.likelihood import clip_margin, weight_divergence
from virtualvector.posterior.losing.eviction import may_evict
from virtualvector.posterior.memory import Workspace
from virtualvector.posterior.propagation import cavity
from virtualvector.posterior.stand_in import in_margin_space, marginal
from virtualvector.posterior.state import (
    POINTS,
    SEEN_DIVERGENCE,
    SEEN_VARIANCE,
    Settings,
    State,
)


@compiled
def is_known(state: State, i: int) -> bool:
    """Whether the divergence has been measured since the stand-in was matched."""
    return (
        in_margin_space(state)
        and state.seen[i, SEEN_VARIANCE] > 0.0
        and state.seen[i, SEEN_DIVERGENCE] >= 0.0
    )


@compiled
def measure_divergences(state: State, settings: Settings, work: Workspace) -> None:
    """Write each factor's divergence from its stand-in to ``work.divergences`` (eq. 31).

    It is infinite where the cavity is improper: nobody knows what would be lost. Where a stand-in
    has been left as it was, so has this.
    """
    for i in range(state.counts[POINTS]):
        if is_known(state, i):
            work.divergences[i] = state.seen[i, SEEN_DIVERGENCE]
            continue
        mean, variance = marginal(state, i, work)
        proper, mean, variance = cavity(mean, variance, state.precisions[i], state.shifts[i])
        work.divergences[i] = math.inf
        if proper:
            z = clip_margin(mean / math.sqrt(variance + state.noises[i]))
            work.divergences[i] = weight_divergence(
                z, variance, state.noises[i], settings.label_noise
            )
            if in_margin_space(state):
                state.seen[i, SEEN_DIVERGENCE] = work.divergences[i]


@compiled
def smallest_divergence(state: State, work: Workspace) -> int:
    """The point that costs least, or −1 if none may go."""
    best, least = -1, math.inf
    for j in range(state.counts[POINTS]):
        if work.divergences[j] < least and may_evict(state, j, work):
            best, least = j, work.divergences[j]
    return best
