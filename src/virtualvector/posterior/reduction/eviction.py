"""Eviction (section 3.1): a point goes, its site stays behind in the residual."""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.posterior.approximation import drop_point, marginal
from virtualvector.posterior.point import take_point
from virtualvector.posterior.residual.full import absorb_taken, point_product, residual_variance
from virtualvector.posterior.site import cavity
from virtualvector.posterior.state import POINTS, State
from virtualvector.posterior.workspace import Workspace

# Factors with label noise can have sites of negative precision. A residual may become a hundred
# times wider along one direction in one step, and no more. A choice is stricter: a residual that
# has become much wider, or wider than the prior, leans on the sites of the points that are left,
# which EP may take away again.
SMALLEST_GROWTH = 0.01
LEAST_GROWTH = 0.5
WIDEST = 1.5  # of the prior's variance


@compiled
def residual_growth(state: State, j: int, work: Workspace) -> float:
    """1 + τv: the residual stays proper while this is positive."""
    if state.site_precisions[j] >= 0.0:
        return 1.0
    return 1.0 + state.site_precisions[j] * residual_variance(state, j, work)


@compiled
def stays_proper(state: State, j: int, work: Workspace) -> bool:
    """Whether the residual is proper without point j, and not too much wider."""
    return residual_growth(state, j, work) > SMALLEST_GROWTH


@compiled
def may_evict(state: State, j: int, work: Workspace) -> bool:
    """Whether point j may be chosen: the residual does not become much wider without it."""
    if state.site_precisions[j] >= 0.0:
        return True
    variance = residual_variance(state, j, work)
    growth = 1.0 + state.site_precisions[j] * variance
    return growth > LEAST_GROWTH and variance < WIDEST * growth


@compiled
def safest(state: State, work: Workspace) -> int:
    """The point whose eviction leaves the residual furthest from improper.

    Where no point may go by the rule above, this one can: if absorbing each of the sites made
    r improper, all their precisions would be negative and q̃, wider still, improper too.
    """
    best, most = state.counts[POINTS] - 1, -1.0
    for j in range(state.counts[POINTS]):
        growth = residual_growth(state, j, work)
        if growth > most:
            best, most = j, growth
    return best


@compiled
def most_contradicted(state: State, work: Workspace) -> int:
    """The point whose label is least probable given everything else."""
    best, least = state.counts[POINTS] - 1, math.inf
    for j in range(state.counts[POINTS]):
        mean, variance = marginal(state, j, work)
        proper, mean, variance = cavity(
            mean, variance, state.site_precisions[j], state.site_shifts[j]
        )
        z = mean / math.sqrt(variance + state.margin_noises[j])
        if proper and z < least and may_evict(state, j, work):
            best, least = j, z
    return best


@compiled
def evict(state: State, j: int, work: Workspace) -> None:
    """R ← r·f̃ⱼ (eq. 14); q̃ does not change."""
    precision, shift = state.site_precisions[j], state.site_shifts[j]
    point_product(state, j, work)
    take_point(state, j, work)
    drop_point(state, j, work)
    absorb_taken(state, precision, shift, work)
