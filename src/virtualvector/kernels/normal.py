"""The standard normal distribution, with tails that neither underflow nor cancel."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from virtualvector.jit.compiled import compiled, inlined

_ROOT_HALF = math.sqrt(0.5)
_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)

# Left of this point ratios of tail probabilities come from a continued fraction.
_TAIL = -4.0

# From there to 4, N(z)/Φ(z) and what follows from it comes from tables of Taylor series, one for
# each sixteenth: several times as fast as special functions, and EP waits for little else.
_PER_UNIT = 16
_PIECES = 8 * _PER_UNIT
_DEGREE = 9  # what is left out is below 3e-16

Series = NDArray[np.float64]  # (pieces, degree + 1): coefficients of Taylor series


def _times(a: Series, b: Series, k: int) -> NDArray[np.float64]:
    """Coefficient k of the product of two series, in every piece."""
    total: NDArray[np.float64] = (a[:, : k + 1] * b[:, k::-1]).sum(axis=1)
    return total


def _tables() -> tuple[Series, Series, Series]:
    """Taylor series of Φ, of h = N/Φ and of D, see `truncated_divergence`, amid each piece.

    By N′ = −zN, h′ = −k with k = h(h+z), v′ = k(2h+z) − h with v = 1 − k, and
    D′ = ½(v′/v − h − zk).
    """
    middle = _TAIL + (np.arange(_PIECES) + 0.5) / _PER_UNIT
    z, below, normal, h, k, v, slope, quotient, d = np.zeros((9, _PIECES, _DEGREE + 1))
    z[:, 0], z[:, 1] = middle, 1.0
    below[:, 0], normal[:, 0] = ndtr(middle), np.exp(-0.5 * middle**2 - _LOG_ROOT_TWO_PI)
    h[:, 0] = normal[:, 0] / below[:, 0]
    d[:, 0] = -log_ndtr(middle) + 0.5 * (h[:, 0] * middle + np.log1p(-h[:, 0] * (h[:, 0] + middle)))
    for n in range(_DEGREE):
        k[:, n] = _times(h, h + z, n)
        v[:, n] = (n == 0) - k[:, n]
        slope[:, n] = _times(k, 2.0 * h + z, n) - h[:, n]  # v′
        quotient[:, n] = (slope[:, n] - _times(quotient, v, n)) / v[:, 0]
        below[:, n + 1] = normal[:, n] / (n + 1)
        normal[:, n + 1] = -_times(z, normal, n) / (n + 1)
        h[:, n + 1] = -k[:, n] / (n + 1)
        d[:, n + 1] = 0.5 * (quotient[:, n] - h[:, n] - _times(z, k, n)) / (n + 1)
    scale = float(_PER_UNIT) ** np.arange(_DEGREE + 1)
    return below / scale, h / scale, d / scale


_BELOW, _RATIOS, _DIVERGENCES = _tables()


@inlined
def _from_table(table: Series, place: float) -> float:
    """The sum of the series of the piece that a place is in."""
    piece = int(place)
    c = table[piece]
    t = place - piece - 0.5
    t2 = t * t
    low = (c[0] + c[1] * t) + (c[2] + c[3] * t) * t2
    high = (c[4] + c[5] * t) + (c[6] + c[7] * t) * t2 + (c[8] + c[9] * t) * t2 * t2
    return low + high * t2 * t2


@compiled
def density(z: float) -> float:
    """N(z; 0, 1)."""
    return math.exp(-0.5 * z * z - _LOG_ROOT_TWO_PI)


@compiled
def cdf(z: float) -> float:
    """Φ(z), with full relative accuracy in the lower tail until it underflows at z ≈ −38."""
    return 0.5 * math.erfc(-z * _ROOT_HALF)


@inlined
def cdf_from_table(z: float) -> float:
    """Φ(z) for EP, which asks for it at every visit of a point with label noise: as `cdf`."""
    place = (z - _TAIL) * _PER_UNIT
    if 0.0 < place < _PIECES:
        return _from_table(_BELOW, place)
    return cdf(z)


@inlined
def inverse_mills(z: float) -> tuple[float, float, float]:
    """The ratio h = N(z)/Φ(z) and what follows from it: h, h + z and 1 − h(h+z).

    A normal variable with mean z and unit variance, cut to the positive half-line, has mean
    h + z and variance 1 − h(h+z). Both vanish for z → −∞, where the obvious formulas cancel.
    There the continued fraction h = x + 1/(x + 2/(x + 3/(x + …))), x = −z, gives the two
    differences directly.

    Examples
    --------
    >>> [f"{part:.6g}" for part in inverse_mills(-1e8)]
    ['1e+08', '1e-08', '1e-16']
    """
    place = (z - _TAIL) * _PER_UNIT
    if 0.0 < place < _PIECES:
        h = _from_table(_RATIOS, place)
        return h, h + z, 1.0 - h * (h + z)
    return _inverse_mills_of_tails(z)


@compiled
def _inverse_mills_of_tails(z: float) -> tuple[float, float, float]:
    """The same where there is no table."""
    if z > 0.0:
        h = density(z) / cdf(z)
        return h, h + z, 1.0 - h * (h + z)
    x = -z
    tail = x
    for k in range(8 + int(200.0 / x), 2, -1):
        tail = x + k / tail
    second = 2.0 / tail
    first = 1.0 / (x + second)
    return x + first, first, first * (second - first)


@inlined
def truncated_divergence(z: float) -> float:
    """How far a normal variable with mean z and unit variance, cut at zero, is from a normal one.

    That is from the one with the same mean and variance: D = ½[hz + log(1 − h(h+z))] − log Φ(z).

    Examples
    --------
    >>> round(truncated_divergence(0.0), 8)
    0.18699441
    """
    place = (z - _TAIL) * _PER_UNIT
    if 0.0 < place < _PIECES:
        return _from_table(_DIVERGENCES, place)
    return _divergence_of_tails(z)


@compiled
def _divergence_of_tails(z: float) -> float:
    """The same where there is no table."""
    if z > 0.0:
        h = density(z) / cdf(z)
        return -math.log1p(-cdf(-z)) + 0.5 * (h * z + math.log1p(-h * (h + z)))
    h, mean, variance = _inverse_mills_of_tails(z)
    return _LOG_ROOT_TWO_PI + math.log(h) + 0.5 * (z * mean + math.log(variance))


@compiled
def log_cdf(z: float) -> float:
    """Log Φ(z) over the whole line."""
    if z > 0.0:
        return math.log1p(-cdf(-z))
    if z > _TAIL:
        return math.log(cdf(z))
    return -0.5 * z * z - _LOG_ROOT_TWO_PI - math.log(_inverse_mills_of_tails(z)[0])
