"""What is read is what other libraries read, wherever the bytes are cut."""

import csv
import io
import json
import math
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet
from sklearn.datasets import load_svmlight_file

from tests.streams.gathering import all_of, complaint, in_chunks
from virtualvector.streams import Column, Reader, open_rows
from virtualvector.streams.reader import Asked
from virtualvector.streams.sources import find_sources
from virtualvector.values import PEEK, USUAL, category

numbers = (
    st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20)
)
texts = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
labels = st.text('ab\n\r", é𝄞', min_size=1, max_size=3).filter(lambda text: text.strip(" \t"))
tables = st.lists(st.tuples(numbers, texts, labels), min_size=1, max_size=12)
sizes = st.sampled_from([1, 2, 3, 7, 20, 64, 10**6])
line_ends = st.sampled_from(["\n", "\r\n", "\r"])
columns = (Column("a", categorical=False), Column("b", categorical=True))


def name(text, marks=USUAL):
    return category(text, marks) or None


def expected(table):
    return [(None if a is None else float(a), name(b), c.strip(" \t")) for a, b, c in table]


def read_bytes(data, ending, chunk=10**6, **asked):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows{ending}"
        path.write_bytes(data)
        return all_of(in_chunks(path, chunk, **{"label": "c", **asked}))


@given(tables, sizes, line_ends, st.booleans(), st.booleans(), st.sampled_from([",", "\t"]))
def test_csv_has_the_cells_that_were_written(table, size, line_end, bom, whole, delimiter):
    file = io.StringIO(newline="")
    writer = csv.writer(
        file, csv.excel, quoting=csv.QUOTE_NONNUMERIC, delimiter=delimiter, lineterminator=line_end
    )
    writer.writerow("abc")
    writer.writerows(table)
    text = file.getvalue() if whole else file.getvalue().removesuffix(line_end)
    data = b"\xef\xbb\xbf" * bom + text.encode()
    ending = ".csv" if delimiter == "," else ".tsv"
    assert read_bytes(data, ending, size, columns=columns) == (expected(table), None)


