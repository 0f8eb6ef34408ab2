"""Two points as merging sees them: q̃ without their sites, and their exact moments (eqs. 16, 17).

Everything is done along the two margins (u₁, u₂); no 2×2 matrix of theirs is inverted, because
repeated rows make it singular.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from virtualvector.jit.compiled import inlined
from virtualvector.kernels.merge_divergence import Symmetric, Vector
from virtualvector.kernels.pair import pair_tilted_moments
from virtualvector.posterior.approximation import covariance, marginal
from virtualvector.posterior.residual.full import residual_covariance, residual_variance
from virtualvector.posterior.state import State
from virtualvector.posterior.workspace import Workspace

_SMALLEST_ROOM = 1e-10
_SMALLEST_LENGTH = 0.01  # opposite points have no bisector


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


class ExactPair(NamedTuple):
    """The exact pair (eq. 17, left) along the sum and the difference of its standardised margins.

    Close points have a pair factor that is very sharp along the difference of their margins. The
    algebra is therefore done for (u₁/σ₁ ± u₂/σ₂)/√2, where large and small numbers do not mix.
    """

    has_moments: bool
    log_z: float
    w1: float  # u₁ = w₁(sum + difference)
    w2: float  # u₂ = w₂(sum − difference)
    cavity_mean: Vector
    cavity: Symmetric  # covariances: of the sum, of both, of the difference
    mean: Vector
    covariance: Symmetric
    precision: Symmetric  # of the site that has the same moments
    shift: Vector


@inlined
def exact_pair(pair: Pair) -> ExactPair:
    """Work out the exact moments of two factors with a proper cavity, and the site behind them."""
    _, mean1, mean2, c11, c12, c22 = pair_cavity(pair)
    log_z, g1, g2, h11, h12, h22 = pair_tilted_moments(
        mean1, mean2, c11, c12, c22, pair.noise1, pair.noise2,
        pair.label_noise1, pair.label_noise2,
    )  # fmt: skip

    # Standardise and rotate: cavity mean and covariance, gradient and Hessian of log Z.
    w1 = math.sqrt(0.5 * (c11 + pair.noise1))
    w2 = math.sqrt(0.5 * (c22 + pair.noise2))
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
    after_s, after_d = ms + css * gs + csd * gd, md + csd * gs + cdd * gd
    pss, psd, pdd = ass * css + asd * csd, ass * csd + asd * cdd, ads * csd + add * cdd

    # The site of the pair: precision P⁻¹ − C⁻¹ = −H·A⁻¹.
    lss = -(hss * add - hsd * ads) / growth
    lsd = -(hsd * ass - hss * asd) / growth
    ldd = -(hdd * ass - hsd * asd) / growth
    bs, bd = lss * after_s + lsd * after_d + gs, lsd * after_s + ldd * after_d + gd
    return ExactPair(
        log_z > -math.inf and growth > _SMALLEST_ROOM, log_z, w1, w2, (ms, md),
        (css, csd, cdd), (after_s, after_d), (pss, psd, pdd), (lss, lsd, ldd), (bs, bd),
    )  # fmt: skip
