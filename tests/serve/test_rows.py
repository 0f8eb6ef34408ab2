"""Rows are checked as the command line checks those of a file with the same rows."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtualvector.serve.rows import RowFormat
from virtualvector.streams import Column, open_rows
from virtualvector.streams.bad_input import BadInput

NUMBERS = (Column("a", False), Column("b", False))
MIXED = (Column("a", False), Column("town", True), Column("day", False, True))

numbers = st.one_of(
    st.floats(), st.integers(), st.integers(10**300, 10**320), st.none(), st.booleans()
)
values = st.one_of(
    numbers,
    st.text(max_size=5),
    st.sampled_from(["NA", "?", "1", "2021-05-06", "2021-13-41", "07:08", "1,5", "nan", "true"]),
    st.lists(st.integers(), max_size=2),
)


def read_as_file(folder, columns, row):
    """Return what the command line makes of a row in a file, or its complaint."""
    path = folder / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with open_rows([str(path)], labelled=False, columns=columns) as reader:
        return pa.concat_tables([batch.table for batch in reader])


def same(table, found):
    names = table.column_names
    if isinstance(found, np.ndarray):
        found = pa.table(list(found.T), names)
    return all(repr(table[name].to_pylist()) == repr(found[name].to_pylist()) for name in names)


@pytest.mark.parametrize("columns", [NUMBERS, MIXED], ids=["numbers", "mixed"])
@given(data=st.data())
def test_a_row_is_what_it_would_be_in_a_file(tmp_path_factory, columns, data):
    folder = tmp_path_factory.getbasetemp()
    row = {column.name: data.draw(values) for column in columns}
    form = RowFormat(columns)
    try:
        expected = read_as_file(folder, columns, row)
    except BadInput as error:
        said = str(error).split(": ", 1)[1].split("; expected")[0].removesuffix(".")
        with pytest.raises(BadInput) as refused:
            form.check([row])
        assert said.partition(" (--")[0] in str(refused.value)
        assert " --" not in str(refused.value)
        return
    checked = form.check([row])
    assert same(expected, checked.table)
    # What is stored is the same again.
    stored = json.loads(json.dumps(checked.values))
    assert same(expected, form.table(stored))
    assert same(expected, form.checked_before(json.dumps(stored[0])).table)


def test_the_row_and_the_column_are_named():
    with pytest.raises(BadInput, match=r"^row 2, column 'b': found 'x'; expected a number"):
        RowFormat(NUMBERS).check([{"a": 1, "b": 2}, {"a": 1, "b": "x"}])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1,5", "found '1,5', a number with commas; expected a number of JSON, as 1234.5, as was"),
        (float("inf"), "found inf; expected a finite number, or null where a value is missing."),
    ],
)
def test_what_is_wrong_is_told_as_clients_can_put_it_right(value, expected):
    with pytest.raises(BadInput) as refused:
        RowFormat(NUMBERS).check([{"a": 1, "b": value}])
    assert str(refused.value).startswith(f"row 1, column 'b': {expected}")
    assert "--" not in str(refused.value)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(BadInput, match=r"^row 1: found no column 'b'; expected 'a', 'b'"):
        RowFormat(NUMBERS).check([{"a": 1}])


def test_keys_that_the_model_does_not_know_are_told():
    form = RowFormat(NUMBERS, label="y")
    assert form.check([{"a": 1, "b": 2, "c": 3, "y": "no"}]).left_out == ["c"]


def test_a_number_that_stands_for_a_missing_value_is_one():
    checked = RowFormat(NUMBERS, missing=["-999"]).check([{"a": -999, "b": 2.0}])
    assert checked.table["a"].to_pylist() == [None]
