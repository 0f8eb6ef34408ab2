"""A random order of all rows, in bounded memory."""

from collections import Counter
from math import factorial

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from scipy.stats import chisquare

from virtualvector.streams import BadInput, open_rows, shuffle
from virtualvector.streams.shuffle import ShuffledReader


def small_blocks(monkeypatch, n):
    monkeypatch.setattr(shuffle, "LONGEST_BLOCK", n)
    monkeypatch.setattr(shuffle, "SHORTEST_BLOCK", n)


def sorted_table(n_rows):
    place = np.arange(n_rows)
    return pa.table({
        "row": place, "colour": [f"c{k % 3}" for k in range(n_rows)], "x": place / 7,
        "y": np.where(place < n_rows // 2, "no", "yes"),
    })  # fmt: skip


def order_of(reader):
    return [int(row) for batch in reader for row in batch.table["row"].to_pylist()]


def shuffled(path, seed=0, **options):
    return ShuffledReader(open_rows([str(path)], label="y", **options), seed)


@pytest.fixture
def table(tmp_path):
    def write(n_rows):
        pa.csv.write_csv(sorted_table(n_rows), tmp_path / "rows.csv")
        pa.parquet.write_table(sorted_table(n_rows), tmp_path / "rows.parquet", row_group_size=17)
        return tmp_path / "rows.csv"

    return write


def test_every_row_comes_once_with_its_own_cells_and_label(table, monkeypatch):
    small_blocks(monkeypatch, 64)
    with shuffled(table(1000)) as reader:
        found = [
            (row["row"], row["colour"], row["x"], str(label))
            for batch in reader
            for row, label in zip(batch.table.to_pylist(), batch.labels, strict=True)
        ]
    expected = [tuple(row.values()) for row in sorted_table(1000).to_pylist()]
    assert [row[0] for row in found] != list(range(1000))
    assert sorted(found) == [(r, c, pytest.approx(x, rel=1e-6), y) for r, c, x, y in expected]
    assert reader.n_rows == 1000
    assert reader.classes == ("no", "yes")


def test_the_order_depends_on_the_seed_and_nothing_else(table, monkeypatch):
    small_blocks(monkeypatch, 64)
    path = table(500)
    with shuffled(path) as reader:
        order = order_of(reader)
        assert order_of(reader) == order  # another pass
    with shuffled(path.with_suffix(".parquet")) as reader:
        assert order_of(reader) == order
    with shuffled(path, seed=1) as reader:
        assert order_of(reader) != order


@pytest.mark.parametrize("block", [1, 2, 3])
def test_every_order_is_equally_likely_however_long_blocks_are(block, table, monkeypatch):
    small_blocks(monkeypatch, block)
    reader = open_rows([str(table(3))], label="y")
    batches = list(reader)
    monkeypatch.setattr(type(reader), "__iter__", lambda self: iter(batches))  # saves time
    counts: Counter[tuple[int, ...]] = Counter()
    for seed in range(600):
        with ShuffledReader(reader, seed) as one:
            counts[tuple(order_of(one))] += 1
    assert len(counts) == factorial(3)
    assert chisquare(list(counts.values())).pvalue > 1e-4


def test_a_table_sorted_by_class_has_both_classes_everywhere(table, monkeypatch):
    small_blocks(monkeypatch, 256)
    with shuffled(table(4000)) as reader:
        labels = np.concatenate([batch.labels for batch in reader])
    shares = (labels.reshape(20, 200) == "yes").mean(axis=1)
    assert np.all(abs(shares - 0.5) < 0.15)


def test_bad_rows_are_named_by_their_line_while_they_are_read(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("row,y\n" + "".join(f"{k},{k % 2}\n" for k in range(30)) + "inf,1\n31,0\n")
    with pytest.raises(BadInput, match="line 32"):
        shuffled(path)
    with shuffled(path, on_error="skip") as reader:
        assert reader.skipped == 1
        assert sorted(order_of(reader)) == [*range(30), 31]


def test_a_full_disk_is_said(table, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pa.RecordBatchFileWriter, "write_batch", full)
    with pytest.raises(BadInput, match="TMPDIR"):
        shuffled(table(10))


def test_what_a_reader_hands_on_and_says_is_kept(table, monkeypatch):
    small_blocks(monkeypatch, 64)
    plain = open_rows([str(table(300))], label="y", ids=["row"])
    with shuffled(table(300), ids=["row"]) as reader:
        assert (reader.ids, reader.notes) == (("row",), plain.notes)
        assert [column.name for column in reader.columns] == ["colour", "x"]
        found = [
            (int(own["row"]), row["x"])
            for batch in reader
            for own, row in zip(batch.ids.to_pylist(), batch.table.to_pylist(), strict=True)
        ]
    assert sorted(found) == [(row, pytest.approx(row / 7, rel=1e-6)) for row in range(300)]
