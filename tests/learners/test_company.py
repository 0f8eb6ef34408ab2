"""Learners in company: copies, files, pipelines, searches and threads."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.learners.learner_examples import (
    LEARNERS,
    assert_same_model,
    every_learner,
    problem,
    same_states,
)
from virtualvector import RandomFourierFeatures, VVMClassifier

COPIES = {
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "copy": lambda model, folder: copy.copy(model),
    "joblib": lambda model, folder: joblib.load(*joblib.dump(model, folder / "model.joblib")),
    "read-only joblib": lambda model, folder: joblib.load(
        *joblib.dump(model, folder / "model.joblib"), mmap_mode="r"
    ),
}


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
def test_copies_predict_and_go_on_learning_the_same(
    learner, n_classes, declared, duplicate, tmp_path
):
    X, y = problem(n_classes=n_classes)
    classes = np.arange(n_classes) if declared else None
    model = learner(margin_noise=0.5).partial_fit(X[:30], y[:30], classes=classes)
    other = duplicate(model, tmp_path)
    assert_same_model(other, model, X)

    before = copy.deepcopy(model)
    other.partial_fit(X[30:], y[30:])
    assert_same_model(model, before, X)  # what one learns, the other does not
    assert_same_model(model.partial_fit(X[30:], y[30:]), other, X)
    assert_same_model(model, learner(margin_noise=0.5).fit(X, y), X)


@every_learner
def test_a_clone_knows_the_parameters_and_nothing_else(learner):
    X, y = problem()
    model = learner(margin_noise=0.5, label_noise=0.1, prior_variance=3.0).fit(X, y)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert not hasattr(other, "classes_")
    assert_same_model(other.fit(X, y), model, X)


@every_learner
def test_a_pipeline_learns_what_its_last_step_is_given(learner):
    X, y = problem(rows=150)
    model = learner(margin_noise=0.5)
    features = [StandardScaler(), RandomFourierFeatures(20, random_state=0)]
    pipeline = make_pipeline(*features, clone(model)).fit(X, y)
    Z = X
    for step in features:
        Z = clone(step).fit_transform(Z)
    model.fit(Z, y)
    assert same_states(pipeline[-1], model)
    np.testing.assert_array_equal(pipeline.predict_proba(X), model.predict_proba(Z))


@every_learner
def test_cross_validation_beats_guessing(learner):
    X, y = problem(rows=300, n_classes=3)
    scores = cross_val_score(learner(margin_noise=0.5), X, y, cv=3)
    assert scores.min() > 0.6
    probabilities = cross_val_predict(learner(margin_noise=0.5), X, y, cv=3, method="predict_proba")
    assert log_loss(y, probabilities) < 0.8 * np.log(3)


def test_a_search_tries_buffer_sizes():
    X, y = problem(rows=120)
    search = GridSearchCV(
        VVMClassifier(margin_noise=0.5),
        {"buffer_size": np.array([0, 3, 10]), "eviction": ["divergence", "margin"]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    expected = VVMClassifier(margin_noise=0.5, **search.best_params_).fit(X, y)
    assert_same_model(search.best_estimator_, expected, X)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibration_may_follow(n_classes):
    X, y = problem(rows=200, n_classes=n_classes)
    calibrated = CalibratedClassifierCV(VVMClassifier(margin_noise=0.5), cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)
    assert calibrated.score(X, y) > 0.7


def test_importances_find_the_column_that_counts():
    X, _ = problem(rows=300)
    model = VVMClassifier(margin_noise=0.5).fit(X, X[:, 2] > 0)
    importances = permutation_importance(model, X, X[:, 2] > 0, random_state=0).importances_mean
    assert np.argmax(importances) == 2


def test_threads_learn_the_same_as_one_after_the_other():
    problems = [problem(rows=200, columns=5, n_classes=2 + k % 3, seed=k) for k in range(12)]
    learners = [list(LEARNERS.values())[k % len(LEARNERS)] for k in range(12)]

    def learn(k):
        X, y = problems[k]
        return learners[k](margin_noise=0.5).fit(X, y)

    alone = [learn(k) for k in range(12)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(learn, range(12)))
    for (X, _), one, other in zip(problems, alone, together, strict=True):
        assert_same_model(other, one, X)


def test_threads_may_read_one_model():
    X, y = problem(rows=200, n_classes=3)
    model = LEARNERS["ep"](margin_noise=0.5).fit(X, y)
    expected = copy.deepcopy(model).predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(model.predict_proba, [X] * 8):
            np.testing.assert_array_equal(found, expected)
