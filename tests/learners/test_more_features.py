"""Rows with more columns than those so far."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import virtualvector
from tests.learners.learner_examples import assert_same_model, every_learner, problem
from virtualvector import ADFClassifier, VVMClassifier


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_more_features_are_as_if_all_rows_had_had_zeros_there(learner, n_classes, fit_intercept):
    X, y = problem(columns=6, n_classes=n_classes)
    X[:40, 4:] = 0.0
    parameters = {"margin_noise": 0.5, "prior_variance": 2.0, "fit_intercept": fit_intercept}
    if hasattr(learner(), "tol"):
        parameters["tol"] = 1e-17  # EP in margin space and in weight space agree as far as this
    narrow = learner(**parameters).partial_fit(X[:40, :4], y[:40])
    wide = learner(**parameters).partial_fit(X[:40], y[:40])
    widened = narrow.with_more_features(2)
    for start in (40, 50):
        rows = slice(start, start + 10)
        np.testing.assert_allclose(
            widened.predict_proba(X[rows]), wide.predict_proba(X[rows]), rtol=1e-8
        )
        widened.partial_fit(X[rows], y[rows])
        wide.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(widened.coef_, wide.coef_, atol=1e-8)
    np.testing.assert_allclose(widened.covariance_, wide.covariance_, atol=1e-8)


@every_learner
def test_the_narrow_model_stays_what_it_was_and_can_go_on(learner):
    X, y = problem()
    model = learner(margin_noise=0.5).partial_fit(X[:30], y[:30]).learn_one(X[30], y[30])
    before = pickle.dumps(model)
    model.with_more_features(3).learn_one(np.ones(7), 1)
    assert pickle.dumps(model) == before
    assert_same_model(model, pickle.loads(before), X)


def test_a_widened_model_is_saved_as_any_other(tmp_path):
    X, y = problem()
    model = VVMClassifier(6, margin_noise=0.5).fit(X, y).with_more_features(2)
    model.save(tmp_path / "wide.vvm")
    rows = np.hstack([X, X[:, :2]])
    assert_same_model(virtualvector.load(tmp_path / "wide.vvm"), model, rows)


def test_what_cannot_be_widened_is_said():
    with pytest.raises(NotFittedError):
        ADFClassifier().with_more_features(1)
    X, y = problem()
    with pytest.raises(ValueError, match="n_more = -1; expected 0 or more"):
        ADFClassifier().fit(X, y).with_more_features(-1)
    named = ADFClassifier().fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ValueError, match="columns with names"):
        named.with_more_features(1)
