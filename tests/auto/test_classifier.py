"""A raw table goes in, probabilities come out, in one pass."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from virtualvector import ADFClassifier, AutoVVMClassifier, VVMClassifier, WindowEPClassifier
from virtualvector.datasets import load_ionosphere, load_spambase, load_thyroid
from virtualvector.features.categories import SLOTS
from virtualvector.learners.expert import Expert

FEW = [Expert(None, 1.0), Expert(0.5, 0.1)]


@parametrize_with_checks(
    [AutoVVMClassifier(experts=FEW, n_frequencies=5)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "repeated rows come in another order, "
        "which matters in one pass; in the same one it holds to the last bit (test_weights.py)"
    },
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("expert", "learner"),
    [
        (
            Expert(None, 0.5, 0.02, 10, merge_pairs=5),
            VVMClassifier(10, margin_noise=0.5, label_noise=0.02, hedge=False),
        ),
        (
            Expert(None, 0.5, 0.02, 10, merge_pairs=5, eviction="margin"),
            VVMClassifier(10, margin_noise=0.5, label_noise=0.02, eviction="margin", hedge=False),
        ),
        (Expert(None, 1.0), VVMClassifier(0, margin_noise=1.0)),
        (Expert(None, 1.0), ADFClassifier(margin_noise=1.0)),
        (
            Expert(None, 0.5, buffer_size=7, eviction="oldest"),
            WindowEPClassifier(7, margin_noise=0.5),
        ),
    ],
)
def test_one_expert_is_the_learner_it_is_made_of(expert, learner):
    X, y = load_ionosphere(return_X_y=True, random_state=0)
    one = AutoVVMClassifier(experts=[expert], scale=False)
    predictions, expected = one.predict_then_learn(X, y), learner.predict_then_learn(X, y)
    np.testing.assert_array_equal(predictions.labels, expected.labels)
    np.testing.assert_array_equal(predictions.probabilities, expected.probabilities)
    np.testing.assert_array_equal(one.predict_proba(X), learner.predict_proba(X))
    assert one.history_ == [{"n_rows": len(X), "weights": {expert: 1.0}}]
    for name in one.counters_.keys() - {"sweeps"}:  # ADF as VVM without points makes two
        assert one.counters_[name] == learner.counters_[name]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_neither_cuts_nor_threads_change_a_bit(n_jobs):
    X, y = load_spambase(return_X_y=True, random_state=0)
    X, y = X[:700], y[:700]
    whole = AutoVVMClassifier().partial_fit(X, y, classes=[0, 1])
    pieces = AutoVVMClassifier(n_jobs=n_jobs)
    for start, stop in ((0, 1), (1, 100), (100, 300), (300, 700)):
        pieces.partial_fit(X[start:stop], y[start:stop], classes=[0, 1] if start == 0 else None)
    np.testing.assert_array_equal(whole.predict_proba(X), pieces.predict_proba(X))
    assert whole.experts_ == pieces.experts_
    assert whole.history_ == pieces.history_


def test_what_is_said_in_one_pass_is_what_is_said_before_each_row():
    X, y = load_thyroid(return_X_y=True, random_state=0)
    X, y = X[:150], y[:150]
    predictions = AutoVVMClassifier(experts=FEW, n_frequencies=10).predict_then_learn(X, y)
    model = AutoVVMClassifier(experts=FEW, n_frequencies=10)
    model.partial_fit(X[:1], y[:1], classes=np.unique(y))
    for t in range(1, 150):
        np.testing.assert_allclose(
            model.predict_proba(X[t : t + 1])[0], predictions.probabilities[t], atol=1e-9
        )
        model.partial_fit(X[t : t + 1], y[t : t + 1])


def test_what_comes_later_changes_nothing_that_was_said():
    X, y = load_ionosphere(return_X_y=True, random_state=0)
    predictions = AutoVVMClassifier().predict_then_learn(X, y, classes=[0, 1])
    other_X, other_y = X.copy(), y.copy()
    other_X[200:] *= 7.0
    other_y[199:] = 1 - other_y[199:]
    other = AutoVVMClassifier().predict_then_learn(other_X, other_y, classes=[0, 1])
    np.testing.assert_array_equal(predictions.probabilities[:200], other.probabilities[:200])


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
    predictions = model.predict_then_learn(table, labels)
    assert np.mean(predictions.labels[200:] == labels[200:]) > 0.8
    assert model.n_missing_.tolist() == [
        table["amount"].isna().sum(), table["city"].isna().sum(), 0, 0,
    ]  # fmt: skip
    assert np.all(np.isfinite(model.predict_proba(table)))
    never_seen = table.iloc[:1].assign(city="Atlantis", kind="z")
    assert model.predict_proba(never_seen).sum() == pytest.approx(1)


def table_of_more_and_more_names(n_rows=500):
    """Every column has more names the longer the stream; some have more than inputs for them."""
    rng = np.random.default_rng(5)
    most = np.linspace(1.0, 12.0, n_rows)
    names = np.array([f"n{k}" for k in range(12)])
    columns = {f"c{k}": names[(most * rng.random(n_rows)).astype(int)] for k in range(6)}
    table = pd.DataFrame(columns | {"x": rng.normal(size=n_rows)})
    return table, ((table["c0"] == "n0") ^ (table["x"] > 0)).to_numpy().astype(int)


def test_cuts_change_no_bit_while_names_come():
    table, labels = table_of_more_and_more_names()
    whole = AutoVVMClassifier(n_frequencies=20)
    predictions = whole.predict_then_learn(table, labels)
    pieces = AutoVVMClassifier(n_frequencies=20)
    for start, stop in ((0, 2), (2, 3), (3, 77), (77, 250), (250, 500)):
        part = pieces.predict_then_learn(
            table[start:stop], labels[start:stop], classes=[0, 1] if start == 0 else None
        )
        np.testing.assert_array_equal(part.probabilities, predictions.probabilities[start:stop])
    np.testing.assert_array_equal(pieces.predict_proba(table), whole.predict_proba(table))
    most = 6 * (SLOTS + 1) + 1  # of each column also the odds with later names
    assert whole._committee.feature_space.n_inputs == whole._encoder.most_inputs == most


def test_a_row_with_new_names_is_predicted_as_it_is_when_it_comes():
    table, labels = table_of_more_and_more_names(120)
    predictions = AutoVVMClassifier(experts=FEW, n_frequencies=5).predict_then_learn(table, labels)
    model = AutoVVMClassifier(experts=FEW, n_frequencies=5)
    model.partial_fit(table[:1], labels[:1], classes=[0, 1])
    for t in range(1, 120):
        found = model.predict_proba(table[t : t + 1])[0]
        np.testing.assert_allclose(found, predictions.probabilities[t], atol=1e-9)
        model.partial_fit(table[t : t + 1], labels[t : t + 1])


def test_classes_may_come_when_they_come():
    X, y = load_thyroid(return_X_y=True, random_state=0)
    declared = AutoVVMClassifier(experts=FEW, n_frequencies=10).partial_fit(X, y, classes=[0, 1, 2])
    late = AutoVVMClassifier(experts=FEW, n_frequencies=10)
    order = np.argsort(y, kind="stable")  # all of one class, then all of the next
    late.partial_fit(X[order][:10], y[order][:10])
    assert late.classes_.tolist() == [0]
    late.partial_fit(X[order][10:], y[order][10:])
    assert late.classes_.tolist() == declared.classes_.tolist() == [0, 1, 2]
    assert late.predict_proba(X).shape == (len(X), 3)
    together = AutoVVMClassifier(experts=FEW, n_frequencies=10).partial_fit(X[order], y[order])
    np.testing.assert_array_equal(together.predict_proba(X), late.predict_proba(X))


def open_stream():
    """Thyroid, with the classes one after the other at first."""
    X, y = load_thyroid(return_X_y=True, random_state=0)
    order = np.concatenate([np.flatnonzero(y == k)[:9] for k in (2, 0, 1)])
    order = np.concatenate([order, np.setdiff1d(np.arange(len(y)), order)])
    return X[order], np.array(["a", "b", "c"])[y[order]]


def test_while_classes_are_open_what_is_said_is_about_those_known():
    X, y = open_stream()
    predictions = AutoVVMClassifier(experts=FEW, n_frequencies=5).predict_then_learn(
        X[:60], y[:60], classes=[]
    )
    model = AutoVVMClassifier(experts=FEW, n_frequencies=5).partial_fit(X[:1], y[:1])
    assert not predictions.probabilities[0].any()
    for t in range(1, 60):
        known = np.isin(["a", "b", "c"], model.classes_)
        expected = model.predict_proba(X[t : t + 1])[0]
        np.testing.assert_allclose(predictions.probabilities[t, known], expected, atol=1e-9)
        assert not predictions.probabilities[t, ~known].any()
        assert predictions.labels[t] in model.classes_
        model.partial_fit(X[t : t + 1], y[t : t + 1])


@pytest.mark.parametrize("experts", [FEW, FEW[:1]])
def test_cuts_change_nothing_that_is_said_while_classes_are_open(experts):
    X, y = open_stream()
    whole = AutoVVMClassifier(experts=experts, n_frequencies=5)
    predictions = whole.predict_then_learn(X, y, classes=[])
    pieces = AutoVVMClassifier(experts=experts, n_frequencies=5)
    for start, stop in ((0, 1), (1, 9), (9, 10), (10, 25), (25, 100), (100, 215)):
        part = pieces.predict_then_learn(
            X[start:stop], y[start:stop], classes=[] if start == 0 else None
        )
        known = np.isin(whole.classes_, pieces.classes_)
        np.testing.assert_array_equal(part.labels, predictions.labels[start:stop])
        np.testing.assert_array_equal(
            part.probabilities, predictions.probabilities[start:stop][:, known]
        )
        assert not predictions.probabilities[start:stop][:, ~known].any()
    np.testing.assert_array_equal(pieces.predict_proba(X), whole.predict_proba(X))


def test_closing_classes_changes_nothing_but_that_no_other_may_come():
    X, y = open_stream()
    labels = np.where(y == "a", "c", y)  # two classes, one after the other
    for n_closed, classes in ((30, y), (30, labels)):
        left_open = AutoVVMClassifier(experts=FEW, n_frequencies=5)
        closed = AutoVVMClassifier(experts=FEW, n_frequencies=5)
        left_open.partial_fit(X[:n_closed], classes[:n_closed])
        closed.partial_fit(X[:n_closed], classes[:n_closed]).close_classes()
        expected = left_open.predict_then_learn(X[n_closed:], classes[n_closed:])
        predictions = closed.predict_then_learn(X[n_closed:], classes[n_closed:])
        np.testing.assert_array_equal(predictions.probabilities, expected.probabilities)
        np.testing.assert_array_equal(closed.predict_proba(X), left_open.predict_proba(X))
        assert closed.n_bytes_ < left_open.n_bytes_
        with pytest.raises(ValueError, match="'z' at row 0"):
            closed.partial_fit(X[:1], ["z"])
        with pytest.raises(ValueError, match=r"classes=\[\]"):
            closed.predict_then_learn(X[:1], classes[:1], classes=[])


def test_after_an_alarm_closed_classes_begin_as_open_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = (X[:, 0] > 0).astype(int)
    y[1000:] = 1 - y[1000:]
    left_open = AutoVVMClassifier(experts=FEW, n_frequencies=5).partial_fit(X[:50], y[:50])
    closed = (
        AutoVVMClassifier(experts=FEW, n_frequencies=5).partial_fit(X[:50], y[:50]).close_classes()
    )
    expected = left_open.predict_then_learn(X[50:], y[50:])
    predictions = closed.predict_then_learn(X[50:], y[50:])
    assert len(closed.experts_) > len(FEW)
    np.testing.assert_array_equal(predictions.probabilities, expected.probabilities)


def test_one_class_cannot_be_all():
    model = AutoVVMClassifier(experts=FEW, n_frequencies=5).partial_fit([[1.0], [2.0]], ["a", "a"])
    with pytest.raises(ValueError, match=r"classes \['a'\] so far; expected at least two"):
        model.close_classes()


@pytest.mark.parametrize("kind", ["names", "places", "mask"])
def test_columns_that_hold_names_can_be_declared(kind):
    table, labels = mixed_table(200)
    table["number"] = np.random.default_rng(1).integers(3, size=200)
    table.loc[:20, "city"] = None  # the first call would take it for a column of numbers
    declared = {
        "names": ["city", "kind", "flag", "number"],
        "places": [1, 2, 3, 4],
        "mask": [False, True, True, True, True],
    }[kind]
    model = AutoVVMClassifier(experts=FEW, n_frequencies=5, categorical_features=declared)
    model.partial_fit(table[:10], labels[:10])
    model.partial_fit(table[10:], labels[10:])
    columns = {each["column"] for each in model.weight_table_}
    assert {"amount", "city = Oslo", "city missing", "flag = true", "number = 2"} <= columns
    gap = table.iloc[-1:].assign(number=[np.nan])
    model.partial_fit(pd.concat([table.iloc[:3], gap]), labels[:4])  # whole numbers become floats
    assert "number missing" in {each["column"] for each in model.weight_table_}
    assert sum(each["column"] == "number = 2" for each in model.weight_table_) == 1
    assert "number = 2.0" not in {each["column"] for each in model.weight_table_}


def test_arrays_of_text_may_hold_names():
    X = np.array([["a", "1.5"], ["b", "2.5"], ["a", "nan"]])
    model = AutoVVMClassifier(experts=FEW, n_frequencies=5, categorical_features=[0])
    model.fit(X, [0, 1, 0])
    assert [each["column"] for each in model.weight_table_] == ["x1", "x0 = a", "x0 = b"]


@pytest.mark.parametrize("unknown", [["town"], [4], [-1]])
def test_a_column_that_is_not_there_is_named(unknown):
    table, labels = mixed_table(10)
    model = AutoVVMClassifier(categorical_features=unknown)
    with pytest.raises(ValueError, match=f"categorical_features has {unknown[0]!r}; expected"):
        model.fit(table, labels)


def test_the_budget_can_be_planned_for_classes_that_come_later():
    X, y = load_thyroid(return_X_y=True, random_state=0)
    declared = AutoVVMClassifier().partial_fit(X, y, classes=[0, 1, 2])
    planned = AutoVVMClassifier(n_classes=3).partial_fit(X, y)
    assert planned._committee.feature_space == declared._committee.feature_space
    assert planned.predict_proba(X).shape == (len(X), 3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_and_logarithms_say_what_probabilities_say(n_classes):
    X, y = load_thyroid(return_X_y=True, random_state=0)
    model = AutoVVMClassifier(experts=FEW, n_frequencies=5).fit(X, np.minimum(y, n_classes - 1))
    p = model.predict_proba(X)
    odds = np.log(p / (1 - p))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p))
    expected = odds[:, 1] if n_classes == 2 else odds
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-6)


def test_scores_are_finite_where_a_probability_is_too_small():
    X = np.repeat([[-1.0], [1.0]], 200, axis=0)
    model = AutoVVMClassifier(experts=[Expert(None, 1e-9)], scale=False).fit(X, X[:, 0] > 0)
    assert np.isfinite(model.predict_log_proba(1e9 * X)).all()
    assert np.isfinite(model.decision_function(1e9 * X)).all()
    one_class = AutoVVMClassifier(experts=FEW, n_frequencies=5).partial_fit(X, np.zeros(400, int))
    assert (one_class.decision_function(X) < 0).all()


def test_coefficients_of_one_linear_expert_are_those_of_the_learner():
    X, y = load_ionosphere(return_X_y=True, random_state=0)
    one = AutoVVMClassifier(experts=[Expert(None, 0.5, buffer_size=6)], scale=False).fit(X, y)
    vvm = VVMClassifier(6, margin_noise=0.5, merge_pairs=0).fit(X, y)
    table = pd.DataFrame(one.weight_table_)
    assert table["column"].tolist() == [f"x{k}" for k in range(X.shape[1])]
    assert set(table["class"]) == {1}
    np.testing.assert_allclose(table["mean"], vvm.coef_[0], rtol=1e-12)
    deviations = np.sqrt(np.diag(vvm.covariance_))[:-1]
    np.testing.assert_allclose(table["deviation"], deviations, rtol=1e-9)
    np.testing.assert_array_equal(one.virtual_points_, vvm.virtual_points_[:, :-1])
    assert one.n_awake_ == 1


def test_coefficients_are_slopes_of_what_the_most_trusted_expert_sees_linearly():
    X, y = load_thyroid(return_X_y=True, random_state=0)
    model = AutoVVMClassifier(
        experts=[Expert(1.0, 0.1, buffer_size=4)], scale=False, n_frequencies=3
    )
    model.fit(X, y)
    feature_space, expert = model._committee.feature_space, model._committee.experts[0]
    rows = np.eye(X.shape[1])
    view = feature_space.view(expert)
    slopes = feature_space.look([view], rows)[view] - feature_space.look([view], -rows)[view]
    slopes[:, : 2 * feature_space.n_frequencies] = 0.0  # of the waves
    for k, gaussian in enumerate(model._committee.posteriors[0].gaussians):
        found = [each["mean"] for each in model.weight_table_ if each["class"] == k]
        np.testing.assert_allclose(found, slopes @ gaussian.mean[:-1] / 2)
    assert [points.shape for points in model.virtual_points_] == [(4, X.shape[1])] * 3


def test_it_says_what_it_has_learned():
    X, y = load_spambase(return_X_y=True, random_state=0)
    model = AutoVVMClassifier().fit(X[:1000], y[:1000])
    table = pd.DataFrame(model.experts_)
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
    model = AutoVVMClassifier(experts=FEW, n_frequencies=5).partial_fit(table, labels)
    before = pickle.dumps(model.predict_proba(table))
    with pytest.raises(ValueError, match=complaint):
        model.partial_fit(table.iloc[:1].astype({"amount": object}).assign(**change), labels[:1])
    assert pickle.dumps(model.predict_proba(table)) == before
    assert model.n_seen_ == 100


def test_models_can_be_copied_and_pickled():
    table, labels = mixed_table(200)
    model = AutoVVMClassifier(experts=FEW, n_frequencies=5).fit(table, labels)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert not hasattr(clone(model), "classes_")
