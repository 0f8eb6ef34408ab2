"""Rows are dicts: features and classes as they come."""

import math
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import virtualvector
from tests.learners.learner_examples import assert_same_model
from tests.river.classifier_examples import (
    dicts,
    every_classifier,
    every_linear_classifier,
    every_linear_pair,
    every_pair,
    learned,
    probabilities,
    rows_and_classes,
)
from virtualvector import Expert, river
from virtualvector.river import ADFClassifier, AutoVVMClassifier, VVMClassifier
from virtualvector.river.classifier import with_new


@every_pair
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_are_learned_to_the_last_bit_as_by_the_learner(classifier, learner, n_classes):
    X, y = rows_and_classes(n_classes)
    model, expected = classifier(), learner()
    for t, x in enumerate(dicts(X)):
        predictions = model.predict_proba_one(x)
        if t > 0:
            assert list(predictions) == expected.classes_.tolist()
            assert list(predictions.values()) == expected.predict_proba(X[t : t + 1])[0].tolist()
            assert model.predict_one(x) == max(predictions, key=predictions.get)
        model.learn_one(x, y[t])
        expected.partial_fit(X[t : t + 1], y[t : t + 1])
    assert model.features == list("abcd")


@every_linear_pair
def test_what_is_learned_is_what_the_learner_learns_at_once(classifier, learner):
    X, y = rows_and_classes(3)
    assert_same_model(learned(classifier, dicts(X), y).learner, learner().partial_fit(X, y), X)


@every_classifier
def test_nothing_is_said_before_the_first_row_and_only_what_came_after_it(classifier):
    model = classifier()
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 1.0}, "bee")
    assert model.predict_proba_one({"a": 2.0}) == {"bee": 1.0}
    model.learn_one({"a": -1.0}, "ant")
    assert list(model.predict_proba_one({"a": 2.0})) == ["ant", "bee"]


@every_linear_pair
def test_a_feature_that_comes_later_was_zero_before_and_one_that_is_left_out_is_zero(
    classifier, learner
):
    # EP in margin space and in weight space agree as far as both have converged.
    classifier, learner = (partial(each, **_converged(each)) for each in (classifier, learner))
    X, y = rows_and_classes(3, rows=80, columns=6)
    X[np.random.default_rng(3).random(X.shape) < 0.3] = 0.0
    X[:20, 2:] = X[:50, 4:] = 0.0
    rows = [{name: value for name, value in x.items() if value} for x in dicts(X)]
    model, expected = classifier(), learner()
    for t, x in enumerate(rows):
        if t > 0:
            predictions = list(model.predict_proba_one(x).values())
            np.testing.assert_allclose(
                predictions, expected.predict_proba(X[t : t + 1])[0], atol=1e-9
            )
        model.learn_one(x, y[t])
        expected.partial_fit(X[t : t + 1], y[t : t + 1])
    order = ["abcdef".index(name) for name in model.features]
    assert sorted(order) == list(range(6))
    np.testing.assert_allclose(model.learner.coef_, expected.coef_[:, order], atol=1e-9)
    weights = [*order, 6]
    covariance = expected.covariance_[:, weights][:, :, weights]
    np.testing.assert_allclose(model.learner.covariance_, covariance, atol=1e-9)


def test_a_feature_never_seen_makes_a_prediction_less_certain_by_its_prior():
    X, y = rows_and_classes()
    model = learned(lambda: ADFClassifier(margin_noise=0.5, prior_variance=2.0), dicts(X), y)
    x, new = np.append(X[0], 1.0), 3.0
    m = np.append(model.learner.coef_[0], model.learner.intercept_)
    variance = x @ model.learner.covariance_ @ x + 2.0 * new**2 + 0.5
    before = pickle.dumps(model)
    predictions = model.predict_proba_one(dicts(X[:1])[0] | {"new": new})
    assert predictions["bee"] == pytest.approx(norm.cdf(m @ x / math.sqrt(variance)), rel=1e-10)
    assert pickle.dumps(model) == before


@every_linear_classifier
def test_rows_without_features_tell_how_often_classes_come(classifier):
    labels = ["ant", "bee", "bee", "bee"] * 5
    empty = learned(classifier, [{}] * 20, labels)
    zeros = learned(classifier, [{"a": 0.0}] * 20, labels)
    assert empty.predict_proba_one({}) == zeros.predict_proba_one({"a": 0.0})
    assert empty.predict_proba_one({})["bee"] > 0.6
    empty.learn_one({"a": 1.0}, "ant")
    zeros.learn_one({"a": 1.0}, "ant")
    assert empty.features == ["a"]
    assert empty.predict_proba_one({"a": 1.0}) == zeros.predict_proba_one({"a": 1.0})


