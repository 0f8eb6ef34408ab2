"""Within river: pipelines, evaluations with delays, copies and changes on the way."""

import copy
import datetime as dt
import math
import pickle

import numpy as np
import pytest
from river import (
    compose,
    datasets,
    ensemble,
    evaluate,
    linear_model,
    metrics,
    multiclass,
    preprocessing,
    stream,
)
from scipy.stats import norm
from sklearn.utils._param_validation import InvalidParameterError

import virtualvector
from tests.learners.learner_examples import problem
from tests.river.classifier_examples import (
    dicts,
    every_classifier,
    every_linear_classifier,
    learned,
    probabilities,
    rows_and_classes,
)
from virtualvector.river import ADFClassifier, AutoVVMClassifier, VVMClassifier


def scaled_by_river(X):
    """The rows as river's scaler leaves them when each has been learned."""
    scaler, rows = preprocessing.StandardScaler(), []
    for x in dicts(X):
        scaler.learn_one(x)
        rows.append(scaler.transform_one(x))
    return rows


def test_a_pipeline_gives_its_classifier_what_river_scales():
    X, y = rows_and_classes(3)
    model = preprocessing.StandardScaler() | VVMClassifier(6, margin_noise=0.5)
    for x, label in zip(dicts(X), y, strict=True):
        model.learn_one(x, label)
    rows = scaled_by_river(X)
    table = np.array([[x[name] for name in "abcd"] for x in rows])
    expected = virtualvector.VVMClassifier(6, margin_noise=0.5).partial_fit(table, y)
    np.testing.assert_array_equal(model["VVMClassifier"].learner.coef_, expected.coef_)


def test_parts_of_rows_may_take_different_ways():
    rng = np.random.default_rng(0)
    rows = [
        {"size": rng.normal(), "colour": str(rng.choice(["red", "blue"])), "other": "x"}
        for _ in range(50)
    ]
    labels = [bool(x["size"] > 0) != (x["colour"] == "red") for x in rows]
    model = compose.Select("size") + (
        compose.Select("colour") | preprocessing.OneHotEncoder()
    ) | ADFClassifier(margin_noise=0.3)
    for x, label in zip(rows, labels, strict=True):
        model.learn_one(x, label)
    classifier = model["ADFClassifier"]
    assert sorted(classifier.features) == ["colour_blue", "colour_red", "size"]
    table = np.array(
        [
            [
                x["size"] if name == "size" else float(name == f"colour_{x['colour']}")
                for name in classifier.features
            ]
            for x in rows
        ]
    )
    expected = virtualvector.ADFClassifier(margin_noise=0.3).partial_fit(table, labels)
    predictions = [model.predict_proba_one(x)[True] for x in rows]
    np.testing.assert_allclose(predictions, expected.predict_proba(table)[:, 1], rtol=1e-9)


@every_classifier
def test_progressive_validation_scores_what_was_said_before_each_row(classifier):
    X, y = rows_and_classes(3)
    rows, by_hand, model = dicts(X), metrics.CrossEntropy(), classifier()
    for x, label in zip(rows, y, strict=True):
        predictions = model.predict_proba_one(x)
        if predictions:
            by_hand.update(label, predictions)
        model.learn_one(x, label)
    found = metrics.CrossEntropy()
    pairs = list(zip(rows, y, strict=True))
    evaluate.progressive_val_score(pairs, classifier(), found)
    assert found.get() == pytest.approx(by_hand.get(), rel=1e-12)


