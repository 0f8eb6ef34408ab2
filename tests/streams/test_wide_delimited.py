"""Tables of very many columns, as sparse rows; here, more than ten are very many."""

import numpy as np
import pytest

from virtualvector.dataframes import entries_of
from virtualvector.streams import BadInput, open_rows

NAMES = [f"x{k}" for k in range(12)]


@pytest.fixture(autouse=True)
def ten(monkeypatch):
    monkeypatch.setattr("virtualvector.streams.formats.WIDEST", 10)


@pytest.fixture
def written(tmp_path):
    def write(rows, names=(*NAMES, "label"), delimiter=",", end="\n", name="a.csv"):
        lines = [delimiter.join(map(str, row)) for row in (names, *rows)]
        (tmp_path / name).write_bytes((end.join(lines) + end).encode())
        return str(tmp_path / name)

    return write


def dense(path, n_places=12, **options):
    """Return rows written out, by the places of their entries, and labels."""
    with open_rows([path], sparse=None, **options) as reader:
        batches = list(reader)
        (wide,) = (column for column in reader.columns if column.n_places)
    parts, labels = [], []
    for batch in batches:
        lengths, indices, values = entries_of(batch.table[wide.name])
        part = np.zeros((len(lengths), n_places))
        part[np.repeat(np.arange(len(lengths)), lengths), indices] = values
        parts.append(part)
        labels += batch.labels.tolist()
    return np.vstack(parts), labels


def rows_of(n_rows=30, seed=0):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(1, 5, (n_rows, 12)) * (rng.random((n_rows, 12)) < 0.3) / 4
    return numbers, [[*own, "yes" if sum(own) > 1 else "no"] for own in numbers.tolist()]


@pytest.mark.parametrize(("delimiter", "end"), [(",", "\n"), (";", "\r\n"), ("\t", "\n")])
def test_numbers_are_read_as_they_are(written, delimiter, end):
    numbers, rows = rows_of()
    found, labels = dense(written(rows, delimiter=delimiter, end=end))
    np.testing.assert_array_equal(found, numbers)
    assert labels == [row[-1] for row in rows]


def test_quotes_blanks_and_lines_without_anything_change_nothing(written):
    numbers, rows = rows_of()
    untidy = [[f" {cell}" for cell in row[:-1]] + [f'"{row[-1]}"'] for row in rows]
    untidy.insert(7, [])
    np.testing.assert_array_equal(dense(written(untidy))[0], numbers)


def test_the_label_may_stand_anywhere_and_others_may_be_left_out(written):
    numbers, rows = rows_of()
    moved = [[row[-1], "id", *row[:-1]] for row in rows]
    found, labels = dense(
        written(moved, ["class", "key", *NAMES]), n_places=11, ignore=["key"], label="class"
    )
    np.testing.assert_array_equal(found, numbers[:, :11])  # the last one is a column of its own
    assert labels == [row[-1] for row in rows]


@pytest.mark.parametrize("cell", ["", "much", "nan", "inf"])
def test_what_is_no_number_is_told_by_line_and_column_or_skipped(written, cell):
    _, rows = rows_of()
    rows[4][3] = cell
    path = written(rows)
    with pytest.raises(BadInput, match=r"a.csv, line 6, column 'x3': found .* a finite number"):
        dense(path)
    assert len(dense(path, on_error="skip")[1]) == 29


def test_a_line_of_other_length_is_told(written):
    _, rows = rows_of()
    rows[4] = rows[4][1:]
    with pytest.raises(BadInput, match="line 6: found 12 fields; expected 13"):
        dense(written(rows))


def test_other_columns_are_not_taken_for_the_same(written):
    _, rows = rows_of()
    with open_rows([written(rows)], sparse=None) as reader:
        columns = reader.columns
    turned = [[*row[-2::-1], row[-1]] for row in rows]
    path = written(turned, [*NAMES[::-1], "label"])
    with pytest.raises(BadInput, match="found no column"):
        open_rows([path], columns=columns, label="label")
    with open_rows([written(rows)], columns=columns, label="label") as reader:
        assert sum(len(batch.labels) for batch in reader) == 30


def test_rows_without_labels_are_read_as_a_model_expects(written):
    numbers, rows = rows_of()
    with open_rows([written(rows)], sparse=None) as reader:
        columns = reader.columns
    path = written([row[:-1] for row in rows], NAMES)
    with open_rows([path], columns=columns, label="label", labelled=False) as reader:
        (batch,) = reader
    assert entries_of(batch.table[0])[0].tolist() == (numbers != 0).sum(axis=1).tolist()
