"""One row at a time: the same bits as in tables, whatever comes, at any moment."""

import copy
import datetime as dt
import pickle

import numpy as np
import pandas as pd
import pytest

from tests.learners.learner_examples import problem
from virtualvector import AutoVVMClassifier, Expert, load
from virtualvector.auto.committee import BLOCK
from virtualvector.persistence.mixin import contents_of

FEW = (
    Expert(None, 1.0, buffer_size=3),
    Expert(None, 3.0, label_noise=0.02),
    Expert(0.5, 0.1),
    Expert(1.0, 0.1, half_life=60.0),
)


def few(**options):
    return AutoVVMClassifier(experts=FEW, n_frequencies=6, **options)


def one_by_one(model, rows, labels, asked=True):
    for row, label in zip(rows, labels, strict=True):
        if asked:
            model.predict_proba_one(row)
        model.learn_one(row, label)
    return model


def mixed_table(n_rows, seed=0):
    """Numbers, categories, truth values and times, with gaps; labels that depend on them."""
    rng = np.random.default_rng(seed)
    start = np.datetime64("2024-01-01T00:00:00", "us")
    table = pd.DataFrame(
        {
            "amount": np.where(rng.random(n_rows) < 0.1, np.nan, rng.lognormal(size=n_rows)),
            "country": rng.choice(["NO", "SE", "DK", "FI", None], n_rows),
            "member": rng.random(n_rows) < 0.5,
            "when": start + rng.integers(10**13, size=n_rows).astype("m8[us]"),
            "age": rng.integers(18, 90, size=n_rows),
        }
    )
    score = table["amount"].fillna(1.0) + 2.0 * (table["country"] == "NO") - table["member"]
    return table, np.where(score + rng.normal(size=n_rows) > 1.5, "yes", "no")


def as_dicts(table):
    return [
        {name: value for name, value in row.items() if value is not None and value == value}
        for row in table.to_dict("records")
    ]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("asked", [True, False])
def test_rows_one_by_one_leave_the_bits_that_a_table_leaves(n_classes, asked):
    X, y = problem(rows=3 * BLOCK + 10, n_classes=n_classes, flipped=0.2)
    X[7:300:11, 2] = np.nan
    start = few().partial_fit(X[:9], y[:9], classes=range(n_classes))
    rows = one_by_one(copy.copy(start), X[9:], y[9:], asked)
    table = copy.copy(start).partial_fit(X[9:], y[9:])
    assert rows.n_seen_ == len(X)
    assert contents_of(rows) == contents_of(table)


def test_the_default_committee_sleeps_forks_and_grows_alike_in_rows_and_in_tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1300, 2))
    y = (np.sum(X**2, axis=1) > 1.4).astype(int)
    model = AutoVVMClassifier(budget=1e5)
    start = model.partial_fit(X[:100], y[:100], classes=[0, 1])
    rows = one_by_one(copy.copy(start), X[100:], y[100:], asked=False)
    table = copy.copy(start).partial_fit(X[100:], y[100:])
    assert rows.n_awake_ < len(rows.experts_)
    assert any(expert["detail"] > 1 for expert in rows.experts_)
    assert any(expert["half_life"] is not None for expert in rows.experts_)
    assert contents_of(rows) == contents_of(table)


