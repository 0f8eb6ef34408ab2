"""Rows one by one are read as tables are, to the last bit."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtualvector.dataframes import Record
from virtualvector.features.one_row import RowReader
from virtualvector.features.tables import columns_of
from virtualvector.features.times import parts_of, parts_of_time
from virtualvector.values import USUAL, Marks

KINDS = ["number", "category", "time"]
MARKS = [USUAL, Marks(["unknown", "-999"])]

values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.floats(width=32).map(np.float32),
    st.floats().map(np.float64),
    st.integers(-(2**62), 2**62).map(np.int64),
    st.text(max_size=8),
    st.sampled_from(
        ["1e3", " 7 ", "-999", "NA", "-", "true", "03/04/2021", "2021-05-06", "12:30", "unknown",
         "2021-05-06T07:08:09Z", "1_000", "", pd.NA, pd.NaT, pd.Timestamp("2020-02-29T01:02:03.4"),
         np.datetime64("2020-01-01"), np.datetime64("NaT"), np.bool_(True), np.str_("x")]
    ),
    st.datetimes(),
    st.dates(),
    st.times(),
    st.decimals(allow_nan=False),
)  # fmt: skip


def bits(numbers):
    return np.array(numbers, np.float64).tobytes()


@given(st.sampled_from(KINDS), values, st.sampled_from(MARKS))
def test_what_is_read_is_what_a_table_has(kind, value, marks):
    found = RowReader([kind], marks).read([value])
    if found is None:
        return  # it takes a table to say what it is, or why not
    expected = columns_of(Record({"x": [value]}), [kind], marks=marks).values[0]
    if kind == "category":
        assert found == ([], [expected[0]])
        return
    numbers = parts_of(expected)[0] if kind == "time" else expected
    assert found.categories == []
    both = [np.where(np.isnan(each), np.nan, each) for each in (found.numbers, numbers)]
    assert bits(both[0]) == bits(both[1])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("number", 3),
        ("number", 2.5),
        ("number", "1e3"),
        ("number", None),
        ("number", "NA"),
        ("time", dt.datetime(2024, 5, 6, 7)),
        ("time", "2024-05-06T07:00"),
        ("time", pd.Timestamp("2024-05-06T07:00", tz="Europe/Oslo")),
        ("time", None),
        ("category", "NO"),
        ("category", True),
        ("category", Decimal("1.5")),
    ],
    ids=str,
)
def test_usual_values_need_no_table(kind, value):
    assert RowReader([kind], USUAL).read([value]) is not None


@pytest.mark.parametrize("value", [math.inf, -math.inf, "inf", 10**400, "red", True, [1.0], 1j])
def test_what_is_no_finite_number_is_left_to_tables_which_refuse_it(value):
    assert RowReader(["number"], USUAL).read([value]) is None
    with pytest.raises((ValueError, OverflowError, TypeError)):
        columns_of(Record({"x": [value]}), ["number"])


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, (), object(), 1j])
def test_what_is_no_single_value_is_left_to_tables_which_refuse_it(value):
    assert RowReader(["category"], USUAL).read([value]) is None
    with pytest.raises(ValueError, match="expected one value in each cell"):
        columns_of(Record({"x": [value]}), ["category"])


@given(st.datetimes())
def test_the_parts_of_one_time_are_those_of_many(moment):
    times = np.array([moment, dt.datetime(1970, 1, 1)], "M8[us]")
    one = parts_of_time(int(times.astype(np.int64)[0]))
    assert bits(one) == bits(parts_of(np.tile(times, 9))[0])


def test_a_category_is_remembered_for_what_it_is_and_no_longer_than_there_is_room(monkeypatch):
    monkeypatch.setattr("virtualvector.features.one_row._MOST_CATEGORIES", 3)
    reader = RowReader(["category"], USUAL)
    for text in ["a", " a", "NA", "3.0", "a", "1e3", "b", ""] * 2:
        expected = columns_of(Record({"x": [text]}), ["category"]).values[0][0]
        assert reader.read([text]).categories == [expected]
        assert len(reader._texts) <= 3
