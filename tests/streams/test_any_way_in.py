"""One table, in every format and through every library: learned and predicted to the same bits."""

import datetime as dt
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

from virtualvector import AutoVVMClassifier, Expert
from virtualvector.streams import open_rows
from virtualvector.values import spelled

USUAL = ("size", "on", "code", "day", "moment", "place")
IS_CATEGORICAL = (False, True, True, False, False, True)
ONCE = (Phase.explicit, Phase.reuse, Phase.generate)  # a smaller example takes minutes to find
ONE = [Expert(bandwidth=0.5, margin_noise=0.5, buffer_size=3)]

awkward = st.sampled_from([
    'is "on"', "Ort, é", "a;b", "a|b", "x y", "1", "two\nlines", "'q'", "=1+1", "名前", "None",
    "index", "--model", "true", "a\tb", "2021-05-06", "$", ".",
])  # fmt: skip
names = st.lists(awkward | st.sampled_from(USUAL), min_size=6, max_size=6, unique=True)
rows = st.tuples(
    st.none() | st.floats(-1e9, 1e9) | st.integers(-5, 5).map(float),
    st.none() | st.booleans(),
    st.none() | st.integers(0, 12),
    st.none() | st.dates(dt.date(1950, 1, 1), dt.date(2100, 1, 1)),
    st.none() | st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2100, 1, 1)),
    st.sampled_from([None, "Ulm", 'so "called"', "a, b", "two\nlines", "ÄÖ", "TRUE", "3.0", "007",
                     "NA", "none", " Rome ", "2021-05-06", "=1+1", "a;b", "5 %"]),
)  # fmt: skip
FILLED = [
    (0.5, True, 3, dt.date(2021, 5, 6), dt.datetime(2021, 5, 6, 7, 8, 9), "Ulm"),
    (1.5, False, 7, dt.date(2021, 5, 7), dt.datetime(2021, 5, 6, 7, 8, 9, 10), "Rome"),
]
tables = st.lists(rows, min_size=2, max_size=6).map(lambda some: FILLED * len(some) + some)
classes = st.sampled_from([
    (0, 1), (False, True), ("no", "yes"), ("- a", "b, c"), (-1, 1), ("007", "7"), ("None", "some"),
    ("ja ", "nein"), ('"a"', "b;c"), ("2021-05-06", "x"), ("=1+1", "Ä"), ("one\nline", "two"),
])  # fmt: skip


def frame(table, names):
    return pd.DataFrame(dict(zip(names, map(list, zip(*table, strict=True)), strict=True)))


def typed(table, names):
    kinds = [pa.float64(), pa.bool_(), pa.int64(), pa.date32(), pa.timestamp("us"), pa.string()]
    cells = zip(map(list, zip(*table, strict=True)), kinds, strict=True)
    return pa.table([pa.array(column, kind) for column, kind in cells], names=names)


def with_zone(table, names):
    there = frame(table, names)
    moment = pd.to_datetime(there[names[4]]).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    kinds = {names[2]: "category", names[5]: "category", names[1]: "category"}
    return there.assign(**{names[4]: moment}).astype(kinds)


def in_units(table, names):
    there = frame(table, names)
    there[names[3]] = pd.to_datetime(there[names[3]]).astype("datetime64[s]")
    there[names[4]] = pd.to_datetime(there[names[4]]).astype("datetime64[us]")
    nullable = ["Float64", "boolean", "Int64", "string"]
    columns = [names[k] for k in (0, 1, 2, 5)]
    return there.astype(dict(zip(columns, nullable, strict=True)))


def of_arrow(table, names):
    return typed(table, names).to_pandas(types_mapper=pd.ArrowDtype)


def of_other_types(table, names):
    kinds = [pa.float64(), pa.bool_(), pa.int8(), pa.timestamp("ms", "UTC"), pa.timestamp("us"),
             pa.dictionary(pa.int32(), pa.string())]  # fmt: skip
    return typed(table, names).cast(pa.schema(zip(names, kinds, strict=True)))


LIBRARIES = {
    "pandas": frame,
    "pandas of objects": lambda table, names: frame(table, names).astype(object),
    "pandas with zones and categories": with_zone,
    "pandas that may be null, of other units": in_units,
    "pandas of Arrow": of_arrow,
    "polars": lambda table, names: pl.DataFrame(typed(table, names)),
    "polars with categories": lambda table, names: pl.DataFrame(typed(table, names)).with_columns(
        pl.col(names[5]).cast(pl.Categorical)
    ),
    "Arrow": typed,
    "Arrow of other types": of_other_types,
    "dict": lambda table, names: dict(zip(names, zip(*table, strict=True), strict=True)),
    "NumPy": lambda table, names: np.array([list(row) for row in table], dtype=object),
}