@given(tables, sizes, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_json_lines_have_the_values_that_were_written(table, size, line_end, bom, ascii_only):
    text = "".join(
        json.dumps(dict(zip("abc", row, strict=True)), ensure_ascii=ascii_only) + line_end
        for row in table
    )
    data = b"\xef\xbb\xbf" * bom + text.encode()
    assert read_bytes(data, ".jsonl", size, columns=columns) == (expected(table), None)


def records(data):
    """Return the records of a CSV file, the last one as None if a quote in it is not closed."""
    text = (data + b"\nEND").decode("utf-8", "surrogateescape")
    found = [record for record in csv.reader(io.StringIO(text, newline="")) if record]
    return found[:-1] if found[-1] == ["END"] else [*found[:-1], None]


def good_row(record):
    """Return the cells of a record, or None if it is bad."""
    try:
        a, b, c = record
        _ = b.encode(), c.encode()
        number = None if name(a) is None else float(a)
    except (TypeError, ValueError):
        return None
    finite = number is None or math.isfinite(number)
    return (number, name(b), name(c)) if finite and name(c) else None


csv_like = st.lists(
    st.sampled_from([b",", b",", b",", b"\n", b"\n", b"\r\n", b"\r", b'"', b'"', b'""', b"1",
                     b"2.5", b"-3e2", b"x", b" ", b"NA", b"nan", b"\xff", b"\xc3\xa9",
                     b"\xef\xbb\xbf"]),
    max_size=60,
)  # fmt: skip


@settings(max_examples=200)
@given(csv_like, sizes)
@example([b"1", b",", b'"', b"x", b'"', b'"', b"x", b'"', b",", b"x", b"\n"], 1)
@example([b"1,2,", b'"', b'"', b"x", b'"', b"\n", b'"', b",x,", b"x\n"], 10**6)
def test_any_bytes_give_the_rows_that_the_csv_module_finds(parts, size):
    data = b"a,b,c\n" + b"".join(parts)
    expected = [good_row(record) for record in records(data)[1:]]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_bytes(data)
        reader = in_chunks(path, size, "c", columns, stop=False)
        found, message = all_of(reader)
    assert found == [row for row in expected if row]
    assert reader.skipped == expected.count(None)
    assert (message is None) == bool(expected)


json_values = st.sampled_from(
    [b"1", b"-2.5e3", b"0", b"null", b"true", b'"x"', b'""', b'" NA"', b'"1"', b"NaN", b"-Infinity",
     b"[1]", b'{"a":1}', b"01", b'"\\u00e9"', b'"\\ud800"', b'"}"', b'"\xff"', b'"\xc3\xa9"',
     b"1e999"]
)  # fmt: skip
json_pairs = st.tuples(
    st.sampled_from([b"a", b"b", b"b", b"c", b"c", b"d", b"\\u0061"]), json_values
)
json_lines = st.one_of(
    st.lists(json_pairs, max_size=4).map(
        lambda pairs: b"{" + b", ".join(b'"%b":%b' % pair for pair in pairs) + b"}"
    ),
    st.sampled_from([b"", b" ", b"null", b"[]", b"{", b'{"a":1}{"c":"x"}', b'{"c":', b'"x"}']),
)


def good_object(line):
    """Return the values of a line, or None if it is bad."""
    try:
        pairs = json.loads(line.decode(), object_pairs_hook=list)
        values = dict(pairs)
        as_written = json.loads(line.decode(), parse_float=str)
        assert isinstance(as_written, dict)
        assert not isinstance(as_written.get("b"), float)  # NaN or Infinity
        assert not isinstance(as_written.get("c"), float)
        assert len(values) == len(pairs)
        assert values.keys() <= set("abc")
        assert not any(isinstance(value, list) for value in values.values())
        _ = "".join(str(value) for value in values.values()).encode()
    except (ValueError, TypeError, AssertionError):
        return None
    a = values.get("a")
    a_is_gap = a is None or (isinstance(a, str) and name(a) is None)
    if not a_is_gap and (isinstance(a, bool | str) or not math.isfinite(a)):
        return None
    b, c = (
        name(
            str(value).lower() if isinstance(value, bool) else None if value is None else str(value)
        )
        for value in (as_written.get("b"), as_written.get("c"))
    )
    return (None if a_is_gap else float(a), b, c) if c else None


@settings(max_examples=80)
@given(st.lists(json_lines, max_size=8), st.sampled_from([100, 10**6]), line_ends)
def test_any_lines_give_the_rows_that_the_json_module_finds(lines, size, line_end):
    lines = [b'{"a": 1, "b": "x", "c": "y"}'] * PEEK + lines
    data = line_end.encode().join(lines)
    expected = [good_object(line) for line in lines if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_bytes(data)
        reader = in_chunks(path, size, "c", columns, stop=False)
        found, message = all_of(reader)
    assert message is None
    assert found == [row for row in expected if row]
    assert reader.skipped == expected.count(None)


csv_tables = st.lists(
    st.tuples(
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(-(2**62), 2**62),
        st.sampled_from(["red", "green, dark", 'so "called"', "two\nlines", "ÄÖ"]),
        st.sampled_from(["x", "y"]),
    ),
    min_size=3,
    max_size=40,
)


@settings(max_examples=50)
@given(csv_tables, sizes)
def test_csv_is_what_pandas_reads(table, size):
    frame = pd.DataFrame(table, columns=["a", "b", "c", "label"])
    data = frame.to_csv(index=False).encode()
    # Older versions of pandas make another number of some texts.
    again = pd.read_csv(io.BytesIO(data), dtype={"a": str})
    rows, message = read_bytes(data, ".csv", size, label="label")
    assert message is None
    cells = again.itertuples(index=False)
    assert rows == [(float(a), float(b), c, label) for a, b, c, label in cells]


@pytest.fixture
def typed():
    """A table of all kinds of columns, of more rows than a batch has."""
    random = np.random.default_rng(0)
    n = 10_000
    gaps = random.random(n) < 0.1
    town = random.choice(["Ulm", "Bonn", "?"], n)
    return pa.table(
        {
            "small": pa.array(random.integers(0, 100, n), pa.int8(), mask=gaps),
            "large": pa.array(random.integers(0, 2**63, n, dtype=np.uint64)),
            "half": pa.array(random.normal(size=n).astype(np.float16)),
            "real": pa.array(random.normal(size=n), mask=gaps),
            "price": pa.array(random.integers(0, 100, n)).cast(pa.decimal128(21, 2)),
            "town": pa.array(town, mask=gaps),
            "coded": pa.array(town, mask=gaps).dictionary_encode(),
            "member": pa.array(random.random(n) < 0.5, mask=gaps),
            "nothing": pa.nulls(n),
            "class": pa.array(random.integers(0, 3, n)),
        }
    )


def expected_of(table):
    """Return the rows by way of Python's values."""

    def cell(value):
        if isinstance(value, bool):
            return str(value).lower()
        return name(value) if isinstance(value, str) else None if value is None else float(value)

    *inputs, labels = (column.to_pylist() for column in table.columns)
    cells = [[cell(value) for value in column] for column in inputs]
    return list(zip(*cells, [str(label) for label in labels], strict=True))


def write_parquet(table, path):
    parquet.write_table(table, path, row_group_size=3000)


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, 700)


@pytest.mark.parametrize(
    ("file", "write"),
    [
        ("rows.parquet", write_parquet),
        ("rows.feather", feather.write_feather),
        ("rows.arrow", write_stream),
    ],
)
def test_typed_files_keep_their_values(typed, tmp_path, file, write):
    path = tmp_path / file
    write(typed, path)
    with open_rows([str(path)]) as reader:
        assert reader.n_rows == (None if file == "rows.arrow" else 10_000)
        assert [column.name for column in reader.columns if column.categorical] == [
            "town", "coded", "member",
        ]  # fmt: skip
        assert reader.first_classes == ("0", "1", "2")
        batches = list(reader)
        assert max(len(batch.labels) for batch in batches) <= 8192
        assert all_of(reader) == (expected_of(typed), None)
    assert batches[0].place(16, "town") == f"{path}, row 17, column 'town'"


def test_columns_of_other_types_are_named(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"a": [[1], [2]], "c": ["x", "y"]}), path)
    message = "FILE, column 'a': found the type list<element: int64>; expected numbers, " + (
        "categories, dates or times (--ignore a leaves it out)."
    )
    assert complaint(path) == message
    twice = pa.table([[1, 2], [3, 4], ["x", "y"]], names=["a", "a", "c"])
    feather.write_feather(twice, tmp_path / "rows.feather")
    assert (
        complaint(tmp_path / "rows.feather")
        == "FILE: found the column 'a' more than once; expected names that differ."
    )


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from([-1.0, 1.0, 2.5]), st.dictionaries(
            st.integers(1, 9), st.floats(-1e300, 1e300), max_size=5)),
        min_size=1, max_size=20,
    ),
    st.sampled_from([1, 10, 50, 10**6]),
)  # fmt: skip
def test_svmlight_is_what_scikit_learn_reads(rows, size):
    lines = [
        f"{label:g} " + " ".join(f"{index}:{cells[index]!r}" for index in sorted(cells)) + " # 99:1"
        for label, cells in [*rows, (1.0, {9: 0.5})]
    ]
    data = "\n\n".join(["# a comment", *lines]).encode()
    X, y = load_svmlight_file(io.BytesIO(data), n_features=9)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        path.write_bytes(data)
        whole = open_rows([str(path)])
        assert [column.name for column in whole.columns] == [f"f{index}" for index in range(1, 10)]
        expected = [(*x, f"{label:g}") for x, label in zip(X.toarray().tolist(), y, strict=True)]
        assert all_of(whole) == (expected, None)
        options = whole._options._replace(chunk=size)
        cut = Reader(find_sources([str(path)]), options, Asked())
        assert all_of(cut) == (expected, None)
