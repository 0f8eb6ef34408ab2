"""A raw table goes in, probabilities come out, in one pass."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from virtualvector import AutoVVMClassifier, VVMClassifier
from virtualvector.auto.experts import Expert
from virtualvector.datasets import load_ionosphere, load_spambase, load_thyroid

FEW = [Expert(None, 1.0), Expert(0.5, 0.1)]


@parametrize_with_checks([AutoVVMClassifier(experts=FEW, n_waves=5)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("expert", [Expert(None, 0.5, 0.02, 10, merge_pairs=5), Expert(None, 1.0)])
def test_one_expert_is_a_virtual_vector_machine(expert):
    X, y = load_ionosphere(return_X_y=True, random_state=0)
    one = AutoVVMClassifier(experts=[expert], scale=False)
    vvm = VVMClassifier(
        expert.buffer_size,
        margin_noise=expert.margin_noise,
        label_noise=expert.label_noise,
        merge_pairs=expert.merge_pairs,
    )
    said, expected = one.predict_then_learn(X, y), vvm.predict_then_learn(X, y)
    np.testing.assert_array_equal(said.labels, expected.labels)
    np.testing.assert_allclose(said.probabilities, expected.probabilities, rtol=1e-15)
    np.testing.assert_array_equal(one.predict_proba(X), vvm.predict_proba(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_neither_cuts_nor_threads_change_a_bit(n_jobs):
    X, y = load_spambase(return_X_y=True, random_state=0)
    X, y = X[:700], y[:700]
    whole = AutoVVMClassifier().partial_fit(X, y, classes=[0, 1])
    pieces = AutoVVMClassifier(n_jobs=n_jobs)
    for start, stop in ((0, 1), (1, 100), (100, 300), (300, 700)):
        pieces.partial_fit(X[start:stop], y[start:stop], classes=[0, 1] if start == 0 else None)
    np.testing.assert_array_equal(whole.predict_proba(X), pieces.predict_proba(X))
    assert whole.weights_ == pieces.weights_
    assert whole.history_ == pieces.history_


def test_what_is_said_in_one_pass_is_what_is_said_before_each_row():
    X, y = load_thyroid(return_X_y=True, random_state=0)
    X, y = X[:150], y[:150]
    said = AutoVVMClassifier(experts=FEW, n_waves=10).predict_then_learn(X, y)
    model = AutoVVMClassifier(experts=FEW, n_waves=10)
    model.partial_fit(X[:1], y[:1], classes=np.unique(y))
    for t in range(1, 150):
        np.testing.assert_allclose(
            model.predict_proba(X[t : t + 1])[0], said.probabilities[t], atol=1e-9
        )
        model.partial_fit(X[t : t + 1], y[t : t + 1])


def test_what_comes_later_changes_nothing_that_was_said():
    X, y = load_ionosphere(return_X_y=True, random_state=0)
    said = AutoVVMClassifier().predict_then_learn(X, y, classes=[0, 1])
    other_X, other_y = X.copy(), y.copy()
    other_X[200:] *= 7.0
    other_y[199:] = 1 - other_y[199:]
    other = AutoVVMClassifier().predict_then_learn(other_X, other_y, classes=[0, 1])
    np.testing.assert_array_equal(said.probabilities[:200], other.probabilities[:200])


def mixed_table(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "amount": rng.lognormal(3.0, 2.0, n_rows),
            "city": rng.choice(["Rome", "Oslo", "Lima"], n_rows),
            "kind": pd.Categorical(rng.choice(list("abcdefghijkl"), n_rows)),
            "flag": rng.random(n_rows) < 0.5,
        }
    )
    labels = np.where((table["amount"] > 20) | (table["city"] == "Oslo"), "yes", "no")
    table.loc[rng.random(n_rows) < 0.1, "amount"] = np.nan
    table.loc[rng.random(n_rows) < 0.1, "city"] = None
    return table, labels


def test_a_raw_table_with_names_and_gaps_works():
    table, labels = mixed_table()
    model = AutoVVMClassifier()
    said = model.predict_then_learn(table, labels)
    assert np.mean(said.labels[200:] == labels[200:]) > 0.8
    assert model.gaps_.tolist() == [
        table["amount"].isna().sum(), table["city"].isna().sum(), 0, 0,
    ]  # fmt: skip
    assert np.all(np.isfinite(model.predict_proba(table)))
    never_seen = table.iloc[:1].assign(city="Atlantis", kind="z")
    assert model.predict_proba(never_seen).sum() == pytest.approx(1)


def test_classes_may_come_when_they_come():
    X, y = load_thyroid(return_X_y=True, random_state=0)
    declared = AutoVVMClassifier(experts=FEW, n_waves=10).partial_fit(X, y, classes=[0, 1, 2])
    late = AutoVVMClassifier(experts=FEW, n_waves=10)
    order = np.argsort(y, kind="stable")  # all of one class, then all of the next
    late.partial_fit(X[order][:10], y[order][:10])
    assert late.classes_.tolist() == [0]
    late.partial_fit(X[order][10:], y[order][10:])
    assert late.classes_.tolist() == declared.classes_.tolist() == [0, 1, 2]
    assert late.predict_proba(X).shape == (len(X), 3)
    together = AutoVVMClassifier(experts=FEW, n_waves=10).partial_fit(X[order], y[order])
    np.testing.assert_array_equal(together.predict_proba(X), late.predict_proba(X))


def test_it_says_what_it_has_learned():
    X, y = load_spambase(return_X_y=True, random_state=0)
    model = AutoVVMClassifier().fit(X[:1000], y[:1000])
    table = pd.DataFrame(model.weights_)
    assert {"bandwidth", "margin_noise", "evidence", "weight", "awake"} <= set(table)
    assert table["weight"].sum() == pytest.approx(1)
    assert not table.loc[~table["awake"], "weight"].any()
    assert model.n_seen_ == 1000
    assert [moment["n_rows"] for moment in model.history_] == list(range(128, 1000, 128))


def test_raw_columns_need_no_care():
    X, y = load_spambase(return_X_y=True, random_state=0)
    units = 10.0 ** np.random.default_rng(0).integers(-20, 20, X.shape[1])
    plain = AutoVVMClassifier().predict_then_learn(X[:1500], y[:1500])
    odd = AutoVVMClassifier().predict_then_learn(X[:1500] * units, y[:1500])
    assert np.mean(plain.labels != y[:1500]) < 0.11
    np.testing.assert_allclose(odd.probabilities, plain.probabilities, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"amount": "many"}, "'many' at row 0, column 'amount'"),
        ({"amount": np.inf}, "infinity at row 0, column 'amount'"),
    ],
)
def test_a_bad_row_is_named_and_changes_nothing(change, complaint):
    table, labels = mixed_table(100)
    model = AutoVVMClassifier(experts=FEW, n_waves=5).partial_fit(table, labels)
    before = pickle.dumps(model.predict_proba(table))
    with pytest.raises(ValueError, match=complaint):
        model.partial_fit(table.iloc[:1].astype({"amount": object}).assign(**change), labels[:1])
    assert pickle.dumps(model.predict_proba(table)) == before
    assert model.n_seen_ == 100


def test_models_can_be_copied_and_pickled():
    table, labels = mixed_table(200)
    model = AutoVVMClassifier(experts=FEW, n_waves=5).fit(table, labels)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert not hasattr(clone(model), "classes_")
