"""Rows that a posterior is sure are not of its class, told by the mean of their margin alone.

The variance of a margin takes d² multiplications, its mean takes d. Of many classes, all posteriors
of an expert learn the same rows, and beside them is one, the reference, that learns each as of none
of the classes that came. Its variance v of every row is computed. That of another one is about cv,
with a ratio c that differs from row to row much less than v does: where it would matter, the row is
of a class that competes for it, and then all is computed. A posterior keeps the mean of its own c
over rows that it ignores although it has computed their variance, which is done now and then.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, dispatched
from virtualvector.kernels.likelihood import clip_margin
from virtualvector.kernels.triangular import dot
from virtualvector.posterior.low_rank_state import LowRankState, LowRankWorkspace
from virtualvector.posterior.residual.full import is_deferred
from virtualvector.posterior.state import POINTS, RATIO, State, in_margin_space
from virtualvector.posterior.workspace import Workspace
from virtualvector.types import Array

COMPUTED_EVERY = 32  # rows, whatever their mean says
_MEMORY = 20.0  # rows of which c is the mean, the last ones


@compiled
def likely_variance(state: State, reference: Array, leads: bool, t: int) -> float:
    """About the variance of row t, given that of the reference; 0 if nothing is known of it."""
    by_mean = not leads and reference.shape[0] > 0 and state.counts[POINTS] == 0
    return state.sums[RATIO] * reference[t] if by_mean and in_margin_space(state) else 0.0


@compiled
def margin_if_sure(mean: float, variance: float, noise: float, sure: float) -> float:
    """The standardised margin of a row if it is below ``-sure`` by such a variance, else 0."""
    z = clip_margin(mean / math.sqrt(variance + noise)) if variance > 0.0 else 0.0
    return z if z < -sure else 0.0


@dispatched
def mean_at_hand(state: State, vector: Array, work: Workspace) -> tuple[bool, float]:
    """Whether the mean takes less than all the rest, and it; no point is between rows and r."""
    if is_deferred(work):  # it has to follow first, and then the variance takes next to nothing
        return False, 0.0
    return True, dot(vector, state.mean)


@mean_at_hand.register(LowRankState)
def _(state: LowRankState, vector: Array, work: LowRankWorkspace) -> tuple[bool, float]:
    return False, 0.0


@dispatched
def note_ratio(state: State, variance: float, reference: Array, leads: bool, t: int) -> None:
    """Learn c from a row that is ignored."""
    if leads or reference.shape[0] == 0 or state.counts[POINTS] > 0 or not in_margin_space(state):
        return
    ratio, known = variance / reference[t], state.sums[RATIO]
    state.sums[RATIO] = known + (ratio - known) / _MEMORY if known > 0.0 else ratio


@note_ratio.register(LowRankState)
def _(state: LowRankState, variance: float, reference: Array, leads: bool, t: int) -> None:
    pass
