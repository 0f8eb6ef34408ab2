"""A part of a labelled row: its likelihood to a power p between 0 and 1 (a row of that weight).

Without margin noise f takes two values, and so does fᵖ: it is a factor of the family, but for a
constant. With margin noise fᵖ is none, and its moments against a Gaussian have no closed form. With
u = m + √v·x, y = u/s, a = √v/s and g(x) = p log f, the density of what is integrated is
φ(x)·exp g(x). For its mean δ and variance V, integration by parts gives

    δ = E g′,    V − 1 = Cov(x, g′) = E g″ + Var g′,

which keep their digits where the factor says little; V itself is taken directly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.likelihood import (
    LEAST_LABEL_NOISE,
    clip_margin,
    log_probability,
)
from virtualvector.kernels.normal import cdf, density, inverse_mills

_LOG_ROOT_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)

_FAR = 30.0  # exp of minus that is nothing beside one
_MOST_PANELS = 2000  # far more than any case needs
_SHARPEST = 1e8  # of a: what is sharper is as good as a step
_SMOOTH = 0.1  # of a, below which E g″ + Var g′ has more digits than Cov(x, g′)
_DEEP = -30.0  # of y, left of which the logarithm of f is a difference of large numbers
# A panel is so wide that 16 nodes are exact to rounding: beside the distance of the nearest zero of
# f in the complex plane, the width of the Gaussian, and the slope of the logarithm.
_OF_DISTANCE, _OF_WIDTH, _OF_SLOPE = 0.7, 2.0, 10.0
_FARTHEST = 50.0  # of x, where with label noise there may be anything
_ZERO, _ABOVE = 1.92, 2.82  # of Φ, nearest to the real line


@compiled
def powered_label_noise(label_noise: float, power: float) -> float:
    """The label noise of a row without margin noise, to a power: logit ε′ = p logit ε.

    Examples
    --------
    >>> round(powered_label_noise(0.1, 0.5), 6), powered_label_noise(0.0, 0.5)
    (0.25, 0.0)
    """
    if label_noise == 0.0:
        return 0.0
    odds = math.exp(power * (math.log(label_noise) - math.log1p(-label_noise)))
    return max(odds / (1.0 + odds), LEAST_LABEL_NOISE)


class _Factor(NamedTuple):
    """What is integrated, and the place that it is measured from."""

    power: float
    label_noise: float
    sharpness: float  # a
    x: float  # the place, in x and in y
    y: float
    log_f: float  # there
    slope: float  # f′/f there
    lean: float  # f′/f + y there
    deep: bool  # whether y is left of `_DEEP`
    low: float  # where the label noise takes over, left of zero


@compiled
def _log_and_slopes(y: float, label_noise: float) -> tuple[float, float, float]:
    """Log f, f′/f with respect to y, and f′/f + y, small for y → −∞ without label noise."""
    if label_noise == 0.0 and y < _DEEP:
        h, lean, _ = inverse_mills(y)
        return -0.5 * y * y - _LOG_ROOT_TWO_PI - math.log(h), h, lean
    clean, tail = 1.0 - 2.0 * label_noise, cdf(-abs(y))
    if y > 0.0:
        slope = clean * density(y) / (1.0 - label_noise - clean * tail)
        return math.log1p(-label_noise - clean * tail), slope, slope + y
    f = label_noise + clean * tail
    slope = clean * density(y) / f
    return math.log(f), slope, slope + y


@compiled
def _at(factor: _Factor, t: float) -> tuple[float, float, float]:
    """At a distance t in x from the place: the logarithm of φ·fᵖ less that at the place, g′, g″.

    Of g′ it is the difference from that at the place.
    """
    p, a = factor.power, factor.sharpness
    y = clip_margin(factor.y + a * t)
    log_f, slope, lean = _log_and_slopes(y, factor.label_noise)
    bend = -p * a * a * slope * lean
    if factor.deep:  # where the place is the mode, x = p·a·h, and log Φ = −½y² − log h + constant
        log_h = -0.5 * y * y - _LOG_ROOT_TWO_PI - log_f
        if y < 0.0:
            log_h = math.log(slope)
        log = -0.5 * (1.0 + p * a * a) * t * t - p * a * factor.lean * t
        log -= p * (log_h - math.log(factor.slope))
        return log, p * a * (lean - factor.lean - a * t), bend
    log = -t * (0.5 * t + factor.x) + p * (log_f - factor.log_f)
    return log, p * a * (slope - factor.slope), bend


@compiled
def _low(label_noise: float) -> float:
    """About where Φ(−y) has become as small as the label noise: φ(y)/y = ε; y ≥ 0.7."""
    low = 1.0
    for _ in range(4):
        low = math.sqrt(max(-2.0 * math.log(2.51 * label_noise * low), 0.5))
    return low


@compiled
def _width(factor: _Factor, t: float, slope_there: float) -> float:
    """How wide a panel that begins at t may be."""
    p, a = factor.power, factor.sharpness
    y = clip_margin(factor.y + a * t)
    nearest = math.hypot(y - _ZERO, _ABOVE)
    falls = y < _ABOVE
    if factor.label_noise > 0.0:
        low = factor.low
        nearest = min(nearest, math.hypot(y + low, min(math.pi / low, _ABOVE)))
        falls = falls and y > -low - _ABOVE
    wide = min(_OF_DISTANCE * nearest / a, _OF_WIDTH)
    if falls:
        wide = min(wide, _OF_WIDTH / math.sqrt(1.0 + p * a * a))
    # The derivative of the logarithm: −x + g′, with that at the place taken out where it is zero.
    fall = slope_there - t
    if not factor.deep:
        fall += p * a * factor.slope - factor.x
    return min(wide, _OF_SLOPE / max(abs(fall), 1e-300))


@compiled
def _mode(x0: float, a: float, p: float) -> tuple[float, float]:
    """The mode without label noise, in x and y: x = p·a·h(y), y = a(x − x0).

    What is zero there is concave and increases: Newton's steps from the left never go beyond it.
    """
    x, y = 0.0, clip_margin(-a * x0)
    for _ in range(100):
        h, lean, _ = inverse_mills(y)
        step = (p * a * h - x) / (1.0 + p * a * a * h * lean)
        x += step
        y = clip_margin(a * (x - x0))
        if abs(step) * math.sqrt(1.0 + p * a * a) < 0.01:
            break
    return x, y


@compiled
def _from_its_top(x0: float, a: float, p: float, label_noise: float) -> _Factor:
    """Return what is to be integrated, measured from near where it is largest."""
    if label_noise == 0.0:
        x, y = _mode(x0, a, p)
        log_f, slope, lean = _log_and_slopes(y, 0.0)
        deep = y < _DEEP
        return _Factor(p, 0.0, a, p * a * slope if deep else x, y, log_f, slope, lean, deep, 0.0)
    best, most = 0.0, -math.inf
    edge = min(max(x0, 0.0), _FARTHEST)
    for k in range(5):
        x = 0.0 if k == 4 else min(edge + k / a, _FARTHEST)
        log = p * log_probability(clip_margin(a * (x - x0)), label_noise) - 0.5 * x * x
        if log > most:
            best, most = x, log
    y = clip_margin(a * (best - x0))
    log_f, slope, lean = _log_and_slopes(y, label_noise)
    return _Factor(p, label_noise, a, best, y, log_f, slope, lean, False, _low(label_noise))


class _Sums(NamedTuple):
    """Integrals over t of φ·fᵖ, and of it times t, g′, t², t·g′, g′², g″."""

    one: float
    t: float
    g: float
    tt: float
    tg: float
    gg: float
    bend: float


@compiled
def _march(factor: _Factor, towards: float, end: float, sums: _Sums) -> _Sums:
    """Add panels from the place on in one direction, until there is nothing left, or to an end."""
    one, st, sg, stt, stg, sgg, bend = sums
    t = 0.0
    _, slope, _ = _at(factor, t)
    for _ in range(_MOST_PANELS):
        wide = min(_width(factor, t, slope), end - abs(t))
        if wide <= 0.0:
            break
        middle = t + 0.5 * towards * wide
        for k in range(_NODES.shape[0]):
            at = middle + 0.5 * wide * _NODES[k]
            log, g, curved = _at(factor, at)
            weight = 0.5 * wide * _WEIGHTS[k] * math.exp(min(log, 700.0))
            one += weight
            st += weight * at
            sg += weight * g
            stt += weight * at * at
            stg += weight * at * g
            sgg += weight * g * g
            bend += weight * curved
        t += towards * wide
        log, slope, _ = _at(factor, t)
        if log < -_FAR and factor.label_noise == 0.0:
            break
    return _Sums(one, st, sg, stt, stg, sgg, bend)


@compiled
def powered_site(
    mean: float, variance: float, margin_noise: float, label_noise: float, power: float
) -> tuple[float, float]:
    """The site of fᵖ by moment matching against N(mean, variance), margin noise above zero.

    Returns precision and shift, as `matched_site` does for p = 1. Integrals are sums over panels of
    16 Gauss-Legendre nodes, as many as f is sharp, from where most is.

    Examples
    --------
    >>> precision, shift = powered_site(0.5, 2.0, 0.25, 0.05, 1.0)
    >>> round(precision, 6), round(shift, 6)
    (0.380111, 0.835505)
    >>> precision, shift = powered_site(0.5, 2.0, 0.25, 0.05, 0.5)
    >>> round(precision, 6), round(shift, 6)
    (0.182732, 0.425201)
    """
    noise = max(margin_noise, variance / (_SHARPEST * _SHARPEST))
    x0, a = -mean / math.sqrt(variance), math.sqrt(variance / noise)
    factor = _from_its_top(x0, a, power, label_noise)
    left = right = math.inf
    if label_noise > 0.0:  # f ≥ ε: there may be two modes; all that counts is between these
        top = power * factor.log_f - 0.5 * factor.x * factor.x
        left = factor.x + math.sqrt(2.0 * _FAR)
        right = math.sqrt(2.0 * (_FAR - top)) - factor.x
    sums = _march(factor, 1.0, right, _Sums(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    sums = _march(factor, -1.0, left, sums)
    t, g = sums.t / sums.one, sums.g / sums.one
    spread = sums.tt / sums.one - t * t
    if a < _SMOOTH:
        less = -(sums.bend / sums.one + sums.gg / sums.one - g * g)
    else:
        less = t * g - sums.tg / sums.one
    moved = power * a * factor.slope + g  # δ
    precision = less / (spread * variance)
    new_mean = math.sqrt(noise) * (factor.y + a * t)
    return precision, new_mean * precision + moved / math.sqrt(variance)
