from copy import deepcopy

import numpy as np
import pytest
from scipy.stats import norm, spearmanr
from sklearn.gaussian_process.kernels import RBF
from sklearn.utils.estimator_checks import parametrize_with_checks

from virtualvector.baselines.sogp import SOGPClassifier
from virtualvector.datasets import load_thyroid

PROJECTIONS = ["kl", "moments"]


def stream(n_rows=60, n_features=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * 1.5
    y = (X[:, 0] * X[:, -1] + 0.3 * rng.normal(size=n_rows) > 0).astype(int)
    return X, y


def gram(model, X, others=None):
    return model.amplitude**2 * RBF(model.bandwidth)(X, others)


def dense_filter(model, X, y, queries):
    """One pass of moment matching on the joint Gaussian of f at all rows and queries."""
    points = np.vstack([X, queries])
    mean, covariance = np.zeros(len(points)), gram(model, points)
    for t, sign in enumerate(2 * y - 1):
        total = covariance[t, t] + model.noise
        z = sign * mean[t] / np.sqrt(total)
        ratio = np.exp(norm.logpdf(z) - norm.logcdf(z))
        column = covariance[:, t].copy()
        mean = mean + sign * ratio / np.sqrt(total) * column
        covariance = covariance - ratio * (ratio + z) / total * np.outer(column, column)
    return mean[len(X) :], np.diag(covariance)[len(X) :]


def exact_ep(model, X, y, queries, sweeps=100):
    """Rasmussen and Williams (2006), algorithms 3.5 and 3.6, without their economies."""
    K, signs = gram(model, X), 2 * y - 1
    tau, nu = np.zeros(len(X)), np.zeros(len(X))
    sigma, mu = K.copy(), np.zeros(len(X))
    for _ in range(sweeps):
        before = tau.copy()
        for i, sign in enumerate(signs):
            cavity_tau = 1 / sigma[i, i] - tau[i]
            cavity_nu = mu[i] / sigma[i, i] - nu[i]
            m, v = cavity_nu / cavity_tau, 1 / cavity_tau
            z = sign * m / np.sqrt(model.noise + v)
            ratio = np.exp(norm.logpdf(z) - norm.logcdf(z))
            matched_m = m + sign * v * ratio / np.sqrt(model.noise + v)
            matched_v = v - v**2 * ratio * (z + ratio) / (model.noise + v)
            tau[i] = 1 / matched_v - cavity_tau
            nu[i] = matched_m / matched_v - cavity_nu
            root = np.sqrt(tau)
            B = np.eye(len(X)) + root[:, None] * K * root
            sigma = K - K @ (root[:, None] * np.linalg.solve(B, root[:, None] * K))
            mu = sigma @ nu
        if np.abs(tau - before).max() < 1e-9:
            break
    cross = gram(model, queries, X)
    inverse = np.linalg.inv(K + np.diag(1 / tau))
    mean = cross @ inverse @ (nu / tau)
    variance = model.amplitude**2 - np.sum(cross @ inverse * cross, axis=1)
    return norm.cdf(mean / np.sqrt(model.noise + variance))


def moments(model, state, points):
    """Mean and covariance of f at some points."""
    alpha, C, _ = state.used()
    k = gram(model, points, state.basis[: state.size])
    return k @ alpha, gram(model, points) + k @ C @ k.T


def divergence(of, against):
    """KL(of ‖ against) of two Gaussians."""
    (m1, V1), (m2, V2) = of, against
    inverse = np.linalg.inv(V2)
    trace = np.trace(inverse @ V1) - len(m1)
    logdets = np.linalg.slogdet(V2)[1] - np.linalg.slogdet(V1)[1]
    return 0.5 * (trace + (m2 - m1) @ inverse @ (m2 - m1) + logdets)


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
def test_below_budget_equals_moment_matching_in_function_space(noise):
    X, y = stream(50, 6)
    queries = np.random.default_rng(1).normal(size=(20, 6))
    model = SOGPClassifier(bandwidth=1.3, amplitude=1.7, noise=noise).fit(X, y)
    mean, variance = dense_filter(model, X, y, queries)
    assert len(model.basis_) == len(X)
    score = mean / np.sqrt(variance + noise)
    np.testing.assert_allclose(model.decision_function(queries), score, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.predict_proba(queries)[:, 1], norm.cdf(score), atol=1e-8)


def test_below_budget_is_close_to_exact_ep():
    X, y = stream(60)
    queries = np.random.default_rng(1).normal(size=(200, 2)) * 1.5
    model = SOGPClassifier(bandwidth=1.5, amplitude=1.5, noise=1.0, gamma=1e-8).fit(X, y)
    exact = exact_ep(model, X, y, queries)
    assert np.ptp(exact) > 0.7
    np.testing.assert_allclose(model.predict_proba(queries)[:, 1], exact, rtol=0, atol=0.05)


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_a_basis_that_spans_the_rest_loses_little(projection):
    X, y = stream(300)
    model = SOGPClassifier(bandwidth=2.0, budget=40, projection=projection).fit(X, y)
    mean, variance = dense_filter(model, X, y, X)
    assert model.state_.pruned > 10
    score = mean / np.sqrt(variance + 1)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], norm.cdf(score), atol=0.01)


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("bandwidth", [0.5, 2.0])
def test_Q_is_the_inverse_gram_matrix_after_many_changes(projection, bandwidth):
    X, y = stream(1500)
    model = SOGPClassifier(bandwidth=bandwidth, budget=35, projection=projection).fit(X, y)
    assert model.state_.pruned > 50
    K, Q = gram(model, model.basis_), model.state_.used()[2]
    np.testing.assert_allclose(model.state_.gram[:35, :35], K, atol=1e-12)
    np.testing.assert_allclose(Q @ K, np.eye(35), atol=1e-6)
    np.testing.assert_allclose(Q, np.linalg.inv(K), atol=1e-6 * np.abs(Q).max())