def test_an_alarm_comes_at_the_same_row_in_rows_and_in_tables():
    X, y = problem(rows=1400, flipped=0.05)
    y[900:] = 1 - y[900:]
    steady = AutoVVMClassifier(experts=FEW[:3], n_frequencies=6)
    start = steady.partial_fit(X[:5], y[:5], classes=[0, 1])
    rows = one_by_one(copy.copy(start), X[5:], y[5:], asked=False)
    table = copy.copy(start).partial_fit(X[5:], y[5:])
    assert rows._committee.calm_since > 900
    assert contents_of(rows) == contents_of(table)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_row_is_predicted_with_the_same_bits_alone_and_in_any_table(n_classes):
    X, y = problem(rows=200, columns=5, n_classes=n_classes)
    model = few().partial_fit(X[:150], y[:150], classes=range(n_classes))
    for t in (150, 151):
        expected = model.predict_proba(X)
        np.testing.assert_array_equal(model.predict_proba(X[3:8]), expected[3:8])
        np.testing.assert_array_equal(model.predict_proba(pd.DataFrame(X).to_numpy()), expected)
        for row in (0, 60, 199):
            np.testing.assert_array_equal(model.predict_proba(X[row : row + 1])[0], expected[row])
            np.testing.assert_array_equal(model.predict_proba_one(X[row]), expected[row])
            assert model.predict_one(X[row]) == model.predict(X[row : row + 1])[0]
        model.learn_one(X[t], y[t])


def test_rows_of_a_table_with_new_categories_do_not_change_the_bits_of_others():
    table, labels = mixed_table(120)
    model = few().partial_fit(table[:60], labels[:60], classes=["no", "yes"])
    expected = model.predict_proba(table[60:])
    strange = table[60:].copy()
    strange.loc[70, "country"] = "never seen"
    found = model.predict_proba(strange)
    others = np.arange(60) != 10
    np.testing.assert_array_equal(found[others], expected[others])
    np.testing.assert_array_equal(model.predict_proba_one(as_dicts(strange)[10]), found[10])


@pytest.mark.parametrize("classes", [["no", "yes"], None])
def test_dicts_are_rows_of_a_data_frame(classes):
    """Categories and classes come as they come; a column that a dict lacks is missing."""
    table, labels = mixed_table(2 * BLOCK + 9)
    model = few().partial_fit(table[:2], labels[:2], classes=classes)
    whole = copy.copy(model).partial_fit(table[2:], labels[2:])
    rows = as_dicts(table)
    assert any(len(row) < 5 for row in rows)
    assert contents_of(one_by_one(model, rows[2:], labels[2:])) == contents_of(whole)
    expected = whole.predict_proba(table)
    for t in (0, 5, 100):
        np.testing.assert_array_equal(model.predict_proba_one(rows[t]), expected[t])
        np.testing.assert_array_equal(model.predict_proba_one(table.iloc[t].tolist()), expected[t])


@pytest.mark.parametrize("scale", [True, False])
def test_rare_categories_and_times_as_texts_have_the_bits_of_a_table(scale):
    """Categories beyond the first eight of a column have statistics, which rows change."""
    rng = np.random.default_rng(3)
    towns = np.array([f"town {k}" for k in range(14)])
    table = pd.DataFrame({"town": rng.choice(towns, 300), "n": rng.normal(size=300)})
    table["kind"] = rng.choice(["a", "b", None], 300)
    if scale:
        days = np.datetime64("2024-01-01") + rng.integers(900, size=300)
        table["day"] = days.astype(str)
    labels = rng.choice(3, 300, p=[0.6, 0.3, 0.1])
    labels[:3] = [0, 1, 0]  # the third class comes later
    model = few(scale=scale).partial_fit(table[:2], labels[:2])
    whole = copy.copy(model).partial_fit(table[2:], labels[2:])
    rows = as_dicts(table)
    assert contents_of(one_by_one(model, rows[2:], labels[2:])) == contents_of(whole)
    assert model._encoder.statistics.n_inputs > 0
    expected = whole.predict_proba(table)
    for t in (0, 5, 100, 299):
        np.testing.assert_array_equal(model.predict_proba_one(rows[t]), expected[t])


