"""Slopes of two factors, and moments that follow, against quadrature over their two margins."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from virtualvector.kernels.likelihood import matched_site
from virtualvector.kernels.pair import pair_tilted_moments

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
STEPS = np.concatenate([-np.geomspace(20, 1e-3, 11), [0.0], np.geomspace(1e-3, 20, 11)])
LABEL_NOISES = [(0.0, 0.0), (1e-12, 1e-12), (1e-3, 0.2), (0.1, 0.01), (0.3, 0.1)]


def log_factor(u, noise, label_noise):
    """log f(u), directly from its definition."""
    if noise and not label_noise:
        return log_ndtr(u / math.sqrt(noise))
    step = ndtr(u / math.sqrt(noise)) if noise else u > 0
    with np.errstate(divide="ignore"):
        return np.log(label_noise + (1 - 2 * label_noise) * step)


def panels(edges):
    """Gauss–Legendre nodes and weights on the panels between the edges, along the last axis."""
    edges = np.sort(edges, axis=-1)
    low, half = edges[..., :-1, None], np.diff(edges)[..., None] / 2
    shape = (*edges.shape[:-1], -1)
    return (low + half * (1 + NODES)).reshape(shape), (half * WEIGHTS).reshape(shape)


def exact(mean1, mean2, variance1, covariance, variance2, *noises):
    """log Z and moments by quadrature over u₁, and over u₂ for each u₁.

    The panels shrink towards the jumps at zero and towards every place where the Gaussian may peak.
    """
    noise1, noise2, label_noise1, label_noise2 = noises
    slope = covariance / variance1
    left = variance2 - slope * covariance
    root1, root2, narrow = math.sqrt(variance1), math.sqrt(variance2), math.sqrt(left)
    given = mean1 - covariance / variance2 * mean2  # the mean of u₁ where u₂ = 0
    edges = [root1 * STEPS, mean1 + root1 * STEPS, given + narrow * root1 / root2 * STEPS]
    if noise1 or noise2:
        total = np.array([[variance1 + noise1, covariance], [covariance, variance2 + noise2]])
        tail = noise1 * np.linalg.solve(total, [mean1, mean2])[0]  # where both factors are tiny
        edges.append(tail + root1 * STEPS)
    u1, weight1 = panels(np.concatenate(edges))

    centre = (mean2 + slope * (u1 - mean1))[:, None]
    edges = [np.broadcast_to(root2 * STEPS, (u1.size, STEPS.size)), centre + narrow * STEPS]
    if noise2:
        edges.append(centre * noise2 / (left + noise2) + narrow * STEPS)
    u2, weight2 = panels(np.concatenate(edges, axis=1))
    u1 = u1[:, None]
    log_density = (
        log_factor(u1, noise1, label_noise1)
        + log_factor(u2, noise2, label_noise2)
        - (u1 - mean1) ** 2 / (2 * variance1)
        - (u2 - centre) ** 2 / (2 * left)
        - math.log(2 * math.pi * root1 * narrow)
    )
    top = log_density.max()
    mass = weight1[:, None] * weight2 * np.exp(log_density - top)
    total = mass.sum()
    mass /= total
    new1, new2 = (mass * u1).sum(), (mass * u2).sum()
    d1, d2 = u1 - new1, u2 - new2
    return (
        top + math.log(total),
        new1,
        new2,
        (mass * d1 * d1).sum(),
        (mass * d1 * d2).sum(),
        (mass * d2 * d2).sum(),
    )


def largest_error(found, expected, variance1=None, variance2=None):
    """Errors of means in standard deviations, of covariances in products of two of them.

    They are the new ones, unless other variances are given; log Z counts relative to itself.
    """
    s1, s2 = math.sqrt(variance1 or expected[3]), math.sqrt(variance2 or expected[5])
    scales = [1 + abs(expected[0]), s1, s2, s1 * s1, s1 * s2, s2 * s2]
    return max(abs(f - e) / s for f, e, s in zip(found, expected, scales, strict=True))


def from_slopes(mean1, mean2, variance1, covariance, variance2, *noises):
    """The moments m + Sg and S + SHS."""
    log_z, g1, g2, h11, h12, h22 = pair_tilted_moments(
        mean1, mean2, variance1, covariance, variance2, *noises
    )
    prior = np.array([[variance1, covariance], [covariance, variance2]])
    mean = np.array([mean1, mean2]) + prior @ [g1, g2]
    new = prior + prior @ np.array([[h11, h12], [h12, h22]]) @ prior
    return log_z, *mean, new[0, 0], new[0, 1], new[1, 1]


@pytest.mark.parametrize("label_noises", LABEL_NOISES)
@pytest.mark.parametrize("correlation", [-0.999, -0.9, 0.0, 0.9, 0.999])
@pytest.mark.parametrize("noises", [(0.0, 0.0), (0.3, 2.0), (0.0, 0.5)])
def test_moments_match_quadrature(correlation, noises, label_noises):
    means = [(0.4, -0.7), (-10.0, -10.1)] if noises[0] == noises[1] else [(-1.0, 2.0)]
    for mean1, mean2 in means:
        arguments = (mean1, 1.5 * mean2, 1.0, 1.5 * correlation, 2.25, *noises, *label_noises)
        expected = exact(*arguments)
        assert largest_error(from_slopes(*arguments), expected, 1.0, 2.25) < 1e-10, arguments


@pytest.mark.parametrize("label_noises", [(0.0, 0.0), (1e-12, 1e-12), (0.1, 0.02)])
@pytest.mark.parametrize("correlation", [-0.6, 0.0, 0.7])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_moments_match_quadrature_far_in_the_tail(correlation, noise, label_noises):
    arguments = (-40.0, -40.0, 1.0, correlation, 1.0, noise, noise, *label_noises)
    expected = exact(*arguments)
    assert largest_error(from_slopes(*arguments), expected, 1.0, 1.0) < 1e-10


def exact_on_a_line(mean, variance, ratio, noise1, noise2, label_noise1, label_noise2):
    """As `exact`, for u₂ = ratio·u₁."""
    root = math.sqrt(variance)
    u, weight = panels(np.concatenate([root * STEPS, mean + root * np.linspace(-20, 20, 81)]))
    log_density = (
        log_factor(u, noise1, label_noise1)
        + log_factor(ratio * u, noise2, label_noise2)
        - (u - mean) ** 2 / (2 * variance)
        - 0.5 * math.log(2 * math.pi * variance)
    )
    top = log_density.max()
    mass = weight * np.exp(log_density - top)
    total = mass.sum()
    new = (mass * u).sum() / total
    spread = (mass * (u - new) ** 2).sum() / total
    return top + math.log(total), new, ratio * new, spread, ratio * spread, ratio**2 * spread


@pytest.mark.parametrize("label_noises", LABEL_NOISES)
@pytest.mark.parametrize("ratio", [1.0, 0.3, -1.0])
@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.7])
def test_rows_in_one_direction_are_the_limit(ratio, noise, label_noises):
    for mean in [0.6, -0.2, -12.0]:
        if ratio < 0 and noise == sum(label_noises) == 0:
            continue
        arguments = (mean, ratio * mean, 1.3, ratio * 1.3, ratio**2 * 1.3)
        arguments = (*arguments, noise, noise * ratio**2, *label_noises)
        expected = exact_on_a_line(mean, 1.3, ratio, *arguments[5:])
        # The rounding of the correlation remains, magnified by 1/√(1−ρ²).
        assert largest_error(from_slopes(*arguments), expected, 1.3, 1.3) < 1e-8, arguments


def test_two_equal_rows_without_label_noise_are_one_row():
    for mean in [2.0, -1.0, -40.0]:
        _, precision, shift = matched_site(mean, 1.7, 0.0, 0.0)
        variance = 1 / (1 / 1.7 + precision)
        expected = [variance * (mean / 1.7 + shift)] * 2 + [variance] * 3
        found = from_slopes(mean, mean, 1.7, 1.7, 1.7, 0.0, 0.0, 0.0, 0.0)
        assert found[1:] == pytest.approx(expected, rel=1e-9)


def test_contradicting_rows_have_no_mass():
    for mean in [-2.0, 0.0, 3.0]:
        arguments = (mean, -mean, 2.0, -2.0, 2.0, 0.0, 0.0, 0.0, 0.0)
        assert pair_tilted_moments(*arguments) == (-math.inf, 0.0, 0.0, 0.0, 0.0, 0.0)
        # With label noise one of the two must be wrong: nothing is learned.
        arguments = (*arguments[:-2], 0.1, 0.1)
        expected = (math.log(0.1 * 0.9), *arguments[:5])
        assert from_slopes(*arguments) == pytest.approx(expected, abs=1e-14)


def test_opposite_rows_leave_a_strip():
    for label_noise in [0.0, 0.2]:
        u, weight = panels(np.linspace(-15.0, 15.0, 41))
        log_density = (
            log_factor(u, 0.0, label_noise)
            + log_factor(1.5 - u, 0.0, label_noise)
            - (u - 2.0) ** 2 / 2
            - 0.5 * math.log(2 * math.pi)
        )
        mass = weight * np.exp(log_density)
        new = (mass * u).sum() / mass.sum()
        spread = (mass * (u - new) ** 2).sum() / mass.sum()
        expected = (math.log(mass.sum()), new, 1.5 - new, spread, -spread, spread)
        found = from_slopes(2.0, -0.5, 1.0, -1.0, 1.0, 0.0, 0.0, label_noise, label_noise)
        assert found == pytest.approx(expected, abs=1e-9)


def test_a_certain_row_alone_cuts_what_an_uncertain_one_leaves():
    """Where the first margin is surely negative, its factor is 0.1 whatever it is."""
    found = from_slopes(-10.0, -15.15, 1.0, -1.4985, 2.25, 0.0, 0.0, 0.1, 0.0)
    _, precision, shift = matched_site(-15.15, 2.25, 0.0, 0.0)
    variance = 1 / (1 / 2.25 + precision)
    assert found[0] == pytest.approx(math.log(0.1) + log_ndtr(-10.1), rel=1e-12)
    assert found[2] == pytest.approx(variance * (-15.15 / 2.25 + shift), rel=1e-10)
    assert found[5] == pytest.approx(variance, rel=1e-10)


def test_independent_rows_do_not_see_each_other():
    for noise, label_noise in [(0.0, 0.0), (0.4, 0.0), (0.4, 0.05)]:
        arguments = (-3.0, 0.7, 1.2, 0.0, 0.8, noise, 0.1, label_noise, label_noise)
        _, m1, m2, v11, v12, v22 = from_slopes(*arguments)
        assert abs(v12) < 1e-14
        for mean, variance, s2, new_mean, new_variance in [
            (-3.0, 1.2, noise, m1, v11),
            (0.7, 0.8, 0.1, m2, v22),
        ]:
            _, precision, shift = matched_site(mean, variance, s2, label_noise)
            assert new_variance == pytest.approx(1 / (1 / variance + precision), rel=1e-11)
            expected = (mean / variance + shift) / (1 / variance + precision)
            assert new_mean == pytest.approx(expected, rel=1e-11)


size = st.floats(1e-20, 1e20)


@given(
    mean1=st.floats(-1e150, 1e150) | st.floats(-50, 50),
    mean2=st.floats(-1e150, 1e150) | st.floats(-50, 50),
    variance1=size | st.just(1.0),
    variance2=size | st.just(1.0),
    correlation=st.floats(-1, 1) | st.sampled_from([-1.0, 1.0, 1 - 2**-53]),
    noise1=st.just(0.0) | st.floats(0, 1e20),
    noise2=st.just(0.0) | st.floats(0, 1e20),
    label_noise1=st.just(0.0) | st.floats(0, 0.4999),
    label_noise2=st.just(0.0) | st.floats(0, 0.4999),
)
def test_no_valid_input_gives_nan(
    mean1, mean2, variance1, variance2, correlation, noise1, noise2, label_noise1, label_noise2
):
    covariance = correlation * math.sqrt(variance1 * variance2)
    noises = (noise1, noise2, label_noise1, label_noise2)
    arguments = (mean1, mean2, variance1, covariance, variance2, *noises)
    log_z, *slopes = pair_tilted_moments(*arguments)
    assert not np.any(np.isnan(slopes))
    assert log_z <= 1e-14
    if log_z == -math.inf:
        assert correlation < 0
        assert slopes == [0.0] * 5
    else:
        assert np.all(np.isfinite(slopes))