@pytest.mark.parametrize("bandwidth", [0.3, 5.0])
@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_smooth_kernels_and_contradictions_leave_a_covariance(projection, noise, bandwidth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1))
    y = (np.sin(3 * X[:, 0]) > 0) ^ (rng.random(500) < 0.2)
    model = SOGPClassifier(bandwidth=bandwidth, noise=noise, projection=projection, gamma=0)
    covariance = moments(model, model.fit(X, y).state_, X[:100])[1]
    assert np.linalg.eigvalsh(covariance).min() > -1e-5


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_repeated_rows_do_not_grow_the_basis(projection):
    X, y = stream(20)
    for gamma in (0, 1e-6, 0.1):
        model = SOGPClassifier(gamma=gamma, projection=projection).fit(X, y)
        basis = model.basis_
        for _ in range(20):
            model.partial_fit(basis, np.ones(len(basis), int))
        np.testing.assert_array_equal(model.basis_, basis)
        assert model.predict_proba(basis)[:, 1].min() > 0.8


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_folding_is_adding_and_pruning_at_once(projection):
    X, y = stream(30)
    folded = SOGPClassifier(projection=projection).fit(X, y)
    added = deepcopy(folded)
    row = np.array([0.4, -0.2])
    folded.set_params(gamma=0.999)._learn_row(folded.state_, row, 1.0)
    added._learn_row(added.state_, row, 1.0)
    assert added.state_.size == folded.state_.size + 1
    added._scores = lambda state: -np.arange(state.size)
    added._prune(added.state_)
    for one, other in zip(folded.state_.used(), added.state_.used(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7 * np.abs(other).max())


def pruned(model, i):
    """A copy of the state without a basis point."""
    model = deepcopy(model)
    model._scores = lambda state: (np.arange(state.size) != i).astype(float)
    model._prune(model.state_)
    return model.state_


def test_moments_keeps_mean_and_covariance_at_the_points_that_remain():
    X, y = stream(15)
    model = SOGPClassifier(projection="moments").fit(X, y)
    for i in range(15):
        state = pruned(model, i)
        rest = state.basis[: state.size]
        before, after = moments(model, model.state_, rest), moments(model, state, rest)
        np.testing.assert_allclose(after[0], before[0], atol=1e-9)
        np.testing.assert_allclose(after[1], before[1], atol=1e-9)


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_pruning_minimises_a_divergence_between_processes(projection):
    rng = np.random.default_rng(2)
    X, y = stream(12, 3)
    model = SOGPClassifier(projection=projection, noise=0.2).fit(X, y)

    def lost(state):
        pair = moments(model, state, X), moments(model, model.state_, X)
        return divergence(*pair) if projection == "kl" else divergence(*pair[::-1])

    for i in range(12):
        best = pruned(model, i)
        for _ in range(10):
            other = deepcopy(best)
            alpha, C, _ = other.used()
            alpha += 1e-3 * rng.normal(size=alpha.shape)
            A = 1e-3 * rng.normal(size=C.shape)
            C += A + A.T
            assert lost(best) < lost(other)


def test_kl_score_is_what_the_mean_adds_to_the_divergence():
    X, y = stream(12, 3)
    model = SOGPClassifier(noise=0.2).fit(X, y)
    scores = model._scores(model.state_)
    for i in range(12):
        full, sparse = moments(model, model.state_, X), moments(model, pruned(model, i), X)
        with_mean = divergence(sparse, full)
        without = divergence((full[0], sparse[1]), full)
        assert 2 * (with_mean - without) == pytest.approx(scores[i], rel=1e-6, abs=1e-12)


def test_moments_score_is_the_change_of_the_mean_at_the_point():
    X, y = stream(12, 3)
    model = SOGPClassifier(projection="moments").fit(X, y)
    for i, score in enumerate(model._scores(model.state_)):
        before, after = (moments(model, s, X[i : i + 1]) for s in (model.state_, pruned(model, i)))
        assert abs(after[0] - before[0])[0] == pytest.approx(score, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_the_point_with_the_smallest_score_changes_predictions_least(projection):
    X, y = stream(40)
    # One row repeats another but for a hair: the rest of the basis can stand in for either.
    X = np.vstack([X, X[7] + 0.01])
    y = np.append(y, y[7])
    model = SOGPClassifier(bandwidth=0.5, projection=projection).fit(X, y)
    grid = np.random.default_rng(1).uniform(-4, 4, size=(500, 2))
    scores = model._score(model.state_, grid)
    change = [
        np.abs(model._score(pruned(model, i), grid) - scores).mean()
        for i in range(model.state_.size)
    ]
    assert np.argmin(model._scores(model.state_)) == np.argmin(change)
    assert spearmanr(model._scores(model.state_), change).statistic > 0.9


@pytest.mark.parametrize("budget", [1, 2, 12])
@pytest.mark.parametrize("projection", PROJECTIONS)
def test_budget_is_kept(budget, projection):
    X, y = stream(100)
    model = SOGPClassifier(budget=budget, projection=projection)
    for t in range(100):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        assert len(model.basis_) == min(budget, t + 1)
    model.set_params(budget=1).partial_fit([[0.1, 0.2]], [1])
    assert len(model.basis_) == 1


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_any_split_gives_the_same_bits(projection):
    X, y = stream(120)
    whole = SOGPClassifier(budget=20, projection=projection).fit(X, y)
    parts = SOGPClassifier(budget=20, projection=projection)
    for rows in np.split(np.arange(len(X)), [1, 2, 15, 50, 51]):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1])
    np.testing.assert_array_equal(parts.basis_, whole.basis_)
    for one, other in zip(parts.state_.used(), whole.state_.used(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_learns_thyroid():
    X, y = load_thyroid(return_X_y=True, random_state=0)
    X, y = X / X.std(axis=0), y == y[0]
    model = SOGPClassifier(bandwidth=2, noise=0.1, budget=30).fit(X[:140], y[:140])
    assert model.score(X[140:], y[140:]) > 0.9


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-3, 1.0, 1e200, 1e308])
def test_extreme_and_contradictory_rows_leave_finite_predictions(scale, noise, projection):
    X, y = stream(80)
    X = np.clip(X, -1, 1) * scale
    model = SOGPClassifier(noise=noise, budget=10, projection=projection)
    model.fit(np.vstack([X, X]), np.append(y, 1 - y))
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.predict_proba(X)).all()


@parametrize_with_checks([SOGPClassifier(), SOGPClassifier(budget=5, projection="moments")])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
