"""Parts of rows: a likelihood to a power below one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from tests.posterior.test_robustness import assert_proper, hows, streams
from virtualvector.posterior import Settings, Strategy, empty_state, gaussian, learn
from virtualvector.posterior.state import EVICTED, LOG_EVIDENCE, POINTS, ROWS
from virtualvector.posterior.validation import check_state

NOISES = [(0.0, 0.5), (0.0, 30.0), (0.05, 0.5), (0.2, 0.01), (0.1, 0.0), (0.02, 0.0)]


def exact_moments(how, length, power):
    """Mean and variance of N(u; 0, 1)·fᵖ along the unit vector of a row of such a length."""
    scale = math.sqrt(how.margin_noise) / length
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ends = np.concatenate([np.linspace(-12, 0, 60), np.linspace(0, 12, 60)[1:]])
    half = 0.5 * np.diff(ends)[:, np.newaxis]
    u = ends[:-1, np.newaxis] + half * (1 + nodes)
    right = ndtr(u / scale) if scale else (u > 0).astype(float)
    factor = how.label_noise + (1 - 2 * how.label_noise) * right
    mass = half * weights * factor**power * np.exp(-0.5 * u * u)
    mean = (mass * u).sum() / mass.sum()
    return mean, (mass * np.square(u - mean)).sum() / mass.sum()


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize("power", [0.01, 0.3, 0.9])
@pytest.mark.parametrize(("label_noise", "margin_noise"), NOISES)
def test_the_first_row_has_the_moments_of_its_likelihood_to_that_power(
    label_noise, margin_noise, power, strategy
):
    how = Settings(label_noise, margin_noise, buffer_size=3, strategy=int(strategy))
    row = np.array([[1.5, -0.7, 0.2]])
    length = float(np.linalg.norm(row))
    state, events = learn(empty_state(3, how), row, np.ones(1), how, np.array([power]))
    mean, variance = exact_moments(how, length, power)
    found = gaussian(state)
    unit = row[0] / length
    np.testing.assert_allclose(found.mean, mean * unit, atol=1e-10)
    expected = np.eye(3) + (variance - 1) * np.outer(unit, unit)
    np.testing.assert_allclose(found.covariance, expected, atol=1e-9)
    assert state.sums[LOG_EVIDENCE] == pytest.approx(power * events.log_probability[0])
    assert events.log_probability[0] == pytest.approx(math.log(0.5))
    check_state(state, how)


@pytest.mark.parametrize(("label_noise", "margin_noise"), NOISES)
def test_with_margin_noise_a_part_leaves_no_point_and_without_it_does(label_noise, margin_noise):
    how = Settings(label_noise, margin_noise, buffer_size=30)
    rng = np.random.default_rng(0)
    rows, signs = rng.normal(size=(20, 4)), rng.choice([-1.0, 1.0], 20)
    powers = np.where(np.arange(20) % 2 == 0, 0.6, 1.0)
    state, _ = learn(empty_state(4, how), rows, signs, how, powers)
    assert state.counts[POINTS] == (10 if margin_noise else 20)
    assert state.counts[EVICTED] == (10 if margin_noise else 0)
    assert state.counts[ROWS] == 20
    check_state(state, how)


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize(("label_noise", "margin_noise"), [(0.0, 0.0), (0.05, 0.3)])
def test_powers_of_one_change_no_bit(strategy, label_noise, margin_noise):
    how = Settings(label_noise, margin_noise, buffer_size=4, strategy=int(strategy))
    rng = np.random.default_rng(1)
    rows, signs = rng.normal(size=(60, 5)), rng.choice([-1.0, 1.0], 60)
    plain, _ = learn(empty_state(5, how), rows, signs, how)
    given_ones, _ = learn(empty_state(5, how), rows, signs, how, np.ones(60))
    for one, other in zip(plain, given_ones, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("half_life", [math.inf, 40.0])
@pytest.mark.parametrize(("label_noise", "margin_noise"), [(0.0, 0.0), (0.1, 0.0), (0.05, 0.3)])
def test_how_a_stream_of_parts_is_cut_does_not_matter(half_life, label_noise, margin_noise):
    how = Settings(label_noise, margin_noise, buffer_size=4, half_life=half_life)
    rng = np.random.default_rng(2)
    rows, signs = rng.normal(size=(150, 5)), rng.choice([-1.0, 1.0], 150)
    powers = np.where(rng.random(150) < 0.5, 1.0, rng.uniform(0.01, 1.0, 150))
    whole, _ = learn(empty_state(5, how), rows, signs, how, powers)
    state = empty_state(5, how)
    for cut in np.split(np.arange(150), [1, 2, 30, 31, 95]):
        state, _ = learn(state, rows[cut], signs[cut], how, powers[cut])
    for one, other in zip(whole, state, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("buffer_size", [0, 5])
def test_two_halves_are_about_a_whole_where_noise_is_wide(buffer_size):
    how = Settings(margin_noise=30.0, buffer_size=buffer_size)
    rng = np.random.default_rng(3)
    rows, signs = rng.normal(size=(200, 3)), rng.choice([-1.0, 1.0], 200)
    whole, _ = learn(empty_state(3, how), rows, signs, how)
    halves, _ = learn(
        empty_state(3, how), rows.repeat(2, axis=0), signs.repeat(2), how, np.full(400, 0.5)
    )
    one, other = gaussian(whole), gaussian(halves)
    widths = np.sqrt(np.diag(one.covariance))
    assert np.all(np.abs(one.mean - other.mean) < 0.01 * widths)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=2e-3)


@settings(max_examples=150, deadline=None)
@given(
    stream=streams(),
    how=hows,
    bias=st.booleans(),
    half_life=st.sampled_from([math.inf, math.inf, 5.0]),
    powers=st.lists(
        st.one_of(st.just(1.0), st.floats(0.0, 1.0, exclude_min=True)), min_size=40, max_size=40
    ),
)
def test_any_powers_give_a_proper_posterior(stream, how, bias, half_life, powers):
    rows, signs = stream
    how = how._replace(half_life=half_life)
    powers = np.array(powers[: len(rows)])
    state, events = learn(empty_state(rows.shape[1] + bias, how), rows, signs, how, powers)
    assert_proper(state, rows, how)
    assert np.all(np.isfinite(events.log_probability))
    check_state(state, how)
