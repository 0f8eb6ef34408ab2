import gzip

import numpy as np
import pytest

from tests.streams.gathering import FIELDS
from virtualvector.datasets import load_spambase
from virtualvector.streams import BadInput, read


@pytest.fixture
def write(tmp_path):
    def write(text, name="rows.csv"):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return str(path)

    return write


def complaint(source, label=None):
    """Return what is wrong with a source, without the folder that it is in."""
    with pytest.raises(BadInput) as caught:
        read(source, label)
    return str(caught.value).replace(source, "FILE")


def test_a_table_has_rows_labels_and_names(write):
    stream = read(write("a,b,kind\n1,2.5,x\n-3,4e2,y\n5,6,x\n"))
    assert stream.name == "rows"
    assert stream.rows.tolist() == [[1.0, 2.5], [-3.0, 400.0], [5.0, 6.0]]
    assert stream.rows.dtype == np.float64
    assert stream.labels.tolist() == ["x", "y", "x"]
    assert stream.columns == ["a", "b"]
    assert stream.classes.tolist() == ["x", "y"]
    assert stream.label_column == "kind"


@pytest.mark.parametrize("name", ["rows.tsv", "rows.tsv.gz"])
def test_tabs_and_gzip_are_known_by_the_name(write, name):
    stream = read(write("a\tb\tkind\n1\t2\tx\n3\t4\ty\n", name))
    assert stream.rows.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_any_column_can_be_the_label(write):
    stream = read(write("kind,a\n1,7\n0,8\n"), "kind")
    assert stream.labels.tolist() == ["1", "0"]
    assert (stream.columns, stream.label_column) == (["a"], "kind")


def test_true_and_false_are_one_and_zero(write):
    assert read(write("a,kind\ntrue,x\nfalse,y\n")).rows.tolist() == [[1.0], [0.0]]


def test_shipped_data_is_shuffled_with_the_seed():
    first, again, other = (
        read("spambase", seed=1),
        read("spambase", seed=1),
        read("spambase", seed=2),
    )
    X, y = load_spambase(return_X_y=True, random_state=1)
    np.testing.assert_array_equal(first.rows, X)
    assert ((first.labels == "spam") == (y == 1)).all()
    np.testing.assert_array_equal(first.rows, again.rows)
    assert (first.rows != other.rows).any()
    assert first.classes.tolist() == ["ham", "spam"]


def test_shipped_data_has_its_own_label():
    assert read("ionosphere", "label").label_column == "label"
    assert "no column 'a'" in complaint("ionosphere", "a")


def test_a_missing_file_is_said_to_be_missing_beside_what_is_there(tmp_path):
    message = complaint(str(tmp_path / "none.csv"))
    assert message == (
        "FILE: no such file; expected a file, or one of spambase, thyroid, ionosphere."
    )
    assert complaint(str(tmp_path)).startswith("FILE: this is a folder;")


HEAD = "a,b,kind\n"
GAP = "; leave the cell empty where a value is missing."
BAD = {
    "no rows": (HEAD, "FILE: found no rows; expected some."),
    "no header": ("", "FILE, line 1: found nothing; expected names of columns, and rows."),
    "numbers as header": ("1,2,3\n4,5,6\n",
                          "FILE, line 1: found numbers; expected names of columns "
                          "(--no-header if there are none)."),
    "a name twice": ("a,a,kind\n1,2,x\n",
                     "FILE, line 1: found the column 'a' more than once; expected names that "
                     "differ."),
    "one column": ("a b kind\n1 2 x\n",
                   "FILE, line 1: found 'a b kind'; expected the names of two columns or more, "
                   "with ',' in between (--delimiter for others)."),
    "text": (HEAD + "1,2,x\n3,red,y\n4,blue,x\n5,green,y\n",
             "FILE, line 3, column 'b': found 'red'; expected a number. Not all numbers: 'b'."),
    "columns of text": ("a,town,b,day,kind\n1,Ulm,2,2024-01-31,x\n3,Bonn,4,2024-02-01,y\n",
                        "FILE, line 2, column 'town': found 'Ulm'; expected a number. "
                        "Not all numbers: 'town'."),
    "nan": (HEAD + "1,2,x\n3,nan,y\n",
            "FILE, line 3, column 'b': found an empty cell; expected a finite number."),
    "infinity": (HEAD + "1,2,x\n-inf,3,y\n",
                 "FILE, line 3, column 'a': found -inf; expected a finite number" + GAP),
    "empty cell": (HEAD + "1,,x\n3,4,y\n",
                   "FILE, line 2, column 'b': found an empty cell; expected a finite number."),
    "empty column": (HEAD + "1,,x\n3,,y\n",
                     "FILE, line 2, column 'b': found an empty cell; expected a finite number."),
    "empty label": (HEAD + "1,2,x\n3,4,\n",
                    "FILE, line 3, column 'kind': found no label, or NA; expected a class."),
    "one class": (HEAD + "1,2,x\n3,4,x\n",
                  "FILE, column 'kind': found only the class 'x'; expected two or more."),
    "too many classes": (HEAD + "".join(f"1,2,{k}\n" for k in range(9)),
                         "FILE, column 'kind': found 9 different values in 9 rows; expected a few "
                         "classes that come again and again."),
    "a field too few": (HEAD + "1,2,x\n3,y\n",
                        f"FILE, line 3: found 2 fields; expected 3{FIELDS}"),
    "blank lines before": (HEAD + "\n1,2,x\n\n3,y\n",
                           f"FILE, line 5: found 2 fields; expected 3{FIELDS}"),
    "blank lines between": (HEAD + "1,2,x\n\n\n3,inf,y\n",
                            "FILE, line 5, column 'b': found inf; expected a finite number" + GAP),
    "a label over two lines": (HEAD + '1,2,"x\nx"\n3,inf,y\n',
                               "FILE, line 4, column 'b': found inf; expected a finite number"
                               + GAP),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_with_its_place(write, text, expected):
    assert complaint(write(text)) == expected


def test_a_label_that_is_not_there_is_answered_with_the_columns(write):
    message = complaint(write(HEAD + "1,2,x\n3,4,y\n"), "class")
    assert message == "FILE: found no column 'class' (--label); the columns are 'a', 'b', 'kind'."


def test_other_formats_are_not_taken_for_csv(write):
    assert complaint(write("a,b\n", "rows.parquet")).startswith("FILE: ")
    assert complaint(write("a,b\n", "rows.txt")).startswith("FILE: found no known ending;")


def test_a_truncated_or_false_gzip_is_bad_input(write, tmp_path):
    whole = gzip.compress((HEAD + "1,2,x\n3,4,y\n" * 2000).encode())
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    assert complaint(str(path)).startswith("FILE: ")
    path.write_bytes(b"a,b,kind\n")
    assert complaint(str(path)).startswith("FILE: ")


def test_bytes_that_are_not_utf_8_are_bad_input(write):
    assert "UTF-8" in complaint(write(b"a,kind\n1,\xff\xfe\n2,y\n"))
    assert "column 'a'" in complaint(write(b"a,kind\n\xff\xfe,x\n2,y\n"))
