"""The standard bivariate normal distribution, and what is left of it in a quadrant.

X and Y have unit variance and correlation ρ; q = √(1−ρ²) throughout. A row has a private direction
of its own in weight space, so two rows cut a Gaussian to a quadrant {X ≤ x, Y ≤ y}, of which the
moments of a merge need the probability, its slopes, the mean and the covariance (section 3.2).
"""

from __future__ import annotations

import math

import numpy as np

from virtualvector.kernels.compiled import compiled
from virtualvector.kernels.normal import cdf, density, hazard

_TWO_PI = 2.0 * math.pi
_ROOT_TWO_PI = math.sqrt(_TWO_PI)

_NODES_6, _WEIGHTS_6 = np.polynomial.legendre.leggauss(6)
_NODES_12, _WEIGHTS_12 = np.polynomial.legendre.leggauss(12)
_NODES_20, _WEIGHTS_20 = np.polynomial.legendre.leggauss(20)

_FARTHEST = 40.0  # Φ(−40) is below the smallest double
_LARGEST = 1e100  # keeps squares of standardised margins finite, also when divided by 1−ρ²
_THINNEST = 1e-20  # stands for q at ρ = ±1: far below the q of any other double, yet divisible

# An absolute error near 1e-16 is good enough for the logarithm of a probability down to here, ...
_LOG_IS_SAFE = 1e-3
# ... and for the variance of what is left in the quadrant down to here: a density of at most
# 0.4/Φ₂ cannot be narrow.
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
    x: float, y: float, correlation: float, nodes: np.ndarray, weights: np.ndarray
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
    series = 1.0 - c * (gap2 - square) * (1.0 - d * gap2 / 5.0) / 3.0 + c * d * square * square / 5.0
    total = q * math.exp(-0.5 * (gap2 / square + product)) * series
    total -= (
        math.exp(-0.5 * product)
        * _ROOT_TWO_PI
        * cdf(-gap / q)
        * gap
        * (1.0 - c * gap2 * (1.0 - d * gap2 / 5.0) / 3.0)
    )
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
