"""Evict the point that came first: window-EP (section 2)."""

from __future__ import annotations

from virtualvector.jit.compiled import compiled
from virtualvector.posterior.reduction.eviction import stays_proper
from virtualvector.posterior.state import POINTS, State
from virtualvector.posterior.workspace import Workspace


@compiled
def oldest(state: State, work: Workspace) -> int:
    """The oldest point that may go, or −1 if none may."""
    best = -1
    for j in range(state.counts[POINTS]):
        if (best < 0 or state.row_numbers[j] < state.row_numbers[best]) and stays_proper(
            state, j, work
        ):
            best = j
    return best