@every_classifier
def test_the_order_of_the_features_of_a_row_does_not_matter(classifier):
    X, y = rows_and_classes()
    rows, rng = dicts(X), np.random.default_rng(0)
    shuffled = [{name: x[name] for name in rng.permutation(list(x)).tolist()} for x in rows]
    one, other = learned(classifier, rows, y), learned(classifier, shuffled, y)
    np.testing.assert_array_equal(probabilities(one, rows), probabilities(other, shuffled))


@given(st.sets(st.one_of(st.integers(), st.text(max_size=3), st.tuples(st.text(max_size=2)))))
def test_new_features_of_any_kind_have_an_order_of_their_own(features):
    known = {"a": 0, 7: 1}
    columns = with_new(known, features)
    assert list(columns.values()) == list(range(len(columns)))
    assert list(columns)[:2] == ["a", 7]
    assert columns.keys() == known.keys() | features
    backwards = dict.fromkeys(sorted(features, key=repr, reverse=True)).keys()
    assert list(columns) == list(with_new(known, backwards))
    assert known == {"a": 0, 7: 1}


@pytest.mark.parametrize(
    "labels",
    [
        [True, False, True],
        [np.bool_(True), np.bool_(False), np.bool_(True)],
        [3, 1, 2],
        ["b", "a", "b"],
    ],
    ids=["bool", "numpy", "int", "str"],
)
@every_classifier
def test_classes_are_keys_that_are_equal_to_the_labels(classifier, labels):
    model = learned(classifier, dicts(np.eye(3)), labels)
    predictions = model.predict_proba_one({"a": 1.0})
    assert set(predictions) == set(labels)
    assert {type(label) for label in predictions} <= {bool, int, str}
    assert sum(predictions.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "value",
    [None, math.nan, math.inf, "red", [1.0], [1.0, 2.0], 1j, 10**400, np.datetime64("2026-11-17")],
    ids=str,
)
@every_linear_classifier
def test_what_is_no_number_is_named_and_nothing_is_learned(classifier, value):
    X, y = rows_and_classes()
    model = learned(classifier, dicts(X), y)
    before = pickle.dumps(model)
    for call in (lambda x: model.learn_one(x, "ant"), model.predict_proba_one):
        with pytest.raises(ValueError, match="for the feature 'new'; expected a finite number"):
            call({"a": 1.0, "new": value})
    assert pickle.dumps(model) == before


@every_linear_classifier
def test_numbers_may_have_any_type(classifier):
    X, y = rows_and_classes()
    model = learned(classifier, dicts(X), y)
    same = [{"a": value} for value in (2, 2.0, "2", np.float32(2), np.int8(2), np.array(2.0))]
    assert len({tuple(model.predict_proba_one(x).values()) for x in same}) == 1
    assert model.predict_proba_one({"a": True}) == model.predict_proba_one({"a": 1.0})


@every_linear_pair
def test_weights_are_how_often_a_row_is_seen(classifier, learner):
    X, y = rows_and_classes()
    weights = np.resize([2.0, 1.0, 0.5, 0.0], len(X))
    weights[0] = 0.0
    model = classifier()
    for x, label, weight in zip(dicts(X), y, weights, strict=True):
        model.learn_one(x, label, w=weight)
    assert_same_model(model.learner, learner().partial_fit(X, y, sample_weight=weights), X)
    with pytest.raises(ValueError, match=r"sample_weight has -1\.0"):
        model.learn_one({"a": 1.0}, "ant", w=-1.0)


@pytest.mark.parametrize("n_before", [0, 30])
@every_linear_pair
def test_an_interrupt_at_a_row_with_a_new_feature_leaves_what_there_was(
    classifier, learner, n_before, monkeypatch
):
    X, y = rows_and_classes()
    model = learned(classifier, dicts(X[:n_before]), y[:n_before])
    before = pickle.dumps(model)
    kind = learner.func
    learn_one = kind.learn_one

    def interrupted(self, *row):
        learn_one(self, *row)
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, "learn_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.learn_one({"a": 1.0, "new": 2.0}, "ant")
    assert pickle.dumps(model) == before


