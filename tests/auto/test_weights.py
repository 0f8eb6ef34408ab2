"""Weights of rows in a committee: whole ones are repetitions, parts are powers of likelihoods."""

from copy import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from virtualvector import AutoVVMClassifier, VVMClassifier
from virtualvector.datasets import load_ionosphere
from virtualvector.learners.expert import Expert


def weighted_table(n_rows=260, seed=0):
    """Rows with categories, gaps and three classes, and whole weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_rows)
    table = pd.DataFrame({
        "x": np.where(rng.random(n_rows) < 0.05, np.nan, rng.normal(size=n_rows) + y),
        "colour": np.array(["red", "green", "blue", None], object)[
            np.where(rng.random(n_rows) < 0.2, 3, y)
        ],
    })  # fmt: skip
    return table, np.array(["a", "b", "c"])[y], rng.integers(0, 4, n_rows)


SOME = [Expert(None, 1.0, buffer_size=3), Expert(None, 1.0, 0.02), Expert(0.5, 0.1)]


@pytest.mark.parametrize("experts", [SOME, SOME[:1]])
def test_whole_weights_are_repetitions_to_the_last_bit(experts):
    table, y, w = weighted_table()
    again = table.loc[table.index.repeat(w)].reset_index(drop=True)
    for shuffle in (True, False):
        model = AutoVVMClassifier(experts=experts, n_frequencies=5, shuffle=shuffle)
        one = clone(model).fit(table, y, sample_weight=w)
        other = clone(model).fit(again, y.repeat(w))
        np.testing.assert_array_equal(one.predict_proba(table), other.predict_proba(table))
        assert one.history_ == other.history_
        assert one.experts_ == other.experts_
        assert one.n_seen_ == other.n_seen_ == w.sum()
        np.testing.assert_array_equal(one.n_missing_, other.n_missing_)


def test_weights_in_a_stream_do_not_depend_on_how_it_is_cut():
    table, y, w = weighted_table()
    w = np.where(np.arange(len(w)) % 3 == 0, w, w * 0.37)
    whole = AutoVVMClassifier(experts=SOME, n_frequencies=5)
    predictions = whole.predict_then_learn(table, y, classes=[], sample_weight=w)
    assert predictions.probabilities.shape == (len(y), 3)
    pieces = AutoVVMClassifier(experts=SOME, n_frequencies=5)
    parts = []
    for cut in np.split(np.arange(len(y)), [40, 41, 170]):
        some = pieces.predict_then_learn(table.iloc[cut], y[cut], classes=[], sample_weight=w[cut])
        parts.append(some.probabilities)
    np.testing.assert_array_equal(whole.predict_proba(table), pieces.predict_proba(table))
    np.testing.assert_array_equal(predictions.probabilities[41:], np.concatenate(parts)[41:])
    learned = AutoVVMClassifier(experts=SOME, n_frequencies=5)
    learned.partial_fit(table, y, classes=[], sample_weight=w)
    np.testing.assert_array_equal(whole.predict_proba(table), learned.predict_proba(table))


def test_a_row_is_predicted_before_its_first_repetition_and_also_if_its_weight_is_zero():
    table, y, w = weighted_table(60)
    w = np.where(w == 3, 0.4, w)
    assert (w == 0).sum() > 5
    predictions = AutoVVMClassifier(experts=SOME, n_frequencies=5).predict_then_learn(
        table, y, classes=["a", "b", "c"], sample_weight=w
    )
    model = AutoVVMClassifier(experts=SOME, n_frequencies=5)
    model.partial_fit(table[:10], y[:10], classes=["a", "b", "c"], sample_weight=w[:10])
    for t in range(10, 60):
        row = slice(t, t + 1)
        expected = model.predict_proba(table[row])[0]
        one = model.predict_then_learn(table[row], y[row], sample_weight=w[row])
        if w[t] == 0:  # otherwise a row counts towards its own scale
            np.testing.assert_allclose(predictions.probabilities[t], expected, rtol=1e-12)
        else:
            np.testing.assert_array_equal(one.probabilities[0], predictions.probabilities[t])


def test_nothing_is_said_before_anything_is_known():
    table, y, w = weighted_table(30)
    w[:3] = 0
    predictions = AutoVVMClassifier(experts=SOME, n_frequencies=5).predict_then_learn(
        table, y, classes=[], sample_weight=w
    )
    assert not predictions.probabilities[:3].any()
    assert predictions.labels[:3].tolist() == y[:3].tolist()


def test_one_expert_weighs_as_the_learner_it_is_made_of():
    X, y = load_ionosphere(return_X_y=True, random_state=0)
    w = np.random.default_rng(0).uniform(0, 2.5, len(y))
    one = AutoVVMClassifier(experts=[Expert(None, 0.5, 0.02, 10, merge_pairs=5)], scale=False)
    learner = VVMClassifier(10, margin_noise=0.5, label_noise=0.02, hedge=False)
    for class_weight in (None, {0: 3.0, 1: 0.5}, "balanced"):
        one.set_params(class_weight=class_weight).fit(X, y, sample_weight=w)
        learner.set_params(class_weight=class_weight).fit(X, y, sample_weight=w)
        np.testing.assert_array_equal(one.predict_proba(X), learner.predict_proba(X))


def test_weights_of_a_committee_are_refused_as_those_of_a_learner():
    table, y, _ = weighted_table(30)
    model = AutoVVMClassifier(experts=SOME[:1]).fit(table, y)
    before = model.predict_proba(table)
    for learn in (model.fit, model.partial_fit, model.predict_then_learn):
        with pytest.raises(ValueError, match="sample_weight has NaN at row 3"):
            learn(table, y, sample_weight=np.where(np.arange(30) == 3, np.nan, 1.0))
    for class_weight in ({"d": 1.0}, {"a": -1.0}, 3.0):
        with pytest.raises(ValueError, match="class_weight"):
            clone(model).set_params(class_weight=class_weight).fit(table, y)
        with pytest.raises(ValueError, match="class_weight"):
            model.set_params(class_weight=class_weight).partial_fit(table, y)
    with pytest.raises(ValueError, match="zero for every row"):
        AutoVVMClassifier().fit(table, y, sample_weight=0)
    np.testing.assert_array_equal(model.predict_proba(table), before)


@pytest.mark.parametrize("weight", [0.5, 0.25])
def test_the_power_of_a_part_holds_for_what_is_made_of_opinions(weight):
    """Evidence of an expert is the power times the log-probability that it gave; trust follows."""
    X, y = load_ionosphere(return_X_y=True, random_state=0)
    known = AutoVVMClassifier(experts=SOME, n_frequencies=5)
    known.partial_fit(X[:50], y[:50], classes=[0, 1])
    before, rows, labels = known._committee, X[50:51], y[50:51]
    whole = copy(known).partial_fit(rows, labels)._committee.evidence - before.evidence
    part = copy(known).partial_fit(rows, labels, sample_weight=[weight])._committee
    np.testing.assert_allclose(part.evidence - before.evidence, weight * whole, rtol=1e-9)
    trust = before.weights * np.exp(weight * whole)
    np.testing.assert_allclose(part.weights, trust / trust.sum(), atol=1e-4)  # SHARE moves less
