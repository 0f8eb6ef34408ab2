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
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

from virtualvector import AutoVVMClassifier, Expert
from virtualvector.streams import open_rows
from virtualvector.values import spelled

NAMES = ["size", 'is "on"', "code", "day", "moment", "Ort, é"]
CATEGORICAL = [NAMES[1], NAMES[2], NAMES[5]]
ONE = [Expert(bandwidth=0.5, margin_noise=0.5, buffer_size=3)]

rows = st.tuples(
    st.none() | st.floats(-1e9, 1e9) | st.integers(-5, 5).map(float),
    st.none() | st.booleans(),
    st.none() | st.integers(0, 12),
    st.none() | st.dates(dt.date(1950, 1, 1), dt.date(2100, 1, 1)),
    st.none() | st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2100, 1, 1)),
    st.sampled_from([None, "Ulm", 'so "called"', "a, b", "two\nlines", "ÄÖ", "TRUE", "3.0", "007",
                     "NA", "none", " Rome ", "2021-05-06", "=1+1"]),
)  # fmt: skip
FILLED = [
    (0.5, True, 3, dt.date(2021, 5, 6), dt.datetime(2021, 5, 6, 7, 8, 9), "Ulm"),
    (1.5, False, 7, dt.date(2021, 5, 7), dt.datetime(2021, 5, 6, 7, 8, 9, 10), "Rome"),
]
tables = st.lists(rows, min_size=2, max_size=6).map(lambda some: FILLED * len(some) + some)
classes = st.sampled_from([(0, 1), (False, True), ("no", "yes"), ("- a", "b, c"), (-1, 1)])


def frame(table):
    return pd.DataFrame(dict(zip(NAMES, map(list, zip(*table, strict=True)), strict=True)))


def typed(table):
    kinds = [pa.float64(), pa.bool_(), pa.int64(), pa.date32(), pa.timestamp("us"), pa.string()]
    cells = zip(map(list, zip(*table, strict=True)), kinds, strict=True)
    return pa.table([pa.array(column, kind) for column, kind in cells], names=NAMES)


def with_zone(table):
    there = frame(table)
    there["moment"] = (
        pd.to_datetime(there["moment"]).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    )
    return there.astype({"code": "category", NAMES[5]: "category", NAMES[1]: "boolean"})


def in_units(table):
    there = frame(table)
    there["day"] = pd.to_datetime(there["day"]).astype("datetime64[s]")
    there["moment"] = pd.to_datetime(there["moment"]).astype("datetime64[us]")
    return there.astype({"code": "Int64", NAMES[5]: "string"})


LIBRARIES = {
    "pandas": frame,
    "pandas with zones and categories": with_zone,
    "pandas of other units": in_units,
    "polars": lambda table: pl.DataFrame(typed(table)),
    "Arrow": typed,
    "Arrow of other types": lambda table: typed(table).cast(
        pa.schema(zip(NAMES, [pa.float64(), pa.bool_(), pa.int8(), pa.timestamp("ms", "UTC"),
                              pa.timestamp("us"), pa.large_string()], strict=True))
    ),
    "dict": lambda table: dict(zip(NAMES, zip(*table, strict=True), strict=True)),
    "NumPy": lambda table: np.array([list(row) for row in table], dtype=object),
}  # fmt: skip


def as_json(table, path, labels):
    def cell(value):
        return value.isoformat() if isinstance(value, dt.date) else value

    lines = [
        json.dumps({**dict(zip(NAMES, map(cell, row), strict=True)), "label": label})
        for row, label in zip(table, labels, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


def labelled(table, labels):
    return typed(table).append_column("label", pa.array(labels))


def by_pandas(table, path, labels):
    frame(table).assign(label=labels).to_csv(path, index=False, sep="\t")


FORMATS = {
    "rows.csv": lambda t, path, y: pl.DataFrame(labelled(t, y)).write_csv(path),
    "arrow.csv": lambda t, path, y: arrow_csv.write_csv(labelled(t, y), path),
    "rows.tsv": by_pandas,
    "rows.jsonl": as_json,
    "rows.parquet": lambda t, path, y: parquet.write_table(labelled(t, y), path),
    "pandas.parquet": lambda t, path, y: in_units(t).assign(label=y).to_parquet(path),
    "rows.feather": lambda t, path, y: feather.write_feather(labelled(t, y), path),
}


def read(path):
    """Return the columns and the labels of a file as vvm learn reads them."""
    with open_rows([str(path)], label="label", categorical=CATEGORICAL) as reader:
        batches = list(reader)
    return pa.concat_tables([b.table for b in batches]), np.concatenate([b.labels for b in batches])


def ways_in(table, labels, folder):
    """Return the table as it comes each way, and its labels."""
    ways = {name: (make(table), np.array(labels)) for name, make in LIBRARIES.items()}
    for name, write in FORMATS.items():
        write(table, folder / name, labels)
        ways[name] = read(folder / name)
    return ways


@settings(max_examples=4, deadline=None)
@given(tables, tables, classes, st.randoms(use_true_random=False))
def test_any_way_in_learns_and_predicts_the_same_bits(table, other, pair, random):
    labels = [*pair, *(random.choice(pair) for _ in table[2:])]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X (has|does not have) (valid )?feature names")
        learned = ways_in(table, labels, Path(folder))
        asked = ways_in(
            other, [*pair] * (len(other) // 2) + [pair[0]] * (len(other) % 2), Path(folder)
        )
        expected = None
        for way, (X, y) in learned.items():
            chosen = [NAMES.index(name) for name in CATEGORICAL]
            model = AutoVVMClassifier(experts=ONE, n_frequencies=3, categorical_features=chosen)
            model.partial_fit(X, y)
            assert [spelled(label) for label in model.classes_.tolist()] == list(map(spelled, pair))
            assert model.is_time_.tolist() == [False, False, False, True, True, False], way
            for other_way, (Z, _) in asked.items():
                probabilities = model.predict_proba(Z)
                expected = probabilities if expected is None else expected
                np.testing.assert_array_equal(probabilities, expected, f"{way}, then {other_way}")
            assert model.predict(X).dtype == model.classes_.dtype
            # Labels of another type are those that they mean: as they are, and as files have them.
            for more in (learned["NumPy"][1], learned["rows.csv"][1]):
                model.partial_fit(X, more)
            assert model.n_seen_ == 3 * len(table)
            assert len(model.classes_) == 2
