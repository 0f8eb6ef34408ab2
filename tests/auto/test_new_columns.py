"""Columns that come later, to a committee: as if they had been missing before, and what differs."""

import copy
import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest

from tests.auto.test_rows import FEW, as_dicts, few, mixed_table, one_by_one
from tests.learners.learner_examples import problem
from tests.learners.test_interrupts import STRIDE, assert_all_or_nothing
from tests.learners.test_threads import in_threads
from virtualvector import ADFClassifier, AutoVVMClassifier, Expert, load
from virtualvector.auto.feature_space import FeatureSpace
from virtualvector.features.categories import LENGTH
from virtualvector.persistence.mixin import contents_of

LINEAR = (Expert(None, 1.0, buffer_size=3), Expert(None, 3.0, label_noise=0.02), Expert(None, 0.3))
NAMES = list("abcd")


def late(rows=300):
    """Rows whose third column comes at row 60 and the fourth at row 150, nan before; labels."""
    X, y = problem(rows=rows, flipped=0.2)
    X[:60, 2:] = X[:150, 3] = np.nan
    X[7:rows:11, 1] = np.nan
    return X, y


def as_dict(row):
    return {name: value for name, value in zip(NAMES, row.tolist(), strict=True) if value == value}


def learned(model, rows, labels):
    """Learn the first row, then predict and learn each of the others."""
    return one_by_one(model.learn_one(rows[0], labels[0]), rows[1:], labels[1:])


def test_to_linear_experts_numbers_that_come_later_were_missing_before():
    """Whoever is told all columns from the start learns the same, at the same budget."""
    X, y = late()
    model, told = (
        AutoVVMClassifier(experts=LINEAR, budget=1e6, new_columns=how) for how in ("add", "error")
    )
    told.partial_fit(pd.DataFrame(X[:1], columns=NAMES), y[:1])
    model.learn_one(as_dict(X[0]), y[0])
    for t in range(1, 300):
        found, expected = (each.predict_proba_one(as_dict(X[t])) for each in (model, told))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
        model.learn_one(as_dict(X[t]), y[t])
        told.learn_one(as_dict(X[t]), y[t])
    assert model.feature_names_in_.tolist() == NAMES
    assert model.n_missing_.tolist() == told.n_missing_.tolist()
    for name in ("weight", "evidence"):
        pairs = zip(model.experts_, told.experts_, strict=True)
        assert all(one[name] == pytest.approx(other[name], abs=1e-9) for one, other in pairs)
    for one, other in zip(model.weight_table_, told.weight_table_, strict=True):
        assert one == pytest.approx(other, abs=1e-9)


def test_a_category_of_a_column_that_comes_later_is_an_input_that_was_zero_before():
    X, y = problem(rows=80)
    colours = np.where(X[:, 0] > 0, "red", "blue")
    model = AutoVVMClassifier(experts=[Expert(None, 0.5)], scale=False, new_columns="add")
    inputs = np.zeros((80, 6))
    inputs[:, :4] = X
    order = list(dict.fromkeys(colours[30:]))
    inputs[np.arange(30, 80), [4 + order.index(colour) for colour in colours[30:]]] = LENGTH
    expected = ADFClassifier(margin_noise=0.5)
    for t in range(80):
        row = dict(zip(NAMES, X[t].tolist(), strict=True))
        row |= {"colour": str(colours[t])} if t >= 30 else {}
        if t > 1:
            found = model.predict_proba_one(row)
            np.testing.assert_allclose(found, expected.predict_proba(inputs[[t]])[0], atol=1e-10)
        model.learn_one(row, y[t])
        expected.partial_fit(inputs[[t]], y[[t]])
    assert model.n_missing_.tolist() == [0, 0, 0, 0, 30]


