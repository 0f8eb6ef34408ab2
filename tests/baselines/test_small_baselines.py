"""The small baselines follow their published updates, and scikit-learn's contract."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtri
from sklearn.utils.estimator_checks import parametrize_with_checks

from virtualvector.baselines.arow import AROWClassifier
from virtualvector.baselines.budget_perceptron import BudgetPerceptron
from virtualvector.baselines.confidence_weighted import ConfidenceWeightedClassifier
from virtualvector.baselines.kalman import KalmanClassifier
from virtualvector.baselines.second_order_perceptron import SecondOrderPerceptron

GAUSSIAN = [
    KalmanClassifier,
    SecondOrderPerceptron,
    ConfidenceWeightedClassifier,
    AROWClassifier,
]
every_baseline = pytest.mark.parametrize("baseline", [*GAUSSIAN, BudgetPerceptron])
every_gaussian = pytest.mark.parametrize("baseline", GAUSSIAN)
with_and_without_bias = pytest.mark.parametrize("fit_intercept", [True, False])


@parametrize_with_checks([*(baseline() for baseline in GAUSSIAN), BudgetPerceptron(budget=20)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def problem(rows=80, columns=3, seed=0, flipped=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * np.linspace(0.5, 2.0, columns)
    signs = np.where(X @ np.linspace(-1.0, 1.5, columns) + 0.3 > 0, 1.0, -1.0)
    return X, np.where(rng.uniform(size=rows) < flipped, -signs, signs)


def with_bias(X, fit_intercept):
    return np.column_stack([X, np.ones(len(X))]) if fit_intercept else X


def mean(model):
    return model.state_.mean


def pairs(baseline, n_rows=25, **parameters):
    """A model before and after each row of a problem, and the row with its bias and label."""
    X, signs = problem(n_rows)
    model = baseline(**parameters).partial_fit(np.zeros((1, 3)), [1], classes=[-1, 1])
    for x, sign in zip(X, signs, strict=True):
        before = mean(model).copy(), model.covariance_
        model.partial_fit(x[None], [int(sign)])
        yield before, (mean(model), model.covariance_), np.append(x, 1.0), sign


def divergence(new, old):
    """KL between two Gaussians."""
    inverse = np.linalg.inv(old[1])
    gap = new[0] - old[0]
    logs = np.linalg.slogdet(old[1])[1] - np.linalg.slogdet(new[1])[1]
    return 0.5 * (np.trace(inverse @ new[1]) + gap @ inverse @ gap - len(gap) + logs)


def unpack(parameters, size):
    """A Gaussian from its mean and the lower triangle of a factor of its covariance."""
    factor = np.zeros((size, size))
    factor[np.tril_indices(size)] = parameters[size:]
    return parameters[:size], factor @ factor.T


def pack(gaussian):
    factor = np.linalg.cholesky(gaussian[1])
    return np.concatenate([gaussian[0], factor[np.tril_indices(len(factor))]])


@with_and_without_bias
def test_the_kalman_filter_is_ridge_regression(fit_intercept):
    X, signs = problem()
    prior, noise = 2.5, 0.7
    model = KalmanClassifier(
        prior_variance=prior, noise_variance=noise, fit_intercept=fit_intercept
    ).fit(X, signs)
    Z = with_bias(X, fit_intercept)
    precision = Z.T @ Z / noise + np.eye(Z.shape[1]) / prior
    np.testing.assert_allclose(model.covariance_, np.linalg.inv(precision), rtol=1e-10)
    weights = np.linalg.solve(precision, Z.T @ signs / noise)
    np.testing.assert_allclose(model.coef_, weights[None, :3], rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, weights[3:] if fit_intercept else [0], rtol=1e-10)
    np.testing.assert_allclose(model.decision_function(X), Z @ weights, rtol=1e-9)


@with_and_without_bias
@pytest.mark.parametrize("a", [0.1, 1.0, 20.0])
def test_the_second_order_perceptron_is_its_dense_inverse(a, fit_intercept):
    X, signs = problem(120)
    Z = with_bias(X, fit_intercept)
    correlation, v = a * np.eye(Z.shape[1]), np.zeros(Z.shape[1])
    model = SecondOrderPerceptron(regularization=a, fit_intercept=fit_intercept)
    for x, z, sign in zip(X, Z, signs, strict=True):
        score = z @ np.linalg.inv(correlation + np.outer(z, z)) @ v
        if hasattr(model, "state_"):
            assert model.decision_function(x[None])[0] == pytest.approx(score, rel=1e-9)
        model.partial_fit(x[None], [int(sign)], classes=[-1, 1])
        if sign * score <= 0:
            correlation += np.outer(z, z)
            v += sign * z
    np.testing.assert_allclose(model.covariance_, np.linalg.inv(correlation), rtol=1e-9)


@pytest.mark.parametrize("confidence", [0.6, 0.9, 0.999])
def test_confidence_is_reached_exactly_or_was_there_before(confidence):
    quantile = ndtri(confidence)
    updates = 0
    for before, after, x, sign in pairs(ConfidenceWeightedClassifier, confidence=confidence):
        margins = [sign * g[0] @ x / np.sqrt(x @ g[1] @ x) for g in (before, after)]
        if margins[0] >= quantile:
            np.testing.assert_array_equal(before[0], after[0])
            np.testing.assert_array_equal(before[1], after[1])
        else:
            assert margins[1] == pytest.approx(quantile, rel=1e-9)
            updates += 1
    assert updates > 3


def test_confidence_weighting_follows_its_closed_form():
    confidence = 0.8
    phi = ndtri(confidence)
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    for before, after, x, sign in pairs(ConfidenceWeightedClassifier, confidence=confidence):
        m, v = sign * before[0] @ x, x @ before[1] @ x
        alpha = max(0, (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta))
        u = (-alpha * v * phi + np.sqrt((alpha * v * phi) ** 2 + 4 * v)) ** 2 / 4
        beta = alpha * phi / (np.sqrt(u) + v * alpha * phi)
        image = before[1] @ x
        np.testing.assert_allclose(after[0], before[0] + alpha * sign * image, rtol=1e-8)
        np.testing.assert_allclose(
            after[1], before[1] - beta * np.outer(image, image), rtol=1e-8, atol=1e-13
        )


def test_confidence_weighting_moves_to_the_closest_gaussian():
    confidence = 0.8
    quantile = ndtri(confidence)
    checked = 0
    for before, after, x, sign in pairs(ConfidenceWeightedClassifier, 8, confidence=confidence):
        if np.array_equal(before[0], after[0]):
            continue

        def confident(parameters, x=x, sign=sign):
            mu, sigma = unpack(parameters, len(x))
            return sign * mu @ x - quantile * np.sqrt(x @ sigma @ x)

        found = minimize(
            lambda p, old=before: divergence(unpack(p, 4), old),
            pack(before),
            method="SLSQP",
            constraints={"type": "ineq", "fun": confident},
            options={"ftol": 1e-13, "maxiter": 500},
        )
        best = unpack(found.x, 4)
        assert divergence(after, before) == pytest.approx(found.fun, rel=1e-5)
        np.testing.assert_allclose(after[0], best[0], atol=2e-3)
        np.testing.assert_allclose(after[1], best[1], atol=2e-3)
        checked += 1
    assert checked > 2


@pytest.mark.parametrize("r", [0.2, 3.0])
def test_arow_minimises_its_objective(r):
    checked = 0
    for before, after, x, sign in pairs(AROWClassifier, 10, r=r):
        if sign * before[0] @ x >= 1:
            np.testing.assert_array_equal(before[0], after[0])
            np.testing.assert_array_equal(before[1], after[1])
            continue

        def objective(gaussian, old=before, x=x, sign=sign):
            hinge = max(0, 1 - sign * gaussian[0] @ x)
            return divergence(gaussian, old) + (hinge**2 + x @ gaussian[1] @ x) / (2 * r)

        found = minimize(lambda p, f=objective: f(unpack(p, 4)), pack(before), tol=1e-9)
        best = unpack(found.x, 4)
        assert objective(after) <= found.fun + 1e-9
        np.testing.assert_allclose(after[0], best[0], atol=1e-4)
        np.testing.assert_allclose(after[1], best[1], atol=1e-4)
        checked += 1
    assert checked > 2


def test_arow_follows_its_closed_form():
    r = 0.4
    for before, after, x, sign in pairs(AROWClassifier, r=r):
        loss = max(0, 1 - sign * before[0] @ x)
        beta = 1 / (x @ before[1] @ x + r) if loss > 0 else 0.0
        image = before[1] @ x
        np.testing.assert_allclose(after[0], before[0] + loss * beta * sign * image, rtol=1e-8)
        np.testing.assert_allclose(after[1], before[1] - beta * np.outer(image, image), rtol=1e-8)


def brute_force_budget(X, signs, budget, bandwidth, margin, bias):
    """The published rule, one error after another."""

    def kernel(a, b):
        return np.exp(-np.sum((a - b) ** 2) / (2 * bandwidth**2)) + bias

    def score(x, support):
        return sum(sign * kernel(z, x) for z, sign in support)

    support, removals = [], 0
    for x, sign in zip(X, signs, strict=True):
        if sign * score(x, support) > margin:
            continue
        if len(support) < budget:
            support.append((x, sign))
            continue
        full = [*support, (x, sign)]
        costs = []
        for i, (own, own_sign) in enumerate(support):
            rest = full[:i] + full[i + 1 :]
            errors = sum(s * score(z, rest) <= 0 for z, s in full)
            costs.append((errors, -own_sign * score(own, rest)))
        support[min(range(budget), key=costs.__getitem__)] = (x, sign)
        removals += 1
    return support, removals


@with_and_without_bias
@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize("budget", [1, 4, 9])
def test_the_budget_perceptron_follows_the_published_rule(budget, margin, fit_intercept):
    X, signs = problem(70, seed=3)
    model = BudgetPerceptron(
        budget=budget, bandwidth=1.3, margin=margin, fit_intercept=fit_intercept
    ).fit(X, signs)
    support, removals = brute_force_budget(X, signs, budget, 1.3, margin, fit_intercept)
    assert removals > 3
    np.testing.assert_array_equal(model.support_vectors_, [x for x, _ in support])
    np.testing.assert_array_equal(model.state_.signs, [sign for _, sign in support])


def test_the_budget_perceptron_solves_what_is_not_linear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] * X[:, 1] > 0
    model = BudgetPerceptron(budget=40, bandwidth=0.7).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.8
    assert len(model.support_vectors_) <= 40


@every_gaussian
def test_a_linear_problem_is_learned(baseline):
    X, signs = problem(400, flipped=0.0)
    assert baseline().fit(X[:300], signs[:300]).score(X[300:], signs[300:]) > 0.9


@every_baseline
@pytest.mark.parametrize("cuts", [[1], [1, 2, 3, 50], range(1, 80)])
def test_any_split_into_batches_gives_the_same_bits(baseline, cuts):
    X, signs = problem()
    whole = baseline().fit(X, signs)
    parts = baseline()
    for rows, labels in zip(np.split(X, cuts), np.split(signs, cuts), strict=True):
        parts.partial_fit(rows, labels, classes=[-1, 1])
    for name, value in vars(whole.state_).items():
        np.testing.assert_array_equal(getattr(parts.state_, name), value)


@every_baseline
@with_and_without_bias
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-100, 1e-8, 1e8, 1e100, 1e300])
@pytest.mark.parametrize("flipped", [0.0, 0.3])
def test_rows_of_any_length_are_learned(baseline, fit_intercept, scale, flipped):
    X, signs = problem(flipped=flipped)
    X = np.clip(X * scale, -1.7e308, 1.7e308)
    model = baseline(fit_intercept=fit_intercept).fit(X, signs)
    assert np.all(np.isfinite(model.decision_function(X)))
    assert np.all(np.isfinite(model.decision_function(np.zeros((1, 3)))))
    if baseline is not BudgetPerceptron:
        assert np.all(np.isfinite(model.covariance_))
        if not fit_intercept and not flipped and scale > 5e-324:
            assert model.score(X, signs) > 0.7


@every_baseline
@with_and_without_bias
def test_rows_of_every_length_are_survived_together(baseline, fit_intercept):
    X, signs = problem(400, flipped=0.5)
    rng = np.random.default_rng(2)
    X *= 10.0 ** rng.uniform(-300, 300, size=X.shape)
    model = baseline(fit_intercept=fit_intercept).fit(X, signs)
    assert np.all(np.isfinite(model.decision_function(X)))


@every_baseline
@with_and_without_bias
@pytest.mark.parametrize("value", [0.0, 1.0, -1e200])
def test_the_same_row_with_changing_labels_is_survived(baseline, fit_intercept, value):
    # What each row only halves would have become zero after 1,075 of them.
    signs = np.where(np.random.default_rng(0).uniform(size=1500) < 0.5, 1, -1)
    X = np.full((1500, 2), value)
    model = baseline(fit_intercept=fit_intercept).fit(X, signs)
    assert np.all(np.isfinite(model.decision_function(X[:1])))


@every_gaussian
def test_rows_of_zeros_without_a_bias_say_nothing(baseline):
    model = baseline(fit_intercept=False).fit(np.zeros((9, 3)), [0, 1, 0, 1, 1, 1, 0, 0, 1])
    np.testing.assert_array_equal(model.coef_, np.zeros((1, 3)))
    np.testing.assert_array_equal(model.covariance_, np.eye(3))


@every_baseline
def test_parameters_out_of_range_are_errors(baseline):
    first = next(iter(baseline._parameter_constraints))
    with pytest.raises(ValueError, match=first):
        baseline(**{first: -1}).fit([[0.0], [1.0]], [0, 1])
