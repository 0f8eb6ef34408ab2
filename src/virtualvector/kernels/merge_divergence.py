"""What is lost when one factor and a Gaussian replace two factors, against the exact pair (eq. 15).

    D₁₂ = KL(f₁f₂N/Z ‖ f′gN/Z′)

with N the cavity of the pair, along its two margins. The signs of the two margins and of the merged
one, u′ = a(u₁ + u₂), cut the plane into six wedges, in each of which all factors are constant.
Their probabilities are those of bivariate normals, the rest are moments.

With margin noise, steps are taken on margins with their noise, t = u + noise, and t′ = a(t₁ + t₂).
That is the divergence over the weights and the noise together, and a strict judge of a merge.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.bivariate import quadrant
from virtualvector.kernels.normal import cdf

Vector = tuple[float, float]  # in the plane
Symmetric = tuple[float, float, float]  # a matrix: 11, 12, 22


@compiled
def _both_positive(z1: float, z2: float, rho: float) -> float:
    """P(x > 0, y > 0) for unit variances, means z₁, z₂ and correlation ρ."""
    return math.exp(quadrant(z1, z2, min(max(rho, -1.0), 1.0))[0])


@compiled
def disagreement(
    mean1: float, mean2: float, variance1: float, covariance: float, variance2: float
) -> float:
    """The probability that two margins have different signs.

    Examples
    --------
    >>> round(disagreement(0.0, 0.0, 1.0, 0.5, 1.0), 12)  # arccos(ρ)/π
    0.333333333333
    """
    s1, s2 = math.sqrt(variance1), math.sqrt(variance2)
    both = _both_positive(mean1 / s1, mean2 / s2, covariance / (s1 * s2))
    return max(cdf(mean1 / s1) + cdf(mean2 / s2) - 2.0 * both, 0.0)


_MEDIAN = 0.6744897501960817  # of |x|, x standard normal


@compiled
def least_disagreement(
    mean1: float, mean2: float, variance1: float, covariance: float, variance2: float
) -> float:
    """A lower bound of `disagreement` that costs little: half or a third of it for close margins.

    Standardised, the half sum s and the half difference t of the margins are independent, and signs
    differ where |s| < |t|: at least half as often as |s| is below the median of |t − Et|.

    Examples
    --------
    >>> round(least_disagreement(0.0, 0.0, 1.0, 0.5, 1.0), 6)
    0.151516
    """
    s1, s2 = math.sqrt(variance1), math.sqrt(variance2)
    rho = min(max(covariance / (s1 * s2), -1.0), 1.0)
    spread = math.sqrt(0.5 * (1.0 + rho))
    if spread == 0.0:
        return 0.0
    reach = _MEDIAN * math.sqrt(0.5 * (1.0 - rho))
    middle = 0.5 * abs(mean1 / s1 + mean2 / s2)
    return 0.5 * (cdf((reach - middle) / spread) - cdf((-reach - middle) / spread))


@compiled
def _log_odds_given(probability: float, label_noise: float) -> float:
    """E log f of a step with such a probability of being on its upper side."""
    expected = 0.0
    if probability > 0.0:
        expected += probability * math.log1p(-label_noise)
    if probability < 1.0:
        below = math.log(label_noise) if label_noise > 0.0 else -math.inf
        expected += (1.0 - probability) * below
    return expected


@compiled
def expected_log_ratio(
    mean1: float, mean2: float, variance1: float, covariance: float, variance2: float,
    noise1: float, noise2: float, label_noise1: float, label_noise2: float, label_noise: float,
) -> float:  # fmt: skip
    """E log(f₁f₂/f′) under f₁f₂N/Z; infinite where f′ rules out what the pair does not.

    The merged factor is a step at u₁ + u₂ = 0 with ``label_noise``.

    Examples
    --------
    >>> equal = (0.5, 0.5, 1.0, 1.0, 1.0, 0.0, 0.0, 0.1, 0.1, 1 / 82)  # as one row: exact
    >>> from math import log
    >>> round(expected_log_ratio(*equal) - log(0.1**2 + 0.9**2), 12)
    0.0
    """
    v1, v2 = variance1 + noise1, variance2 + noise2
    v = v1 + 2.0 * covariance + v2
    if not (v1 > 0.0 and v2 > 0.0 and v > 0.0):
        return math.inf
    s1, s2, s = math.sqrt(v1), math.sqrt(v2), math.sqrt(v)
    z1, z2, z = mean1 / s1, mean2 / s2, (mean1 + mean2) / s
    p1, p2, p = cdf(z1), cdf(z2), cdf(z)
    both = _both_positive(z1, z2, covariance / (s1 * s2))
    # The sum is positive although the second margin is not, and although the first is not.
    only1 = max(p - _both_positive(z, z2, (covariance + v2) / (s * s2)), 0.0)
    only2 = max(p - _both_positive(z, z1, (covariance + v1) / (s * s1)), 0.0)
    right1, right2 = 1.0 - label_noise1, 1.0 - label_noise2
    q11 = right1 * right2 * both
    q10 = right1 * label_noise2 * max(p1 - both, 0.0)
    q01 = label_noise1 * right2 * max(p2 - both, 0.0)
    q00 = label_noise1 * label_noise2 * max(1.0 - p1 - p2 + both, 0.0)
    total = q11 + q10 + q01 + q00
    if not total > 0.0:
        return math.inf
    above = (q11 + right1 * label_noise2 * only1 + label_noise1 * right2 * only2) / total
    return (
        _log_odds_given((q11 + q10) / total, label_noise1)
        + _log_odds_given((q11 + q01) / total, label_noise2)
        - _log_odds_given(min(above, 1.0), label_noise)
    )


@compiled
def log_normaliser(
    mean: Vector, covariance: Symmetric, precision: Symmetric, shift: Vector
) -> float:
    """Log ∫ N(x; m, C) exp(bᵀx − ½xᵀKx) dx in the plane, for shift b and precision K.

    C may be singular.

    Examples
    --------
    >>> import math
    >>> found = log_normaliser((0.0, 0.0), (1.0, 0.0, 1.0), (3.0, 0.0, 0.0), (0.0, 0.0))
    >>> round(found + math.log(2), 12)
    0.0
    """
    m1, m2 = mean
    c11, c12, c22 = covariance
    k11, k12, k22 = precision
    b1, b2 = shift
    # The new mean x solves (I + CK)x = m + Cb.
    a11, a12 = 1.0 + c11 * k11 + c12 * k12, c11 * k12 + c12 * k22
    a21, a22 = c12 * k11 + c22 * k12, 1.0 + c12 * k12 + c22 * k22
    determinant = a11 * a22 - a12 * a21
    if not determinant > 0.0:
        return math.inf
    r1, r2 = m1 + c11 * b1 + c12 * b2, m2 + c12 * b1 + c22 * b2
    x1 = (a22 * r1 - a12 * r2) / determinant
    x2 = (a11 * r2 - a21 * r1) / determinant
    lean1, lean2 = b1 - k11 * x1 - k12 * x2, b2 - k12 * x1 - k22 * x2  # C⁻¹(x − m)
    return 0.5 * (b1 * x1 + b2 * x2 + m1 * lean1 + m2 * lean2 - math.log(determinant))


@compiled
def expected_exponent(
    mean: Vector, covariance: Symmetric, precision: Symmetric, shift: Vector
) -> float:
    """E(bᵀx − ½xᵀKx) in the plane, for shift b and precision K.

    Examples
    --------
    >>> expected_exponent((1.0, 2.0), (3.0, 0.5, 1.0), (2.0, 0.0, 4.0), (1.0, 1.0))
    -11.0
    """
    m1, m2 = mean
    p11, p12, p22 = covariance
    k11, k12, k22 = precision
    squares = k11 * (p11 + m1 * m1) + k22 * (p22 + m2 * m2) + 2.0 * k12 * (p12 + m1 * m2)
    return shift[0] * m1 + shift[1] * m2 - 0.5 * squares