def test_fourier_features_of_all_columns_are_as_if_they_had_always_seen_the_new_one():
    X, y = problem(rows=90)
    X[:40, 3] = 0.0
    expert = Expert(0.5, 0.1)
    model = AutoVVMClassifier(experts=[expert], n_frequencies=6, scale=False, new_columns="add")
    for t in range(90):
        model.learn_one(dict(zip(NAMES[: 3 + (t >= 40)], X[t].tolist(), strict=False)), y[t])
    space = model._committee.feature_space
    assert (space.n_inputs, space.spread) == (4, 3.0)  # that of the start
    phases = X @ space.frequencies((0, 0)).T / (0.5 * math.sqrt(2 * 3.0))
    features = np.hstack([np.cos(phases), np.sin(phases)]) / math.sqrt(6)
    linear = 0.5 / math.sqrt(3.0) * X
    seen = np.hstack([features, linear])
    expected = ADFClassifier(margin_noise=0.1).partial_fit(seen, y)
    table = pd.DataFrame(X, columns=NAMES)
    np.testing.assert_allclose(model.predict_proba(table), expected.predict_proba(seen), atol=1e-9)
    assert np.abs(space.frequencies((0, 0))[:, 3]).min() > 0.0


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_what_frequencies_see_of_the_first_columns_does_not_change_when_others_come(columns):
    narrow = FeatureSpace(5, 5.0, 40, 1e6, 3, 5, 5)
    before = narrow.frequencies((columns, 0))
    for n_inputs in (6, 9):
        after = narrow.wider(n_inputs).frequencies((columns, 0))
        assert after.shape == (40, n_inputs)
        np.testing.assert_array_equal(after[:, :5], before)
        assert np.all(after[:, 5:] == 0.0) == (columns > 0)


def test_distances_grow_with_the_logarithm_of_the_number_of_later_columns():
    """A standard normal frequency times √(n/(k+1)): of 5 first and 95 later ones, about 5 ln 20."""
    space = FeatureSpace(5, 5.0, 20_000, 1e6, 3, 5, 5)
    later = space.wider(100).frequencies((0, 0))[:, 5:]
    np.testing.assert_allclose(np.square(later).mean(axis=0), 5.0 / np.arange(6, 101), rtol=0.05)
    assert np.square(later).sum(axis=1).mean() == pytest.approx(5 * math.log(20), rel=0.1)


def test_squares_are_those_of_the_first_columns():
    X, y = late()
    expert = Expert(None, 1.0, squares=True)
    model = AutoVVMClassifier(experts=[expert, LINEAR[0]], new_columns="add")
    learned(model, [as_dict(row) for row in X], y)
    space = model._committee.feature_space
    assert space.n_weights(expert) == 2 + 4 + 1
    assert len(contents_of(model)) > 0  # what is learned can have been


@pytest.mark.parametrize("scale", [True, False])
def test_a_data_frame_brings_its_columns_with_its_first_row_as_a_dict_does(scale):
    X, y = late()
    X = np.nan_to_num(X) if not scale else X
    X[:60, 2:] = X[:150, 3] = np.nan
    rows, tables = (few(new_columns="add", scale=scale) for _ in range(2))
    learned(rows, [as_dict(row) for row in X], y)
    for start, stop, names in ((0, 60, "ab"), (60, 150, "cab"), (150, 300, "badc")):
        table = pd.DataFrame(X[start:stop], columns=NAMES)[list(names)]
        tables.partial_fit(table, y[start:stop])
    assert contents_of(rows) == contents_of(tables)


