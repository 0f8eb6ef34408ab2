"""The standard bivariate normal distribution, and what is left of it in a quadrant.

X and Y have unit variance and correlation ρ; q = √(1−ρ²) throughout. Two rows cut the Gaussian over
their margins to a quadrant {X ≤ x, Y ≤ y}: its probability is Φ₂, and merging needs the moments of
what is left (section 3.2).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.normal import cdf, density, inverse_mills

_TWO_PI = 2.0 * math.pi
_ROOT_TWO_PI = math.sqrt(_TWO_PI)

_NODES_6, _WEIGHTS_6 = np.polynomial.legendre.leggauss(6)
_NODES_12, _WEIGHTS_12 = np.polynomial.legendre.leggauss(12)
_NODES_20, _WEIGHTS_20 = np.polynomial.legendre.leggauss(20)

_FARTHEST = 40.0  # Φ(−40) is below the smallest double
_LARGEST = 1e60  # what is left beyond margins like this is too narrow for products of doubles
_THINNEST = 1e-20  # stands for q at ρ = ±1: far below the q of any other double, yet divisible

# An absolute error near 1e-16 is good enough for the variance of what is left in the quadrant down
# to here: a density of at most 0.4/Φ₂ cannot be narrow.
_MOMENTS_ARE_SAFE = 0.1

# What is e⁻⁴⁰ below the peak of an integrand does not count. A panel of 20 nodes integrates a
# Gaussian down to e⁻²⁰, and Φ(w) over 6 units of w, to rounding.
_NEGLIGIBLE = 40.0
_DROP = 20.0
_STRIDE = 6.0
_SATURATED = 8.0  # Φ(w) is 1 from here on
_MOST_PANELS = 16


@compiled
def _width(correlation: float) -> float:
    """Return q = √(1−ρ²), never zero."""
    return max(math.sqrt((1.0 - correlation) * (1.0 + correlation)), _THINNEST)


@compiled
def _residual(y: float, x: float, correlation: float) -> float:
    """Return y − ρx without cancellation for ρ near ±1."""
    if correlation > 0.0:
        return (y - x) + (1.0 - correlation) * x
    return (y + x) - (1.0 + correlation) * x


@compiled
def _from_independence(
    x: float, y: float, correlation: float, nodes: NDArray[np.float64], weights: NDArray[np.float64]
) -> float:
    """Φ₂ = Φ(x)Φ(y) + (2π)⁻¹∫ exp(−(x²+y²−2xy sin θ)/(2cos²θ)) dθ over θ from 0 to arcsin ρ."""
    half = 0.5 * math.asin(correlation)
    product = x * y
    squares = 0.5 * (x * x + y * y)
    total = 0.0
    for i in range(nodes.size):
        sine = math.sin(half * (1.0 + nodes[i]))
        total += weights[i] * math.exp((sine * product - squares) / (1.0 - sine * sine))
    return cdf(x) * cdf(y) + half * total / _TWO_PI


@compiled
def _missing_from_comonotone(x: float, y: float, correlation: float) -> float:
    """Φ(min(x,y)) − Φ₂(x,y;ρ) for ρ near 1: the integral of the density over r from ρ to 1.

    With s = √(1−r²) it is (2π)⁻¹∫₀^q exp(−(x−y)²/(2s²) − xy/(1+r)) ds/r. The first terms of the
    expansion of exp(−xy/(1+r))/r in s are integrated exactly, the smooth rest numerically.
    """
    square = (1.0 - correlation) * (1.0 + correlation)
    q = math.sqrt(square)
    gap = abs(x - y)
    gap2 = gap * gap
    product = x * y
    c = (4.0 - product) / 8.0
    d = (12.0 - product) / 16.0
    series = (
        1.0 - c * (gap2 - square) * (1.0 - d * gap2 / 5.0) / 3.0 + c * d * square * square / 5.0
    )
    total = q * math.exp(-0.5 * (gap2 / square + product)) * series
    if product > -100.0:  # otherwise the gap is so wide that the cdf vanishes
        series = 1.0 - c * gap2 * (1.0 - d * gap2 / 5.0) / 3.0
        total -= math.exp(-0.5 * product) * _ROOT_TWO_PI * cdf(-gap / q) * gap * series
    half = 0.5 * q
    for i in range(_NODES_20.size):
        s = half * (1.0 + _NODES_20[i])
        s2 = s * s
        r = math.sqrt(1.0 - s2)
        exact = math.exp(-product * s2 / (2.0 * (1.0 + r) * (1.0 + r))) / r
        rest = exact - (1.0 + c * s2 * (1.0 + d * s2))
        total += half * _WEIGHTS_20[i] * math.exp(-0.5 * (gap2 / s2 + product)) * rest
    return total / _TWO_PI


@compiled
def _between(x: float, y: float) -> float:
    """P(−y ≤ X ≤ x), taken on the side where the probabilities are small."""
    if x + y <= 0.0:
        return 0.0
    if x < 0.0 or y > x:
        return cdf(x) - cdf(-y)
    return cdf(y) - cdf(-x)


@compiled
def bivariate_cdf(x: float, y: float, correlation: float) -> float:
    """Φ₂(x, y; ρ) = P(X ≤ x, Y ≤ y), to about 1e-15 absolutely, by the method of Genz (2004).

    Its derivative in ρ is the density at (x, y), so it is an integral over correlations: from
    0, where it is a product, or for |ρ| near 1 from ±1, where it is a univariate probability.

    Examples
    --------
    >>> round(bivariate_cdf(0.0, 0.0, 0.5), 12)  # 1/4 + arcsin(ρ)/2π
    0.333333333333
    >>> round(bivariate_cdf(-1.0, 0.5, 1.0), 12)  # Φ(−1)
    0.158655253931
    """
    x = min(max(x, -_FARTHEST), _FARTHEST)
    y = min(max(y, -_FARTHEST), _FARTHEST)
    strength = abs(correlation)
    if strength < 0.3:
        value = _from_independence(x, y, correlation, _NODES_6, _WEIGHTS_6)
    elif strength < 0.75:
        value = _from_independence(x, y, correlation, _NODES_12, _WEIGHTS_12)
    elif strength < 0.925:
        value = _from_independence(x, y, correlation, _NODES_20, _WEIGHTS_20)
    else:
        value = cdf(min(x, y)) if correlation > 0.0 else _between(x, y)
        if strength < 1.0 and correlation > 0.0:
            value -= _missing_from_comonotone(x, y, correlation)
        elif strength < 1.0:
            value += _missing_from_comonotone(x, -y, -correlation)
    return min(max(value, 0.0), 1.0)


@compiled
def _reach(slope: float, curvature: float, drop: float) -> float:
    """Return the d > 0 at which slope·d − ½·curvature·d² has come down to −drop."""
    root = math.hypot(slope, math.sqrt(2.0 * drop * curvature))
    if slope > 0.0:
        return (slope + root) / curvature
    return 2.0 * drop / (root - slope)


@compiled
def _stretch(
    start: float,
    length: float,
    level: float,
    slope: float,
    curvature: float,
    w_start: float,
    w_slope: float,
    q: float,
    far: float,
    positive: bool,
) -> tuple[float, float, float, float, float, float]:
    """Integrate one stretch of the quadrant, on which w = (y−ρX)/q keeps its sign.

    With a = x − X = start + d and b = y − Y, returns the integrals of 1, a, b − far, a², a(b−far)
    and (b−far)² under exp(level + slope·d − ½·curvature·d²) times Φ(w)/√2π if w is positive, else
    times Φ(w)/(2πN(w)). Given a, b is q times a normal variable of mean w cut at zero.
    A stretch on which w > 0 starts where qw = far, so that b − far needs no difference there.
    """
    total, a1, b1, a2, ab, b2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    steepness = abs(w_slope)
    end = min(length, _reach(slope, curvature, _NEGLIGIBLE))
    d = 0.0
    for _ in range(_MOST_PANELS):
        step = _reach(slope - curvature * d, curvature, _DROP)
        w = w_start + w_slope * d
        if positive and w < _SATURATED + 0.5:
            step = min(step, _STRIDE / steepness)
        elif positive and w_slope < 0.0:
            step = min(step, (w - _SATURATED) / steepness)
        half = 0.5 * min(step, end - d)
        for i in range(_NODES_20.size):
            e = d + half * (1.0 + _NODES_20[i])
            w = w_start + w_slope * e
            h, mean, variance = inverse_mills(w)
            factor = cdf(w) / _ROOT_TWO_PI if positive else 1.0 / (_TWO_PI * h)
            weight = half * _WEIGHTS_20[i] * factor
            weight *= math.exp(level + e * (slope - 0.5 * curvature * e))
            a = start + e
            b = q * (h + w_slope * e) if positive else q * mean - far
            total += weight
            a1 += weight * a
            b1 += weight * b
            a2 += weight * a * a
            ab += weight * a * b
            b2 += weight * (b * b + q * q * variance)
        d += 2.0 * half
        if d >= end:
            break
    return total, a1, b1, a2, ab, b2


@compiled
def _quadrant_by_quadrature(
    x: float, y: float, correlation: float
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """As `quadrant`, for x ≤ y and a small Φ₂: an integral over a = x − X from 0 to ∞.

    The integrand is exp(xa − ½a²)Φ(w(a)) up to a constant, with w = (y−ρx+ρa)/q. Where w < 0,
    Φ(w) = N(w)·(a slowly varying ratio), and the product of the two Gaussians is one Gaussian in
    a with slope (x−ρy)/q² at a = 0 and curvature q⁻². So there are at most two stretches, split
    where w = 0 (there the slope is y/ρ in both); each decays from its start. All terms are
    positive and all exponents are measured from the corner or the edge where the mass is: this
    is as accurate at x = −1e50 as at x = −1.
    """
    q = _width(correlation)
    w = _residual(y, x, correlation) / q
    v = _residual(x, y, correlation) / q
    far = q * max(w, 0.0)

    both_bind = w < 0.0 or (w == 0.0 and correlation < 0.0)  # then v ≤ 0, as x ≤ y
    slope, curvature = (v / q, 1.0 / (q * q)) if both_bind else (x, 1.0)
    split = abs(w) * q / abs(correlation) if w * correlation < 0.0 else math.inf
    total, a1, b1, a2, ab, b2 = _stretch(
        0.0, split, 0.0, slope, curvature, w, correlation / q, q, far, not both_bind
    )
    if split < _reach(slope, curvature, _NEGLIGIBLE):
        level = split * (slope - 0.5 * curvature * split)
        slope, curvature = y / correlation, 1.0 if both_bind else 1.0 / (q * q)
        more = _stretch(
            split, math.inf, level, slope, curvature, 0.0, correlation / q, q, far, both_bind
        )
        total += more[0]
        a1 += more[1]
        b1 += more[2]
        a2 += more[3]
        ab += more[4]
        b2 += more[5]

    corner = math.exp(-0.5 * max(w, 0.0) ** 2) / (_TWO_PI * total)
    if both_bind:
        log_mass = -0.5 * (x * x + w * w) + math.log(total)
        slope1, slope2 = corner / inverse_mills(w)[0], corner / inverse_mills(v)[0]
    else:
        log_mass = -0.5 * x * x + math.log(total)
        slope1 = cdf(w) / (_ROOT_TWO_PI * total)
        if v < 0.0:
            slope2 = corner / inverse_mills(v)[0]
        else:
            slope2 = math.exp(0.5 * (x - y) * (x + y)) * cdf(v) / (_ROOT_TWO_PI * total)
    a1 /= total
    b1 /= total
    return (
        log_mass,
        slope1,
        slope2,
        corner / q,
        a1,
        b1 + far,
        a2 / total - a1 * a1,
        ab / total - a1 * b1,
        b2 / total - b1 * b1,
    )


@compiled
def quadrant(
    x: float, y: float, correlation: float
) -> tuple[float, float, float, float, float, float, float, float, float]:
    """Cut the distribution to the quadrant X ≤ x, Y ≤ y.

    Returns nine numbers: log Φ₂; its slopes G₁ = N(x)Φ((y−ρx)/q)/Φ₂ in x and G₂ in y; the density
    W = N₂(x,y;ρ)/Φ₂; the mean of (x−X, y−Y) and its variance, covariance and variance. Derivatives
    of N₂ and Φ₂ link them: the mean is (x + G₁ + ρG₂, y + G₂ + ρG₁) and, with H₁₂ = W − G₁G₂,
    the covariance of the two is ρ(1 − G₁E₁ − G₂E₂) + q²H₁₂. That serves as long as Φ₂ is not
    small; in the tails it cancels and an integral of positive terms takes over.

    At ρ = ±1 the limit is returned, with W = 0. An empty quadrant has log Φ₂ = −∞ and zeros.

    Examples
    --------
    >>> [f"{part:.6g}" for part in quadrant(0.0, 0.0, 0.5)[4:]]
    ['0.89762', '0.89762', '0.401026', '0.107775', '0.401026']
    >>> [f"{part:.6g}" for part in quadrant(-1e8, -1e8, 0.0)[4:7]]
    ['1e-08', '1e-08', '1e-16']
    """
    if correlation <= -1.0 and x + y <= 0.0:
        return -math.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    x = min(max(x, -_LARGEST), _LARGEST)
    y = min(max(y, -_LARGEST), _LARGEST)
    mass = bivariate_cdf(x, y, correlation)
    if mass < _MOMENTS_ARE_SAFE:
        if x <= y:
            log_mass, g1, g2, w, e1, e2, c11, c12, c22 = _quadrant_by_quadrature(x, y, correlation)
        else:
            log_mass, g2, g1, w, e2, e1, c22, c12, c11 = _quadrant_by_quadrature(y, x, correlation)
        return log_mass, g1, g2, 0.0 if abs(correlation) >= 1.0 else w, e1, e2, c11, c12, c22
    q = _width(correlation)
    g1 = density(x) * cdf(_residual(y, x, correlation) / q) / mass
    g2 = density(y) * cdf(_residual(x, y, correlation) / q) / mass
    w = 0.0
    if abs(correlation) < 1.0:
        w = density(x) * density(_residual(y, x, correlation) / q) / (q * mass)
    e1 = x + g1 + correlation * g2
    e2 = y + g2 + correlation * g1
    mixed = q * q * (w - g1 * g2)
    square = correlation * correlation
    return (
        math.log(mass),
        g1,
        g2,
        w,
        e1,
        e2,
        1.0 - g1 * e1 - square * g2 * e2 + correlation * mixed,
        correlation * (1.0 - g1 * e1 - g2 * e2) + mixed,
        1.0 - g2 * e2 - square * g1 * e1 + correlation * mixed,
    )
