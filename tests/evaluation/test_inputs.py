"""Any table as rows of numbers, by what came before and nothing else."""

import numpy as np
import pandas as pd

from virtualvector.evaluation import inputs_of
from virtualvector.features import RunningStandardScaler
from virtualvector.features.times import parts_of


def table(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 2)) * [1.0, 1e300]
    numbers[rng.random((n_rows, 2)) < 0.2] = np.nan
    towns = rng.choice(["Oslo", "Rome", None], n_rows)
    return pd.DataFrame({"a": numbers[:, 0], "town": towns, "b": numbers[:, 1]})


KINDS = [False, True, False]


def test_numbers_of_which_none_is_missing_are_scaled_as_ever():
    rows = np.random.default_rng(1).normal(size=(50, 3))
    expected = RunningStandardScaler().learn_then_transform(rows)
    assert np.array_equal(inputs_of(rows, [False] * 3), expected)
    assert np.array_equal(inputs_of(rows, [False] * 3, scaling=False), rows)


def test_a_gap_is_the_mean_so_far():
    rows, inputs = table(), inputs_of(table(), KINDS, scaling=False)
    for t in np.flatnonzero(rows["a"].isna()):
        before = rows["a"][:t].dropna()
        assert np.isclose(inputs[t, 0], before.mean() if len(before) else 0.0)
    assert np.isfinite(inputs).all()


def test_a_date_is_the_parts_that_the_committee_sees():
    days = pd.date_range("2024-02-27", periods=9, freq="7h")
    rows = pd.DataFrame({"day": days, "a": np.arange(9.0)})
    inputs = inputs_of(rows, [False, False], scaling=False)
    expected = parts_of(days.to_numpy("M8[us]"))
    assert np.array_equal(inputs, np.column_stack([expected, rows["a"]]))


def test_rows_to_come_change_nothing():
    whole = inputs_of(table(), KINDS)
    part = inputs_of(table().head(30), KINDS)
    assert np.array_equal(whole[:30, : part.shape[1]], part)
    assert not whole[:30, part.shape[1] :].any()


def test_categories_have_an_input_each_and_missing_is_one():
    rows, inputs = table(), inputs_of(table(), KINDS)
    towns = rows["town"].fillna("")
    assert inputs.shape[1] == 2 + 3
    assert len({tuple(row) for row in inputs[:, 2:]}) == 3
    for town in ("", "Oslo", "Rome"):
        assert len({tuple(row) for row in inputs[towns == town, 2:]}) == 1
