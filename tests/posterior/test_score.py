"""The divergence that points keep, against integrals and dense matrices."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from virtualvector.posterior import Settings, empty_state, learn
from virtualvector.posterior.reduction.score import divergence_score
from virtualvector.posterior.state import POINTS


def log_normal(u, mean, scale):
    """log N(u; mean, scale²)."""
    return -0.5 * ((u - mean) / scale) ** 2 - math.log(scale * math.sqrt(2 * math.pi))


def divergence(mean, variance, label_noise):
    """KL of f(u)N(u; mean, variance)/Z from the Gaussian of the same moments, f a noisy step."""
    scale = np.sqrt(variance)

    def integral(function):
        wrong = quad(lambda u: function(u, label_noise), mean - 12 * scale, 0.0, epsabs=1e-12)[0]
        right = quad(lambda u: function(u, 1 - label_noise), 0.0, mean + 12 * scale, epsabs=1e-12)
        return wrong + right[0] if label_noise else right[0]

    def tilted(u, f):
        return f * math.exp(log_normal(u, mean, scale))

    z = integral(tilted)
    centre = integral(lambda u, f: u * tilted(u, f)) / z
    spread = integral(lambda u, f: (u - centre) ** 2 * tilted(u, f)) / z

    def term(u, f):
        p = tilted(u, f) / z
        return p * (math.log(p) - log_normal(u, centre, math.sqrt(spread))) if p > 0.0 else 0.0

    return integral(term)


@pytest.mark.parametrize("label_noise", [0.0, 0.1])
@pytest.mark.parametrize("n_rows", [1, 6, 25])
def test_it_is_the_sum_of_divergences_of_the_factors(label_noise, n_rows):
    rng = np.random.default_rng(n_rows)
    rows = rng.normal(size=(n_rows, 4))
    signs = np.sign(rows[:, 0] + 0.3 * rng.normal(size=n_rows))
    settings = Settings(label_noise=label_noise, buffer_size=6)
    state, _ = learn(empty_state(4, settings), rows, signs, settings)
    n = state.counts[POINTS]
    assert n == min(n_rows, 6)
    points, precisions, shifts = state.points[:n], state.site_precisions[:n], state.site_shifts[:n]
    residual = np.linalg.inv(state.factor.T @ state.factor)
    total = 0.0
    for i in range(n):
        others = np.arange(n) != i
        precision = residual + (points[others].T * precisions[others]) @ points[others]
        covariance = np.linalg.inv(precision)
        mean = covariance @ (residual @ state.mean + points[others].T @ shifts[others])
        m, v = points[i] @ mean, points[i] @ covariance @ points[i]
        wrong = label_noise * ndtr(-m / np.sqrt(v))
        turned = wrong / (wrong + (1.0 - label_noise) * ndtr(m / np.sqrt(v)))
        total += (1.0 - turned) * divergence(m, v, label_noise)
        if label_noise:
            total += turned * divergence(-m, v, label_noise)
    assert divergence_score(state) == pytest.approx(total, rel=1e-4)


def test_no_points_keep_nothing():
    settings = Settings(buffer_size=0)
    state, _ = learn(empty_state(2, settings), np.ones((3, 2)), np.ones(3), settings)
    assert divergence_score(state) == 0.0
