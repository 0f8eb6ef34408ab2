"""Monte Carlo means of the weights agree with exact ones, and know how accurate they are."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "posterior"))

from scipy.special import ndtr

from tests.posterior.cone import posterior_mean, separable_problem
from virtualvector.paper.exact.samplers import billiard, elliptical_slice


def slice_without_noise(points, number=20_000, seed=0):
    return elliptical_slice(points, n_samples=number, seed=seed)


both = pytest.mark.parametrize("sample", [billiard, slice_without_noise])

THIN = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, -1.0, 0.01], [0.0, 0.0, 1.0]])


def cloud(seed, n_points=12, size=3):
    """A few points of different lengths, more often on one side than on the other."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_points, size)) + 0.8


def scores(estimate, exact):
    return (estimate.mean - exact) / estimate.standard_error


@both
@pytest.mark.parametrize("seed", range(3))
def test_cones_of_three_hundred_points_have_their_exact_mean(sample, seed):
    _, _, points = separable_problem(np.random.default_rng(seed))
    estimate = sample(points, seed=seed)
    assert np.all(np.abs(scores(estimate, posterior_mean(points))) < 4)
    assert np.all(estimate.standard_error < 0.01)
    assert estimate.n_samples >= 20_000


@both
def test_a_thin_cone_has_its_exact_mean(sample):
    assert np.all(np.abs(scores(sample(THIN, 5000, seed=1), posterior_mean(THIN))) < 4)


@both
@pytest.mark.parametrize("size", [2, 5])
def test_an_orthant_in_any_dimension_has_its_exact_mean(sample, size):
    estimate = sample(np.eye(size), 5000)
    assert np.all(np.abs(scores(estimate, np.sqrt(2 / np.pi))) < 4)


@both
def test_a_half_space_has_its_exact_mean(sample):
    exact = np.sqrt(2 / np.pi) * np.array([0.6, 0.0, -0.8])
    assert np.all(np.abs(scores(sample([[3.0, 0.0, -4.0]], 5000), exact)) < 4)


def test_both_samplers_agree_in_five_dimensions():
    points = cloud(3, n_points=40, size=5)
    points *= np.sign(points @ np.array([1.0, -1.0, 0.5, 0.3, 2.0]))[:, None]
    one, other = billiard(points), slice_without_noise(points)
    error = np.hypot(one.standard_error, other.standard_error)
    assert np.all(np.abs(one.mean - other.mean) < 4 * error)
    assert np.linalg.norm(error) < 0.02 * np.linalg.norm(one.mean)


@both
@pytest.mark.parametrize("points", [THIN, separable_problem(np.random.default_rng(4))[2]])
def test_standard_errors_are_honest(sample, points):
    exact = posterior_mean(points)
    found = [scores(sample(points, 500, seed=s), exact) for s in range(20)]
    assert np.all(np.mean(np.square(found), axis=0) > 0.4)
    assert np.all(np.mean(np.square(found), axis=0) < 2.5)


@pytest.mark.parametrize("label_noise", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("margin_noise", [0.0, 0.5])
def test_noise_agrees_with_rejection_sampling(label_noise, margin_noise):
    points = cloud(0, n_points=8)
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(200_000, 3))
    margins = weights @ points.T
    inside = ndtr(margins / np.sqrt(margin_noise)) if margin_noise else margins > 0
    likelihood = np.prod(label_noise + (1 - 2 * label_noise) * inside, axis=1)
    kept = weights[rng.uniform(size=len(weights)) * (1 - label_noise) ** 8 < likelihood]
    assert len(kept) > 2000
    estimate = elliptical_slice(points, label_noise, margin_noise, 5000, seed=2)
    error = np.hypot(estimate.standard_error, kept.std(axis=0) / np.sqrt(len(kept)))
    assert np.all(np.abs(estimate.mean - kept.mean(axis=0)) < 4 * error)


def test_standard_errors_with_noise_are_honest():
    points = cloud(5, n_points=30, size=2)
    label_noise = 0.1

    # The likelihood is constant between the angles at which some point's sign changes.
    angles = np.arctan2(points[:, 1], points[:, 0])
    edges = np.sort(np.mod(np.concatenate([angles + np.pi / 2, angles - np.pi / 2]), 2 * np.pi))
    edges = np.append(edges, edges[0] + 2 * np.pi)
    middles = (edges[1:] + edges[:-1]) / 2
    wrong = np.sum(points @ [np.cos(middles), np.sin(middles)] <= 0, axis=0)
    height = (label_noise / (1 - label_noise)) ** wrong
    exact = np.array([height @ np.diff(np.sin(edges)), -height @ np.diff(np.cos(edges))])
    exact *= np.sqrt(np.pi / 2) / (height @ np.diff(edges))
    found = [
        scores(elliptical_slice(points, label_noise, n_samples=500, seed=s), exact)
        for s in range(20)
    ]
    assert np.all(np.mean(np.square(found), axis=0) > 0.4)
    assert np.all(np.mean(np.square(found), axis=0) < 2.5)


@both
def test_the_same_seed_gives_the_same_bits(sample):
    first, again, other = (sample(THIN, 100, seed=s) for s in (7, 7, 8))
    np.testing.assert_array_equal(first.mean, again.mean)
    np.testing.assert_array_equal(first.standard_error, again.standard_error)
    assert not np.array_equal(first.mean, other.mean)


@both
@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e300])
def test_the_lengths_of_points_do_not_matter_without_noise(sample, scale):
    points = cloud(2, n_points=5)
    found, same = sample(points * scale, 500), sample(points, 500)
    np.testing.assert_allclose(found.mean, same.mean, rtol=1e-3)
    np.testing.assert_allclose(found.standard_error, same.standard_error, rtol=0.1)


def test_points_of_any_length_are_sampled_with_noise():
    points = np.vstack(
        [np.zeros(3), cloud(2, n_points=5) * [[1e300], [1e-300], [1], [1e9], [1e-9]]]
    )
    estimate = elliptical_slice(points, 0.1, 0.5, n_samples=1000)
    assert np.all(np.isfinite(estimate.mean))
    assert np.all(estimate.standard_error > 0)


@both
@pytest.mark.parametrize("points", [[[1.0, 0.0], [-1.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]])
def test_an_empty_cone_is_an_error(sample, points):
    with pytest.raises(ValueError, match="leave no room"):
        sample(points)


@both
@pytest.mark.parametrize("points", [[], [1.0, 2.0], np.zeros((0, 3)), [[np.nan, 1.0]]])
def test_points_have_to_be_rows_of_finite_numbers(sample, points):
    with pytest.raises(ValueError, match="expected finite numbers"):
        sample(points)


def test_a_ball_needs_two_dimensions():
    with pytest.raises(ValueError, match="at least 2"):
        billiard([[1.0]])


@pytest.mark.parametrize("noise", [(0.5, 0.0), (-0.1, 0.0), (0.0, -1.0), (np.nan, 0.0)])
def test_noise_out_of_range_is_an_error(noise):
    with pytest.raises(ValueError, match="expected 0 <= label_noise"):
        elliptical_slice(np.eye(3), *noise)