@every_classifier
def test_with_delays_a_row_is_learned_when_its_label_has_come(classifier):
    X, y = rows_and_classes(rows=40)
    start, minute = dt.datetime(2026, 11, 17), dt.timedelta(minutes=1)
    rows = [x | {"a": float(t)} for t, x in enumerate(dicts(X))]  # "a" tells the time
    found = metrics.Accuracy()
    steps = list(
        evaluate.iter_progressive_val_score(
            list(zip(rows, y, strict=True)),
            classifier(),
            found,
            moment=lambda x: start + x["a"] * minute,
            delay=5 * minute,
            yield_predictions=True,
        )
    )
    model, waiting, predictions = classifier(), [], []
    for t, x in enumerate(rows):
        while waiting and waiting[0][0] + 5 <= t:
            _, old, label = waiting.pop(0)
            model.learn_one(old, label)
        predictions.append(model.predict_one(x))
        waiting.append((t, x, y[t]))
    assert len(steps) == len(rows)
    predicted = {step["Step"]: step["Prediction"] for step in steps}
    assert [predicted[t] for t in sorted(predicted)] == predictions
    assert predictions[:4] == [None] * 4


@every_classifier
def test_copies_go_on_alike_and_a_clone_begins_anew(classifier):
    X, y = rows_and_classes(3)
    rows = dicts(X)
    model = learned(classifier, rows[:30], y[:30])
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    copies.append(model.clone(include_attributes=True))
    clone = model.clone()
    assert clone.predict_proba_one(rows[0]) == {}
    assert clone.features == []
    assert clone._get_params() == model._get_params()
    for each in (model, *copies):
        for x, label in zip(rows[30:], y[30:], strict=True):
            each.learn_one(x, label)
    for each in copies:
        np.testing.assert_array_equal(probabilities(each, rows), probabilities(model, rows))


def test_a_clone_may_have_other_parameters():
    model = preprocessing.StandardScaler() | VVMClassifier(10, margin_noise=1.0)
    other = model.clone({"VVMClassifier": {"buffer_size": 3}})
    assert other["VVMClassifier"].buffer_size == 3
    assert other["VVMClassifier"].margin_noise == 1.0
    assert AutoVVMClassifier(seed=4).clone().learner.random_state == 4


def test_a_half_life_holds_from_the_row_after_it_was_changed():
    """Against assumed-density filtering by its textbook formulas."""
    X, y = problem(rows=30, columns=1)
    model = compose.Pipeline(ADFClassifier(margin_noise=0.5))
    mean, covariance = np.zeros(2), np.eye(2)
    for t, (x, label) in enumerate(zip(dicts(X), y, strict=True)):
        if t == 20:
            model.mutate({"ADFClassifier": {"half_life": 8.0}})
        model.learn_one(x, label)
        kept = 2.0 ** (-1.0 / 8.0) if t >= 20 else 1.0
        row, sign = np.array([x["a"], 1.0]), 2.0 * label - 1.0
        image = covariance @ row
        deviation = math.sqrt(row @ image + 0.5)
        z = sign * (row @ mean) / deviation
        slope = norm.pdf(z) / norm.cdf(z)
        mean = mean + sign * slope / deviation * image
        covariance = covariance - slope * (slope + z) / deviation**2 * np.outer(image, image)
        mean, covariance = math.sqrt(kept) * mean, kept * covariance + (1.0 - kept) * np.eye(2)
    learner = model["ADFClassifier"].learner
    np.testing.assert_allclose([*learner.coef_[0], *learner.intercept_], mean, rtol=1e-9)
    np.testing.assert_allclose(learner.covariance_, covariance, rtol=1e-9)


def test_a_changed_half_life_is_that_of_a_hedge_too():
    X, y = problem(rows=60)
    noise = {"margin_noise": 0.3, "label_noise": 0.1}
    both, alone = VVMClassifier(5, **noise), VVMClassifier(5, hedge=False, **noise)
    adf = ADFClassifier(**noise)
    evidence = math.log(0.5)  # of VVM over ADF, who is trusted twice as much at first
    for t, (x, label) in enumerate(zip(dicts(X), y, strict=True)):
        if t == 30:
            for model in (both, alone, adf):
                model.mutate({"half_life": 8.0})
        if t > 1:  # after one row they know the same
            found, by_vvm, by_adf = (m.predict_proba_one(x)[label] for m in (both, alone, adf))
            trust = 1.0 / (1.0 + math.exp(-evidence))
            assert found == pytest.approx(trust * by_vvm + (1.0 - trust) * by_adf, rel=1e-10)
            evidence += math.log(by_vvm / by_adf)
        for model in (both, alone, adf):
            model.learn_one(x, label)


