"""Scalar kernels against mpmath at 50 digits, and against quadrature."""

import functools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from virtualvector.kernels.likelihood import (
    divergence,
    log_probability,
    matched_site,
    tilted_moments,
    weight_divergence,
)
from virtualvector.kernels.normal import cdf_from_table, inverse_mills, log_cdf
from virtualvector.posterior.settings import LEAST_LABEL_NOISE

MARGINS = [*np.linspace(-40, 40, 161), -6.9, -3.999, -4.001, -1.001, -1e-9, 1e-9, 7.1]
LABEL_NOISES = [0.0, 1e-12, 1e-3, 0.1, 0.3, 0.49]
SMALLEST = mpmath.mpf("1e-298")  # nearer to zero, doubles and their factors lose digits


@pytest.fixture(autouse=True, scope="module")
def _fifty_digits():
    with mpmath.workdps(50):
        yield


@functools.cache
def normal(z):
    """Return a number of digits, and the density and both tails at z with as many."""
    digits = 60 + int(z * z / 4)  # log Z near 0 is itself a difference
    with mpmath.workdps(digits):
        z = mpmath.mpf(float(z))
        return digits, mpmath.npdf(z), mpmath.ncdf(z), mpmath.ncdf(-z)


class Exact:
    """The textbook formulas, evaluated with 50 digits."""

    def __init__(self, z, label_noise):
        digits, density, right, wrong = normal(z)
        z, e = mpmath.mpf(float(z)), mpmath.mpf(float(label_noise))
        with mpmath.workdps(digits):
            probability = e * wrong + (1 - e) * right
            self.log_probability = mpmath.log(probability)
            self.h = (1 - 2 * e) * density / probability
            self.mean = self.h + z
            self.variance = 1 - self.h * self.mean
            entropy = (e * mpmath.log(e) * wrong if e else 0) + (1 - e) * mpmath.log(1 - e) * right
            self.divergence = (
                entropy / probability
                - self.log_probability
                + (self.h * z + mpmath.log(self.variance)) / 2
            )


def relative_error(found, exact):
    return float(abs(mpmath.mpf(found) - exact) / max(abs(exact), SMALLEST))


@pytest.mark.parametrize("label_noise", LABEL_NOISES)
def test_log_probability_slopes_and_divergence_match_mpmath(label_noise):
    for z in MARGINS:
        exact = Exact(z, label_noise)
        h, mean, variance = tilted_moments(z, label_noise)
        assert relative_error(log_probability(z, label_noise), exact.log_probability) < 1e-12, z
        assert relative_error(h, exact.h) < 1e-11, z
        assert abs(mean - exact.mean) <= 1e-12 * abs(exact.mean) + 1e-15, z
        assert relative_error(variance, exact.variance) < 1e-12, z
        assert relative_error(divergence(z, label_noise), exact.divergence) < 1e-10, z


def test_cdf_from_table_matches_mpmath_amid_and_between_its_pieces():
    places = np.concatenate([np.arange(-5.0, 5.0, 1 / 32), np.arange(-5.0, 5.0, 0.0137)])
    for z in places:
        assert relative_error(cdf_from_table(z), mpmath.ncdf(z)) < 4e-15, z


@pytest.mark.parametrize("z", [-1e3, -1e5, -1e8, -1e12, -1e100])
def test_far_tail_without_label_noise_follows_the_exponential_limit(z):
    h, mean, variance = inverse_mills(z)
    assert h == pytest.approx(-z, rel=2 / z**2 + 1e-15)
    assert mean == pytest.approx(-1 / z, rel=3 / z**2 + 1e-15)
    assert variance == pytest.approx(z**-2, rel=8 / z**2 + 1e-15)
    # A factor far in the tail turns a Gaussian into an exponential distribution.
    exponential = 0.5 * math.log(2 * math.pi * math.e) - 1
    assert divergence(z, 0.0) == pytest.approx(exponential, abs=3 / z**2 + 1e-14)
    assert log_cdf(z) == pytest.approx(-0.5 * z**2, rel=1e-3)


