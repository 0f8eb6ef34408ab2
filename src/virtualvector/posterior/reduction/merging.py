"""Merging (section 3.2): two close points become one, and a Gaussian g joins the residual.

The pair's exact moments (eq. 17, left) are those of the merged factor times a Gaussian (eq. 17,
right), which inverse ADF finds. Everything is done along the two margins (u₁, u₂); no 2×2 matrix of
theirs is inverted, because repeated rows make it singular.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from virtualvector.jit.compiled import compiled, inlined
from virtualvector.kernels.inverse_adf import inverse_adf_near, inverse_adf_roughly
from virtualvector.kernels.likelihood import (
    expected_divergence,
    log_probability,
    matched_site,
    merged_label_noise,
)
from virtualvector.kernels.merge_divergence import (
    disagreement,
    expected_exponent,
    expected_log_ratio,
    least_disagreement,
    log_normaliser,
)
from virtualvector.kernels.pair import pair_tilted_moments
from virtualvector.kernels.triangular import copy
from virtualvector.posterior.approximation import (
    covariance,
    drop_point,
    extend,
    marginal,
    refresh,
)
from virtualvector.posterior.reduction.eviction import LEAST_GROWTH, SMALLEST_GROWTH, WIDEST
from virtualvector.posterior.reduction.pairs import find_closest_pairs, write_distances
from virtualvector.posterior.residual.full import (
    absorb,
    residual_covariance,
    residual_variance,
)
from virtualvector.posterior.settings import Settings
from virtualvector.posterior.site import SMALLEST
from virtualvector.posterior.state import POINTS, State
from virtualvector.posterior.workspace import Workspace

_SMALLEST_ROOM = 1e-10
_SMALLEST_LENGTH = 0.01  # opposite points have no bisector
_LEAST_LOST = 0.1  # of the probability of different signs, and of what labels tell
_SHARE_LOST = 0.2  # of what eviction loses: a point that was merged is merged again and again


class Merge(NamedTuple):
    """Two points, the one that would replace them, and the correction g of the residual.

    g is a product of two Gaussian factors, each of one combination of the two margins; the one with
    the larger precision comes first.
    """

    cost: float  # divergence lost: D₁ + D₂ − D′
    first: int
    second: int
    scale: float  # b′ = scale·(b₁ + b₂)
    noise: float  # of the margin of b′
    label_noise: float  # of b′
    precision: float  # of the site of b′
    shift: float
    along1: tuple[float, float]  # coefficients of (b₁, b₂)
    precision1: float
    shift1: float
    along2: tuple[float, float]
    precision2: float
    shift2: float


@compiled
def no_merge() -> Merge:
    """A candidate that never wins."""
    none = (0.0, 0.0)
    return Merge(math.inf, -1, -1, 0.0, 0.0, 0.0, 0.0, 0.0, none, 0.0, 0.0, none, 0.0, 0.0)


class Pair(NamedTuple):
    """Two points: their margins, factors and sites."""

    mean1: float  # under q̃
    mean2: float
    s11: float
    s12: float
    s22: float
    g11: float  # covariances under r
    g12: float
    g22: float
    precision1: float
    precision2: float
    shift1: float
    shift2: float
    noise1: float
    noise2: float
    label_noise1: float
    label_noise2: float
    divergence: float  # D₁ + D₂
    length: float  # |b₁ + b₂|²


@inlined
def pair_of(state: State, i: int, j: int, work: Workspace) -> Pair:
    """Gather what merging two points depends on."""
    mean1, s11 = marginal(state, i, work)
    mean2, s22 = marginal(state, j, work)
    return Pair(
        mean1, mean2, s11, covariance(state, i, j, work), s22,
        residual_variance(state, i, work), residual_covariance(state, i, j, work),
        residual_variance(state, j, work), state.site_precisions[i], state.site_precisions[j],
        state.site_shifts[i], state.site_shifts[j], state.margin_noises[i], state.margin_noises[j],
        state.label_noises[i], state.label_noises[j],
        work.divergences[i] + work.divergences[j], 4.0 - state.distances[i, j],
    )  # fmt: skip


@inlined
def pair_cavity(pair: Pair) -> tuple[bool, float, float, float, float, float]:
    """q̃ without the sites of two points (eq. 16), along their margins.

    C = (S⁻¹ − T)⁻¹ = S(I − TS)⁻¹ with S the covariance under q̃ and T the precisions. Returns
    whether it is proper, the two means, and C₁₁, C₁₂, C₂₂.
    """
    s11, s12, s22 = pair.s11, pair.s12, pair.s22
    t1, t2 = pair.precision1, pair.precision2
    determinant = s11 * s22 - s12 * s12
    room = 1.0 - t1 * s11 - t2 * s22 + t1 * t2 * determinant
    c11 = (s11 - t2 * determinant) / room
    c22 = (s22 - t1 * determinant) / room
    proper = room > _SMALLEST_ROOM and c11 > 0.0 and c22 > 0.0
    r1 = pair.mean1 - s11 * pair.shift1 - s12 * pair.shift2
    r2 = pair.mean2 - s12 * pair.shift1 - s22 * pair.shift2
    return (
        proper and pair.length > _SMALLEST_LENGTH,
        ((1.0 - s22 * t2) * r1 + s12 * t2 * r2) / room,
        (s12 * t1 * r1 + (1.0 - s11 * t1) * r2) / room,
        c11,
        s12 / room,
        c22,
    )


@compiled
def merged_noise(pair: Pair) -> float:
    """The noise of the bisector: the mean of the two scales, over the length of the midpoint."""
    scales = math.sqrt(pair.noise1) + math.sqrt(pair.noise2)
    return scales * scales / pair.length


@compiled
def propose(pair: Pair, i: int, j: int, limit: float) -> Merge:
    """Work out the merge of two points; one that cannot be made costs infinitely much.

    So does one that loses more than a fifth of the limit against the exact pair (eq. 15), where
    labels are noisy. The score E alone would take two factors that a third resembles little for
    well kept, if that one is far from a Gaussian.

    Close points have a pair factor that is very sharp along the difference of their margins. The
    algebra is therefore done for the sum and the difference of the standardised margins,
    (u₁/σ₁ ± u₂/σ₂)/√2, where large and small numbers do not mix.
    """
    proper, mean1, mean2, c11, c12, c22 = pair_cavity(pair)
    if not proper:
        return no_merge()
    log_z, g1, g2, h11, h12, h22 = pair_tilted_moments(
        mean1, mean2, c11, c12, c22, pair.noise1, pair.noise2,
        pair.label_noise1, pair.label_noise2,
    )  # fmt: skip
    if not log_z > -math.inf:
        return no_merge()

    # Standardise and rotate: cavity mean and covariance, gradient and Hessian of log Z.
    w1 = math.sqrt(0.5 * (c11 + pair.noise1))  # u₁ = w₁(sum + difference)
    w2 = math.sqrt(0.5 * (c22 + pair.noise2))  # u₂ = w₂(sum − difference)
    ms, md = 0.5 * (mean1 / w1 + mean2 / w2), 0.5 * (mean1 / w1 - mean2 / w2)
    v11, v12, v22 = c11 / (w1 * w1), c12 / (w1 * w2), c22 / (w2 * w2)
    css, csd, cdd = 0.25 * (v11 + 2 * v12 + v22), 0.25 * (v11 - v22), 0.25 * (v11 - 2 * v12 + v22)
    cdd = max(cdd, 0.0)
    gs, gd = w1 * g1 + w2 * g2, w1 * g1 - w2 * g2
    k11, k12, k22 = w1 * w1 * h11, w1 * w2 * h12, w2 * w2 * h22
    hss, hsd, hdd = k11 + 2 * k12 + k22, k11 - k22, k11 - 2 * k12 + k22

    # The exact moments: mean + C·gradient, covariance P = A·C with A = I + C·H.
    ass, asd = 1.0 + css * hss + csd * hsd, css * hsd + csd * hdd
    ads, add = csd * hss + cdd * hsd, 1.0 + csd * hsd + cdd * hdd
    growth = ass * add - asd * ads
    if not growth > _SMALLEST_ROOM:
        return no_merge()
    before_s, before_d = ms, md
    ms, md = ms + css * gs + csd * gd, md + csd * gs + cdd * gd
    pss, psd, pdd = ass * css + asd * csd, ass * csd + asd * cdd, ads * csd + add * cdd

    # The site of the pair: precision P⁻¹ − C⁻¹ = −H·A⁻¹.
    lss = -(hss * add - hsd * ads) / growth
    lsd = -(hsd * ass - hss * asd) / growth
    ldd = -(hdd * ass - hsd * asd) / growth
    bs, bd = lss * ms + lsd * md + gs, lsd * ms + ldd * md + gd

    # The merged point: the bisector, with the mean of the two noise scales.
    scale = 1.0 / math.sqrt(pair.length)
    noise = merged_noise(pair)
    label_noise = merged_label_noise(pair.label_noise1, pair.label_noise2)
    es, ed = scale * (w1 + w2), scale * (w1 - w2)  # its margin is es·sum + ed·difference
    variance = es * es * pss + 2 * es * ed * psd + ed * ed * pdd
    if not variance > 0.0:
        return no_merge()
    without = es * es * css + 2 * es * ed * csd + ed * ed * cdd + noise
    near = (es * before_s + ed * before_d) / math.sqrt(max(without, SMALLEST))
    found, z, mean, variance = inverse_adf_near(
        es * ms + ed * md, variance, noise, label_noise, near
    )
    if not found:
        return no_merge()
    z, precision, shift = matched_site(mean, variance, noise, label_noise)
    cost = pair.divergence - expected_divergence(z, variance, noise, label_noise)

    # What the merged factor does not carry goes to the residual, as two factors of one margin each.
    lss, lsd, ldd = lss - es * es * precision, lsd - es * ed * precision, ldd - ed * ed * precision
    bs, bd = bs - es * shift, bd - ed * shift
    if label_noise > 0.0:
        lost = expected_log_ratio(
            mean1, mean2, c11, c12, c22, pair.noise1, pair.noise2,
            pair.label_noise1, pair.label_noise2, label_noise,
        ) - log_z + log_probability(z, label_noise)  # fmt: skip
        lost += log_normaliser(before_s, before_d, css, csd, cdd, lss, lsd, ldd, bs, bd)
        lost -= expected_exponent(ms, md, pss, psd, pdd, lss, lsd, ldd, bs, bd)
        if not lost < _SHARE_LOST * limit:
            return no_merge()
    large, small, c, s = _eigen(lss, lsd, ldd)
    merge = Merge(
        cost, i, j, scale, noise, label_noise, precision, shift,
        (0.5 * (c + s) / w1, 0.5 * (c - s) / w2), large, c * bs + s * bd,
        (0.5 * (c - s) / w1, 0.5 * (-c - s) / w2), small, c * bd - s * bs,
    )  # fmt: skip
    if not (math.isfinite(cost) and _keeps_residual_proper(pair, merge)):
        return no_merge()
    return merge


@compiled
def _eigen(a: float, b: float, c: float) -> tuple[float, float, float, float]:
    """Eigenvalues of [[a, b], [b, c]], larger first, and the direction of the first.

    The one nearer to zero comes from the determinant, which does not cancel.
    """
    angle = 0.5 * math.atan2(2.0 * b, a - c)
    radius = math.hypot(0.5 * (a - c), b)
    middle = 0.5 * (a + c)
    determinant = a * c - b * b
    large, small = middle + radius, middle - radius
    if middle > 0.0:
        small = determinant / large
    elif middle < 0.0:
        large = determinant / small
    return large, small, math.cos(angle), math.sin(angle)


@compiled
def _keeps_residual_proper(pair: Pair, merge: Merge) -> bool:
    """Whether r·g is proper; g alone need not be."""
    g11, g12, g22 = pair.g11, pair.g12, pair.g22
    a1, a2 = merge.along1
    b1, b2 = merge.along2
    first = a1 * a1 * g11 + 2.0 * a1 * a2 * g12 + a2 * a2 * g22
    second = b1 * b1 * g11 + 2.0 * b1 * b2 * g12 + b2 * b2 * g22
    both = a1 * b1 * g11 + (a1 * b2 + a2 * b1) * g12 + a2 * b2 * g22
    growth1 = 1.0 + merge.precision1 * max(first, 0.0)
    if not growth1 > SMALLEST_GROWTH:
        return False
    if merge.label_noise > 0.0 and merge.precision2 < 0.0:
        cosine = 0.5 * pair.length - 1.0
        square = b1 * b1 + 2.0 * b1 * b2 * cosine + b2 * b2
        rest = max(second - both * both * merge.precision1 / growth1, 0.0)
        growth2 = 1.0 + merge.precision2 * rest
        if not (growth2 > LEAST_GROWTH and rest < WIDEST * square * growth2):
            return False
    second -= both * both * merge.precision1 / growth1
    growth2 = 1.0 + merge.precision2 * max(second, 0.0)
    return growth2 > SMALLEST_GROWTH and math.isfinite(growth1 + growth2)


@compiled
def may_cost_less(pair: Pair, limit: float) -> bool:
    """Whether merging two points may cost less than the limit, from what q̃ says of their bisector.

    Its margin has other moments under the exact pair of factors than under q̃, which counts twice
    what the two rows have in common: D′ is larger than q̃ has it, the more so the more the margins
    are correlated without them, and the more they are narrowed by them; but by no more than a
    factor (1 − ρ²)^−⅕ and some, nor one that grows from one to three with the narrowing. With label
    noise, factors are not log-concave, and a pair may be passed by that would have won.
    """
    proper, _, _, c11, c12, c22 = pair_cavity(pair)
    if not (proper and may_lose_little(pair, limit, True)):
        return False
    variance = (pair.s11 + 2.0 * pair.s12 + pair.s22) / pair.length
    mean, noise = (pair.mean1 + pair.mean2) / math.sqrt(pair.length), merged_noise(pair)
    label_noise = merged_label_noise(pair.label_noise1, pair.label_noise2)
    rho2 = c12 * c12 / ((c11 + pair.noise1) * (c22 + pair.noise2))
    narrowing = 1.0 - min(pair.s11 / c11, pair.s22 / c22)
    most = min(1.15 * max(1.0 - rho2, 0.0027) ** -0.2, 1.2 + 1.8 * narrowing)
    enough = (pair.divergence - limit) / most  # for D′ as q̃ has it
    at_most = most_divergence(mean, variance, noise, label_noise)
    if not (at_most > enough and may_lose_little(pair, limit, False)):
        return False
    found, z, variance = inverse_adf_roughly(mean, variance, noise, label_noise)
    return not found or expected_divergence(z, variance, noise, label_noise) > enough


@compiled
def may_lose_little(pair: Pair, limit: float, roughly: bool) -> bool:
    """Whether a merge may lose no more against the exact pair than it may, with label noise.

    What it loses is at least a share of how often the two margins differ in sign, and of what
    labels tell, (1 − 2ε₁)(1 − 2ε₂); roughly, of a bound of that.
    """
    if pair.label_noise1 == 0.0 or pair.label_noise2 == 0.0:
        return True
    _, mean1, mean2, c11, c12, c22 = pair_cavity(pair)
    v1, v2 = c11 + pair.noise1, c22 + pair.noise2
    if roughly:
        apart = least_disagreement(mean1, mean2, v1, c12, v2)
    else:
        apart = disagreement(mean1, mean2, v1, c12, v2)
    told = (1.0 - 2.0 * pair.label_noise1) * (1.0 - 2.0 * pair.label_noise2)
    return _LEAST_LOST * told * apart < _SHARE_LOST * limit


@inlined
def most_divergence(mean: float, variance: float, noise: float, label_noise: float) -> float:
    """What the divergence of a factor can be at most, if these are the moments *after* it.

    Those before it, which `inverse_adf` would find, are not far from them where there is noise.
    The factor of five is D(−∞)/D(1): without noise the ratio of mean and deviation exceeds one.
    """
    if not variance > 0.0:
        return math.inf
    z = mean / math.sqrt(variance + noise)
    at_most = min(5.0, 1.0 + 1.4 * variance / noise)
    return at_most * expected_divergence(z, variance, noise, label_noise)


@compiled
def first_that_may_win(state: State, settings: Settings, limit: float, work: Workspace) -> int:
    """Return which of the k closest pairs is the first that may cost less than the limit, or −1."""
    for k in range(find_closest_pairs(state, settings, work)):
        pair = pair_of(state, work.pairs[k, 0], work.pairs[k, 1], work)
        if may_cost_less(pair, limit):
            return k
    return -1


@compiled
def best_merge(
    state: State, settings: Settings, limit: float, first: int, work: Workspace
) -> Merge:
    """The cheapest merge among the closest pairs, of which only some may cost less than the limit.

    ``first`` is what `first_that_may_win` returned.
    """
    best = no_merge()
    for k in range(first, find_closest_pairs(state, settings, work)):
        i, j = work.pairs[k, 0], work.pairs[k, 1]
        pair = pair_of(state, i, j, work)
        if k == first or may_cost_less(pair, min(limit, best.cost)):
            candidate = propose(pair, i, j, limit)
            if candidate.cost < best.cost:
                best = candidate
    return best


@compiled
def merge_points(state: State, merge: Merge, work: Workspace) -> None:
    """Replace two points by their bisector, multiply the residual by g, and rebuild q̃."""
    one, two = state.points[merge.first], state.points[merge.second]
    for k in range(one.shape[0]):
        work.vector[k] = merge.along1[0] * one[k] + merge.along1[1] * two[k]
        work.other[k] = merge.along2[0] * one[k] + merge.along2[1] * two[k]
        work.merged[k] = merge.scale * (one[k] + two[k])
    row_number = max(state.row_numbers[merge.first], state.row_numbers[merge.second])
    drop_point(state, max(merge.first, merge.second), work)
    drop_point(state, min(merge.first, merge.second), work)
    # The narrowing part of g first, so that r stays proper on the way.
    absorb(state, work.vector, merge.precision1, merge.shift1, work)
    absorb(state, work.other, merge.precision2, merge.shift2, work)

    n = state.counts[POINTS]
    copy(work.merged, state.points[n])
    state.margin_noises[n] = merge.noise
    state.label_noises[n] = merge.label_noise
    state.row_numbers[n] = row_number
    extend(state, n, 1.0, work)
    write_distances(state, n, work)
    state.site_precisions[n] = merge.precision
    state.site_shifts[n] = merge.shift
    state.counts[POINTS] = n + 1
    refresh(state, work)
