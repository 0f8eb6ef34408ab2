"""A value has one spelling, whatever it comes as."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtualvector.values import USUAL, category, in_microseconds, iso, kind_of, time_in, time_of

moments = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))


@given(st.text(max_size=80) | st.text("0123456789.+-eE:TZ/ trufalsn", max_size=30))
def test_a_spelling_is_spelled_as_it_is(text):
    once = category(text)
    assert category(once) == once
    assert category(f" {text}\t") == once


@given(st.integers(-(2**53) + 1, 2**53 - 1))
def test_whole_numbers_are_one_category_in_any_type(number):
    ways = [number, float(number), np.float64(number), Decimal(number), str(number), f"{number}.0"]
    assert {category(way) for way in ways} == {str(number)}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_one_category_as_numbers_and_texts(number):
    assert category(number) == category(repr(number)) == category(np.float64(number))
    assert float(category(number)) == number


@given(moments, st.sampled_from(["s", "ms", "us", "ns"]), st.integers(-14, 14))
def test_times_are_the_same_in_any_unit_zone_and_type(moment, unit, hours):
    if unit == "ns" and not 1700 < moment.year < 2200:
        moment = moment.replace(year=2000, day=1)
    moment = moment.replace(microsecond=0)
    expected = int(np.datetime64(moment, "us").astype(np.int64))  # by another library
    zone = dt.timezone(dt.timedelta(hours=hours))
    there = moment.replace(tzinfo=dt.UTC).astimezone(zone) if 2 < moment.year < 9998 else moment
    texts = (moment.isoformat(), there.isoformat(" "))
    for way in (moment, there, *texts, np.datetime64(moment, unit)):
        assert time_of(way) == expected
    assert time_in(iso(expected)) == expected
    found = in_microseconds(np.array([moment, "NaT"], f"M8[{unit}]"))
    assert found.dtype == "M8[us]"
    assert found.astype(np.int64)[0] == expected
    assert np.isnat(found[1])


@pytest.mark.parametrize(
    "text", ["20210506", "2021", "2021-13-01", "2021-02-29", "24:61", "1:2", "x"]
)
def test_what_is_no_time_is_none(text):
    assert time_in(text) is None


def test_times_out_of_range_are_refused():
    with pytest.raises(OverflowError, match="years 1 to 9999"):
        in_microseconds(np.array([10**15], "M8[s]"))


def test_most_values_decide_and_half_of_them_do_not():
    assert kind_of([1, 2, "oops"]) == "number"
    assert kind_of([1, "oops"]) == "category"
    assert kind_of(["2021-05-06", "2021-05-07", "later"]) == "time"
    assert kind_of([]) == "number"


@pytest.mark.parametrize("text", ["NULL", "None", "n/a", "NaN", "#N/A", " na ", "?", ""])
def test_marks_are_known_in_any_case(text):
    assert category(text) == ""
    assert "-" in USUAL.of_numbers
    assert "-" not in USUAL
