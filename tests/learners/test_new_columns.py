"""Columns that come later, to linear learners: as if they had been zero before."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm

from tests.learners.learner_examples import assert_same_model, every_learner, problem
from tests.learners.test_interrupts import STRIDE, assert_all_or_nothing
from tests.learners.test_threads import in_threads
from virtualvector import ADFClassifier, VVMClassifier, load
from virtualvector.learners import columns
from virtualvector.persistence.mixin import contents_of

NAMES = ["b", "a", "d", "c"]


def adding(learner, **options):
    """A learner that takes new columns; EP in both spaces agrees as far as it has converged."""
    options |= {"tol": 1e-17} if hasattr(learner(), "tol") else {}
    return learner(margin_noise=0.5, prior_variance=2.0, new_columns="add", **options)


def late(rows=60, n_classes=2):
    """Rows whose third column comes at row 20 and the fourth at row 40, zero before; labels."""
    X, y = problem(rows=rows, n_classes=n_classes)
    X[:20, 2:] = X[:40, 3] = 0.0
    return X, y


def as_dict(row, t):
    return dict(zip(NAMES[: 2 + (t >= 20) + (t >= 40)], row.tolist(), strict=False))


@every_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_new_key_is_a_column_that_was_zero_before(learner, n_classes):
    X, y = late(n_classes=n_classes)
    table = pd.DataFrame(X, columns=NAMES)
    model, told = adding(learner), adding(learner)
    for t in range(60):
        if t > 0:
            found = model.predict_proba_one(as_dict(X[t], t))
            expected = told.predict_proba(table[t : t + 1])[0]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
        model.learn_one(as_dict(X[t], t), y[t])
        told.partial_fit(table[t : t + 1], y[t : t + 1])
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_features_in_ == 4
    np.testing.assert_allclose(model.covariance_, told.covariance_, atol=1e-10)
    np.testing.assert_allclose(model.log_evidence_, told.log_evidence_, rtol=1e-10)


@every_learner
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_may_have_new_columns_and_lack_known_ones_in_any_order(learner, frame):
    X, y = late()
    rows, tables = adding(learner), adding(learner)
    for t in range(60):
        rows.learn_one(as_dict(X[t], t), y[t])
    cuts = [(0, 20, ["b", "a"]), (20, 40, ["d", "a", "b"]), (40, 60, ["c", "b", "d", "a"])]
    for k, (start, stop, names) in enumerate(cuts):
        some = frame(dict(zip(NAMES, X[start:stop].T, strict=True))).__getitem__(names)
        if k == 1:
            tables.predict_then_learn(some, y[start:stop])
        else:
            tables.partial_fit(some, y[start:stop])
    assert_same_model(tables, rows, pd.DataFrame(X, columns=NAMES))
    narrow = frame({"a": X[:5, 1]})
    full = pd.DataFrame({name: X[:5, 1] * (name == "a") for name in NAMES})
    for ask in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(rows, ask)(narrow), getattr(rows, ask)(full))


def test_what_a_dict_lacks_is_zero_and_an_empty_one_is_a_row():
    X, y = problem()
    frame = pd.DataFrame(X, columns=NAMES)
    model = adding(VVMClassifier).partial_fit(frame, y)
    zeros = dict.fromkeys(NAMES, 0.0)
    np.testing.assert_array_equal(model.predict_proba_one({}), model.predict_proba_one(zeros))
    other = copy.copy(model)
    assert_same_model(model.learn_one({}, 1), other.learn_one(zeros, 1), frame)
    assert_same_model(model.learn_one({}, 1, 2.0), other.learn_one(zeros, 1, 2.0), frame)


def test_a_column_never_seen_makes_a_prediction_less_certain_and_leaves_the_model_as_it_was():
    X, y = problem()
    model = ADFClassifier(margin_noise=0.5, prior_variance=2.0, new_columns="add")
    model.partial_fit(pd.DataFrame(X, columns=NAMES), y)
    x, m = np.append(X[0], 1.0), np.append(model.coef_[0], model.intercept_)
    variance = x @ model.covariance_ @ x + 2.0 * 3.0**2 + 0.5
    before = pickle.dumps(model)
    row = dict(zip(NAMES, X[0], strict=True)) | {"new": 3.0}
    expected = norm.cdf(m @ x / math.sqrt(variance))
    assert model.predict_proba_one(row)[1] == pytest.approx(expected, rel=1e-10)
    assert model.predict_proba(pd.DataFrame([row]))[0, 1] == pytest.approx(expected, rel=1e-10)
    assert model.predict_one(row) == int(expected > 0.5)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("row", "label", "message"),
    [
        ({"b": 1.0, "new": "red"}, 0, "'red'"),
        ({"b": 1.0, "new": None}, 0, "row 0, column 1"),
        ({"b": 1.0, "new": math.inf}, 0, "infinity at row 0, column 1"),
        ({"b": 1.0, "new": 1.0}, 7, "label 7"),
    ],
)
def test_a_row_that_cannot_be_learned_adds_no_column(row, label, message):
    X, y = problem()
    model = adding(VVMClassifier)
    model.partial_fit(pd.DataFrame(X, columns=NAMES), y, classes=[0, 1]).learn_one({"a": 1.0}, 1)
    before = contents_of(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(row, label)
    assert contents_of(model) == before
    assert model.learn_one({"b": 1.0}, 0).n_seen_ == 62


def test_a_name_that_comes_twice_is_refused():
    X, y = problem()
    model = adding(ADFClassifier).partial_fit(pd.DataFrame(X, columns=NAMES), y)
    twice = pd.DataFrame(X[:, :2], columns=["new", "new"])
    with pytest.raises(ValueError, match=r"\['new'\] twice"):
        model.partial_fit(twice, y)


def test_the_number_of_columns_is_bounded(monkeypatch):
    monkeypatch.setattr(columns, "MOST_COLUMNS", 5)
    model = adding(ADFClassifier).learn_one(dict.fromkeys("abcd", 1.0), 0).learn_one({"e": 1.0}, 1)
    before = contents_of(model)
    for call in (lambda x: model.learn_one(x, 1), model.predict_proba_one):
        with pytest.raises(ValueError, match="6 columns, some of them new; expected at most 5"):
            call({"f": 1.0})
    assert contents_of(model) == before


def test_by_default_a_new_column_is_an_error_that_names_the_option():
    model = ADFClassifier().learn_one({"a": 1.0}, 0).learn_one({"a": 2.0}, 1)
    for call in (lambda x: model.learn_one(x, 1), model.predict_proba_one):
        with pytest.raises(ValueError, match=r"\['b'\].*expected the columns \['a'\].*'add'"):
            call({"a": 1.0, "b": 1.0})
    with pytest.raises(ValueError, match="'new_columns' parameter"):
        ADFClassifier(new_columns="drop").learn_one({"a": 1.0}, 0)


def test_arrays_have_no_names_and_no_new_columns():
    X, y = problem()
    model = adding(ADFClassifier).partial_fit(X, y)
    with pytest.raises(ValueError, match="5 features"):
        model.partial_fit(np.ones((2, 5)), [0, 1])
    with pytest.raises(ValueError, match="found a dict; expected an array"):
        model.learn_one({"a": 1.0}, 1)


@every_learner
def test_a_model_that_was_saved_takes_new_columns_as_before(learner, tmp_path):
    X, y = late()
    model = adding(learner)
    for t in range(30):
        model.learn_one(as_dict(X[t], t), y[t])
    model.save(tmp_path / "model.vvm")
    again = load(tmp_path / "model.vvm")
    for t in range(30, 60):
        model.learn_one(as_dict(X[t], t), y[t])
        again.learn_one(as_dict(X[t], t), y[t])
    assert contents_of(again) == contents_of(model)


def test_a_row_with_a_new_column_is_learned_or_it_is_not_whenever_an_interrupt_comes():
    X, y = late()
    known = adding(VVMClassifier)
    for t in range(30):
        known.learn_one(as_dict(X[t], t), y[t])
    row = as_dict(X[50], 50)
    assert_all_or_nothing(
        lambda: copy.copy(known).learn_one(as_dict(X[30], 30), y[30]),
        lambda m: m.learn_one(row, y[50]),
        read=contents_of,
        every=5 * STRIDE,
    )


def test_no_row_is_lost_when_threads_bring_columns():
    model = adding(ADFClassifier).learn_one({"a": 1.0}, 0).learn_one({"a": -1.0}, 1)

    def bring(k):
        for t in range(10):
            model.learn_one({"a": 1.0, f"{k}-{t // 5}": 1.0}, t % 2)

    in_threads(*(lambda k=k: bring(k) for k in range(4)))
    assert model.n_seen_ == 42
    assert sorted(model.feature_names_in_) == sorted(
        ["a", *(f"{k}-{i}" for k in range(4) for i in range(2))]
    )
