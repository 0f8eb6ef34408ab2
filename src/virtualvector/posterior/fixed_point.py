"""Which of several fixed points: EP's own, or the one that ADF would have gone on from.

With label noise factors are not log-concave, and EP has several fixed points. A row may bring it
from a good one to one that says the opposite. Where the margins of the points have moved far, both
outcomes are compared by the lower bound of the evidence of r ∏ fᵢ that each of them gives,

    log ∫ r ∏ fᵢ dw ≥ E log fᵢ, summed, − KL(q̃ ‖ r),

under q̃: the higher it is, the closer is q̃ to the posterior. E log f of a step is in closed form,
and with margin noise bounded by that of a step on the margin with its noise.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.normal import cdf
from virtualvector.posterior.approximation import invalidate, marginal, refresh
from virtualvector.posterior.settings import Settings, Strategy
from virtualvector.posterior.state import POINTS, State
from virtualvector.posterior.workspace import Workspace
from virtualvector.types import Array

FAR = 0.5  # in standard deviations


@compiled
def has_a_choice(settings: Settings, loses_a_point: bool) -> bool:
    """Whether to look at where EP went: where there is label noise, and points are chosen."""
    chooses = settings.buffer_size > 0 and settings.strategy != Strategy.OLDEST
    return loses_a_point and chooses and settings.label_noise > 0.0


@compiled
def save_margins(state: State, work: Workspace) -> None:
    """Remember where the margins of all points are."""
    for i in range(state.counts[POINTS]):
        work.saved_means[i], work.saved_variances[i] = marginal(state, i, work)


@compiled
def distance(state: State, work: Workspace) -> float:
    """How far the margin of any point is at most from where it was, in its deviations then."""
    largest = 0.0
    for i in range(state.counts[POINTS]):
        mean, _ = marginal(state, i, work)
        moved = mean - work.saved_means[i]
        largest = max(largest, moved * moved / work.saved_variances[i])
    return math.sqrt(largest)


@compiled
def lower_bound(state: State, work: Workspace) -> float:
    """The lower bound of log ∫ r ∏ fᵢ dw; q̃ is built anew from r and the sites."""
    bound = refresh(state, work)
    for i in range(state.counts[POINTS]):
        mean, variance = marginal(state, i, work)
        precision, shift = state.site_precisions[i], state.site_shifts[i]
        bound += 0.5 * precision * (mean * mean + variance) - shift * mean  # −E log f̃
        label_noise = state.label_noises[i]
        if label_noise > 0.0:
            z = mean / math.sqrt(variance + state.margin_noises[i])
            bound += math.log(label_noise) * cdf(-z) + math.log1p(-label_noise) * cdf(z)
    return bound


@compiled
def save_sites(state: State, precisions: Array, shifts: Array) -> None:
    """Write down what the sites are."""
    for i in range(state.counts[POINTS]):
        precisions[i] = state.site_precisions[i]
        shifts[i] = state.site_shifts[i]


@compiled
def write_sites(state: State, precisions: Array, shifts: Array) -> None:
    """Let the sites be what was written down, for a while; q̃ has to be rebuilt with `refresh`."""
    for i in range(state.counts[POINTS]):
        state.site_precisions[i] = precisions[i]
        state.site_shifts[i] = shifts[i]


@compiled
def restore_sites(state: State, precisions: Array, shifts: Array) -> None:
    """Let the sites be what was written down; q̃ has to be rebuilt with `refresh`."""
    write_sites(state, precisions, shifts)
    for i in range(state.counts[POINTS]):
        invalidate(state, i)
