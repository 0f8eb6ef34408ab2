"""A committee of one linear expert is that learner: its report has the learner's numbers."""

import numpy as np
import pandas as pd
import pytest

from virtualvector import AutoVVMClassifier, VVMClassifier
from virtualvector.evaluation import Tally
from virtualvector.learners.expert import Expert
from virtualvector.report import of_model, render

COLUMNS = ["first", "second", "third"]


def stream(classes, n_rows=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    scores = X[:, :1] * np.arange(len(classes)) + rng.normal(size=(n_rows, len(classes)))
    return pd.DataFrame(X, columns=COLUMNS), np.array(classes)[scores.argmax(axis=1)]


def learned(classes, **parameters):
    X, y = stream(classes)
    model = AutoVVMClassifier(**parameters)
    predictions = model.predict_then_learn(X, y, classes=classes)
    tally = Tally(tuple(classes)).with_rows(y, predictions.probabilities)
    return model, of_model(model, tally, "made up", {"rows": "400"})


@pytest.fixture(scope="module")
def alone():
    experts = [Expert(None, 1.0, buffer_size=8, merge_pairs=5)]
    return learned(["a", "b"], experts=experts, scale=False)


@pytest.fixture(scope="module")
def one():
    X, y = stream(["a", "b"])
    return VVMClassifier(buffer_size=8, margin_noise=1.0, merge_pairs=5).partial_fit(X, y)


def test_weights_are_those_of_the_learner_the_most_certain_first(alone, one):
    _, report = alone
    deviations = np.sqrt(np.diag(one.covariance_))[:3]
    order = np.argsort(-abs(one.coef_[0]) / deviations)
    assert [weight.column for weight in report.weights] == [COLUMNS[k] for k in order]
    assert [weight.mean for weight in report.weights] == pytest.approx(one.coef_[0][order])
    assert [weight.deviation for weight in report.weights] == pytest.approx(deviations[order])
    assert {weight.class_ for weight in report.weights} == {""}


def test_points_and_counts_are_those_of_the_learner(alone, one):
    _, report = alone
    assert report.points.columns == COLUMNS
    assert report.points.array == pytest.approx(np.asarray(one.virtual_points_)[:, :3])
    assert report.points.classes == [""] * 8
    assert report.buffer["evicted"] + report.buffer["merged"] == 400 - 8
    assert report.buffer["divergence_score"] > 0.0


def test_what_was_asked_for_is_told(alone):
    _, report = alone
    assert report.parameters["experts"] == "1"
    assert report.parameters["scale"] == "no"
    assert report.parameters["n_jobs"] == "1"
    assert report.parameters["budget"] == "as usual"
    assert report.experts == [
        {"expert": "linear, s² 1, 8 points, 5 pairs", "weight": 1.0, "awake": True}
    ]
    assert "keeps 8 virtual" in render(report)


def test_each_of_several_classes_has_its_weights_and_points():
    experts = [Expert(None, 1.0, buffer_size=4)]
    _, report = learned(["a", "b", "c"], experts=experts)
    assert sorted((w.class_, w.column) for w in report.weights) == [
        (name, column) for name in "abc" for column in COLUMNS
    ]
    assert report.points.array.shape == (12, 3)
    assert report.points.classes == [name for name in "abc" for _ in range(4)]


def test_a_committee_is_reported_with_whom_it_trusted():
    model, report = learned(["a", "b"], n_frequencies=20)
    weights = [expert["weight"] for expert in report.experts]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1.0)
    assert [n_rows for n_rows, _ in report.history] == [128, 256, 384]
    assert sum(expert["awake"] for expert in report.experts) == model.n_awake_
    page = render(report)
    assert "made up" in page
    assert report.experts[0]["expert"] in page
