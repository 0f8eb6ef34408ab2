"""Two labelled rows as factors of the posterior: what merging needs of their exact moments.

Against a Gaussian over the two margins, N(u; m, S), the factors fᵢ(uᵢ) = εᵢ + (1−2εᵢ)Φ(uᵢ/sᵢ) give

    Z = ε₁ε₂ + ε₂(1−2ε₁)Φ(z₁) + ε₁(1−2ε₂)Φ(z₂) + (1−2ε₁)(1−2ε₂)Φ₂(z₁, z₂; ρ)

with zᵢ = mᵢ/√(Sᵢᵢ + sᵢ²) and ρ = S₁₂/√((S₁₁ + s₁²)(S₂₂ + s₂²)) (section 3.2, step 1). Every term is
a Gaussian that is left alone, cut by one row, by the other, or by both. As in
`likelihood.tilted_moments`, slopes are those of this mixture, so that nothing cancels when Z is
tiny.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.bivariate import quadrant
from virtualvector.kernels.normal import inverse_mills, log_cdf

_LARGEST = 1e60  # squares of margins beyond this are out of the range of doubles
_SMALLEST = 1e-300  # stands for a variance of zero
_ROUNDING = 1e-15  # correlations this close to ±1 are equal (or opposite) rows


@compiled
def _standardised(mean: float, variance: float, noise: float) -> tuple[float, float]:
    """Return the scale √(variance + noise) and the margin z, kept where its square is finite."""
    scale = math.sqrt(max(variance, _SMALLEST) + noise)
    return scale, min(max(mean / scale, -_LARGEST), _LARGEST)


@compiled
def _correlation(covariance: float, scale1: float, scale2: float) -> float:
    """Return ρ, and exactly ±1 where only rounding keeps it from there."""
    rho = covariance / scale1 / scale2
    if 1.0 - abs(rho) < _ROUNDING:
        return math.copysign(1.0, rho)
    return rho


@compiled
def _log(x: float) -> float:
    return math.log(x) if x > 0.0 else -math.inf


@compiled
def _shares(
    z1: float, z2: float, log_both: float, label_noise1: float, label_noise2: float
) -> tuple[float, float, float, float, float]:
    """Return log Z, and which shares of Z are cut by neither row, the first, the second, both."""
    noisy1, clean1 = _log(label_noise1), math.log1p(-2.0 * label_noise1)
    noisy2, clean2 = _log(label_noise2), math.log1p(-2.0 * label_noise2)
    none = noisy1 + noisy2
    first = clean1 + noisy2 + log_cdf(z1)
    second = noisy1 + clean2 + log_cdf(z2)
    both = clean1 + clean2 + log_both
    top = max(none, first, second, both)
    none, first = math.exp(none - top), math.exp(first - top)
    second, both = math.exp(second - top), math.exp(both - top)
    total = none + first + second + both
    return top + math.log(total), none / total, first / total, second / total, both / total


@compiled
def _spread(
    p0: float,
    p1: float,
    p2: float,
    p3: float,
    a0: float,
    a1: float,
    a2: float,
    a3: float,
    b0: float,
    b1: float,
    b2: float,
    b3: float,
) -> float:
    """Return the covariance of a and b, which take the values aᵢ, bᵢ with probability pᵢ."""
    a = p0 * a0 + p1 * a1 + p2 * a2 + p3 * a3
    b = p0 * b0 + p1 * b1 + p2 * b2 + p3 * b3
    return (
        p0 * (a0 - a) * (b0 - b)
        + p1 * (a1 - a) * (b1 - b)
        + p2 * (a2 - a) * (b2 - b)
        + p3 * (a3 - a) * (b3 - b)
    )


@compiled
def _mixed_slope(
    rho: float, g1: float, g2: float, w: float, e1: float, e2: float, c12: float
) -> float:
    """Return ∂² log Φ₂/∂x∂y = W − G₁G₂, or the same from the covariance where that cancels."""
    square = (1.0 - rho) * (1.0 + rho)
    if w * square < 1.0:
        return w - g1 * g2
    return (c12 + rho * (g1 * e1 + g2 * e2 - 1.0)) / square


@compiled
def _mixture(
    z1: float, z2: float, rho: float, label_noise1: float, label_noise2: float
) -> tuple[float, float, float, float, float, float]:
    """Return slopes for unit variances: log Z, g (2), H (3)."""
    log_both, g1, g2, w, e1, e2, _, c12, _ = quadrant(z1, z2, rho)
    h12 = _mixed_slope(rho, g1, g2, w, e1, e2, c12)
    h11 = -(g1 * e1 + rho * h12)
    h22 = -(g2 * e2 + rho * h12)
    if label_noise1 == 0.0 and label_noise2 == 0.0:
        return log_both, g1, g2, h11, h12, h22

    log_z, p0, p1, p2, p3 = _shares(z1, z2, log_both, label_noise1, label_noise2)
    f1, m1, _ = inverse_mills(z1)
    f2, m2, _ = inverse_mills(z2)
    return (
        log_z,
        p1 * f1 + p3 * g1,
        p2 * f2 + p3 * g2,
        p3 * h11 - p1 * f1 * m1 + _spread(p0, p1, p2, p3, 0.0, f1, 0.0, g1, 0.0, f1, 0.0, g1),
        p3 * h12 + _spread(p0, p1, p2, p3, 0.0, f1, 0.0, g1, 0.0, 0.0, f2, g2),
        p3 * h22 - p2 * f2 * m2 + _spread(p0, p1, p2, p3, 0.0, 0.0, f2, g2, 0.0, 0.0, f2, g2),
    )


@compiled
def pair_tilted_moments(
    mean1: float, mean2: float, variance1: float, covariance: float, variance2: float,
    noise1: float, noise2: float, label_noise1: float, label_noise2: float,
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    """Return log Z with its gradient g and Hessian H in the means: (log Z, g₁, g₂, H₁₁, H₁₂, H₂₂).

    For equal or opposite rows (ρ = ±1 up to rounding) H grows without bound, but only in the
    direction in which S vanishes; there the limit without the unbounded part is returned. If the
    rows contradict each other (no mass at all), log Z = −∞ and the rest is 0.

    Examples
    --------
    >>> log_z, g1, g2, h11, h12, h22 = pair_tilted_moments(
    ...     0.0, 0.0, 1.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0
    ... )
    >>> round(log_z, 6), round(g1, 6), round(h11, 6), round(h12, 6)
    (-1.098612, 0.598413, -0.633763, 0.19323)
    """
    scale1, z1 = _standardised(mean1, variance1, noise1)
    scale2, z2 = _standardised(mean2, variance2, noise2)
    rho = _correlation(covariance, scale1, scale2)
    log_z, g1, g2, h11, h12, h22 = _mixture(z1, z2, rho, label_noise1, label_noise2)
    return (
        log_z,
        g1 / scale1,
        g2 / scale2,
        h11 / scale1 / scale1,
        h12 / scale1 / scale2,
        h22 / scale2 / scale2,
    )
