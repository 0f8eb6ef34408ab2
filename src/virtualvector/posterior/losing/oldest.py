"""Evict the point that came first: window-EP (section 2)."""

from __future__ import annotations

from virtualvector.kernels.compiled import compiled
from virtualvector.posterior.losing.eviction import may_evict
from virtualvector.posterior.memory import Workspace
from virtualvector.posterior.state import POINTS, State


@compiled
def oldest(state: State, work: Workspace) -> int:
    """The oldest point that may go, or −1 if none may."""
    best = -1
    for j in range(state.counts[POINTS]):
        if (best < 0 or state.born[j] < state.born[best]) and may_evict(state, j, work):
            best = j
    return best
