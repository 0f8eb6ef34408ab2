"""Forward, then inverse, returns the start; and no answer where there is none."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtualvector.kernels.inverse_adf import inverse_adf, inverse_adf_roughly
from virtualvector.kernels.likelihood import tilted_moments


def after(z, variance, margin_noise, label_noise):
    """Eqs. 24 and 25, with margin noise."""
    total = variance + margin_noise
    h, mean, tilted = tilted_moments(z, label_noise)
    return (
        math.sqrt(total) * mean - h * margin_noise / math.sqrt(total),
        variance * (margin_noise + variance * tilted) / total,
    )


@pytest.mark.parametrize("with_label_noise", [False, True])
@pytest.mark.parametrize("with_margin_noise", [False, True])
def test_forward_then_inverse_returns_the_start(with_label_noise, with_margin_noise):
    rng = np.random.default_rng(0)
    for _ in range(5000):
        z = rng.choice([rng.uniform(-40, 40), 3 * rng.normal()])
        variance = 10 ** rng.uniform(-8, 8)
        label_noise = 10 ** rng.uniform(-14, -0.31) if with_label_noise else 0.0
        margin_noise = variance * 10 ** rng.uniform(-6, 6) if with_margin_noise else 0.0
        mean = z * math.sqrt(variance + margin_noise)
        moments = after(z, variance, margin_noise, label_noise)
        found, new_z, new_mean, new_variance = inverse_adf(*moments, margin_noise, label_noise)
        case = (z, variance, margin_noise, label_noise)
        assert found, case
        assert abs(new_z - z) <= 1e-8 * max(abs(z), 1.0), case
        assert abs(new_mean - mean) <= 1e-8 * max(abs(mean), math.sqrt(variance)), case
        assert abs(new_variance - variance) <= 1e-8 * variance, case


@pytest.mark.parametrize("label_noise", [0.0, 0.05])
def test_a_rough_answer_is_near_the_start(label_noise):
    rng = np.random.default_rng(1)
    answers = 0
    for _ in range(5000):
        z, variance = rng.uniform(-2, 9), 10 ** rng.uniform(-8, 8)
        margin_noise = variance * 10 ** rng.uniform(-6, 6) * rng.integers(2)
        moments = after(z, variance, margin_noise, label_noise)
        found, new_z, new_variance = inverse_adf_roughly(*moments, margin_noise, label_noise)
        assert found or margin_noise < variance
        answers += found
        if found:
            assert new_z == pytest.approx(z, abs=0.01), (z, variance, margin_noise)
            assert new_variance == pytest.approx(variance, rel=0.01), (z, variance, margin_noise)
    assert answers > 4000


def test_where_there_is_no_answer_a_rough_one_is_not_made_up():
    assert not inverse_adf_roughly(0.5, 1.0, 0.0, 0.0)[0]
    for moments in [(1.0, 0.0), (1.0, -1.0), (math.nan, 1.0), (math.inf, 1.0)]:
        assert not inverse_adf_roughly(*moments, 0.1, 0.0)[0]


@pytest.mark.parametrize("z", [-12.0, -3.0, -0.4, 0.0, 2.0, 9.0])
def test_the_root_solves_equation_27_and_has_the_right_sign(z):
    with mpmath.workdps(50):
        z = mpmath.mpf(z)
        h = mpmath.npdf(z) / mpmath.ncdf(z)
        m, v = h + z, 1 - h * (h + z)  # eqs. 24, 25 with v_h = 1
        f27 = v * z**2 + (v + m**2) * h**2 + (2 * v + m**2) * h * z - m**2
        assert abs(f27) < 1e-40
        found, root, _, _ = inverse_adf(float(m), float(v), 0.0, 0.0)
        assert found
        assert root == pytest.approx(float(z), abs=1e-9)


@pytest.mark.parametrize("ratio", [1.0, 0.99, 0.0, -3.0])
def test_a_cut_gaussian_has_a_mean_above_its_standard_deviation(ratio):
    # Without noise the tilted distribution is at most exponential: mean = standard deviation.
    assert not inverse_adf(ratio, 1.0, 0.0, 0.0)[0]


def test_any_moments_have_a_prior_under_label_noise():
    for ratio in [-30.0, -1.0, 0.0, 0.5, 1.0, 20.0]:
        found, z, _, variance = inverse_adf(ratio, 1.0, 0.0, 0.1)
        assert found
        assert after(z, variance, 0.0, 0.1) == pytest.approx((ratio, 1.0), abs=1e-9)


@given(
    mean=st.floats(allow_nan=False, allow_infinity=False),
    variance=st.floats(0, 1e300),
    margin_noise=st.floats(0, 1e300),
    label_noise=st.one_of(st.just(0.0), st.floats(0, 0.4999)),
)
def test_it_always_ends_with_finite_numbers(mean, variance, margin_noise, label_noise):
    assert np.all(np.isfinite(inverse_adf(mean, variance, margin_noise, label_noise)))
