"""No small file takes much memory or much time: each is read, or refused with its place."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from tests.streams.gathering import all_of, complaint
from tests.streams.limits import read
from virtualvector.streams import BadInput, open_rows
from virtualvector.values import number_in

LONG = "x" * 2**20


def alike(text, n_rows):
    """Return a column of one text, which takes no room in a file."""
    return pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int8), [text])


def write_arrow(path, table, compression=None):
    options = ipc.IpcWriteOptions(compression=compression)
    with ipc.new_file(str(path), table.schema, options=options) as writer:
        writer.write_table(table)


def test_a_long_label_is_a_bad_row(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n" + "1,x\n2,y\n" * 5000 + f"3,{LONG}\n")
    message = f"{path}, line 10002, column 'label': found a text of 1,048,576 characters; "
    told = message + "expected at most 1,000."
    assert read(path) == [(10_000, told)]
    assert read(path, on_error="skip") == [(10_000, [told])]


def test_labels_of_the_greatest_length_are_read(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n" + "1,x\n" * 300_000 + f"3,{'é' * 1000}\n", "utf-8")
    assert read(path) == [(300_001, [])]


def test_stray_quotes_cost_one_row(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{k},{k % 7},{'xy'[k % 2]}" for k in range(30_000)]
    lines[100] = '1,2,"x'
    lines[29_000] = '1,2,y"'
    path.write_text("a,b,label\n" + "\n".join(lines) + "\n")
    [(n_rows, problems)] = read(path, on_error="skip")
    assert n_rows == 30_000 - 28_901
    assert problems[0].startswith(f"{path}, line 102, column 'label': found a text of ")


def test_a_quote_in_the_header_is_gone_through_once(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('"a,b,label\n' + "1,2,x\n" * 300_000)  # squares of this take an hour
    assert "expected the names of two columns or more" in complaint(path)


@pytest.mark.parametrize("column", ["town", "label"])
def test_long_texts_in_dictionaries_do_not_become_a_text_for_each_row(tmp_path, column):
    n_rows = 16_000
    cells = {"a": np.arange(float(n_rows)), "town": alike("y", n_rows), "label": alike("z", n_rows)}
    table = pa.table(cells | {column: alike(LONG, n_rows)})
    parquet.write_table(table, tmp_path / "rows.parquet", compression="zstd")
    write_arrow(tmp_path / "rows.arrow", table, "zstd")
    paths = [tmp_path / "rows.parquet", tmp_path / "rows.arrow"]
    assert sum(path.stat().st_size for path in paths) < 300_000
    most = "1,000" if column == "label" else "65,536"
    message = f"found a text of 1,048,576 characters; expected at most {most}."
    assert read(*paths) == [(0, f"{path}, row 1, column '{column}': {message}") for path in paths]


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
@pytest.mark.processes
def test_long_texts_in_pages_are_read_a_few_at_a_time(tmp_path, encoding):
    path = tmp_path / "rows.parquet"
    names = [f"{'x' * 60_000}{k}" for k in range(4000)]  # 240 MB as texts
    label = ["yes", "no"] * 2000
    parquet.write_table(
        pa.table({"town": names, "label": label}), path, compression="zstd",
        use_dictionary=["label"], column_encoding={"town": encoding},
    )  # fmt: skip
    del names
    assert path.stat().st_size < 10**6
    assert read(path, limit=600 * 2**20) == [(4000, [])]  # all at once, it would take 1 GB


def test_batches_that_become_large_are_refused(tmp_path):
    path = tmp_path / "rows.arrow"
    n_rows = 34_000_000
    write_arrow(path, pa.table({"a": np.zeros(n_rows), "label": alike("x", n_rows)}), "zstd")
    assert path.stat().st_size < 100_000
    [(n_rows, message)] = read(path)
    assert n_rows == 0
    assert message.startswith(f"{path}, after row 0: found a batch of ")
    assert message.endswith(" that become 306,000,000; expected smaller ones.")


@pytest.mark.processes
def test_pages_that_become_large_are_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    n_rows = 34_000_000
    parquet.write_table(
        pa.table({"a": np.zeros(n_rows), "label": alike("x", n_rows)}), path, compression="zstd",
        use_dictionary=["label"], data_page_size=2**30, row_group_size=n_rows,
        max_rows_per_page=n_rows,
    )  # fmt: skip
    assert path.stat().st_size < 200_000
    [(n_rows, message)] = read(path)
    assert n_rows == 0
    assert "found pages of " in message
    assert message.endswith("; expected smaller pages.")


def test_a_batch_of_nothing_is_no_batch_of_any_length(tmp_path):
    table = pa.table({"a": pa.nulls(1000), "label": pa.nulls(1000)})
    path = tmp_path / "rows.arrow"
    write_arrow(path, table)
    data = path.read_bytes()
    length = (1000).to_bytes(8, "little")
    assert data.count(length) >= 3  # of the batch and of its two columns
    path.write_bytes(data.replace(length, (10**15).to_bytes(8, "little")))
    assert "found 1,000,000,000,000,000 rows in 0 bytes" in complaint(path)


def test_an_index_is_a_column_but_not_any_is(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:2\n" + "-1 2:1\n" * 600 + "1 99999:1\n")
    assert complaint(path) == (
        "FILE, line 602: found the index 99999; expected at most 20,480 columns "
        "(--covariance low-rank takes more)."
    )
    path.write_text("1 1:2\n1 " + "9" * 5000 + ":1\n")
    assert complaint(path).startswith("FILE, line 2: found the index 99999999")
    path.write_text("1 1:2\n" + "-1 2:1\n" * 600 + "1 999:1\n")
    assert read(path) == [(602, [])]
    path.write_text("1 1:2\n-1 2:1\n1 19999:1\n")
    assert read(path) == [(3, [])]


WIDE = ",".join(f'"c{k}": {k}' for k in range(5000))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # Each short line is a row as wide as the first one: 120 MB of numbers.
        ("rows.jsonl", f'{{{WIDE}, "label": "x"}}\n' + '{"label": "y"}\n' * 3000),
        ("rows.jsonl", f'{{{WIDE}, "label": "x"}}\n' + '{"label": "y" }\n\n' * 1000),
        ("rows.svm", "1 5000:1\n" + "-1\n" * 3000),
    ],
)
@pytest.mark.processes
def test_short_lines_of_wide_tables_are_read_a_few_at_a_time(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    n_rows = len(text.split("\n")) - text.count("\n\n") - 1
    assert read(path, limit=100 * 2**20) == [(n_rows, [])]


def test_there_are_not_any_number_of_columns(tmp_path):
    names = [f"c{k}" for k in range(20_481)]
    row = dict.fromkeys(names, 1.0)
    (tmp_path / "rows.csv").write_text(",".join(names) + "\n")
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    table = pa.table({name: [1.0] for name in names})
    parquet.write_table(table, tmp_path / "rows.parquet")
    write_arrow(tmp_path / "rows.arrow", table)
    for name, place, what in [
        ("rows.csv", "FILE, line 1", "columns"),
        ("rows.jsonl", "FILE, line 1", "keys"),
        ("rows.parquet", "FILE", "columns"),
        ("rows.arrow", "FILE", "columns"),
    ]:
        message = complaint(tmp_path / name)
        assert message == f"{place}: found 20,481 {what}; expected at most 20,480."


def test_a_column_has_a_name_of_some_length(tmp_path):
    name = "n" * 10**6
    (tmp_path / "rows.csv").write_text(f"a,{name},label\n1,2,x\n")
    (tmp_path / "rows.jsonl").write_text(json.dumps({"a": 1, name: 2, "label": "x"}) + "\n")
    table = pa.table({"a": [1.0], name: [2.0], "label": ["x"]})
    parquet.write_table(table, tmp_path / "rows.parquet")
    write_arrow(tmp_path / "rows.arrow", table)
    for file in ("rows.csv", "rows.jsonl", "rows.parquet", "rows.arrow"):
        message = complaint(tmp_path / file)
        assert message.endswith("nnn...', of 1,000,000 characters; expected at most 1,000.")
        assert len(message) < 300


def test_a_long_name_is_not_said_in_full(tmp_path):
    path = tmp_path / "rows.csv"
    name = "n" * 900
    path.write_text(f"{name},label\ninf,x\n")
    assert len(complaint(path)) < 400
    path.write_text("".join(f"{name}{k}," for k in range(90)) + "label\n1,x\n")
    with pytest.raises(BadInput) as raised:
        open_rows([str(path)], label="none")
    assert len(str(raised.value)) < 4000


@pytest.mark.processes
def test_blank_lines_take_no_memory(tmp_path):
    path = tmp_path / "rows.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"a,label\n1,x\n2,y\n")
        for _ in range(200):
            file.write(b"\n" * 2**20)
        file.write(b"3,x\n")
    assert read(path, limit=150 * 2**20) == [(3, [])]


@pytest.mark.processes
def test_rows_that_are_no_rows_take_no_memory_before_they_are_told(tmp_path):
    path = tmp_path / "rows.csv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"a,label\n1,x\n2,y\n")
        for _ in range(80):
            file.write((b"z" * 2**17 + b"\n") * 8)
    [(n_rows, problems)] = read(path, on_error="skip", limit=70 * 2**20)
    assert n_rows == 2
    assert problems[0].startswith(
        f"{path}, line 4: found 1 field; expected 2, as in the first line"
    )


def test_a_compressed_file_of_many_parts_is_put_together_once(tmp_path):
    path = tmp_path / "rows.csv.gz"
    rows = [b"1,x\n", b"2,y\n"] * 10_000
    parts = {row: gzip.compress(row, mtime=0) for row in set(rows)}
    path.write_bytes(gzip.compress(b"a,label\n") + b"".join(parts[row] for row in rows))
    assert read(path) == [(20_000, [])]


def test_a_row_that_comes_in_many_small_parts_is_looked_at_a_few_times(monkeypatch):
    from virtualvector.streams import chunks

    data = b'a,label\n1,"' + b"x\n" * 2**20 + b'",y\n'
    looked = []
    cut = chunks.after_last_record(",")

    def counted(seen):
        looked.append(len(seen))
        return cut(seen)

    blocks = [data[start : start + 1000] for start in range(0, len(data), 1000)]
    found = list(chunks.chunks("rows", blocks, counted))
    assert b"".join(chunk.data for chunk in found) == data
    assert sum(looked) < 20 * len(data)


def test_endless_labels_are_not_put_side_by_side(tmp_path):
    from virtualvector.streams import read as read_all

    path = tmp_path / "rows.csv"
    path.write_text("a,label\n" + "1,x\n" * 100_000 + f"2,{'y' * 900}\n" * 3)
    with pytest.raises(BadInput, match=r"found labels of up to 900 characters in so many rows"):
        read_all(str(path))
    path.write_text("a,label\n" + "1,x\n" * 100_000 + f"2,{'y' * 60}\n" * 3)
    assert read_all(str(path)).labels.shape == (100_003,)


def test_bad_rows_stay_bad_rows_in_dictionaries(tmp_path):
    path = tmp_path / "rows.arrow"
    town = pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1, 2, 1], pa.int8()), ["oslo", LONG, "rome"]
    )
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0, 5.0], "town": town, "label": list("xyxyx")})
    write_arrow(path, table)
    reader = open_rows([str(path)], on_error="skip")
    rows, _ = all_of(reader)
    assert rows == [(1.0, "oslo", "x"), (2.0, None, "y"), (4.0, "rome", "y")]
    message = "column 'town': found a text of 1,048,576 characters; expected at most 65,536."
    assert reader.problems == [f"{path}, row 3, {message}", f"{path}, row 5, {message}"]


def test_long_numbers_take_no_square_of_their_length(tmp_path):
    numbers = ["9" + "7" * 10**6, "0" * 10**6 + "7", "1." + "7" * 10**6, f".{'5' * 10**6}e3"]
    paths = []
    for k, number in enumerate(numbers):
        paths += [tmp_path / f"{k}.csv", tmp_path / f"{k}.svm"]
        paths[-2].write_text(f"a,label\n1,x\n{number},y\n")
        paths[-1].write_text(f"1 1:2\n-1 1:{number}\n")
    for n_rows, told in read(*paths, on_error="skip"):
        assert n_rows + len(told) == 2


def test_short_and_long_numbers_are_the_same_ones():
    rng = np.random.default_rng(0)
    for _ in range(200):
        digits = "".join(rng.choice(list("0123456789"), 1200))
        place = int(rng.integers(0, 1200))
        text = f"{digits[:place]}.{digits[place:]}e{rng.integers(-1500, 300)}"
        assert number_in(text) == float(text)
    for text in ("1" * 1500 + "x", "1" * 1500 + "_0", "-" * 1500, "0x" + "1" * 1500):
        assert number_in(text) is None


@pytest.mark.parametrize("column", ["town", "label"])
@pytest.mark.parametrize("name", ["rows.arrow", "rows.parquet"])
def test_a_long_text_that_many_rows_use_is_refused(tmp_path, name, column):
    n_rows, path = 300_000, tmp_path / name
    columns = {"a": np.zeros(n_rows), "town": alike("x", n_rows), "label": alike("y", n_rows)}
    table = pa.table(columns | {column: alike("z" * 200_000, n_rows)})
    if name == "rows.arrow":
        write_arrow(path, table, "zstd")
    else:
        parquet.write_table(table, path)
    assert path.stat().st_size < 400_000
    ((read_rows, told),) = read(path, on_error="skip")
    assert read_rows == 0
    assert f"column '{column}': found 300,000 rows with texts of up to 200,000 bytes" in told


@pytest.mark.processes
def test_twenty_thousand_columns_take_little_memory_beside_their_cells(tmp_path):
    path = tmp_path / "wide.csv"
    names = ",".join([*(f"c{k}" for k in range(20_000)), "label"])
    row = ",".join(["0.123456"] * 20_000)
    path.write_text("\n".join([names, *(f"{row},{'xy'[k % 2]}" for k in range(40))]) + "\n")
    # 6 MB as numbers. For all that may stand for a missing value, Arrow would take 900 MB.
    assert read(path, limit=500 * 2**20) == [(40, [])]
