"""Evict the point farthest from the decision boundary: the paper's simple rule (section 3.1)."""

from __future__ import annotations

from virtualvector.jit.compiled import compiled
from virtualvector.posterior.approximation import marginal
from virtualvector.posterior.reduction.eviction import may_evict
from virtualvector.posterior.state import POINTS, State
from virtualvector.posterior.workspace import Workspace


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