def test_columns_of_any_kind_may_come_and_go():
    table, labels = mixed_table(200)
    rows = as_dicts(table)
    order = ["amount", "country", "when", "member", "age"]
    for t, row in enumerate(rows):
        for name in order[1 + t // 30 :]:
            row.pop(name, None)
    model = learned(few(new_columns="add"), rows, labels)
    assert model.feature_names_in_.tolist() == order
    assert model.is_categorical_.tolist() == [False, True, False, True, False]
    assert model.is_time_.tolist() == [False, False, True, False, False]
    missing = [sum(name not in row for row in rows) for name in order]
    assert model.n_missing_.tolist() == missing
    labels_of_inputs = [each["column"] for each in model.weight_table_]
    assert labels_of_inputs[0] == "amount"
    assert {"country = NO", "member = true", "when: days", "age"} <= set(labels_of_inputs)
    assert "member missing" not in labels_of_inputs  # before it came it was nothing at all
    assert len(contents_of(model)) > 0


def test_a_column_comes_with_its_first_value_and_is_of_its_kind():
    model = few(new_columns="add").learn_one({"a": 1.0, "colour": None}, 0)
    model.learn_one({"a": 2.0, "colour": math.nan}, 1)
    assert model.feature_names_in_.tolist() == ["a"]
    model.learn_one({"a": 2.0, "colour": "red", "when": dt.date(2026, 11, 17)}, 1)
    assert model.feature_names_in_.tolist() == ["a", "colour", "when"]
    assert model.is_categorical_.tolist() == [False, True, False]
    assert model.n_missing_.tolist() == [0, 2, 2]
    with pytest.raises(ValueError, match=r"'red'.*'a'.*expected a number"):
        model.learn_one({"a": "red"}, 1)
    with pytest.raises(ValueError, match="missing values only"):
        few(new_columns="add").learn_one({"a": None}, 0)


def test_the_user_may_say_which_columns_that_come_are_categorical():
    model = few(new_columns="add", categorical_features=["code"]).learn_one({"a": 1.0}, 0)
    model.learn_one({"a": 2.0, "code": 7, "n": 3}, 1)
    assert model.is_categorical_.tolist() == [False, True, False]
    with pytest.raises(ValueError, match=r"'x'.*'other'.*expected a number"):
        model.learn_one({"other": "x"}, 1)


def test_a_prediction_adds_nothing():
    X, y = late()
    model = few(new_columns="add")
    learned(model, [as_dict(row) for row in X[:100]], y[:100])
    before = contents_of(model)
    known = {"a": 1.0, "b": 0.5}
    expected = model.predict_proba_one(known)
    # The first number of a column is its mean; nothing is known of a category.
    np.testing.assert_allclose(model.predict_proba_one(known | {"new": 5.0}), expected, rtol=1e-12)
    unsure = model.predict_proba_one(known | {"new": "red"})
    assert abs(unsure[1] - 0.5) < abs(expected[1] - 0.5)
    assert contents_of(model) == before


def test_rows_of_a_table_with_new_columns_have_the_bits_that_they_have_alone():
    X, y = late()
    model = learned(few(new_columns="add"), [as_dict(row) for row in X[:200]], y[:200])
    rows = [
        {"a": 1.0},
        {"a": 1.0, "new": "red"},
        {"size": 3.0, "a": 1.0, "new": "red"},
        {"a": 1.0, "new": "red", "size": 3.0},
        {"b": 1.0, "when": dt.date(2026, 11, 17)},
    ]
    whole = model.predict_proba(pd.DataFrame(rows))
    for row, expected in zip(rows, whole, strict=True):
        np.testing.assert_array_equal(model.predict_proba_one(row), expected)
    assert len({tuple(row) for row in whole}) == 4  # the order of keys makes no difference


@pytest.mark.parametrize(
    ("row", "label", "message"),
    [
        ({"a": 1.0, "new": "03/04/2021"}, 0, "'new'"),
        ({"a": 1.0, "new": math.inf}, 0, "infinity.*'new'"),
        ({"a": "x", "new": 1.0}, 0, "'x'.*'a'"),
        ({"a": 1.0, "new": 1.0}, "no class", "no class"),
    ],
)
def test_a_row_that_cannot_be_learned_adds_no_column(row, label, message):
    X, y = late()
    model = few(new_columns="add")
    model.partial_fit(pd.DataFrame(X[:70], columns=NAMES), y[:70], classes=[0, 1])
    model.learn_one(as_dict(X[70]), y[70])
    before = contents_of(model)
    with pytest.raises((ValueError, TypeError), match=message):
        model.learn_one(row, label)
    assert contents_of(model) == before
    assert model.learn_one(as_dict(X[71]), y[71]).n_seen_ == 72


def test_the_budget_bounds_how_many_columns_may_come():
    model = AutoVVMClassifier(experts=LINEAR, budget=1e5, new_columns="add")
    model.learn_one({"a": 1.0}, 0).learn_one({"a": 2.0}, 1)
    many = {f"c{k}": 1.0 for k in range(500)}
    before = contents_of(model)
    for call in (lambda: model.learn_one(many, 1), lambda: model.predict_proba_one(many)):
        with pytest.raises(ValueError, match=r"501 columns.*budget of 100,000.*larger `budget`"):
            call()
    assert contents_of(model) == before
    model.learn_one(dict(list(many.items())[:300]), 1)
    assert model.n_features_in_ == 301


def test_rows_that_are_sketched_take_no_more_columns():
    names = [f"c{k}" for k in range(300)]
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(20, 300)), columns=names)
    model = AutoVVMClassifier(budget=2e4, new_columns="add").partial_fit(table, [0, 1] * 10)
    assert any("added up" in words for words in model.given_up_)
    with pytest.raises(ValueError, match="301 columns, some of them new"):
        model.learn_one({"new": 1.0}, 1)