def as_json(table, names, path, labels):
    def cell(value):
        return value.isoformat() if isinstance(value, dt.date) else value

    lines = [
        json.dumps({**dict(zip(names, map(cell, row), strict=True)), "label": label})
        for row, label in zip(table, labels, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


def labelled(table, names, labels):
    return typed(table, names).append_column("label", pa.array(labels))


def by_pandas(table, names, path, labels, **how):
    frame(table, names).assign(label=labels).to_csv(path, index=False, **how)


FORMATS = {
    "rows.csv": lambda t, n, path, y: pl.DataFrame(labelled(t, n, y)).write_csv(path),
    "arrow.csv": lambda t, n, path, y: arrow_csv.write_csv(labelled(t, n, y), path),
    "excel.csv": lambda t, n, path, y: by_pandas(
        t, n, path, y, sep=";", decimal=",", encoding="utf-8-sig", lineterminator="\r\n", quoting=1
    ),
    "rows.tsv": lambda t, n, path, y: by_pandas(t, n, path, y, sep="\t"),
    "rows.jsonl": as_json,
    "rows.parquet": lambda t, n, path, y: parquet.write_table(labelled(t, n, y), path),
    "pandas.parquet": lambda t, n, path, y: in_units(t, n).assign(label=y).to_parquet(path),
    "rows.feather": lambda t, n, path, y: feather.write_feather(labelled(t, n, y), path),
}


def write_all(table, names, labels, folder):
    """Write a table in every format."""
    for name, write in FORMATS.items():
        write(table, names, folder / name, labels)


def categorical_of(names):
    return [name for name, chosen in zip(names, IS_CATEGORICAL, strict=True) if chosen]


def read(path, names):
    """Return the columns and the labels of a file as vvm learn reads them."""
    with open_rows([str(path)], label="label", categorical=categorical_of(names)) as reader:
        batches = list(reader)
    return pa.concat_tables([b.table for b in batches]), np.concatenate([b.labels for b in batches])


def ways_in(table, names, labels, folder):
    """Return the table as it comes each way, and its labels."""
    ways = {name: (make(table, names), np.array(labels)) for name, make in LIBRARIES.items()}
    write_all(table, names, labels, folder)
    return ways | {name: read(folder / name, names) for name in FORMATS}


def labels_for(table, pair, random):
    return [*pair, *(random.choice(pair) for _ in table[2:])]


@settings(max_examples=3, deadline=None, phases=ONCE)
@given(tables, tables, names, classes, st.randoms(use_true_random=False))
def test_any_way_in_learns_and_predicts_the_same_bits(table, other, names, pair, random):
    chosen = [k for k, is_categorical in enumerate(IS_CATEGORICAL) if is_categorical]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X (has|does not have) (valid )?feature names")
        learned = ways_in(table, names, labels_for(table, pair, random), Path(folder))
        asked = ways_in(other, names, labels_for(other, pair, random), Path(folder))
        expected = None
        for way, (X, y) in learned.items():
            model = AutoVVMClassifier(experts=ONE, n_frequencies=3, categorical_features=chosen)
            model.partial_fit(X, y)
            assert [spelled(label) for label in model.classes_.tolist()] == list(map(spelled, pair))
            assert model.is_time_.tolist() == [False, False, False, True, True, False], way
            for other_way, (Z, _) in asked.items():
                probabilities = model.predict_proba(Z)
                expected = probabilities if expected is None else expected
                np.testing.assert_array_equal(probabilities, expected, f"{way}, then {other_way}")
                assert model.predict(Z).dtype == model.classes_.dtype
            # How many rows are asked about at once may change the last bit: here it is one.
            for row in other[-2:]:
                alone = model.predict_proba(typed([row], names))
                by_name = dict(zip(names, row, strict=True))
                np.testing.assert_array_equal(model.predict_proba(by_name), alone, way)
            # Labels of another type are those that they mean.
            again = [model.partial_fit(X, more).n_seen_ for _, more in learned.values()]
            assert again == [len(table) * (k + 2) for k in range(len(learned))]
            assert len(model.classes_) == 2


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-1e6, 1e6) | st.just(np.nan)] * 3), min_size=4, max_size=9))
def test_an_array_of_numbers_is_the_table_that_it_is(table):
    numbers, labels = np.array([(0.5, 1.5, 2.5), *table]), [0, 1] * 5
    whole = pd.DataFrame(numbers, columns=["a", "b", "c"])
    ways = [
        numbers, np.asfortranarray(numbers), numbers.astype(object), whole, whole.astype(object),
        whole.astype("Float64"), pl.DataFrame(whole), pa.table(whole),
        {name: whole[name].tolist() for name in whole},
    ]  # fmt: skip
    expected = None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X (has|does not have) (valid )?feature names")
        for X in ways:
            model = AutoVVMClassifier(experts=ONE, n_frequencies=3)
            model.partial_fit(X, labels[: len(numbers)])
            for Z in ways:
                probabilities = model.predict_proba(Z)
                expected = probabilities if expected is None else expected
                np.testing.assert_array_equal(probabilities, expected)
