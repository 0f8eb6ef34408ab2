"""Rows of any table become inputs of unit scale, without a look ahead."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from virtualvector.features.categories import LENGTH, SLOTS
from virtualvector.features.encoder import Encoder
from virtualvector.features.tables import columns_of
from virtualvector.kernels.scaling import EARLY, EARLY_COUNT


def numbers(rows):
    return list(np.asarray(rows, float).T)


def test_numbers_are_scaled_by_the_rows_up_to_them():
    rows = np.random.default_rng(0).uniform(3.0, 5.0, size=(200, 3))  # nothing is far out
    inputs = Encoder([False] * 3).learn(numbers(rows))
    for t in (1, 10, int(EARLY) - 1, int(EARLY), 199):
        so_far = rows[: t + 1]
        weights = np.where(np.arange(t + 1) < EARLY, EARLY_COUNT / EARLY, 1.0)
        mean = np.average(so_far, axis=0, weights=weights)
        square = np.average(np.square(so_far - mean), axis=0, weights=weights)
        expected = np.arcsinh((rows[t] - mean) / np.sqrt(square))
        np.testing.assert_allclose(inputs[t], expected, rtol=1e-9)


def test_a_huge_slip_does_not_blind_a_column():
    rng = np.random.default_rng(7)
    column = rng.normal(size=300)
    column[50] = 1e12
    inputs = Encoder([False]).learn([column])
    without = Encoder([False]).learn([np.delete(column, 50)])
    later = np.delete(inputs[:, 0], 50)[150:]
    assert np.corrcoef(later, without[150:, 0])[0, 1] > 0.99
    assert np.std(later) > 0.7 * np.std(without[150:, 0])


def test_scaling_before_learning_a_row_gives_what_learning_it_gives():
    rows = numbers(np.random.default_rng(1).normal(size=(50, 2)))
    running = Encoder([False, False])
    for t in range(50):
        row = [column[t : t + 1] for column in rows]
        before = running.scale(row)
        np.testing.assert_array_equal(before, running.scale(row))
        np.testing.assert_array_equal(before, running.learn(row))


def test_any_cut_gives_the_same_bits():
    rng = np.random.default_rng(2)
    columns = [rng.normal(size=90), rng.integers(12, size=90).astype(str)]
    whole = Encoder([False, True]).learn(columns)
    pieces = Encoder([False, True])
    cut = [pieces.learn([c[a:b] for c in columns]) for a, b in ((0, 1), (1, 40), (40, 90))]
    wide = [np.pad(part, ((0, 0), (0, whole.shape[1] - part.shape[1]))) for part in cut]
    np.testing.assert_array_equal(np.vstack(wide), whole)


def test_missing_values_become_the_mean_and_are_counted():
    running = Encoder([False])
    inputs = running.learn([np.array([1.0, np.nan, 3.0, np.nan])])
    without = Encoder([False]).learn([np.array([1.0, 3.0])])
    np.testing.assert_array_equal(inputs[[1, 3]], 0)
    np.testing.assert_array_equal(inputs[[0, 2]], without)
    assert running.missing.tolist() == [2]


def test_a_constant_column_says_nothing():
    inputs = Encoder([False]).learn([np.full(50, 0.1)])
    np.testing.assert_array_equal(inputs, 0)


@given(arrays(float, (12, 2), elements=st.floats(allow_infinity=False)))
def test_inputs_are_finite_for_any_numbers(rows):
    assert np.all(np.isfinite(Encoder([False] * 2).learn(numbers(rows))))


def test_a_column_that_drifts_is_followed():
    column = np.concatenate([np.zeros(20_000), np.full(60_000, 100.0)])
    column += np.random.default_rng(3).normal(size=len(column))
    running = Encoder([False])
    running.learn([column])
    assert running.means[0] == pytest.approx(100.0, rel=0.01)


def test_first_names_have_a_slot_each_and_later_ones_a_direction_of_their_own():
    names = np.array([f"n{k}" for k in range(SLOTS + 4)])
    inputs = Encoder([True]).learn([names])
    np.testing.assert_array_equal(inputs[:SLOTS], LENGTH * np.eye(SLOTS))
    np.testing.assert_allclose(np.linalg.norm(inputs[SLOTS:], axis=1), LENGTH)
    assert len(np.unique(inputs, axis=0)) == SLOTS + 4
    again = Encoder([True]).learn([names])
    np.testing.assert_array_equal(inputs, again)


def test_new_names_have_inputs_behind_those_before_row_by_row():
    running = Encoder([True, False, True])
    first = running.learn([np.array(["a", "b"]), np.zeros(2), np.array(["u", "v"])])
    np.testing.assert_array_equal(first, [[0, 0.5, 0.5, 0, 0], [0, 0, 0, 0.5, 0.5]])
    new = [np.array(["c", "a"]), np.zeros(2), np.array(["w", "x"])]
    expected = [[0, 0, 0, 0, 0, 0.5, 0.5], [0, 0.5, 0, 0, 0, 0.5, 0]]
    np.testing.assert_array_equal(running.scale(new), expected)  # each row by itself
    assert running.n_inputs == 5
    assert running.learn(new).shape == (2, 8)
    assert running.labels(["p", "q", "r"])[-3:] == ["p = c", "r = w", "r = x"]


def test_codes_that_are_categories_are_names():
    table = pd.DataFrame({"code": pd.Categorical([3, 1, 3]), "n": [1, 2, 3]})
    assert columns_of(table).categorical == [True, False]


def test_a_missing_name_is_a_name():
    column = np.array([["a"], [None], ["a"], [np.nan]], dtype=object)
    inputs = Encoder([True]).learn(columns_of(column, ["category"]).values)
    np.testing.assert_array_equal(inputs[1], inputs[3])
    assert not np.array_equal(inputs[0], inputs[1])


TABLE = {"age": [31.0, None, 40.0], "city": ["Rome", "Oslo", None], "n": [1, 2, 3]}


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE).astype({"city": "category", "n": "Int64"}),
        pl.DataFrame(TABLE),
        pa.table(TABLE),
        np.array([[31.0, "Rome", 1], [None, "Oslo", 2], [40.0, None, 3]], dtype=object),
    ],
    ids=["pandas", "pandas types", "polars", "Arrow", "objects"],
)
def test_tables_of_any_make_have_the_same_columns(table):
    columns = columns_of(table)
    assert columns.categorical == [False, True, False]
    np.testing.assert_array_equal(columns.values[0], [31.0, np.nan, 40.0])
    np.testing.assert_array_equal(columns.values[2], [1.0, 2.0, 3.0])
    assert list(columns.values[1][:2]) == ["Rome", "Oslo"]


def test_what_is_no_number_is_named():
    with pytest.raises(ValueError, match="'x' at row 1, column 'age'"):
        columns_of(pd.DataFrame({"age": [1.0, "x"]}, dtype=object), ["number"])
    with pytest.raises(ValueError, match="infinity at row 2, column 'age'"):
        columns_of(pd.DataFrame({"age": [1.0, 2.0, np.inf]}))
