"""Inverse ADF (section 3.2): the Gaussian before a factor, given the moments after it.

Let m, v be the moments after, and ρ = v_h/(v_h + s²) for the unknown variance v_h before. With
k = h(h+z), eqs. 24 and 25 become, for any margin noise s²,

    v = v_h(1 − ρk),    m = (z + ρh)·√(v_h/ρ),

so that ρ solves tkρ² − (1 + t)ρ + 1 = 0 with t = s²/v, and z solves

    (z + ρh)/√(ρ(1 − ρk)) = m/√v.

For s = 0 (ρ = 1) this is the root of eq. 26 *before* squaring, which eq. 27 would allow to have the
wrong sign. The left side increases with z, so a bracket around the root always closes.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.likelihood import tilted_moments

_FARTHEST = -1e9  # a root further out means moments at the very edge of what a factor can produce
_STEPS = 200
_SECANTS = 4
_NEAREST, _WIDENINGS = 0.01, 25  # from a hundredth to a few hundred


@compiled
def _before(z: float, noise: float, label_noise: float) -> tuple[float, float, float]:
    """At a trial z: the ratio m/√v that it would lead to, ρ, and 1 − ρk; `noise` is s²/v.

    Both 1 − ρ and 1 − ρk are built from positive terms.
    """
    h, mean, variance = tilted_moments(z, label_noise)
    if noise < 1.0:
        less = 1.0 - noise
        root = math.sqrt(less * less + 4.0 * noise * variance)
        rest = 4.0 * noise * variance / ((root + 1.0 - noise) * (1.0 + noise + root))
    else:
        less = 1.0 / noise - 1.0
        root = noise * math.sqrt(less * less + 4.0 * variance / noise)
        rest = (noise - 1.0 + root) / (1.0 + noise + root)
    share = 2.0 / (1.0 + noise + root)
    shrinkage = rest + share * variance
    return (mean - rest * h) / math.sqrt(share * shrinkage), share, shrinkage


@compiled
def _solved(
    target: float, variance: float, noise: float, label_noise: float, left: float, right: float
) -> tuple[bool, float, float, float]:
    """Find the root between two ends of different signs; return what `inverse_adf` does."""
    f_left = _before(left, noise, label_noise)[0] - target
    f_right = _before(right, noise, label_noise)[0] - target
    # Chandrupatla's method: inverse quadratic interpolation where it is safe, else bisection.
    a, f_a, b, f_b, c, f_c = left, f_left, right, f_right, right, f_right
    weight = 0.5
    for _ in range(_STEPS):
        z = a + weight * (b - a)
        f_z = _before(z, noise, label_noise)[0] - target
        if (f_z > 0.0) == (f_a > 0.0):
            c, f_c = a, f_a
        else:
            c, f_c = b, f_b
            b, f_b = a, f_a
        a, f_a = z, f_z
        best = a if abs(f_a) < abs(f_b) else b
        tolerance = 4e-16 * abs(best) + 1e-300
        if f_z == 0.0 or abs(b - a) < 2.0 * tolerance:  # one more step could not halve it
            break
        weight = 0.5
        xi = (a - b) / (c - b)
        phi = (f_a - f_b) / (f_c - f_b)
        if phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi:
            weight = f_a / (f_b - f_a) * f_c / (f_b - f_c)
            weight += (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
        smallest = tolerance / abs(b - a)
        weight = min(max(weight, smallest), 1.0 - smallest)

    z = a if abs(f_a) < abs(f_b) else b
    _, share, shrinkage = _before(z, noise, label_noise)
    prior_variance = variance / shrinkage
    return True, z, z * math.sqrt(prior_variance / share), prior_variance


@compiled
def inverse_adf(
    mean: float, variance: float, margin_noise: float, label_noise: float
) -> tuple[bool, float, float, float]:
    """Find the cavity whose product with one factor has the given mean and variance.

    Returns whether there is one, its standardised margin z, its mean and its variance. The moments
    of a cut Gaussian are not arbitrary: without noise, for example, the mean exceeds the standard
    deviation. "No such prior" is therefore a regular answer.

    Examples
    --------
    >>> found, z, mean, variance = inverse_adf(1.2, 0.7, 0.0, 0.0)
    >>> found, round(z, 6), round(mean, 6), round(variance, 6)
    (True, 0.454916, 0.5528, 1.47664)
    >>> inverse_adf(0.5, 1.0, 0.0, 0.0)[0]
    False
    """
    target = mean / math.sqrt(variance)
    noise = margin_noise / variance
    if not (variance > 0.0 and abs(target) < 1e100 and noise < 1e100):
        return False, 0.0, 0.0, 0.0

    # For z > 0 the ratio is at least z: the right end is found. Walk left for the other one.
    right = max(target, 0.0) + 1.0
    left = min(target, 0.0) - 1.0
    while _before(left, noise, label_noise)[0] >= target:
        if left < _FARTHEST:
            return False, 0.0, 0.0, 0.0
        right = left
        left *= 2.0
    return _solved(target, variance, noise, label_noise, left, right)


@compiled
def inverse_adf_near(
    mean: float, variance: float, margin_noise: float, label_noise: float, near: float
) -> tuple[bool, float, float, float]:
    """As `inverse_adf`; with label noise, of several answers the one that is nearest to a margin z.

    A factor with label noise may turn different Gaussians into ones with the same moments.

    Examples
    --------
    >>> found, z, mean, variance = inverse_adf_near(1.2, 0.7, 0.0, 0.1, 0.5)
    >>> found, round(z, 6), round(mean, 6), round(variance, 6)
    (True, 0.873617, 0.899631, 1.060442)
    """
    if label_noise == 0.0:
        return inverse_adf(mean, variance, margin_noise, label_noise)
    target = mean / math.sqrt(variance)
    noise = margin_noise / variance
    if not (variance > 0.0 and abs(target) < 1e100 and noise < 1e100 and abs(near) < 1e9):
        return False, 0.0, 0.0, 0.0
    left = right = near
    is_above = _before(near, noise, label_noise)[0] > target
    step = _NEAREST * (1.0 + abs(near))
    for _ in range(_WIDENINGS):
        if (_before(left - step, noise, label_noise)[0] > target) != is_above:
            return _solved(target, variance, noise, label_noise, left - step, left)
        if (_before(right + step, noise, label_noise)[0] > target) != is_above:
            return _solved(target, variance, noise, label_noise, right, right + step)
        left, right, step = left - step, right + step, 1.5 * step
    return False, 0.0, 0.0, 0.0


@compiled
def inverse_adf_roughly(
    mean: float, variance: float, margin_noise: float, label_noise: float
) -> tuple[bool, float, float]:
    """As `inverse_adf`, with z to a hundredth, nearly always to a thousandth, and without the mean.

    The more noise, the less do ρ and k matter, and z = √(ρ(1 − ρk))·m/√v − ρh is soon found. That
    it is not found here does not mean that there is none.

    Examples
    --------
    >>> found, z, variance = inverse_adf_roughly(1.2, 0.7, 0.5, 0.0)
    >>> found, round(z, 2), round(variance, 2)
    (True, 0.7, 1.01)
    """
    target = mean / math.sqrt(variance)
    noise = margin_noise / variance
    if variance > 0.0 and abs(target) < 1e100 and noise < 1e100:
        z = target / math.sqrt(1.0 + noise)
        ratio, share, shrinkage = _before(z, noise, label_noise)
        step = (target - ratio) * math.sqrt(share * shrinkage)
        for _ in range(_SECANTS):
            if not abs(step) < 10.0:
                break
            z, last = z + step, ratio
            ratio, share, shrinkage = _before(z, noise, label_noise)
            if abs(target - ratio) * math.sqrt(share * shrinkage) < 1e-3:
                return True, z, variance / shrinkage
            step *= (target - ratio) / (ratio - last)
    return False, 0.0, 0.0