def test_a_committee_takes_rows_as_they_are():
    rng = np.random.default_rng(0)
    rows = [
        {"size": float(size), "colour": colour, "new": bool(new)}
        for size, colour, new in zip(
            rng.normal(size=60),
            rng.choice(["red", "blue"], 60),
            rng.integers(2, size=60),
            strict=True,
        )
    ]
    for x in rows[5:]:
        x.pop(rng.choice(list(x)))
    labels = [x.get("colour", "blue") == "red" for x in rows]
    model = learned(AutoVVMClassifier, rows, labels)
    names = ["colour", "new", "size"]
    table = {name: [x.get(name) for x in rows] for name in names}
    expected = virtualvector.AutoVVMClassifier().partial_fit(table, labels)
    assert model.features == names
    np.testing.assert_array_equal(model.learner.predict_proba(table), expected.predict_proba(table))
    predictions = expected.predict_proba(table)
    np.testing.assert_array_equal(probabilities(model, rows), predictions)
    assert model.learner.n_missing_.tolist() == [sum(v is None for v in table[n]) for n in names]


def test_a_feature_that_comes_later_to_a_committee_was_missing_before():
    X, y = rows_and_classes(rows=120)
    rows = dicts(X)
    for t, x in enumerate(rows[:90]):
        for name in "cd"[t >= 40 :]:
            del x[name]
    linear = (Expert(None, 1.0, buffer_size=4), Expert(None, 0.3))
    model = river.AutoVVMClassifier(experts=linear, budget=1e6)
    told = virtualvector.AutoVVMClassifier(experts=linear, budget=1e6)
    told.partial_fit({name: [x.get(name, math.nan) for x in rows] for name in "abcd"}, y)
    for x, label in zip(rows, y, strict=True):
        model.learn_one(x, label)
    assert model.features == list("abcd")
    expected = told.predict_proba({name: X[:, k] for k, name in enumerate("abcd")})
    np.testing.assert_allclose(probabilities(model, dicts(X)), expected, rtol=0, atol=1e-10)


@every_classifier
def test_new_features_may_be_an_error(classifier):
    X, y = rows_and_classes()
    model = learned(partial(classifier, new_columns="error"), dicts(X), y)
    before = pickle.dumps(model)
    for call in (lambda x: model.learn_one(x, "ant"), model.predict_proba_one):
        with pytest.raises(ValueError, match=r"features \['new'\].*expected.*new_columns='add'"):
            call({"a": 1.0, "new": 2.0})
    assert pickle.dumps(model) == before
    model.mutate({"new_columns": "add"})
    model.learn_one({"a": 1.0, "new": 2.0}, "ant")
    assert model.features == [*"abcd", "new"]


def test_a_feature_comes_to_a_committee_with_its_first_value():
    model = AutoVVMClassifier()
    for size in range(5):
        model.learn_one({"size": size, "colour": None, 7: 1.0}, size % 2)
    assert model.features == [7, "size"]
    model.learn_one({"size": 1, "colour": "red"}, 1)
    assert model.features[2] == "colour"
    assert model.learner.is_categorical_.tolist() == [False, False, True]


def test_a_committee_refuses_rows_that_it_cannot_begin_with():
    with pytest.raises(ValueError, match="without features"):
        AutoVVMClassifier().learn_one({}, 1)
    with pytest.raises(ValueError, match="1 and '1'; expected features that differ"):
        AutoVVMClassifier().learn_one({1: 2.0, "1": 3.0}, 1)


def test_numbers_are_features_too():
    X, y = rows_and_classes()
    for kind in (VVMClassifier, AutoVVMClassifier):
        by_place = learned(kind, [dict(enumerate(x)) for x in X.tolist()], y)
        by_name = learned(kind, dicts(X), y)
        assert by_place.features == [0, 1, 2, 3]
        assert by_place.predict_proba_one({0: 1.0}) == by_name.predict_proba_one({"a": 1.0})


def _converged(kind):
    return {"tol": 1e-17} if hasattr(kind(), "tol") else {}


def test_a_covariance_of_low_rank_that_has_room_for_all_rows_is_the_full_one():
    rng = np.random.default_rng(0)
    low = ADFClassifier(margin_noise=1.0, covariance="low-rank", rank=40)
    full = ADFClassifier(margin_noise=1.0)
    for t in range(30):
        names = rng.choice(50, 6, replace=False)  # new features come all the time
        x, y = {f"w{k}": float(rng.normal()) for k in names}, bool(rng.random() < 0.5)
        if t > 2:
            expected = full.predict_proba_one(x)
            assert low.predict_proba_one(x) == pytest.approx(expected, abs=1e-9)
        for model in (low, full):
            model.learn_one(x, y)
