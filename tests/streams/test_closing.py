"""Files are closed when reading ends, however it ends; not when the garbage collector comes by.

It may find the file before who reads it, and Python complains of a file that was not closed.
"""

import gc

import pytest

from tests.open_files import is_open, needs_list
from virtualvector.streams import open_rows
from virtualvector.streams.bad_input import BadInput

ROWS = "".join(f"{k},{k % 7},{'uv'[k % 2]}\n" for k in range(400_000))  # more than one block
CSV, JSON = "a,b,y\n", '{"a": 1, "b": 2, "y": "u"}\n{"a": 2, "b": 2, "y": "v"}\n'
LINES = JSON * 100_000

pytestmark = needs_list


@pytest.fixture(autouse=True)
def no_garbage_is_collected():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bad.csv", CSV + ROWS + "1,red,u\n" + ROWS),
        ("bad.csv", CSV + ROWS + "1,2\n" + ROWS),
        ("bad.csv", CSV + ROWS + '1,"2,u\n' + ROWS),
        ("bad.jsonl", LINES + '{"a": red}\n' + LINES),
        ("bad.svmlight", "0 1:1 2:1\n1 1:2\n" * 200_000 + "1 1:red\n" + "1 1:2\n" * 400_000),
    ],
)
def test_a_file_with_a_bad_row_is_closed_while_its_error_is_kept(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    kept, was_open = [], False
    with open_rows([str(path)]) as reader:
        try:
            for _ in reader:
                was_open = was_open or is_open(path)
        except BadInput as error:
            kept.append(error)  # and its frames, in which this list is
        assert kept
        assert was_open
        assert not is_open(path)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (CSV + ROWS, {"label": "z"}, "'z'"),
        (CSV + ROWS, {"ids": ["z"]}, "'z'"),
        (CSV + ROWS, {"categorical": ["z"]}, "'z'"),
        ("1,2,3\n" + ROWS, {}, "found numbers"),
        ("a;b,c;d\n" + "1;2,3;4\n" * 300_000, {}, "in more than one way"),
    ],
)
def test_a_file_that_is_refused_is_closed(tmp_path, text, options, message):
    path = tmp_path / "refused.csv"
    path.write_text(text)
    kept = []
    try:
        open_rows([str(path)], **options)
    except BadInput as error:
        kept.append(error)
    assert message in str(kept[0])
    assert not is_open(path)


def test_a_later_file_of_other_columns_is_closed(tmp_path):
    paths = [tmp_path / "one.csv", tmp_path / "other.csv"]
    paths[0].write_text(CSV + ROWS)
    paths[1].write_text("a,c,y\n" + ROWS)
    kept = []
    with open_rows(list(map(str, paths))) as reader:
        try:
            for _ in reader:
                assert not is_open(paths[1])
        except BadInput as error:
            kept.append(error)
    assert "other.csv" in str(kept[0])
    assert not any(map(is_open, paths))


def test_who_looks_at_the_first_rows_only_leaves_nothing_open(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(CSV + ROWS)
    with open_rows([str(path)]) as reader:
        assert is_open(path)
        assert reader.columns
    assert not is_open(path)
