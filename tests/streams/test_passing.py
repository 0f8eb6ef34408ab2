"""Portions of a source that are passed over: counted, and not parsed."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from virtualvector.streams import Reader
from virtualvector.streams.formats import Options
from virtualvector.streams.passing import count_records
from virtualvector.streams.reader import Asked
from virtualvector.streams.sources import find_sources


@given(
    st.lists(st.sampled_from(['"', '""', "a", "\n", "\r\n", "\r", ",", " "]), max_size=25),
    st.sampled_from(['"', ""]),
)
@example(["a", ",", '"', "\n", '"', "\n"], '"')
def test_records_are_those_that_the_csv_module_finds(signs, quote):
    text = "".join(signs)
    found = count_records(text.encode(), ",", quote)
    how = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    expected = sum(1 for fields in csv.reader(io.StringIO(text, newline=""), **how) if fields)
    assert found in (expected, None)
    if '"' not in text or not quote:
        assert found is not None


class From:
    """Pass over what is before a row, and remember how much was counted."""

    def __init__(self, first):
        self.first, self.at, self.n_over = first, 0, 0

    @property
    def has_begun(self):
        return self.at > 0

    def over_group(self, n_rows):
        if self.at + n_rows > self.first:
            self.at = self.first  # and read from here on
            return False
        self.at, self.n_over = self.at + n_rows, self.n_over + n_rows
        return True

    def over(self, count):
        return self.at < self.first and self.over_group(count())


def in_portions(path):
    options = Options(chunk=2**13, indices=range(1, 3))
    return Reader(find_sources([str(path)]), options, Asked())


def written(folder, ending):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=3000), "b": rng.normal(size=3000)})
    frame["text"] = np.where(frame["a"] > 1.0, 'two\nlines, "quoted"', "one")
    frame["y"] = np.where(rng.random(3000) > 0.5, "yes", "no")
    path = folder / f"rows.{ending}"
    if ending.startswith("csv"):
        frame.to_csv(path, index=False)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif ending == "parquet":
        frame = pd.concat([frame] * 50, ignore_index=True)
        frame.to_parquet(path, row_group_size=70_000)
    elif ending == "feather":
        frame.to_feather(path, chunksize=500)
    else:
        lines = (f"{int(label == 'yes')} 1:{a} 2:{b}" for a, b, _, label in frame.to_numpy())
        path.write_text("\n# a comment\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "parquet", "feather", "svm"])
def test_what_is_not_passed_over_is_what_is_read_otherwise(tmp_path, ending):
    path = written(tmp_path, ending)
    whole = list(in_portions(path))
    n_rows = sum(batch.table.num_rows for batch in whole)
    passing = From(2 * n_rows // 3)
    rest = list(in_portions(path).batches(passing))
    n_rest = sum(batch.table.num_rows for batch in rest)
    assert 0 < passing.n_over <= passing.first
    assert passing.n_over + n_rest == n_rows
    for one, other in zip(whole[-len(rest) :], rest, strict=True):
        assert one.table.equals(other.table)
        assert one.labels.tolist() == other.labels.tolist()
        assert one.place(0, None) == other.place(0, None)  # the same line, or row


def test_a_bad_row_behind_what_is_passed_over_has_its_own_line(tmp_path):
    path = written(tmp_path, "csv")
    lines = path.read_text().splitlines()
    lines[-2] = "x" + lines[-2]
    path.write_text("\n".join(lines) + "\n")
    passing = From(1500)
    with pytest.raises(ValueError, match=f"line {len(lines) - 1}, column 'a': found 'x"):
        for _ in in_portions(path).batches(passing):
            pass
    assert passing.n_over > 1000
