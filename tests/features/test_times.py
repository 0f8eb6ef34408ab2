"""Times become numbers that mean something, the same from any library."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtualvector import (
    ADFClassifier,
    AutoVVMClassifier,
    Expert,
    RandomFourierFeatures,
    VVMClassifier,
)
from virtualvector.features.encoder import Encoder
from virtualvector.features.tables import columns_of
from virtualvector.features.times import PARTS, parts_of


@given(st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1)))
def test_parts_are_those_of_the_calendar(moment):
    parts = dict(zip(PARTS, parts_of(np.array([moment], "M8[us]"))[0], strict=True))
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    phases = {
        "hour": (moment - day) / dt.timedelta(days=1),
        "weekday": moment.weekday() / 7,
        "day of year": (moment.timetuple().tm_yday - 1) / 365.25,
    }
    assert parts["days"] == pytest.approx((moment - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1))
    for name, phase in phases.items():
        assert parts[f"{name}, sine"] == pytest.approx(math.sin(2 * math.pi * phase), abs=1e-9)
        assert parts[f"{name}, cosine"] == pytest.approx(math.cos(2 * math.pi * phase), abs=1e-9)


def test_what_does_not_vary_says_nothing_and_missing_values_are_the_mean():
    days = np.array(["2021-05-06", "2021-05-09", "NaT", "2021-07-01"], "M8[us]")
    encoder = Encoder([False], times=[True])
    inputs = encoder.learn([days])
    assert inputs.shape == (4, len(PARTS))
    assert not inputs[:, [1, 2]].any()  # dates have no hour
    assert inputs[1:, 0].any()
    assert not inputs[2].any()
    assert encoder.missing.tolist() == [1]
    assert encoder.labels(["day"])[:2] == ["day: days", "day: hour, sine"]


TIMES = [dt.datetime(2021, 5, 6, 7), dt.datetime(2022, 6, 7, 8)] * 4
TABLES = {
    "pandas": pd.DataFrame({"n": range(8), "t": TIMES}),
    "pandas, a zone": pd.DataFrame({"t": pd.Series(TIMES).dt.tz_localize("Asia/Tokyo")}),
    "only times": pd.DataFrame({"t": TIMES}),
    "polars": pl.DataFrame({"n": range(8), "t": TIMES}),
    "Arrow": pa.table({"n": range(8), "t": TIMES}),
    "dates": pa.table({"t": [time.date() for time in TIMES]}),
    "NumPy": np.array([TIMES], "M8[us]").T,
    "durations": pd.DataFrame({"t": pd.Series(TIMES) - TIMES[0]}),
}  # fmt: skip


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("learner", [VVMClassifier, ADFClassifier, RandomFourierFeatures])
def test_plain_learners_refuse_times_by_name(kind, learner):
    with pytest.raises(ValueError, match=r"Found dates, times or durations in ('t'|X)"):
        learner().fit(TABLES[kind], [0, 1] * 4)


def test_a_committee_refuses_durations_and_times_where_numbers_were():
    with pytest.raises(ValueError, match="durations in column 't'"):
        AutoVVMClassifier().fit(TABLES["durations"], [0, 1] * 4)
    model = AutoVVMClassifier(experts=[Expert(None, 1.0)])
    model.fit(pd.DataFrame({"t": np.arange(8.0)}), [0, 1] * 4)
    with pytest.raises(ValueError, match="column 't'; expected a number"):
        model.predict(TABLES["only times"])
    model.fit(TABLES["only times"], [0, 1] * 4)
    assert model.is_time_.tolist() == [True]
    with pytest.raises(ValueError, match="column 't'; expected a date or time"):
        model.predict(pd.DataFrame({"t": np.arange(8.0)}))
    with pytest.raises(ValueError, match="scale=False"):
        AutoVVMClassifier(scale=False).fit(TABLES["only times"], [0, 1] * 4)


def test_texts_in_doubt_are_refused():
    with pytest.raises(ValueError, match="found '1,234', a number with commas"):
        columns_of(pd.DataFrame({"a": ["1", "1,234"]}))
    for text in ("03/04/2021", "$12.50", "12.3%"):
        with pytest.raises(ValueError, match=r"column 'a': found .*categorical_features"):
            columns_of(pd.DataFrame({"a": [text] * 3}))
        assert columns_of(pd.DataFrame({"a": [text] * 3}), categorical=[True]).kinds == ["category"]