def test_what_the_budget_did_not_pay_for_is_as_at_the_start():
    X, y = late()
    model = AutoVVMClassifier(new_columns="add")
    learned(model, [as_dict(row) for row in X[:170]], y[:170])
    assert model.given_up_ == []


def test_by_default_a_new_column_is_an_error_that_names_the_option():
    model = few().learn_one({"a": 1.0}, 0).learn_one({"a": 2.0}, 1)
    for call in (lambda x: model.learn_one(x, 1), model.predict_proba_one):
        with pytest.raises(ValueError, match=r"\['b'\].*expected.*\['a'\].*new_columns='add'"):
            call({"a": 1.0, "b": 1.0})


def test_a_model_that_was_saved_takes_new_columns_as_before(tmp_path):
    X, y = late()
    rows = [as_dict(row) | ({"colour": "red"} if t > 200 else {}) for t, row in enumerate(X)]
    model = learned(few(new_columns="add"), rows[:100], y[:100])
    model.save(tmp_path / "model.vvm")
    again = load(tmp_path / "model.vvm")
    for each in (model, again):
        one_by_one(each, rows[100:], y[100:])
    assert contents_of(again) == contents_of(model)
    again.save(tmp_path / "again.vvm")
    table = pd.DataFrame(rows)
    expected = model.predict_proba(table)
    np.testing.assert_array_equal(load(tmp_path / "again.vvm").predict_proba(table), expected)


def test_a_row_with_a_new_column_is_learned_or_it_is_not_whenever_an_interrupt_comes():
    X, y = late()
    known = AutoVVMClassifier(experts=FEW[:2], new_columns="add")
    learned(known, [as_dict(row) for row in X[:70]], y[:70])
    row = as_dict(X[71]) | {"colour": "red", "size": 2.0}
    assert_all_or_nothing(
        lambda: copy.copy(known).learn_one(as_dict(X[70]), y[70]),
        lambda m: m.learn_one(row, y[71]),
        read=contents_of,
        every=23 * STRIDE,
    )


def test_no_row_is_lost_when_threads_bring_columns():
    model = few(new_columns="add").learn_one({"a": 1.0}, 0).learn_one({"a": 2.0}, 1)

    def bring(k):
        for t in range(8):
            model.learn_one({"a": 1.0, f"{k}-{t // 4}": "red"}, t % 2)

    in_threads(*(lambda k=k: bring(k) for k in range(3)))
    assert model.n_seen_ == 26
    assert len(model.feature_names_in_) == 7
