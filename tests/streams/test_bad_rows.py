"""A bad row is named by file, line and column; the others are read all the same."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.streams.gathering import FIELDS, all_of, complaint, in_chunks
from virtualvector.streams import Column, open_rows
from virtualvector.values import PEEK

GOOD = [(0.5, "red", "x"), (1.5, "blue, dark", "y")] * (PEEK // 2 + 10)
FINITE = "expected a finite number; leave the cell empty where a value is missing."
NUMBER = "expected a number, as in most of the first rows ("
WAYS = "--categorical a if these are categories; --on-error skip leaves such rows out)."
UTF_8 = "found bytes that are no UTF-8; expected text in UTF-8 (--encoding says in what else)."


def as_missing(text):
    return f"--missing {text} if it stands for a missing value; "


# What is wrong, as a line of CSV and of JSON, and what is said of it.
CSV = {
    "a field too few": (b"1,red", f": found 2 fields; expected 3{FIELDS}"),
    "a field too many": (b"1,red,x,2", f": found 4 fields; expected 3{FIELDS}"),
    "only blanks": (b"  ", f": found 1 field; expected 3{FIELDS}"),
    "text": (b"abc,red,x", f", column 'a': found 'abc'; {NUMBER}{as_missing('abc')}{WAYS}"),
    "a long text": (b"a" * 99 + b",red,x", f", column 'a': found '{'a' * 37}...'; {NUMBER}{WAYS}"),
    "a number of another kind": (b"0x10,red,x", f", column 'a': found '0x10'; {NUMBER}{WAYS}"),
    "inf": (b"-inf,red,x", f", column 'a': found -inf; {FINITE}"),
    "too large": (b"1e999,red,x", f", column 'a': found inf; {FINITE}"),
    "an empty label": (
        b"1,red,",
        ", column 'kind': found no label, or NA; expected a class.",
    ),
    "a missing label": (
        b"1,red, NA",
        ", column 'kind': found no label, or NA; expected a class.",
    ),
    "bad UTF-8 in a name": (b"1,\xff,x", f", column 'b': {UTF_8}"),
    "bad UTF-8 in a label": (b"1,red,\xc3", f", column 'kind': {UTF_8}"),
    "bad UTF-8 in a number": (b"1\xff,red,x", f", column 'a': {UTF_8}"),
}
JSON = {
    "no JSON": (b"{'a': 1}", ": found \"{'a': 1}\"; expected a JSON object."),
    "no object": (b"[1, 2]", ": found '[1, 2]'; expected a JSON object."),
    "null": (b"null", ": found 'null'; expected a JSON object."),
    "two objects": (b"{}{}", ": found '{}{}'; expected a JSON object."),
    "text": (b'{"a": "abc", "b": "red", "kind": "x"}',
             f", column 'a': found 'abc'; {NUMBER}{as_missing('abc')}{WAYS}"),
    "a number in quotes": (b'{"a": "1", "b": "u", "kind": "x"}',
                           f", column 'a': found '1'; {NUMBER}{WAYS}"),
    "true": (b'{"a": true, "b": "red", "kind": "x"}',
             f", column 'a': found 'true'; {NUMBER}{as_missing('true')}{WAYS}"),
    "inf": (b'{"a": -Infinity, "b": "u", "kind": "x"}', f", column 'a': found -inf; {FINITE}"),
    "too large": (b'{"a": 1e999, "b": "u", "kind": "x"}', f", column 'a': found inf; {FINITE}"),
    "infinity for a name": (b'{"a": 1, "b": Infinity, "kind": "x"}',
                            ", column 'b': found Infinity; expected a name, or null "
                            "where it is missing."),
    "an empty label": (b'{"a": 1, "b": "u", "kind": ""}',
                       ", column 'kind': found no label, or NA; expected a class."),
    "no label": (b'{"a": 1, "b": "u"}',
                 ", column 'kind': found no label, or NA; expected a class."),
    "nested": (b'{"a": [1], "b": "u", "kind": "x"}',
               ", column 'a': found a list or an object; expected a number, a text or null "
               "(--ignore a leaves it out)."),
    "an unknown key": (b'{"z": 1, "kind": "x"}',
                       ", column 'z': found a key that the first rows do not have; expected theirs "
                       "(--ignore z leaves it out; --on-error skip leaves such rows out)."),
    "a key twice": (b'{"a": 1, "a": 2, "kind": "x"}',
                    ", column 'a': found the key twice; expected it once."),
    "bad UTF-8": (b'{"a": 1, "b": "\xff", "kind": "x"}', f", column 'b': {UTF_8}"),
    "half a character": (b'{"a": 1, "b": "\\ud800", "kind": "x"}', f", column 'b': {UTF_8}"),
}  # fmt: skip


def csv_line(row):
    return '{},"{}",{}'.format(*row).encode()


def json_line(row):
    return json.dumps(dict(zip(("a", "b", "kind"), row, strict=True))).encode()


FORMATS = {
    "rows.csv": (b"a,b,kind\n", csv_line, CSV, 2),
    "rows.jsonl": (b"", json_line, JSON, 1),
}
CASES = [
    pytest.param(file, line, message, at, id=f"{file}, {what}, {at}")
    for file, (_, _, cases, _) in FORMATS.items()
    for what, (line, message) in cases.items()
    for at in (0, 1, PEEK + 5, len(GOOD))
    if at > PEEK or "a key that" not in message  # which is a column, among the first rows
]


@pytest.mark.parametrize("chunk", [1000, 10**6])
@pytest.mark.parametrize(("file", "line", "message", "at"), CASES)
def test_a_bad_row_stops_behind_the_good_ones_or_is_left_out(
    tmp_path, file, line, message, at, chunk
):
    begin, written, _, first_line = FORMATS[file]
    lines = [written(row) for row in GOOD]
    lines.insert(at, line)
    path = tmp_path / file
    path.write_bytes(begin + b"\n".join(lines) + b"\n")
    expected = f"{path}, line {first_line + at}{message}"

    assert all_of(in_chunks(path, chunk)) == (GOOD[:at], expected)

    reader = in_chunks(path, chunk, stop=False)
    assert all_of(reader) == (GOOD, None)
    assert (reader.skipped, reader.problems) == (1, [expected])


def test_bad_rows_are_left_out_wherever_they_are(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [b"%d,name,%s" % (row, b"xy"[row % 2 :][:1]) for row in range(20_000)]
    bad = range(PEEK, 20_000, 777)
    for row in bad:
        lines[row] = b"oh," + lines[row]
    path.write_bytes(b"a,b,label\n" + b"\n".join(lines))
    reader = open_rows([str(path)], on_error="skip")
    rows, message = all_of(reader)
    assert message is None
    assert [row[0] for row in rows] == [row for row in range(20_000) if row not in bad]
    assert reader.skipped == len(bad)
    assert reader.problems == [
        f"{path}, line {row + 2}: found 4 fields; expected 3{FIELDS}" for row in bad[:10]
    ]
    assert all_of(reader)[0] == rows  # another pass counts again from nothing
    assert reader.skipped == len(bad)


def test_the_place_of_a_row_is_its_first_line(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b'\r\na,b,label\r\n1,"two\r\nlines",x\r\n\r\n2,"",y\r\nno,"",y\r\n3,"",x\r\n')
    with open_rows([str(path)], label="label", categorical=["b"], on_error="skip") as reader:
        places = [batch.place(row, "b") for batch in reader for row in range(batch.table.num_rows)]
    assert places == [f"{path}, line {line}, column 'b'" for line in (3, 6, 8)]


def test_an_open_quote_is_one_bad_row(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b'a,b,label\n1,2,x\n1,"2,y\n3,4,x\n5,6,y\n')
    rows, message = all_of(in_chunks(path))
    assert rows == [(1.0, 2.0, "x")]
    assert message == f"{path}, line 3: found a quote that is not closed; expected its end."


def test_a_row_may_not_be_endless(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(b'a,b,label\n1,2,x\n1,"' + b"2,y\n" * 2**23)
    rows, message = all_of(in_chunks(path, stop=False))
    assert rows == [(1.0, 2.0, "x")]
    assert message.startswith(f"{path}, line 3: found a row of more than 4 MiB;")


def test_bad_rows_of_typed_files_are_numbered(tmp_path):
    path = tmp_path / "rows.parquet"
    n = 20_000
    a = [float(row) for row in range(n)]
    label = ["x", "y"] * (n // 2)
    a[3], a[15_000], label[9_000] = float("-inf"), float("inf"), None
    parquet.write_table(pa.table({"a": a, "label": label}), path)
    expected = [
        f"{path}, row 4, column 'a': found -inf; {FINITE}",
        f"{path}, row 9001, column 'label': found no label, or NA; expected a class.",
        f"{path}, row 15001, column 'a': found inf; {FINITE}",
    ]
    assert all_of(open_rows([str(path)])) == ([(0.0, "x"), (1.0, "y"), (2.0, "x")], expected[0])
    reader = open_rows([str(path)], on_error="skip")
    rows, _ = all_of(reader)
    assert [row[0] for row in rows] == [a[row] for row in range(n) if row not in (3, 9_000, 15_000)]
    assert (reader.skipped, reader.problems) == (3, expected)


SVMLIGHT = {
    "y 1:2": ", column 'label': found 'y'; expected a number as a label.",
    "1 a:2": ": found 'a:2'; expected index:value.",
    "1 2": ": found '2'; expected index:value.",
    "1 0:2": ": found the index 0; expected indices from 1 to 3 (--on-error skip leaves such rows "
    "out).",
    "1 2:1 2:2": ": found the index 2 after 2; expected them to rise.",
    "1 3:1 2:2": ": found the index 2 after 3; expected them to rise.",
    "1 2:inf": f", column 'f2': found inf; {FINITE}",
    "1 2:x": ", column 'f2': found 'x'; expected a number, as was learned (--missing x if it "
    "stands for a missing value; --on-error skip leaves such rows out).",
}


@pytest.mark.parametrize(("line", "message"), SVMLIGHT.items(), ids=SVMLIGHT)
def test_bad_lines_of_svmlight_are_named(tmp_path, line, message):
    path = tmp_path / "rows.svm"
    path.write_text(f"1 1:2 3:4\n{line}\n-1 qid:7 2:5 # said\n")
    columns = [Column(f"f{index}", categorical=False) for index in (1, 2, 3)]
    rows, stopped = all_of(open_rows([str(path)], columns=columns, label="label"))
    assert (rows, stopped) == ([(2.0, 0.0, 4.0, "1")], f"{path}, line 2{message}")
    reader = open_rows([str(path)], columns=columns, label="label", on_error="skip")
    assert all_of(reader) == ([(2.0, 0.0, 4.0, "1"), (0.0, 5.0, 0.0, "-1")], None)


def test_what_no_row_can_tell_is_said_at_once(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("null\n")
    assert complaint(path) == "FILE, line 1: found 'null'; expected a JSON object."
    path.write_text("\n")
    assert complaint(path) == "FILE: found no rows; expected some."
