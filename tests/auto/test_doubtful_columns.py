"""Columns that are something else to most people than categories are warned of, or refused."""

import numpy as np
import pandas as pd
import pytest

from virtualvector import AutoVVMClassifier, Expert

FEW = [Expert(None, 1.0), Expert(0.5, 0.1)]


def test_texts_that_are_taken_for_categories_are_warned_of_unless_that_was_said():
    table = pd.DataFrame({"note": [f"what was said of order {k}, at length" for k in range(30)]})
    labels, few = [0, 1] * 15, {"experts": FEW, "n_frequencies": 5}
    with pytest.warns(
        UserWarning, match=r"WideVVMClassifier\(text_features=\['note'\]\) for words"
    ):
        found = AutoVVMClassifier(**few).fit(table, labels)
    told = AutoVVMClassifier(**few, categorical_features=["note"]).fit(table, labels)
    np.testing.assert_array_equal(found.predict_proba(table), told.predict_proba(table))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([[1, 2]] * 30, r"has \[1, 2\] at row 0, column 'cell'; expected one value in each cell"),
        (["red"] * 29 + [{"a": 1}], r"has \{'a': 1\} at row 29, column 'cell'; expected one value"),
        ([object()] * 30, "at row 0, column 'cell'; expected one value"),
        (np.full(30, 1j), "at row 0, column 'cell'; expected a number"),
        (pd.period_range("2020", periods=30, freq="M"), r"periods in column 'cell'.*to_timestamp"),
    ],
)
def test_cells_that_are_no_single_value_are_refused_and_not_learned_by_their_print(cells, expected):
    table = pd.DataFrame({"cell": cells})
    with pytest.raises(ValueError, match=f"Input X.*{expected}"):
        AutoVVMClassifier(experts=FEW, n_frequencies=5).fit(table, [0, 1] * 15)


def test_one_row_with_a_cell_that_is_no_single_value_is_refused_and_the_model_as_it_was():
    model = AutoVVMClassifier(experts=FEW, n_frequencies=5)
    model.learn_one({"city": "Rome"}, 0).learn_one({"city": "Oslo"}, 1)
    with pytest.raises(ValueError, match="column 'city'; expected one value in each cell"):
        model.learn_one({"city": ("Rome", "Oslo")}, 0)
    assert model.n_seen_ == 2


def test_numbers_in_quotes_are_warned_of_and_codes_with_zeros_in_front_are_not():
    few = {"experts": FEW, "n_frequencies": 5}
    with pytest.warns(UserWarning, match=r"\['age'\] hold numbers in quotes.*expected numbers"):
        AutoVVMClassifier(**few).learn_one({"age": "31", "zip": "01234", "city": "Rome"}, 0)
    AutoVVMClassifier(**few, categorical_features=["age"]).learn_one({"age": "31"}, 0)
