"""Little data, and data that says little."""

import numpy as np
import pytest

from tests.learners.learner_examples import (
    assert_same_model,
    every_learner,
    every_noise,
    problem,
    same_states,
)


@every_learner
def test_one_class_is_certain(learner):
    X, _ = problem()
    model = learner().fit(X, np.full(60, "yes"))
    assert model.classes_.tolist() == ["yes"]
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((60, 1)))
    np.testing.assert_array_equal(model.predict_log_proba(X), np.zeros((60, 1)))
    assert set(model.predict(X)) == {"yes"}
    assert model.decision_function(X).shape == (60,)
    assert model.coef_.shape == (1, 4)


@every_learner
@every_noise
@pytest.mark.parametrize("label", [0, 1])
def test_a_class_that_always_comes_is_ever_more_probable(learner, margin_noise, label_noise, label):
    X, _ = problem()
    model = learner(margin_noise=margin_noise, label_noise=label_noise)
    found = []
    for start in range(0, 60, 20):
        model.partial_fit(X[start : start + 20], np.full(20, label), classes=[0, 1])
        found.append(model.predict_proba(np.zeros((1, 4)))[0, label])
    assert found[0] > 0.7
    assert np.all(np.diff(found) > 0)
    assert found[-1] < 1


@every_learner
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_class_that_was_declared_but_never_came_is_improbable(learner, missing):
    X, y = problem(n_classes=3)
    is_known = y != missing
    model = learner(margin_noise=0.5).partial_fit(X[is_known], y[is_known], classes=[0, 1, 2])
    probabilities = model.predict_proba(X)
    assert probabilities[:, missing].mean() < 0.15
    assert np.mean(model.predict(X) == missing) < 0.05


@every_learner
@every_noise
def test_one_row_makes_itself_more_probable(learner, margin_noise, label_noise):
    row = np.array([[1.0, -2.0, 0.5]])
    model = learner(margin_noise=margin_noise, label_noise=label_noise)
    model.partial_fit(row, [1], classes=[0, 1])
    # Its factor meets N(0, v): the exact mean is known.
    v = 1 + np.sum(row**2)
    expected = (1 - 2 * label_noise) * np.sqrt(2 / np.pi) * v / np.sqrt(v + margin_noise)
    assert (model.coef_ @ row.T + model.intercept_).item() == pytest.approx(expected, rel=1e-9)
    assert model.predict_proba(row)[0, 1] > 0.6
    assert model.predict_proba(-row)[0, 1] < 0.5
    assert model.n_seen_ == 1


@every_learner
@every_noise
def test_one_column_is_enough(learner, margin_noise, label_noise):
    X, _ = problem(rows=80, columns=1)
    y = (X[:, 0] > 0.2).astype(int)
    model = learner(margin_noise=margin_noise, label_noise=label_noise).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.predict_proba([[-2.0], [2.0]])[:, 1] == pytest.approx([0, 1], abs=0.2)


@every_learner
@every_noise
@pytest.mark.parametrize("constant", [0.0, 1.0, -1e6])
def test_constant_columns_do_no_harm(learner, margin_noise, label_noise, constant):
    X, y = problem(rows=100, flipped=label_noise)
    X[:, 2] = constant
    model = learner(margin_noise=margin_noise, label_noise=label_noise).fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.predict_proba(X)))
    if constant == 0.0:  # of such a column nothing is learned
        assert model.coef_[0, 2] == 0.0
        assert model.covariance_[2, 2] == pytest.approx(1.0)
    if abs(constant) <= 1.0:
        assert model.score(X, y) > 0.55


@every_learner
@every_noise
def test_rows_of_zeros_without_a_bias_say_nothing(learner, margin_noise, label_noise):
    noise = {"margin_noise": margin_noise, "label_noise": label_noise, "fit_intercept": False}
    X, y = problem()
    nothing = learner(**noise).fit(np.zeros((60, 4)), y)
    np.testing.assert_array_equal(nothing.coef_, np.zeros((1, 4)))
    np.testing.assert_array_equal(nothing.covariance_, np.eye(4))
    np.testing.assert_array_equal(nothing.predict_proba(X), np.full((60, 2), 0.5))
    assert nothing.log_evidence_ == pytest.approx(60 * np.log(0.5))
    assert nothing.counters_["ignored"] == 60

    learned = learner(**noise).fit(X, y)
    np.testing.assert_allclose(learned.predict_proba(np.zeros((2, 4))), 0.5, rtol=1e-15)
    before = learned.coef_
    learned.partial_fit(np.zeros((9, 4)), y[:9])
    np.testing.assert_array_equal(learned.coef_, before)
    assert learned.n_seen_ == 69


@every_learner
@every_noise
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-8, 1e8, 1e150, 1e300])
def test_rows_of_any_length_are_learned(learner, margin_noise, label_noise, scale):
    X, y = problem(flipped=label_noise)
    model = learner(margin_noise=margin_noise, label_noise=label_noise).fit(scale * X, y)
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.covariance_))
    probabilities = model.predict_proba(scale * X)
    assert np.all((probabilities >= 0) & (probabilities <= 1))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.isfinite(model.log_evidence_)


@every_learner
@every_noise
def test_contradictions_are_survived(learner, margin_noise, label_noise):
    X, y = problem(rows=10)
    X, y = np.tile(X, (6, 1)), np.concatenate([np.tile(y, 3), np.tile(1 - y, 3)])
    model = learner(margin_noise=margin_noise, label_noise=label_noise).fit(X, y)
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.linalg.eigvalsh(model.covariance_) >= 0)
    probabilities = model.predict_proba(X)
    assert np.all((probabilities >= 0) & (probabilities <= 1))


@every_learner
def test_an_integer_problem_is_learned_like_any_other(learner):
    X = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 5)
    y = X[:, 0] | X[:, 1]
    model = learner().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert same_states(model, learner().fit(X.astype(float), y))
    assert_same_model(model, learner().fit(X.tolist(), y.tolist()), X)
