"""Merging (section 3.2): two close points become one, and a Gaussian g joins the residual.

The pair's exact moments (eq. 17, left) are those of the merged factor times a Gaussian (eq. 17,
right), which inverse ADF finds. Everything is done along the two margins (u₁, u₂); no 2×2 matrix of
theirs is inverted, because repeated rows make it singular.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from virtualvector.kernels.compiled import part
from virtualvector.kernels.inverse_adf import inverse_adf
from virtualvector.kernels.likelihood import divergence, matched_site
from virtualvector.kernels.pair import pair_slopes
from virtualvector.posterior.losing.eviction import SMALLEST_GROWTH
from virtualvector.posterior.residual import absorb
from virtualvector.posterior.stand_in import (
    covariance,
    extend,
    forget,
    marginal,
    refresh,
    residual_covariance,
    residual_variance,
)
from virtualvector.posterior.state import Settings, State, Workspace

_SMALLEST_ROOM = 1e-10


class Merge(NamedTuple):
    """Two points, the one that would replace them, and the correction g of the residual.

    In the eigenbasis of its 2×2 precision matrix over (u₁, u₂), g is a product of two factors of one
    margin each; the one with the larger precision comes first.
    """

    cost: float  # divergence lost: D₁ + D₂ − D′
    first: int
    second: int
    scale: float  # b′ = scale·(b₁ + b₂)
    noise: float
    precision: float  # of the stand-in of b′
    shift: float
    cosine: float
    sine: float
    precision1: float  # of g along cosine·b₁ + sine·b₂
    shift1: float
    precision2: float  # of g along −sine·b₁ + cosine·b₂
    shift2: float


@part
def remember_distances(state: State, n: int) -> None:
    """Write the squared distances of point n to all others."""
    for i in range(n):
        total = 0.0
        for k in range(state.points.shape[1]):
            difference = state.points[i, k] - state.points[n, k]
            total += difference * difference
        state.distances[n, i] = total
        state.distances[i, n] = total


@part
def find_closest_pairs(state: State, settings: Settings, work: Workspace) -> int:
    """Write the k closest pairs to ``work.pairs``, closest first; return how many there are."""
    found = 0
    most = settings.merge_pairs
    for i in range(state.counts[0]):
        for j in range(i):
            distance = state.distances[i, j]
            if found == most and distance >= work.pair_distances[most - 1]:
                continue
            place = min(found, most - 1)
            while place > 0 and work.pair_distances[place - 1] > distance:
                work.pair_distances[place] = work.pair_distances[place - 1]
                work.pairs[place, 0] = work.pairs[place - 1, 0]
                work.pairs[place, 1] = work.pairs[place - 1, 1]
                place -= 1
            work.pair_distances[place] = distance
            work.pairs[place, 0] = i
            work.pairs[place, 1] = j
            found = min(found + 1, most)
    return found


@part
def no_merge() -> Merge:
    """A candidate that never wins."""
    return Merge(math.inf, -1, -1, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@part
def propose(state: State, settings: Settings, i: int, j: int, work: Workspace) -> Merge:
    """Work out the merge of two points; one that cannot be made costs infinitely much."""
    mean1, s11 = marginal(state, i, work)
    mean2, s22 = marginal(state, j, work)
    s12 = covariance(state, i, j, work)
    t1, t2 = state.precisions[i], state.precisions[j]
    n1, n2 = state.shifts[i], state.shifts[j]

    # The cavity of both (eq. 16): C = (S⁻¹ − T)⁻¹ = S(I − TS)⁻¹.
    determinant = s11 * s22 - s12 * s12
    room = 1.0 - t1 * s11 - t2 * s22 + t1 * t2 * determinant
    c11 = (s11 - t2 * determinant) / room
    c22 = (s22 - t1 * determinant) / room
    c12 = s12 / room
    if not (room > _SMALLEST_ROOM and c11 > 0.0 and c22 > 0.0):
        return no_merge()
    r1 = mean1 - s11 * n1 - s12 * n2
    r2 = mean2 - s12 * n1 - s22 * n2
    mean1 = ((1.0 - s22 * t2) * r1 + s12 * t2 * r2) / room
    mean2 = (s12 * t1 * r1 + (1.0 - s11 * t1) * r2) / room

    # The exact moments: mean m + C·grad, covariance P = C + C·H·C.
    log_z, g1, g2, h11, h12, h22 = pair_slopes(
        mean1, mean2, c11, c12, c22, state.noises[i], state.noises[j], settings.label_noise
    )
    a11 = 1.0 + c11 * h11 + c12 * h12  # A = I + C·H
    a12 = c11 * h12 + c12 * h22
    a21 = c12 * h11 + c22 * h12
    a22 = 1.0 + c12 * h12 + c22 * h22
    growth = a11 * a22 - a12 * a21
    if not (log_z > -math.inf and growth > _SMALLEST_ROOM):
        return no_merge()
    mean1 += c11 * g1 + c12 * g2
    mean2 += c12 * g1 + c22 * g2
    p11 = a11 * c11 + a12 * c12
    p12 = a11 * c12 + a12 * c22
    p22 = a21 * c12 + a22 * c22

    # The Gaussian stand-in of the pair: precision P⁻¹ − C⁻¹ = −H·A⁻¹.
    l11 = -(h11 * a22 - h12 * a21) / growth
    l12 = -(h12 * a11 - h11 * a12) / growth
    l22 = -(h22 * a11 - h12 * a12) / growth
    b1 = l11 * mean1 + l12 * mean2 + g1
    b2 = l12 * mean1 + l22 * mean2 + g2

    # The merged point: the bisector, with the mean of the two noise scales.
    length = 4.0 - state.distances[i, j]
    if not length > 0.01:
        return no_merge()
    scale = 1.0 / math.sqrt(length)
    noise = (scale * (math.sqrt(state.noises[i]) + math.sqrt(state.noises[j]))) ** 2
    variance = scale * scale * (p11 + 2.0 * p12 + p22)
    if not variance > 0.0:
        return no_merge()
    found, z, mean, variance = inverse_adf(
        scale * (mean1 + mean2), variance, noise, settings.label_noise
    )
    if not found:
        return no_merge()
    z, precision, shift = matched_site(mean, variance, noise, settings.label_noise)
    cost = (
        work.divergences[i] + work.divergences[j] - divergence(z, settings.label_noise)
    )

    # What the merged factor does not carry goes to the residual.
    l11 -= scale * scale * precision
    l12 -= scale * scale * precision
    l22 -= scale * scale * precision
    b1 -= scale * shift
    b2 -= scale * shift
    half = 0.5 * (l11 - l22)
    radius = math.hypot(half, l12)
    angle = 0.5 * math.atan2(l12, half)
    c, s = math.cos(angle), math.sin(angle)
    merge = Merge(
        cost, i, j, scale, noise, precision, shift, c, s,
        0.5 * (l11 + l22) + radius, c * b1 + s * b2,
        0.5 * (l11 + l22) - radius, c * b2 - s * b1,
    )  # fmt: skip
    if not (math.isfinite(cost) and _keeps_residual_proper(state, merge, work)):
        return no_merge()
    return merge


@part
def _keeps_residual_proper(state: State, merge: Merge, work: Workspace) -> bool:
    """Whether r·g is proper; g alone need not be."""
    g11 = residual_variance(state, merge.first, work)
    g22 = residual_variance(state, merge.second, work)
    g12 = residual_covariance(state, merge.first, merge.second, work)
    c, s = merge.cosine, merge.sine
    along1 = c * c * g11 + 2.0 * c * s * g12 + s * s * g22
    along2 = s * s * g11 - 2.0 * c * s * g12 + c * c * g22
    cross = c * s * (g22 - g11) + (c * c - s * s) * g12
    growth1 = 1.0 + merge.precision1 * along1
    if not growth1 > SMALLEST_GROWTH:
        return False
    along2 -= cross * cross * merge.precision1 / growth1
    growth2 = 1.0 + merge.precision2 * max(along2, 0.0)
    return growth2 > SMALLEST_GROWTH and math.isfinite(growth1 + growth2)


@part
def best_merge(state: State, settings: Settings, work: Workspace) -> Merge:
    """The cheapest merge among the k closest pairs."""
    best = no_merge()
    for k in range(find_closest_pairs(state, settings, work)):
        candidate = propose(state, settings, work.pairs[k, 0], work.pairs[k, 1], work)
        if candidate.cost < best.cost:
            best = candidate
    return best


@part
def merge_points(state: State, merge: Merge, work: Workspace) -> None:
    """Replace two points by their bisector, multiply the residual by g, and rebuild q̃."""
    c, s = merge.cosine, merge.sine
    one, two = state.points[merge.first], state.points[merge.second]
    for k in range(one.shape[0]):
        work.vector[k] = c * one[k] + s * two[k]
        work.other[k] = c * two[k] - s * one[k]
    born = max(state.born[merge.first], state.born[merge.second])
    forget(state, max(merge.first, merge.second))
    forget(state, min(merge.first, merge.second))
    # The narrowing part of g first, so that r stays proper on the way.
    absorb(state, work.vector, merge.precision1, merge.shift1, work)
    absorb(state, work.other, merge.precision2, merge.shift2, work)

    n = state.counts[0]
    for k in range(one.shape[0]):
        both = (c + s) * work.vector[k] + (c - s) * work.other[k]
        state.points[n, k] = merge.scale * both
    state.noises[n] = merge.noise
    state.born[n] = born
    extend(state, n, work)
    remember_distances(state, n)
    state.precisions[n] = merge.precision
    state.shifts[n] = merge.shift
    state.counts[0] = n + 1
    refresh(state, work)
