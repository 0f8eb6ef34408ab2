"""The standard normal distribution, with tails that neither underflow nor cancel."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from virtualvector.kernels.compiled import compiled

_ROOT_HALF = math.sqrt(0.5)
_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)

# Left of this point ratios of tail probabilities come from a continued fraction.
_TAIL = -4.0

# From there to 4, N(z)/Φ(z) comes from a table of Taylor series, one for each sixteenth: twice as
# fast as two special functions, and a visit of EP waits for little else.
_PER_UNIT = 16
_PIECES = 8 * _PER_UNIT
_DEGREE = 9  # what is left out is below 3e-16 of the ratio


def _hazard_table() -> NDArray[np.float64]:
    """Taylor coefficients of h = N/Φ around the middle of each piece, by h′ = −h(z+h)."""
    table = np.zeros((_PIECES, _DEGREE + 1))
    for piece in range(_PIECES):
        z = _TAIL + (piece + 0.5) / _PER_UNIT
        c = table[piece]
        c[0] = math.exp(-0.5 * z * z - _LOG_ROOT_TWO_PI) / (0.5 * math.erfc(-z * _ROOT_HALF))
        for k in range(_DEGREE):
            square = np.dot(c[: k + 1], c[k::-1])
            before = c[k - 1] if k > 0 else 0.0
            c[k + 1] = -(z * c[k] + before + square) / (k + 1)
    return table / float(_PER_UNIT) ** np.arange(_DEGREE + 1)


_HAZARDS = _hazard_table()


@compiled
def density(z: float) -> float:
    """N(z; 0, 1)."""
    return math.exp(-0.5 * z * z - _LOG_ROOT_TWO_PI)


@compiled
def cdf(z: float) -> float:
    """Φ(z), with full relative accuracy in the lower tail until it underflows at z ≈ −38."""
    return 0.5 * math.erfc(-z * _ROOT_HALF)


@compiled
def hazard(z: float) -> tuple[float, float, float]:
    """The ratio h = N(z)/Φ(z) and what follows from it: h, h + z and 1 − h(h+z).

    A normal variable with mean z and unit variance, cut to the positive half-line, has mean
    h + z and variance 1 − h(h+z). Both vanish for z → −∞, where the obvious formulas cancel.
    There the continued fraction h = x + 1/(x + 2/(x + 3/(x + …))), x = −z, gives the two
    differences directly.

    Examples
    --------
    >>> [f"{part:.6g}" for part in hazard(-1e8)]
    ['1e+08', '1e-08', '1e-16']
    """
    if z > _TAIL:
        place = (z - _TAIL) * _PER_UNIT
        if place < _PIECES:
            piece = int(place)
            c = _HAZARDS[piece]
            t = place - piece - 0.5
            t2 = t * t
            low = (c[0] + c[1] * t) + (c[2] + c[3] * t) * t2
            high = (c[4] + c[5] * t) + (c[6] + c[7] * t) * t2 + (c[8] + c[9] * t) * t2 * t2
            h = low + high * t2 * t2
        else:
            h = density(z) / cdf(z)
        return h, h + z, 1.0 - h * (h + z)
    x = -z
    tail = x
    for k in range(8 + int(200.0 / x), 2, -1):
        tail = x + k / tail
    second = 2.0 / tail
    first = 1.0 / (x + second)
    return x + first, first, first * (second - first)


@compiled
def log_cdf(z: float) -> float:
    """Log Φ(z) over the whole line."""
    if z > 0.0:
        return math.log1p(-cdf(-z))
    if z > _TAIL:
        return math.log(cdf(z))
    return -0.5 * z * z - _LOG_ROOT_TWO_PI - math.log(hazard(z)[0])
