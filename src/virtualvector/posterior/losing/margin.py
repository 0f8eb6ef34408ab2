"""Evict the point farthest from the decision boundary: the paper's simple rule (section 3.1)."""

from __future__ import annotations

from virtualvector.kernels.compiled import compiled
from virtualvector.posterior.losing.eviction import may_evict
from virtualvector.posterior.memory import Workspace
from virtualvector.posterior.stand_in import marginal
from virtualvector.posterior.state import POINTS, State


@compiled
def largest_margin(state: State, work: Workspace) -> int:
    """The point with the largest |mᵀb|/√(bᵀVb) under q̃, or −1 if none may go."""
    best, largest = -1, -1.0
    for j in range(state.counts[POINTS]):
        mean, variance = marginal(state, j, work)
        squared = mean * mean / variance
        if squared > largest and may_evict(state, j, work):
            best, largest = j, squared
    return best
