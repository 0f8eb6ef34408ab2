import numpy as np
import pytest
from scipy.special import expit
from sklearn.utils.estimator_checks import parametrize_with_checks

from virtualvector.baselines.natural_gradient import NaturalGradientClassifier


def stream(n_rows=300, n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * np.geomspace(0.3, 3, n_features)
    w = rng.normal(size=n_features)
    return X, (X @ w + rng.normal(size=n_rows) > 0.5).astype(int)


def dense_weights(X, y, *, learning_rate, decay, rank, block, regularisation):
    """The same algorithm with the whole covariance."""
    inputs = np.column_stack([X, np.ones(len(X))])
    n = inputs.shape[1]
    weights, C = np.zeros(n), np.zeros((n, n))
    for t, (row, sign) in enumerate(zip(inputs, 2 * y - 1, strict=True), start=1):
        gradient = -sign * expit(-sign * row @ weights) * row
        C = decay * C + np.outer(gradient, gradient)
        weights -= learning_rate * np.linalg.inv(C + regularisation * np.eye(n)) @ gradient
        if t % block == 0:
            values, vectors = np.linalg.eigh(C)
            values[: max(n - rank, 0)] = 0.0
            C = vectors @ np.diag(values) @ vectors.T
    return weights


@pytest.mark.parametrize(("rank", "block"), [(3, 7), (1, 1), (0, 5), (5, 50), (9, 4), (40, 10)])
def test_equals_dense_algebra(rank, block):
    X, y = stream()
    options = {"learning_rate": 0.7, "decay": 0.98, "regularisation": 0.5}
    model = NaturalGradientClassifier(rank=rank, block=block, **options).fit(X, y)
    expected = dense_weights(X, y, rank=rank, block=block, **options)
    weights = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("rank", [9, 40])
def test_full_rank_is_the_exact_regularised_inverse(rank):
    X, y = stream()
    options = {"learning_rate": 1.0, "decay": 0.99, "regularisation": 0.2}
    model = NaturalGradientClassifier(rank=rank, block=10, **options).fit(X, y)
    never_cut = dense_weights(X, y, rank=9, block=len(X) + 1, **options)
    weights = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(weights, never_cut, rtol=0, atol=1e-8)


def test_covariance_factor_keeps_to_its_columns():
    X, y = stream()
    model = NaturalGradientClassifier(rank=3, block=7)
    for t in range(60):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        assert model.state_.X.shape[1] == (t + 1) % 7 + (3 if t >= 6 else 0)


def test_any_split_gives_the_same_bits():
    X, y = stream()
    whole = NaturalGradientClassifier(rank=4, block=9).fit(X, y)
    parts = NaturalGradientClassifier(rank=4, block=9)
    for rows in np.split(np.arange(len(X)), [1, 5, 6, 40, 41, 200]):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1])
    np.testing.assert_array_equal(parts.state_.weights, whole.state_.weights)
    np.testing.assert_array_equal(parts.state_.X, whole.state_.X)
    assert parts.state_.since == whole.state_.since


def test_learns_a_separable_problem():
    X, _ = stream(1000)
    y = np.where(X @ np.arange(-3.0, 5.0) > 1, "yes", "no")
    model = NaturalGradientClassifier().fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) > 0.95


def test_a_rotation_of_the_inputs_changes_nothing():
    X, y = stream()
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    straight = NaturalGradientClassifier().fit(X, y)
    turned = NaturalGradientClassifier().fit(X @ turn, y)
    scores = straight.decision_function(X)
    np.testing.assert_allclose(turned.decision_function(X @ turn), scores, atol=1e-8)


def test_probabilities_are_logistic():
    X, y = stream()
    model = NaturalGradientClassifier().fit(X, y)
    odds = np.log(model.predict_proba(X)[:, 1] / model.predict_proba(X)[:, 0])
    np.testing.assert_allclose(odds, X @ model.coef_[0] + model.intercept_, atol=1e-9)


def test_without_intercept_the_bias_stays_at_zero():
    X, y = stream()
    assert NaturalGradientClassifier(fit_intercept=False).fit(X, y).intercept_ == 0


@pytest.mark.parametrize("scale", [0.0, 1e-200, 1e8, 1e160, 1e308])
def test_extreme_rows_leave_finite_weights(scale):
    X, y = stream(60)
    X = np.clip(X, -1, 1) * scale
    model = NaturalGradientClassifier(regularisation=1e-3).fit(np.repeat(X, 2, axis=0), y.repeat(2))
    assert np.isfinite(model.state_.weights).all()
    assert np.isfinite(model.predict_proba(X)).all()


@parametrize_with_checks(
    [NaturalGradientClassifier(), NaturalGradientClassifier(rank=0, block=1, fit_intercept=False)]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
