"""Merging (section 3.2): two close points become one, and a Gaussian g joins the residual.

The pair's exact moments (eq. 17, left) are those of the merged factor times a Gaussian (eq. 17,
right), which inverse ADF finds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from virtualvector.jit.compiled import compiled, dispatched, inlined
from virtualvector.kernels.inverse_adf import inverse_adf_near, inverse_adf_roughly
from virtualvector.kernels.likelihood import (
    expected_divergence,
    log_probability,
    matched_site,
    merged_label_noise,
)
from virtualvector.kernels.merge_divergence import (
    Symmetric,
    Vector,
    disagreement,
    expected_exponent,
    expected_log_ratio,
    least_disagreement,
    log_normaliser,
)
from virtualvector.kernels.normal import inverse_mills
from virtualvector.posterior.approximation import along_next, drop_point, extend, refresh
from virtualvector.posterior.point import combined, put_point
from virtualvector.posterior.reduction.eviction import LEAST_GROWTH, SMALLEST_GROWTH, WIDEST
from virtualvector.posterior.reduction.exact_pair import (
    ExactPair,
    Pair,
    exact_pair,
    pair_cavity,
    pair_of,
)
from virtualvector.posterior.reduction.pairs import find_closest_pairs, write_distances
from virtualvector.posterior.residual.full import absorb
from virtualvector.posterior.settings import CleanSettings, Settings
from virtualvector.posterior.site import SMALLEST
from virtualvector.posterior.state import POINTS, State
from virtualvector.posterior.workspace import Workspace

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
    margin: float  # of b′, standardised, without its site
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
    return Merge(math.inf, -1, -1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, none, 0.0, 0.0, none, 0.0, 0.0)


@compiled
def merged_noise(pair: Pair) -> float:
    """The noise of the bisector: the mean of the two scales, over the length of the midpoint."""
    scales = math.sqrt(pair.noise1) + math.sqrt(pair.noise2)
    return scales * scales / pair.length


@inlined
def left_to_residual(
    exact: ExactPair, scale: float, precision: float, shift: float
) -> tuple[Symmetric, Vector]:
    """What the merged factor does not carry: precision and shift of g, for sum and difference."""
    es, ed = scale * (exact.w1 + exact.w2), scale * (exact.w1 - exact.w2)
    lss, lsd, ldd = exact.precision
    bs, bd = exact.shift
    return (
        (lss - es * es * precision, lsd - es * ed * precision, ldd - ed * ed * precision),
        (bs - es * shift, bd - ed * shift),
    )


@compiled
def propose(pair: Pair, i: int, j: int) -> Merge:
    """Work out the merge of two points; one that cannot be made costs infinitely much."""
    if not pair_cavity(pair)[0]:
        return no_merge()
    exact = exact_pair(pair)
    if not exact.has_moments:
        return no_merge()
    w1, w2 = exact.w1, exact.w2
    ms, md = exact.mean
    pss, psd, pdd = exact.covariance

    # The merged point: the bisector, with the mean of the two noise scales.
    scale = 1.0 / math.sqrt(pair.length)
    noise = merged_noise(pair)
    label_noise = merged_label_noise(pair.label_noise1, pair.label_noise2)
    es, ed = scale * (w1 + w2), scale * (w1 - w2)  # its margin is es·sum + ed·difference
    variance = es * es * pss + 2 * es * ed * psd + ed * ed * pdd
    if not variance > 0.0:
        return no_merge()
    found, z, mean, variance = inverse_adf_near(
        es * ms + ed * md, variance, noise, label_noise, bisector_margin(pair)
    )
    if not found:
        return no_merge()
    z, precision, shift = matched_site(mean, variance, noise, label_noise)
    cost = pair.divergence - expected_divergence(z, variance, noise, label_noise)

    # The rest goes to the residual, as two factors of one margin each.
    (lss, lsd, ldd), (bs, bd) = left_to_residual(exact, scale, precision, shift)
    large, small, c, s = _eigen(lss, lsd, ldd)
    merge = Merge(
        cost, i, j, scale, noise, label_noise, z, precision, shift,
        (0.5 * (c + s) / w1, 0.5 * (c - s) / w2), large, c * bs + s * bd,
        (0.5 * (c - s) / w1, 0.5 * (-c - s) / w2), small, c * bd - s * bs,
    )  # fmt: skip
    if not (math.isfinite(cost) and _keeps_residual_proper(pair, merge)):
        return no_merge()
    return merge


@compiled
def bisector_margin(pair: Pair) -> float:
    """The standardised margin of the bisector under q̃ without the sites of the pair."""
    _, mean1, mean2, c11, c12, c22 = pair_cavity(pair)
    variance = (c11 + 2.0 * c12 + c22) / pair.length + merged_noise(pair)
    return (mean1 + mean2) / math.sqrt(pair.length * max(variance, SMALLEST))


@compiled
def loses_little(pair: Pair, merge: Merge, limit: float) -> bool:
    """Whether a merge loses no more than a fifth of the limit against the exact pair (eq. 15).

    Without label noise nobody asks. The score E alone would take two factors that a third resembles
    little for well kept, if that one is far from a Gaussian.
    """
    if merge.label_noise == 0.0:
        return True
    exact = exact_pair(pair)
    _, mean1, mean2, c11, c12, c22 = pair_cavity(pair)
    lost = expected_log_ratio(
        mean1, mean2, c11, c12, c22, pair.noise1, pair.noise2,
        pair.label_noise1, pair.label_noise2, merge.label_noise,
    ) - exact.log_z + log_probability(merge.margin, merge.label_noise)  # fmt: skip
    left = left_to_residual(exact, merge.scale, merge.precision, merge.shift)
    lost += log_normaliser(exact.cavity_mean, exact.cavity, *left)
    return lost - expected_exponent(exact.mean, exact.covariance, *left) < _SHARE_LOST * limit


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
def may_cost_less(pair: Pair, settings: Settings, limit: float) -> bool:
    """Whether merging two points may cost less than the limit, from what q̃ says of their bisector.

    Its margin has other moments under the exact pair of factors than under q̃, which counts twice
    what the two rows have in common: D′ is larger than q̃ has it, the more so the more the margins
    are correlated without them, and the more they are narrowed by them; but by no more than a
    factor (1 − ρ²)^−⅕ and some, nor one that grows from one to three with the narrowing. With label
    noise, factors are not log-concave, and a pair may be passed by that would have won.
    """
    proper, mean1, mean2, c11, c12, c22 = pair_cavity(pair)
    if not proper or is_contradicted(pair, mean1, mean2):
        return False
    if not may_lose_little(pair, settings, limit, True):
        return False
    variance = (pair.s11 + 2.0 * pair.s12 + pair.s22) / pair.length
    mean, noise = (pair.mean1 + pair.mean2) / math.sqrt(pair.length), merged_noise(pair)
    label_noise = merged_label_noise(pair.label_noise1, pair.label_noise2)
    rho2 = c12 * c12 / ((c11 + pair.noise1) * (c22 + pair.noise2))
    uncorrelated = max(1.0 - rho2, 0.0027)
    narrowing = 1.0 - min(pair.s11 / c11, pair.s22 / c22)
    least = pair.divergence - limit  # that D′ has to be
    most = most_divergence(mean, variance, noise, label_noise)
    # As a fifth power first: that is soon said, and enough for most pairs.
    times = 1.15 * most / least
    if least > 0.0 and times * times * times * times * times <= uncorrelated:
        return False
    enough = least / min(1.15 * uncorrelated**-0.2, 1.2 + 1.8 * narrowing)  # for D′ as q̃ has it
    if most <= enough or not may_lose_little(pair, settings, limit, False):
        return False
    found, z, variance = inverse_adf_roughly(mean, variance, noise, label_noise)
    return not found or expected_divergence(z, variance, noise, label_noise) > enough


@compiled
def is_contradicted(pair: Pair, mean1: float, mean2: float) -> bool:
    """Whether all else contradicts one of two labels that may be turned.

    Turned labels of the same row would add up in one point, more and more certain, while its right
    ones have left as almost flat sites, and nothing is left to outvote it.
    """
    may_be_turned = pair.label_noise1 > 0.0 and pair.label_noise2 > 0.0
    return may_be_turned and (mean1 < 0.0 or mean2 < 0.0)


@dispatched
def may_lose_little(pair: Pair, settings: Settings, limit: float, roughly: bool) -> bool:
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


@may_lose_little.register(CleanSettings)
def _(pair: Pair, settings: CleanSettings, limit: float, roughly: bool) -> bool:
    return True


@inlined
def most_divergence(mean: float, variance: float, noise: float, label_noise: float) -> float:
    """What the divergence of a factor can be at most, if these are the moments *after* it.

    Those before it, which `inverse_adf` would find, are not far from them where there is noise.
    The factor of five is D(−∞)/D(1): without noise the ratio of mean and deviation exceeds one.
    From there on factors matter less and less, as k = h(h+z) does, the share of the variance that
    one takes away.
    """
    if not variance > 0.0:
        return math.inf
    z = mean / math.sqrt(variance + noise)
    at_most = min(5.0, 1.0 + 1.4 * variance / noise)
    if label_noise == 0.0 and 1.0 <= z <= 4.0:
        k = 1.0 - inverse_mills(z)[2]
        at_most = min(at_most, 1.0 + 10.6 * k * variance / (variance + 2.0 * noise))
    return at_most * expected_divergence(z, variance, noise, label_noise)


@compiled
def first_that_may_win(state: State, settings: Settings, limit: float, work: Workspace) -> int:
    """Return which of the k closest pairs is the first that may cost less than the limit, or −1."""
    for k in range(find_closest_pairs(state, settings, work)):
        pair = pair_of(state, work.pairs[k, 0], work.pairs[k, 1], work)
        if may_cost_less(pair, settings, limit):
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
        if k == first or may_cost_less(pair, settings, min(limit, best.cost)):
            candidate = propose(pair, i, j)
            if candidate.cost < best.cost and loses_little(pair, candidate, limit):
                best = candidate
    return best


@compiled
def merge_points(state: State, merge: Merge, work: Workspace) -> None:
    """Replace two points by their bisector, multiply the residual by g, and rebuild q̃."""
    first, second, merged = combined(
        state, merge.first, merge.second, merge.along1, merge.along2, merge.scale, work
    )
    row_number = max(state.row_numbers[merge.first], state.row_numbers[merge.second])
    drop_point(state, max(merge.first, merge.second), work)
    drop_point(state, min(merge.first, merge.second), work)
    # The narrowing part of g first, so that r stays proper on the way.
    absorb(state, first, merge.precision1, merge.shift1, work)
    absorb(state, second, merge.precision2, merge.shift2, work)

    n = state.counts[POINTS]
    put_point(state, n, merged)
    state.margin_noises[n] = merge.noise
    state.label_noises[n] = merge.label_noise
    state.row_numbers[n] = row_number
    mean, variance, residual = along_next(state, n, 1.0, work)
    extend(state, n, mean, variance, residual, work)
    write_distances(state, n, work)
    state.site_precisions[n] = merge.precision
    state.site_shifts[n] = merge.shift
    state.counts[POINTS] = n + 1
    refresh(state, work)