def test_the_first_row_of_all_may_be_a_dict_and_types_the_columns():
    row = {"amount": 12.0, "country": "NO", "member": True, "when": dt.datetime(2024, 5, 6), "n": 3}
    model = few().learn_one(row, "yes")
    assert model.feature_names_in_.tolist() == list(row)
    assert model.is_categorical_.tolist() == [False, True, True, False, False]
    assert model.is_time_.tolist() == [False, False, False, True, False]
    model.learn_one({"amount": 1.0}, "no").learn_one({}, "no")
    assert model.n_seen_ == 3
    assert model.n_missing_.tolist() == [1, 2, 2, 2, 2]
    assert sorted(model.classes_) == ["no", "yes"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"a": 1.0, "b": 2.0, "c": 1.0}, "'c'"),
        ({"a": "x", "b": 2.0}, "'x'.*column 'a'.*expected a number"),
        ({"a": np.inf, "b": 2.0}, "infinity.*'a'"),
        ([1.0], "expected 2 values"),
    ],
)
def test_what_cannot_be_learned_is_refused_and_leaves_no_trace(row, message):
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 0.0]})
    model = few().partial_fit(table, [0, 1, 0]).learn_one({"a": 0.0, "b": 1.0}, 1)
    before = contents_of(model)
    with pytest.raises(ValueError, match=message), np.errstate(all="raise"):
        model.learn_one(row, 1)
    with pytest.raises(ValueError, match=message):
        model.predict_proba_one(row)
    assert contents_of(model) == before
    assert model.learn_one({"a": 0.0, "b": 1.0}, 1).n_seen_ == 5


def test_infinity_in_an_array_is_refused_and_leaves_no_trace():
    X, y = problem(rows=20)
    model = few().partial_fit(X, y, classes=[0, 1]).learn_one(X[0], y[0])
    before = contents_of(model)
    bad = X[1].copy()
    bad[2] = -np.inf
    for call in (lambda: model.learn_one(bad, 1), lambda: model.predict_proba_one(bad)):
        with pytest.raises(ValueError, match="infinity"):
            call()
    assert contents_of(model) == before


@pytest.mark.parametrize("alone", [True, False])
def test_tables_of_one_row_go_the_same_way(alone):
    X, y = problem(rows=180, n_classes=3)
    make = (lambda: AutoVVMClassifier(experts=FEW[:1])) if alone else few
    start = make().partial_fit(X[:100], y[:100], classes=range(3))
    rows, table = copy.copy(start), copy.copy(start).partial_fit(X[100:], y[100:])
    for t in range(100, 180):
        rows.partial_fit(X[t : t + 1], y[t : t + 1])
    assert contents_of(rows) == contents_of(table)


def test_weights_and_labels_of_other_types_are_those_of_tables():
    X, y = problem(rows=60)
    model = few().partial_fit(X[:50], y[:50], classes=[0, 1])
    rows, table = copy.copy(model), copy.copy(model)
    weights = [1.0, 2.0, 0.5, 1, 0.0]
    for t, weight in enumerate(weights):
        rows.learn_one(X[50 + t].tolist(), bool(y[50 + t]), sample_weight=weight)
        table.partial_fit(X[50 + t : 51 + t], y[50 + t : 51 + t], sample_weight=[weight])
    rows.learn_one(X[55].astype(np.float32), y[55])
    table.partial_fit(X[55:56].astype(np.float32), y[55:56])
    assert contents_of(rows) == contents_of(table)


COPIES = {
    "copy": lambda model, folder: copy.copy(model),
    "deepcopy": lambda model, folder: copy.deepcopy(model),
    "pickle": lambda model, folder: pickle.loads(pickle.dumps(model)),
    "file": lambda model, folder: (model.save(folder / "model.vvm"), load(folder / "model.vvm"))[1],
}


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
def test_a_copy_in_the_middle_goes_on_by_itself(duplicate, tmp_path):
    X, y = problem(rows=160)
    model = few().partial_fit(X[:50], y[:50], classes=[0, 1])
    one_by_one(model, X[50:120], y[50:120])
    other = duplicate(model, tmp_path)
    assert contents_of(other) == contents_of(model)
    one_by_one(other, X[120:], y[120:])
    assert model.n_seen_ == 120
    assert contents_of(one_by_one(model, X[120:], y[120:])) == contents_of(other)


# A block ends with the row after the last; or the first rows are replayed after it.
