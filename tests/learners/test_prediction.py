"""Probabilities, scores and classes of new rows."""

import numpy as np
import pytest
from scipy.stats import norm

from tests.learners.learner_examples import every_learner, every_learner_alone, every_noise, problem


def margins_by_definition(model, X):
    """mᵀx/√(xᵀVx + s²) from the public attributes of a two-class model."""
    mean = model.coef_[0]
    if model.fit_intercept:
        X = np.column_stack([X, np.ones(len(X))])
        mean = np.append(mean, model.intercept_)
    variance = np.einsum("ti,ij,tj->t", X, model.covariance_, X)
    return X @ mean / np.sqrt(variance + model.margin_noise)


@every_learner_alone
@every_noise
@pytest.mark.parametrize("prior_variance", [0.2, 1.0, 9.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_two_class_probabilities_are_averages_over_the_gaussian(
    learner, margin_noise, label_noise, prior_variance, fit_intercept
):
    X, y = problem()
    new, _ = problem(seed=1)
    model = learner(
        margin_noise=margin_noise,
        label_noise=label_noise,
        prior_variance=prior_variance,
        fit_intercept=fit_intercept,
    ).fit(X, y)
    z = margins_by_definition(model, new)
    expected = label_noise + (1 - 2 * label_noise) * norm.cdf(z)
    found = model.predict_proba(new)
    np.testing.assert_allclose(found[:, 1], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[:, 0], 1 - expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(new), z, rtol=1e-9, atol=1e-12)


@every_learner
@every_noise
@pytest.mark.parametrize("n_classes", [2, 3, 5])
class TestEveryRow:
    def model_and_rows(self, learner, margin_noise, label_noise, n_classes):
        X, y = problem(n_classes=n_classes)
        model = learner(margin_noise=margin_noise, label_noise=label_noise).fit(X, y)
        return model, problem(rows=200, seed=1)[0]

    def test_has_probabilities_that_sum_to_one(self, learner, margin_noise, label_noise, n_classes):
        model, new = self.model_and_rows(learner, margin_noise, label_noise, n_classes)
        probabilities = model.predict_proba(new)
        assert probabilities.shape == (200, n_classes)
        assert probabilities.min() >= 0
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=0, atol=1e-14)

    def test_has_the_most_probable_class(self, learner, margin_noise, label_noise, n_classes):
        model, new = self.model_and_rows(learner, margin_noise, label_noise, n_classes)
        probabilities = model.predict_proba(new)
        predicted = probabilities[np.arange(len(new)), model.predict(new)]
        # Two classes may be sure of a row: scores tell apart what has been rounded to one half.
        np.testing.assert_allclose(predicted, probabilities.max(axis=1), rtol=1e-12)

    def test_has_logarithms_of_its_probabilities(
        self, learner, margin_noise, label_noise, n_classes
    ):
        model, new = self.model_and_rows(learner, margin_noise, label_noise, n_classes)
        np.testing.assert_allclose(
            np.exp(model.predict_log_proba(new)), model.predict_proba(new), rtol=1e-12
        )

    def test_is_ordered_by_its_scores_as_by_its_probabilities(
        self, learner, margin_noise, label_noise, n_classes
    ):
        model, new = self.model_and_rows(learner, margin_noise, label_noise, n_classes)
        scores, probabilities = model.decision_function(new), model.predict_proba(new)
        if n_classes == 2:
            scores, probabilities = scores[:, np.newaxis], probabilities[:, 1:]
        else:
            unsaturated = np.abs(probabilities - 0.5) < 0.4999
            p = probabilities[unsaturated]
            np.testing.assert_allclose(scores[unsaturated], np.log(p / (1 - p)), rtol=0, atol=1e-9)
        for score, probability in zip(scores.T, probabilities.T, strict=True):
            assert np.all(np.diff(probability[np.argsort(score)]) >= 0)


def sure_model(learner, n_classes, rows=4000, wrong=0.1):
    """A model that has seen so much of one column per class that it is sure; and rows it knows."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=rows)
    shown = np.where(rng.random(rows) < wrong, rng.integers(n_classes, size=rows), y)
    X = 2.0 * np.eye(n_classes)[shown] - 1.0
    strength = np.linspace(10.0, 200.0, 100)[:, np.newaxis]
    known = strength * (2.0 * np.eye(n_classes)[-1] - 1.0)
    return learner(margin_noise=1.0, fit_intercept=False).fit(X, y), known


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_tell_rows_apart_whose_probabilities_are_one(learner, n_classes):
    model, rows = sure_model(learner, n_classes)
    assert np.all(model.predict_proba(rows)[:, -1] == 1.0)
    scores = model.decision_function(rows)
    last = scores if n_classes == 2 else scores[:, -1]
    assert np.all(np.diff(last) > 0)
    assert np.all(np.isfinite(scores))


@every_learner
def test_logarithms_are_finite_where_probabilities_are_zero(learner):
    model, rows = sure_model(learner, 2)
    assert model.predict_proba(rows)[-1, 0] == 0.0
    logarithms = model.predict_log_proba(rows)
    assert np.all(np.isfinite(logarithms))
    expected = norm.logcdf(-model.decision_function(rows))
    np.testing.assert_allclose(logarithms[:, 0], expected, rtol=1e-9)


@every_learner
@pytest.mark.parametrize("label_noise", [0.01, 0.2])
def test_no_probability_is_below_the_label_noise(learner, label_noise):
    X, y = problem(rows=300, flipped=0.0)
    model = learner(label_noise=label_noise).fit(X, y)
    assert model.predict_proba(100 * X).min() >= label_noise * (1 - 1e-12)


@every_learner
@every_noise
@pytest.mark.parametrize("prior_variance", [0.04, 5.0])
def test_a_wider_prior_is_longer_rows(learner, margin_noise, label_noise, prior_variance):
    X, y = problem()
    X = np.column_stack([X, np.ones(len(X))])
    noise = {"margin_noise": margin_noise, "label_noise": label_noise, "fit_intercept": False}
    scale = np.sqrt(prior_variance)
    wide = learner(prior_variance=prior_variance, **noise).fit(X, y)
    long = learner(**noise).fit(scale * X, y)
    np.testing.assert_allclose(wide.coef_, scale * long.coef_, rtol=0, atol=1e-7 * scale)
    np.testing.assert_allclose(
        wide.covariance_, prior_variance * long.covariance_, rtol=0, atol=1e-7 * prior_variance
    )
    np.testing.assert_allclose(
        wide.predict_proba(X), long.predict_proba(scale * X), rtol=0, atol=1e-7
    )


@every_learner
@pytest.mark.parametrize("label_noise", [0.0, 0.05])
def test_without_margin_noise_only_the_direction_of_a_row_counts(learner, label_noise):
    X, y = problem(flipped=label_noise)
    X = np.column_stack([X, np.ones(len(X))])
    lengths = 10.0 ** np.random.default_rng(1).uniform(-6, 6, size=(len(X), 1))
    plain = learner(label_noise=label_noise, fit_intercept=False).fit(X, y)
    scaled = learner(label_noise=label_noise, fit_intercept=False).fit(lengths * X, y)
    expected = plain.predict_proba(X)
    np.testing.assert_allclose(plain.predict_proba(lengths * X), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(scaled.predict_proba(X), expected, rtol=0, atol=1e-7)


@every_learner
@every_noise
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_row_has_the_same_bits_however_it_is_asked_for(
    learner, margin_noise, label_noise, n_classes
):
    """In a table, in a larger one, alone, by itself."""
    X, y = problem(rows=90, columns=7, n_classes=n_classes)
    model = learner(margin_noise=margin_noise, label_noise=label_noise)
    model.partial_fit(X[:60], y[:60], classes=range(n_classes)).learn_one(X[60], y[60])
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X[3:8]), expected[3:8])
    np.testing.assert_array_equal(model.predict_proba(X.tolist()[5:6]), expected[5:6])
    for t in (0, 61, 89):
        np.testing.assert_array_equal(model.predict_proba(X[t : t + 1])[0], expected[t])
        np.testing.assert_array_equal(model.predict_proba_one(X[t]), expected[t])
