"""Likelihoods to a power, against quadrature on many thousand nodes, mpmath and closed forms."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, logit

from virtualvector.kernels.likelihood import matched_site
from virtualvector.kernels.powered import powered_label_noise, powered_site

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def log_factor(y, label_noise):
    if label_noise == 0.0:
        return log_ndtr(y)
    return np.logaddexp(math.log(label_noise), math.log1p(-2 * label_noise) + log_ndtr(y))


def tilted(mean, variance, margin_noise, label_noise, power):
    """Mean and variance of N(mean, variance)·fᵖ: hundreds of panels, wherever something may be."""
    a, x0 = math.sqrt(variance / margin_noise), -mean / math.sqrt(variance)

    def log_density(x):
        return power * log_factor(a * (x - x0), label_noise) - 0.5 * x * x

    def slope(x):  # of the logarithm, where there is no label noise
        y = a * (x - x0)
        h = math.exp(-0.5 * y * y - log_ndtr(y) - 0.5 * math.log(2 * math.pi))
        return power * a * h - x

    low, high = -12.0, 50.0
    if label_noise == 0.0:
        mode = brentq(slope, -1.0, max(x0, 0.0) + 10.0 + 5.0 * power * a, xtol=1e-14)
        low, high = mode - 12.0 / math.sqrt(1.0 + power * a * a * (mode < x0 + 5 / a)), mode + 12.0
        low = max(low, mode - 12.0)
    near = np.sinh(np.linspace(-np.arcsinh(70 * a), np.arcsinh(70 * a), 1200)) / a + x0
    slow = low + (high - low) * np.linspace(0.0, 1.0, 400) ** 3
    ends = np.concatenate([np.linspace(low, high, 400), slow, near])
    ends = np.unique(np.clip(ends, low, high))
    half = 0.5 * np.diff(ends)[:, np.newaxis]
    x = ends[:-1, np.newaxis] + half * (1.0 + NODES)
    logs = log_density(x)
    mass = half * WEIGHTS * np.exp(logs - logs.max())
    centre = (mass * (x - x0)).sum() / mass.sum()
    spread = (mass * np.square(x - x0 - centre)).sum() / mass.sum()
    return math.sqrt(variance) * centre, variance * spread


def moments(mean, variance, precision, shift):
    after = variance / (1.0 + precision * variance)
    return after * (shift + mean / variance), after


GRID = list(
    itertools.product(
        [-20.0, -4.0, -0.6, 0.0, 0.8, 7.0],  # mean
        [1e-10, 1e-4, 0.1, 3.0, 1e4],  # margin noise
        [0.0, 1e-200, 1e-6, 0.02, 0.4],  # label noise
        [1e-6, 0.2, 0.7, 1.0 - 1e-9],  # power
    )
)


def test_moments_are_those_of_the_exact_product():
    for mean, margin_noise, label_noise, power in GRID:
        case = (mean, 2.0, margin_noise, label_noise, power)
        exact_mean, exact_variance = tilted(*case)
        found_mean, found_variance = moments(mean, 2.0, *powered_site(*case))
        off = abs(found_mean - exact_mean) / math.sqrt(exact_variance)
        assert off < 1e-8, (case, off)
        assert found_variance == pytest.approx(exact_variance, rel=1e-8), case


@pytest.mark.parametrize("label_noise", [0.0, 1e-300, 1e-12, 0.02, 0.3, 0.49])
def test_the_whole_power_is_the_closed_form(label_noise):
    means = [-1e6, -1e3, -30.0, -5.0, -1.0, 0.0, 1.0, 5.0, 20.0, 1e6]
    noises = [1e-12, 1e-3, 0.3, 1.0, 30.0, 1e5, 1e20, 1e60]
    for mean, variance, noise in itertools.product(means, [1e-6, 1.0, 100.0], noises):
        _, *expected = matched_site(mean, variance, noise, label_noise)
        found = powered_site(mean, variance, noise, label_noise, 1.0)
        its_mean, its_variance = moments(mean, variance, *expected)
        off, spread = moments(mean, variance, *found)
        unit = math.sqrt(its_variance) + 1e-9 * abs(mean)  # which rounding leaves
        assert abs(off - its_mean) < 1e-8 * unit, (mean, variance, noise)
        assert spread == pytest.approx(its_variance, rel=1e-8)


@pytest.mark.parametrize("margin_noise", [1e6, 1e20, 1e80])
@pytest.mark.parametrize("label_noise", [0.0, 0.1])
def test_where_noise_is_wide_the_site_is_the_slope_and_the_bend_of_the_logarithm(
    margin_noise, label_noise
):
    # To first order in 1/s²: ν − τm = g′ and τ = −g″ at the mean, with all their digits.
    power, scale = 0.3, math.sqrt(margin_noise)

    def log_f(u):
        return mpmath.log(label_noise + (1 - 2 * label_noise) * mpmath.ncdf(u))

    for y in (-3.0, -0.5, 0.0, 2.0):
        with mpmath.workdps(30):
            slope = power * mpmath.diff(log_f, y) / scale
            bend = power * mpmath.diff(log_f, y, 2) / margin_noise
        precision, shift = powered_site(y * scale, 1.0, margin_noise, label_noise, power)
        assert precision == pytest.approx(float(-bend), rel=30 / scale + 1e-9)
        assert shift - precision * y * scale == pytest.approx(float(slope), rel=30 / scale + 1e-9)


def test_far_on_the_wrong_side_a_part_is_a_gaussian_of_that_part_of_the_precision():
    # log Φ(y) → −½y²: fᵖ becomes a Gaussian of precision p/s².
    for mean, power in itertools.product([-1e4, -1e8, -1e30], [0.01, 0.5, 0.9]):
        precision, _ = powered_site(mean, 1.0, 0.25, 0.0, power)
        assert precision == pytest.approx(4.0 * power, rel=1e-6)


def test_label_noise_to_a_power_is_that_power_of_the_odds():
    for label_noise in (1e-300, 1e-12, 0.02, 0.3, 0.4999):
        for power in (1e-12, 0.01, 0.5, 0.99):
            expected = float(expit(power * logit(label_noise)))
            assert powered_label_noise(label_noise, power) == pytest.approx(expected, rel=1e-12)
            odds = (label_noise / (1 - label_noise)) ** power
            assert powered_label_noise(label_noise, power) == pytest.approx(odds / (1 + odds))
    assert powered_label_noise(0.0, 0.3) == 0.0


@given(
    mean=st.floats(-1e100, 1e100),
    variance=st.floats(1e-13, 1e6),
    margin_noise=st.floats(1e-300, 1e100),
    label_noise=st.one_of(st.just(0.0), st.floats(1e-300, 0.4999999)),
    power=st.floats(1e-300, 1.0),
)
def test_any_numbers_give_a_site_that_leaves_a_proper_gaussian(
    mean, variance, margin_noise, label_noise, power
):
    precision, shift = powered_site(mean, variance, margin_noise, label_noise, power)
    assert math.isfinite(precision)
    assert math.isfinite(shift)
    assert 1.0 + precision * variance > 0.0
    if label_noise == 0.0:  # log-concave
        assert precision * variance >= -1e-9
