"""The logarithmic pool against its definition, and who can be spared against conditioning."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from virtualvector.kernels.log_pool import LEAST, log_pool
from virtualvector.learners.log_pool import PRECISION, Pool
from virtualvector.posterior import WHOLE


def stated_by(n_experts, n_rows, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    logs = rng.normal(size=(n_experts, n_rows, n_classes)) * 2
    return np.exp(logs - logsumexp(logs, axis=2, keepdims=True)), rng.integers(
        n_classes, size=n_rows
    )


def pooled_by(predicted, observed, pool, drift=0.0, learn=True, powers=WHOLE):
    n_experts, n_rows, n_classes = predicted.shape
    pooled = np.empty((n_rows, n_classes))
    work = np.empty((n_experts, n_classes + 2))
    log_pool(predicted, observed, powers, *pool, drift, learn, work, pooled)
    return pooled


@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_pool_is_the_product_of_powers_over_its_sum(n_classes):
    predicted, observed = stated_by(4, 30, n_classes)
    mean = np.array([0.7, -0.2, 0.5, 0.1])
    pooled = pooled_by(predicted, observed, Pool(mean, np.eye(4)), learn=False)
    product = np.prod(predicted ** mean[:, np.newaxis, np.newaxis], axis=0)
    np.testing.assert_allclose(pooled, product / product.sum(axis=1, keepdims=True), rtol=1e-12)


def test_exponents_that_are_not_learned_do_not_change():
    predicted, observed = stated_by(3, 20, 2)
    pool = Pool.start(3)
    pooled_by(predicted, observed, pool, learn=False, drift=0.1)
    np.testing.assert_array_equal(pool.mean, np.full(3, 1 / 3))
    np.testing.assert_array_equal(pool.covariance, np.eye(3) / PRECISION)


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_a_row_of_two_classes_moves_exponents_as_newton_does(power):
    """One step from the mean, with the Hessian there, by finite differences of log q + prior."""
    predicted, observed = stated_by(3, 1, 2, seed=3)
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3)) / 3
    mean, covariance = rng.normal(size=3) / 3, root @ root.T + 0.05 * np.eye(3)
    logs, y = np.log(predicted[:, 0]), observed[0]

    def log_posterior(w):
        joint = w @ logs
        away = w - mean
        prior = -0.5 * away @ np.linalg.solve(covariance, away)
        return power * (joint[y] - logsumexp(joint)) + prior

    step = 1e-4
    unit = step * np.eye(3)
    gradient = np.array(
        [(log_posterior(mean + u) - log_posterior(mean - u)) / (2 * step) for u in unit]
    )
    hessian = np.array([
        [
            (
                log_posterior(mean + u + v)
                - log_posterior(mean + u - v)
                - log_posterior(mean - u + v)
                + log_posterior(mean - u - v)
            )
            / (4 * step**2)
            for v in unit
        ]
        for u in unit
    ])  # fmt: skip
    pool = Pool(mean.copy(), covariance.copy())
    pooled_by(predicted, observed, pool, powers=np.array([power]))
    np.testing.assert_allclose(pool.covariance, -np.linalg.inv(hessian), rtol=1e-4, atol=1e-7)
    expected = mean - np.linalg.solve(hessian, gradient)
    np.testing.assert_allclose(pool.mean, expected, rtol=1e-4, atol=1e-7)


def test_exponents_come_to_those_of_a_regression_on_all_rows():
    """Three views of one truth; the pool knows each one's part as a batch fit does."""
    rng = np.random.default_rng(7)
    parts = rng.normal(size=(3, 6000))
    true = np.array([1.0, 0.5, 0.0])
    observed = (rng.random(6000) < 1 / (1 + np.exp(-true @ parts))).astype(np.int64)
    p = 1 / (1 + np.exp(-parts))
    predicted = np.stack([1 - p, p], axis=2)
    pool = Pool.start(3)
    pooled_by(predicted, observed, pool)
    signs = 2 * observed - 1

    def loss(w):
        return np.logaddexp(0, -signs * (w @ parts)).sum() + PRECISION / 2 * np.sum(
            (w - 1 / 3) ** 2
        )

    best = minimize(loss, np.zeros(3), tol=1e-10).x
    deviations = np.sqrt(np.diagonal(pool.covariance))
    assert np.all(np.abs(pool.mean - best) < deviations)
    assert np.argmin(pool.importance()) == 2  # whoever knows nothing can be spared


def test_probabilities_of_zero_count_as_very_small_ones():
    predicted = np.array([[[1.0, 0.0]], [[0.5, 0.5]]])
    pool = Pool.start(2)
    pooled = pooled_by(predicted, np.array([1]), pool)
    odds = np.sqrt(LEAST)  # of the one that has none, to the power of a half
    np.testing.assert_allclose(pooled[0, 1] / pooled[0, 0], odds, rtol=1e-12)
    assert np.isfinite(pool.mean).all()
    assert np.isfinite(pool.covariance).all()


def test_a_pool_without_some_is_the_posterior_given_that_theirs_are_zero():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(5, 5))
    pool = Pool(rng.normal(size=5), root @ root.T)
    asleep = np.array([False, True, False, False, True])
    a, b = np.flatnonzero(~asleep), np.flatnonzero(asleep)
    across = pool.covariance[np.ix_(a, b)] @ np.linalg.inv(pool.covariance[np.ix_(b, b)])
    rest = pool.without(asleep)
    np.testing.assert_allclose(rest.mean[a], pool.mean[a] - across @ pool.mean[b], rtol=1e-9)
    expected = pool.covariance[np.ix_(a, a)] - across @ pool.covariance[np.ix_(b, a)]
    np.testing.assert_allclose(rest.covariance[np.ix_(a, a)], expected, rtol=1e-9, atol=1e-12)
    assert not rest.mean[b].any()
    assert not rest.covariance[b].any()


def test_who_joins_changes_nothing_at_first():
    predicted, observed = stated_by(3, 10, 3)
    before = pooled_by(predicted[:2], observed, Pool.start(2), learn=False)
    after = pooled_by(predicted, observed, Pool.start(2).joined(0, 1), learn=False)
    np.testing.assert_allclose(after, before, rtol=1e-13)