@every_linear_classifier
def test_weights_of_classes_may_change_and_hold_for_later_rows(classifier):
    X, y = rows_and_classes()
    rows = dicts(X)
    model, twice = learned(classifier, rows[:30], y[:30]), learned(classifier, rows[:30], y[:30])
    model.mutate({"class_weight": {"ant": 2.0}})
    for x, label in zip(rows[30:], y[30:], strict=True):
        model.learn_one(x, label)
        for _ in range(2 if label == "ant" else 1):
            twice.learn_one(x, label)
    np.testing.assert_array_equal(probabilities(model, rows), probabilities(twice, rows))


@every_classifier
def test_what_may_not_change_is_named_and_a_wrong_value_changes_nothing(classifier):
    X, y = rows_and_classes()
    model = learned(classifier, dicts(X), y)
    name = "budget" if isinstance(model, AutoVVMClassifier) else "margin_noise"
    with pytest.raises(ValueError, match=f"'{name}' is not a mutable attribute"):
        model.mutate({name: 2.0})
    with pytest.raises(AttributeError, match=f"{name} = .* for good; .* clone"):
        setattr(model, name, 2.0)
    before = pickle.dumps(model)
    with pytest.raises(InvalidParameterError, match="class_weight"):
        model.mutate({"class_weight": 3})
    assert pickle.dumps(model) == before


@every_linear_classifier
def test_a_wrong_parameter_is_named_at_once(classifier):
    with pytest.raises(InvalidParameterError, match="'label_noise' parameter"):
        classifier(label_noise=0.7)


def test_threads_of_a_committee_may_change_and_change_no_result():
    X, y = rows_and_classes()
    rows = dicts(X)
    model, same = (learned(AutoVVMClassifier, rows[:30], y[:30]) for _ in range(2))
    model.mutate({"n_jobs": 2})
    assert model.learner.n_jobs == 2
    for each in (model, same):
        for x, label in zip(rows[30:], y[30:], strict=True):
            each.learn_one(x, label)
    np.testing.assert_array_equal(probabilities(model, rows), probabilities(same, rows))


def test_classifiers_join_ensembles_of_river():
    X, y = rows_and_classes()
    bagging = ensemble.BaggingClassifier(ADFClassifier(margin_noise=0.5), n_models=3, seed=1)
    one_vs_rest = multiclass.OneVsRestClassifier(ADFClassifier(margin_noise=0.5))
    for model in (bagging, one_vs_rest):
        for x, label in zip(dicts(X), y, strict=True):
            model.learn_one(x, label)
        right = [model.predict_one(x) == label for x, label in zip(dicts(X), y, strict=True)]
        assert np.mean(right) > 0.8


def test_rows_of_a_file_are_learned_as_river_reads_them(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("age,city,bought\n31,Oslo,no\n40,Rome,yes\n,Oslo,no\n52,Rome,yes\n")
    model = AutoVVMClassifier()
    converters = {"age": lambda text: float(text) if text else None}
    for x, label in stream.iter_csv(path, target="bought", converters=converters):
        model.learn_one(x, label)
    assert model.features == ["age", "city"]
    assert model.learner.is_categorical_.tolist() == [False, True]
    assert model.learner.n_missing_.tolist() == [1, 0]


def test_it_is_ahead_of_rivers_logistic_regression_on_rivers_own_stream():
    def loss(classifier):
        model = preprocessing.StandardScaler() | classifier
        return evaluate.progressive_val_score(datasets.Phishing(), model, metrics.LogLoss()).get()

    assert loss(VVMClassifier(margin_noise=1.0)) < loss(linear_model.LogisticRegression())
