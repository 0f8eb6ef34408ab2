"""The bivariate normal against quadrature with mpmath, closed forms and symmetries."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtualvector.kernels.bivariate import bivariate_cdf, quadrant
from virtualvector.kernels.normal import cdf, inverse_mills, log_cdf

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
STEPS = np.concatenate([[0.0], np.geomspace(1e-4, 30, 12)])


def exact(x, y, correlation):
    """∫ N(t)Φ((y−ρt)/q) dt for t ≤ x, with panels that shrink towards every place of change."""
    with mpmath.workdps(25):
        x, y, r = mpmath.mpf(min(x, y)), mpmath.mpf(max(x, y)), mpmath.mpf(correlation)
        q = mpmath.sqrt((1 - r) * (1 + r))
        edges = {x - step for step in STEPS}
        if r:
            edges |= {y / r + sign * step * q / abs(r) for step in STEPS for sign in (-1, 1)}
        edges = sorted(edge for edge in edges if x - STEPS[-1] <= edge <= x)

        def integrand(t):
            return mpmath.npdf(t) * mpmath.ncdf((y - r * t) / q)

        heights = [integrand(edge) for edge in edges]
        total = mpmath.mpf(0)
        for low, high, *ends in zip(edges, edges[1:], heights, heights[1:], strict=False):
            if max(ends) < 1e-20 * max(heights):
                continue
            half = (high - low) / 2
            for node, weight in zip(NODES, WEIGHTS, strict=True):
                total += half * weight * integrand(low + half * (1 + mpmath.mpf(node)))
        return total


STRENGTHS = [0.3, 0.75, 0.9249, 0.9251, 0.99, 0.999999, 1 - 1e-12]


# Of the negative ones two: the test below says of all that they are as right as the positive ones.
@pytest.mark.parametrize("correlation", [0.0, *STRENGTHS, -0.75, -0.999999])
def test_probability_matches_quadrature(correlation):
    for x, y in [(0.3, -0.4), (-1.1, -1.1001), (2.0, -2.0), (1.5, 0.9), (-3.0, 7.0), (0.0, 0.0)]:
        found = bivariate_cdf(x, y, correlation)
        assert abs(found - exact(x, y, correlation)) < 1e-15, (x, y)


@pytest.mark.parametrize("correlation", [0.0, *STRENGTHS, *(-r for r in STRENGTHS), -1.0, 1.0])
def test_probability_has_its_closed_forms_and_symmetries(correlation):
    assert bivariate_cdf(0.0, 0.0, correlation) == pytest.approx(
        0.25 + math.asin(correlation) / (2 * math.pi), abs=1e-15
    )
    grid = [-40.0, -8.3, -3.0, -1.0, -0.999, 0.0, 1e-7, 0.4, 1.0, 5.0, 40.0]
    for x, y in itertools.product(grid, grid):
        found = bivariate_cdf(x, y, correlation)
        assert 0.0 <= found <= min(cdf(x), cdf(y)) + 1e-15
        assert abs(found - bivariate_cdf(y, x, correlation)) < 1e-15
        assert abs(found + bivariate_cdf(x, -y, -correlation) - cdf(x)) < 1e-15
        if correlation == 0.0:
            assert abs(found - cdf(x) * cdf(y)) < 1e-15
        if correlation == 1.0:
            assert found == cdf(min(x, y))
        if correlation == -1.0:
            assert abs(found - max(0.0, cdf(x) - cdf(-y))) < 1e-15


@pytest.mark.parametrize(
    "correlation", [-0.99, -0.9, -0.5, -0.01, 0.0, 0.5, 0.9, 0.999, 0.999999, 1 - 1e-12]
)
def test_logarithm_keeps_relative_accuracy_in_the_tails(correlation):
    for x, y in [(-40.0, -40.0), (-40.0, 2.0), (-12.0, -9.0), (-3.0, -3.000001), (0.1, -2.5)]:
        found = quadrant(x, y, correlation)[0]
        log_exact = mpmath.log(exact(x, y, correlation))
        assert abs(found - log_exact) < 1e-13 + 1e-15 * abs(found), (x, y)
        assert quadrant(y, x, correlation)[0] == pytest.approx(found, rel=1e-15)


def test_logarithm_has_its_limits():
    for x, y in [(-40.0, -40.0), (-40.0, 3.0), (-5.0, -7.0), (-1e50, 1.0), (2.0, 1.0)]:
        assert quadrant(x, y, 1.0)[0] == pytest.approx(log_cdf(min(x, y)), rel=1e-15)
        both = log_cdf(x) + log_cdf(y)
        assert quadrant(x, y, 0.0)[0] == pytest.approx(both, rel=1e-14)
    assert quadrant(-12.0, 11.0, -1.0)[0] == quadrant(12.0, -12.0, -1.0)[0] == -math.inf
    with mpmath.workdps(60):
        strip = mpmath.log(mpmath.ncdf(-11) - mpmath.ncdf(mpmath.mpf(-11.001)))
    assert quadrant(-11.0, 11.001, -1.0)[0] == pytest.approx(float(strip), rel=1e-14)


@pytest.mark.parametrize("correlation", [-0.999, -0.8, -0.3, 0.0, 0.4, 0.95, 0.999999])
def test_closed_form_and_quadrature_agree_where_one_replaces_the_other(correlation):
    # Φ₂ = 0.1 lies between the two points, which differ by little more than rounding.
    low, high = -3.0, 3.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = bivariate_cdf(middle, middle + 0.2, correlation) < 0.1
        low, high = (middle, high) if inside else (low, middle)
    below = quadrant(low - 1e-14, low + 0.2, correlation)
    above = quadrant(high + 1e-14, high + 0.2, correlation)
    assert below == pytest.approx(above, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("z", [-1e3, -1e8, -1e50])
def test_far_corner_follows_the_exponential_limit(z):
    for correlation in [-0.5, 0.0, 0.7]:
        rate = -z / (1 + correlation)
        log_mass, g1, g2, w, e1, e2, c11, c12, c22 = quadrant(z, z, correlation)
        assert log_mass == pytest.approx(z * z / (-1 - correlation), rel=1e-4)
        assert [g1, g2, 1 / e1, 1 / e2] == pytest.approx([rate] * 4, rel=9 / z**2 + 1e-13)
        assert [c11, c22] == pytest.approx([rate**-2] * 2, rel=30 / z**2 + 1e-13)
        assert abs(c12) <= 9 * rate**-4 + 1e-13 * rate**-2
        assert w == pytest.approx(rate**2, rel=30 / z**2 + 1e-13)


@pytest.mark.parametrize("x", [-30.0, -2.0, 0.5])
def test_equal_and_irrelevant_cuts_act_as_one(x):
    h, mean, variance = inverse_mills(x)
    for y in [x + 1e-3, x + 50.0]:
        log_mass, g1, g2, w, e1, e2, c11, c12, c22 = quadrant(x, y, 1.0)
        assert (log_mass, g1, g2, w) == pytest.approx((log_cdf(x), h, 0.0, 0.0), rel=1e-13)
        assert (e1, e2) == pytest.approx((mean, mean + (y - x)), rel=1e-12)
        assert (c11, c12, c22) == pytest.approx((variance,) * 3, rel=1e-11)
    log_mass, g1, g2, w, e1, e2, c11, c12, c22 = quadrant(x, x, 1.0)
    assert (log_mass, g1, g2, w) == pytest.approx((log_cdf(x), h / 2, h / 2, 0.0), rel=1e-13)
    assert (e1, e2, c11, c12, c22) == pytest.approx((mean,) * 2 + (variance,) * 3, rel=1e-11)


margin = st.floats(-1e150, 1e150) | st.floats(-50, 50)
correlation = st.floats(-1, 1) | st.sampled_from([-1.0, 1.0, 1 - 2**-53, 2**-53 - 1, 1e-300])


@given(margin, margin, correlation)
def test_no_finite_input_gives_nan(x, y, correlation):
    assert 0.0 <= bivariate_cdf(x, y, correlation) <= 1.0
    log_probability = quadrant(x, y, correlation)[0]
    assert log_probability <= 0.0
    assert log_probability > -math.inf or (correlation == -1.0 and x + y <= 0)
    log_mass, *rest = quadrant(x, y, correlation)
    assert log_mass == pytest.approx(log_probability, rel=1e-12, abs=1e-12)
    assert np.all(np.isfinite(rest))
    g1, g2, w, _, _, c11, _, c22 = rest
    assert min(g1, g2, w, c11, c22) >= 0.0
