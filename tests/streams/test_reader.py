"""What the columns hold, which one is the label, and what a model expects."""

import gzip
import json
from itertools import product

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.streams.gathering import all_of, complaint
from virtualvector.datasets import load_thyroid
from virtualvector.streams import BadInput, Column, open_rows
from virtualvector.values import PEEK

LEARNED = (Column("a", categorical=False), Column("b", categorical=True))


@pytest.fixture
def write(tmp_path):
    def write(text, name="rows.csv"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_the_first_rows_decide_what_a_column_holds(write):
    path = write(
        "number,signed,missing,nothing,truth,name,mixed,label\n"
        "1,-1e3,,,true,red,1,x\n"
        " 2 ,+.5, NA ,?,false,blue,x,y\n"
    )
    with open_rows([path]) as reader:
        held = {column.name: column.categorical for column in reader.columns}
        (batch,) = reader
    assert [name for name, categorical in held.items() if categorical] == ["truth", "name", "mixed"]
    assert batch.table.schema.types == [
        pa.string() if categorical else pa.float64() for categorical in held.values()
    ]
    assert batch.table.to_pylist()[1] == {
        "number": 2.0, "signed": 0.5, "missing": None, "nothing": None,
        "truth": "false", "name": "blue", "mixed": "x",
    }  # fmt: skip
    assert reader.n_rows is None
    assert reader.classes is None


@pytest.mark.parametrize(
    ("text", "n_texts"),
    [
        *product(["red", "$12.50", "12.3%", "1 234", "oops"], [1, 49]),
        *product(["red", "A12", "oops"], [50]),
    ],
)
def test_most_of_the_first_rows_decide(write, n_texts, text):
    categorical = n_texts == 50
    lines = ["1,x"] * (PEEK - n_texts) + [f"{text},x"] * n_texts + [f"{text},x"] * PEEK
    path = write("\n".join(["a,label", *lines]))
    reader = open_rows([path])
    assert reader.columns == (Column("a", categorical),)
    rows, message = all_of(reader)
    assert len(rows) == (2 * PEEK if categorical else PEEK - n_texts)
    assert (message is None) == categorical
    if not categorical:
        place = f"{path}, line {PEEK - n_texts + 2}, column 'a': found {text!r}"
        means = {
            "$12.50": ", a number with signs; expected 12.5,",
            "12.3%": ", a number with signs; expected 12.5,",
            "1 234": ", a number with other signs between its digits; expected 1234.5,",
        }
        assert message.startswith(place + means.get(text, "; expected a number,"))
        assert "--categorical a" in message
        assert "--on-error skip" in message
        assert ("--missing" in message) == (text in ("red", "oops"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("$12.50", "with signs; expected 12.5"),
        ("12.3%", "with signs; expected 12.5"),
        ("1 234", "with other signs between its digits; expected 1234.5"),
    ],
)
def test_half_a_column_of_numbers_with_signs_is_in_doubt(write, text, words):
    path = write("\n".join(["a,label", *["1,x"] * (PEEK // 2), *[f"{text},x"] * (PEEK // 2)]))
    message = complaint(path)
    assert message.startswith(f"FILE, column 'a': found {text!r}, a number {words} (")
    assert "--categorical a" in message


def test_columns_can_be_said_to_hold_names(write):
    path = write("a,b,label\n1,01,x\n2,02,y\n")
    reader = open_rows([path], categorical=["b"])
    assert all_of(reader)[0] == [(1.0, "01", "x"), (2.0, "02", "y")]
    message = complaint(path, categorical=["c"])
    assert message == "FILE: found no column 'c' (--categorical); the columns are 'a', 'b'."


def test_what_means_missing_can_be_said(write):
    path = write("a,b,label\n-9,none,x\n1, -9 ,y\n")
    reader = open_rows([path], missing=["-9", "none"])
    assert all_of(reader)[0] == [(None, None, "x"), (1.0, None, "y")]


@pytest.mark.parametrize(
    ("header", "label", "reason"),
    [
        ("a,b,c", "c", "the last column"),
        ("a,Class,c", "Class", "the only column called 'Class'"),
        ("Y,b,c", "Y", "the only column called 'Y'"),
        ("label,b,target", "target", "the last column"),
        ("y,class,c", "c", "the last column"),
    ],
)
def test_the_label_is_guessed_from_the_names(write, header, label, reason):
    reader = open_rows([write(f"{header}\n1,1,1\n0,0,0\n")])
    assert (reader.label, reader.label_reason, reader.first_classes) == (label, reason, ("0", "1"))
    assert label not in [column.name for column in reader.columns]


def test_the_label_can_be_asked_for(write):
    path = write("a,b,label\n1, x ,2\n3,y,4\n")
    reader = open_rows([path], label="b")
    assert (reader.label, reader.label_reason) == ("b", "as asked")
    assert all_of(reader)[0] == [(1.0, 2.0, "x"), (3.0, 4.0, "y")]
    message = complaint(path, label="c")
    assert message == "FILE: found no column 'c' (--label); the columns are 'a', 'b', 'label'."


def test_labels_that_do_not_come_again_are_no_classes(write):
    few = "".join(f"1,{row % 20}\n" for row in range(30))
    assert len(open_rows([write("a,b\n" + few)]).first_classes) == 20
    many = "".join(f"1,{row}\n" for row in range(30))
    assert complaint(write("a,b\n" + many)) == (
        "FILE, column 'b': found 30 different values in 30 rows; expected a few classes that come "
        "again and again."
    )


@pytest.mark.parametrize("label", [1, "1", True, 1.5])
def test_labels_are_texts_in_all_formats(tmp_path, label):
    rows = [{"a": 1.0, "label": label}, {"a": 2.0, "label": label}]
    expected = "true" if label is True else str(label)
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [row[-1] for row in all_of(open_rows([str(path)]))[0]] == [expected] * 2
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.Table.from_pylist(rows), path)
    assert [row[-1] for row in all_of(open_rows([str(path)]))[0]] == [expected] * 2


# --- what a model expects -------------------------------------------------------------------------

FILES = {
    "rows.csv": "label,b,a\nx,red,1\ny,7,2\n",
    "rows.tsv": "label\tb\ta\nx\tred\t1\ny\t7\t2\n",
    "rows.jsonl": '{"label": "x", "b": "red", "a": 1}\n{"label": "y", "b": 7, "a": 2}\n',
}


@pytest.mark.parametrize("name", FILES)
def test_columns_are_put_in_the_order_that_a_model_expects(write, name):
    path = write(FILES[name], name)
    reader = open_rows([path], columns=LEARNED, label="label")
    assert reader.columns == LEARNED
    assert all_of(reader) == ([(1.0, "red", "x"), (2.0, "7", "y")], None)
    without = open_rows([path], columns=LEARNED, label="label", labelled=False)
    assert without.label is None
    assert all_of(without) == ([(1.0, "red"), (2.0, "7")], None)


def test_a_model_needs_no_label_to_predict(write):
    reader = open_rows([write("b,a\nred,1\n")], columns=LEARNED, label="label", labelled=False)
    assert all_of(reader) == ([(1.0, "red")], None)
    one = open_rows([write("a\n1\n\n2\n")], columns=LEARNED[:1], label="label", labelled=False)
    assert all_of(one) == ([(1.0,), (2.0,)], None)


@pytest.mark.parametrize(
    ("header", "labelled", "message"),
    [
        ("a,c,label", True, "no column 'b'"),
        ("a,label", True, "no column 'b'"),
        ("c,label", False, "no column 'a', 'b'"),
    ],
)
def test_columns_that_are_missing_are_named(write, header, labelled, message):
    path = write(header + "\n" + ",".join("1" * (header.count(",") + 1)) + "\n")
    found = complaint(path, columns=LEARNED, label="label", labelled=labelled)
    expected = "'a', 'b', 'label'" if labelled else "'a', 'b'"
    there = ", ".join(map(repr, header.split(",")))
    assert found == f"FILE: found {message}; expected {expected}, in any order; found {there}."


@pytest.mark.parametrize(
    ("header", "more"), [("a,b,c,label", "'c'"), ("d,a,b,c", "'d', 'c'"), ("label,b,a", None)]
)
def test_columns_that_a_model_does_not_have_are_left_out_with_a_note(write, header, more):
    row = ",".join({"a": "1", "b": "x"}.get(name, "9") for name in header.split(","))
    path = write(f"{header}\n{row}\n")
    reader = open_rows([path], columns=LEARNED, label="label", labelled=False)
    assert all_of(reader) == ([(1.0, "x")], None)
    expected = [f"{path}: left out: {more}, which the model does not have"] if more else []
    assert reader.notes == expected


def test_a_label_to_evaluate_with_has_to_be_there(write):
    message = complaint(write("a,b\n1,x\n"), columns=LEARNED, label="label")
    assert message == "FILE: found no column 'label' (--label); the columns are 'a', 'b'."


def test_text_where_a_model_expects_numbers_is_bad(write, tmp_path):
    message = complaint(write("a,b,label\nred,1,x\n"), columns=LEARNED, label="label")
    assert message == (
        "FILE, line 2, column 'a': found 'red'; expected a number, as was learned ("
        "--missing red if it stands for a missing value; --on-error skip leaves such rows out)."
    )
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"a": ["red"], "b": [1], "label": ["x"]}), path)
    message = complaint(path, columns=LEARNED, label="label")
    assert message == "FILE, column 'a': found categories; expected numbers, as was learned."


# --- sources --------------------------------------------------------------------------------------


def test_several_files_are_read_one_after_the_other(write, tmp_path):
    write("a,b,label\n1,2,x\n", "part-1.csv")
    write("label,b,a\ny,4,3", "part-2.csv")
    write('{"b": 6, "a": 5, "label": "x"}\n', "part-3.jsonl")
    expected = [(1.0, 2.0, "x"), (3.0, 4.0, "y"), (5.0, 6.0, "x")]
    files = [str(tmp_path / name) for name in ("part-1.csv", "part-2.csv", "part-3.jsonl")]
    for sources in (files, [str(tmp_path / "part-*")], [files[0], str(tmp_path / "part-[23].*")]):
        reader = open_rows(sources)
        assert all_of(reader) == (expected, None)
        assert all_of(reader) == (expected, None)
        places = [batch.place(0, None) for batch in reader]
        assert places == [f"{files[0]}, line 2", f"{files[1]}, line 2", f"{files[2]}, line 1"]


def test_files_of_other_columns_are_noticed_when_they_are_reached(write, tmp_path):
    paths = [write("a,b,label\n1,2,x\n", "one.csv"), write("a,c,label\n3,4,y\n", "two.csv")]
    rows, message = all_of(open_rows(paths))
    assert rows == [(1.0, 2.0, "x")]
    assert message == (
        f"{paths[1]}: found no column 'b'; expected 'a', 'b', 'label', in any order; found 'a', "
        "'c', 'label'."
    )


def test_typed_files_know_their_number_of_rows(tmp_path):
    for name in ("one.parquet", "two.parquet"):
        parquet.write_table(pa.table({"a": [1, 2], "label": ["x", "y"]}), tmp_path / name)
    assert open_rows([str(tmp_path / "*.parquet")]).n_rows == 4


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(write):
    path = write("a,label\n1,x\n", "rows[1].csv")
    assert all_of(open_rows([path])) == ([(1.0, "x")], None)


def test_the_format_can_be_said(write):
    path = write("a\tlabel\n1\tx\n", "rows.txt")
    assert all_of(open_rows([path], format="tsv")) == ([(1.0, "x")], None)
    message = "Found the format 'xls'; expected one of csv, tsv, parquet, arrow, jsonl, svmlight."
    assert complaint(path, format="xls") == message


def test_sources_that_are_not_there_are_said_to_be_missing(tmp_path):
    expected = "; expected a file, or one of spambase, thyroid, ionosphere."
    assert complaint(tmp_path / "none.csv") == "FILE: no such file" + expected
    assert complaint(tmp_path) == "FILE: this is a folder" + expected
    message = "FILE: found no file of such a name; expected one or more."
    assert complaint(tmp_path / "*.csv") == message
    with pytest.raises(BadInput, match=r"^Found no source;"):
        open_rows([])


def test_a_file_that_vanishes_is_said_to_be_missing(write, tmp_path):
    path = write("a,label\n1,x\n")
    reader = open_rows([path])
    list(reader)
    (tmp_path / "rows.csv").unlink()
    assert all_of(reader) == ([], f"{path}: No such file or directory.")


def test_shipped_data_comes_shuffled_and_is_not_hidden_by_a_file(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("a,label\n1,x\n", "thyroid")
    data = load_thyroid(random_state=3)
    reader = open_rows(["thyroid"], seed=3)
    assert (reader.n_rows, reader.classes) == (215, ("hyper", "hypo", "normal"))
    rows, message = all_of(reader)
    assert message is None
    assert [row[:-1] for row in rows] == [tuple(row) for row in data.data.tolist()]
    assert [row[-1] for row in rows] == data.target_names[data.target].tolist()
    assert all_of(open_rows(["./thyroid"], format="csv")) == ([(1.0, "x")], None)


def test_a_closed_reader_leaves_no_file_open(tmp_path):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a,label\n1,x\n"))
    with open_rows([str(path)]) as reader:
        assert reader.first_classes == ("x",)
    with open_rows([str(path)]) as reader:
        next(iter(reader))
