"""What a merge loses against the exact pair, by sampling and by quadrature."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from virtualvector.kernels.likelihood import merged_label_noise
from virtualvector.kernels.merge_divergence import expected_log_ratio, log_normaliser


def step(u, label_noise):
    return np.where(u > 0, 1 - label_noise, label_noise)


@pytest.mark.parametrize("label_noises", [(0.05, 0.05), (0.3, 0.01), (0.1, 1e-6)])
@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.9, 0.999])
@pytest.mark.parametrize("mean", [(0.3, 0.5), (-1.0, 2.0), (-2.0, -1.5)])
def test_the_expected_ratio_is_that_of_a_fine_grid(mean, correlation, label_noises):
    covariance = np.array([[1.0, 1.4 * correlation], [1.4 * correlation, 1.96]])
    merged = merged_label_noise(*label_noises)
    # Polar coordinates: along a ray from zero all factors are constant.
    angles = (np.arange(40_000) + 0.5) / 40_000 * 2 * np.pi
    ray = np.stack([np.cos(angles), np.sin(angles)])
    precision = np.linalg.inv(covariance)
    a = np.einsum("ik,ij,jk->k", ray, precision, ray)
    b = ray.T @ precision @ mean
    # ∫ r exp(−½ar² + br) dr over r > 0, but for a factor that all have in common
    z = b / np.sqrt(a)
    top = (z**2 / 2).max()
    mass = np.exp(-top) / a
    mass += b / a * np.sqrt(2 * np.pi / a) * np.exp(z**2 / 2 - top) * norm.cdf(z)
    f1, f2 = step(ray[0], label_noises[0]), step(ray[1], label_noises[1])
    weight = mass * f1 * f2
    expected = np.sum(weight * np.log(f1 * f2 / step(ray.sum(axis=0), merged))) / weight.sum()
    found = expected_log_ratio(
        *mean, 1.0, covariance[0, 1], covariance[1, 1], 0.0, 0.0, *label_noises, merged
    )
    assert found == pytest.approx(expected, rel=1e-2, abs=1e-3)


def test_a_gaussian_factor_integrates_to_what_sampling_says():
    mean, covariance = np.array([0.3, -0.2]), np.array([[1.0, 0.4], [0.4, 0.7]])
    precision, shift = np.array([[0.8, -0.3], [-0.3, 0.2]]), np.array([0.5, -0.1])
    u, v = np.meshgrid(np.linspace(-9, 9, 1201), np.linspace(-9, 9, 1201), indexing="ij")
    x = np.stack([u, v], axis=-1)
    density = multivariate_normal(mean, covariance).pdf(x)
    factor = np.exp(x @ shift - 0.5 * np.einsum("...i,ij,...j->...", x, precision, x))
    total = np.sum(density * factor) * (18 / 1200) ** 2
    flat = [(matrix[0, 0], matrix[0, 1], matrix[1, 1]) for matrix in (covariance, precision)]
    found = log_normaliser(tuple(mean), *flat, tuple(shift))
    assert found == pytest.approx(math.log(total), rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [(0.1, 0.1), (0.3, 0.001), (1e-200, 1e-200)])
def test_two_equal_rows_have_the_product_of_their_odds(first, second):
    merged = merged_label_noise(first, second)
    odds = math.log(first) - math.log1p(-first) + math.log(second) - math.log1p(-second)
    assert math.log(merged) - math.log1p(-merged) == pytest.approx(max(odds, math.log(1e-300)))