@pytest.mark.parametrize(("z", "e"), [(-1.0, 0.0), (2.5, 0.0), (-1.0, 0.1), (0.7, 0.3)])
def test_divergence_matches_quadrature(z, e):
    z, e = mpmath.mpf(z), mpmath.mpf(e)
    pieces = [z - 30, 0, z + 30]

    @functools.cache  # three integrals, over the same nodes
    def tilted(u):
        return (1 - e if u > 0 else e) * mpmath.npdf(u, z, 1)

    mass = mpmath.quad(tilted, pieces)
    mean = mpmath.quad(lambda u: u * tilted(u), pieces) / mass
    variance = mpmath.quad(lambda u: (u - mean) ** 2 * tilted(u), pieces) / mass

    def integrand(u):
        p = tilted(u) / mass
        return p * mpmath.log(p / mpmath.npdf(u, mean, mpmath.sqrt(variance))) if p else 0

    exact = mpmath.quad(integrand, pieces)
    assert divergence(float(z), float(e)) == pytest.approx(float(exact), abs=1e-13)


@pytest.mark.parametrize("label_noise", [0.0, 0.05])
@pytest.mark.parametrize("share", [0.999, 0.9, 0.5, 0.2, 0.05])
@pytest.mark.parametrize("z", [-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0])
def test_weight_divergence_lies_between_the_exact_one_and_the_bound(z, share, label_noise):
    u = np.linspace(-15, 15, 200_001)
    step = u[1] - u[0]
    variance, noise = share, 1 - share
    p = norm.pdf(u, z, np.sqrt(variance))
    p *= label_noise + (1 - 2 * label_noise) * norm.cdf(u / np.sqrt(noise))
    p /= p.sum() * step
    mean = (u * p).sum() * step
    spread = np.sqrt((np.square(u - mean) * p).sum() * step)
    inside = p > 1e-290
    ratio = np.log(p[inside]) - norm.logpdf(u[inside], mean, spread)
    exact = (p[inside] * ratio).sum() * step
    found = weight_divergence(z, variance, noise, label_noise)
    assert exact < found < divergence(z, label_noise)
    if label_noise == 0 and z < 2:
        assert found < 3 * exact


@pytest.mark.parametrize("label_noise", [0.0, 1e-6, 0.2])
@pytest.mark.parametrize("margin_noise", [0.0, 0.3, 5.0])
@pytest.mark.parametrize(("mean", "variance"), [(0.3, 2.0), (-2.0, 0.5), (4.0, 1.0), (-9.0, 3.0)])
def test_site_reproduces_the_moments_of_the_tilted_distribution(
    mean, variance, margin_noise, label_noise
):
    root = mpmath.sqrt(margin_noise)
    m, v, e = mpmath.mpf(mean), mpmath.mpf(variance), mpmath.mpf(label_noise)

    @functools.cache  # three integrals, over the same nodes
    def tilted(u):
        step = mpmath.ncdf(u / root) if root else mpmath.mpf(u > 0)
        return (e + (1 - 2 * e) * step) * mpmath.npdf(u, m, mpmath.sqrt(v))

    pieces = [m - 30 * mpmath.sqrt(v), min(m, 0), 0, max(m, 0) + 1, m + 30 * mpmath.sqrt(v)]
    pieces = sorted(set(pieces))
    with mpmath.workdps(20):
        mass = mpmath.quad(tilted, pieces)
        new_mean = mpmath.quad(lambda u: u * tilted(u), pieces) / mass
        new_variance = mpmath.quad(lambda u: (u - new_mean) ** 2 * tilted(u), pieces) / mass

    z, precision, shift = matched_site(mean, variance, margin_noise, label_noise)
    assert z == pytest.approx(mean / math.sqrt(variance + margin_noise))
    matched = 1 / (1 / variance + precision)
    assert matched == pytest.approx(float(new_variance), rel=1e-10)
    assert matched * (mean / variance + shift) == pytest.approx(float(new_mean), rel=1e-9)


any_number = st.floats(allow_nan=False, allow_infinity=False)


@given(
    mean=any_number,
    variance=st.floats(1e-20, 1e20),
    margin_noise=st.floats(0, 1e100),
    label_noise=st.one_of(st.just(0.0), st.floats(LEAST_LABEL_NOISE, 0.4999)),
)
def test_kernels_are_finite_for_any_finite_input(mean, variance, margin_noise, label_noise):
    z, precision, shift = matched_site(mean, variance, margin_noise, label_noise)
    values = [precision, shift, log_probability(z, label_noise), divergence(z, label_noise)]
    values.append(weight_divergence(z, variance, margin_noise, label_noise))
    assert np.all(np.isfinite([z, *values, *tilted_moments(z, label_noise)])), values
    assert tilted_moments(z, label_noise)[2] > 0 or abs(z) > 1e99
    assert divergence(z, label_noise) >= 0
