"""svmlight as sparse rows: clean, messy and hostile."""

import numpy as np
import pytest

from virtualvector.dataframes import entries_of
from virtualvector.streams import BadInput, open_rows
from virtualvector.streams.digest import RowDigest

CLEAN = "1 1:0.5 7:2\n-1 3:1\n1\n-1 1:-4e-3 2:1 7:1\n"
MESSY = (
    "# made by hand\r\n+1 7:2 1:0.5 # out of order\r\n\r\n-1.0 qid:4 3:1 5:0\r\n1   \r\n"
    "-1 1:-0.004 2:1e0 7:1"
)


def rows_of(path, **options):
    with open_rows([str(path)], sparse=True, **options) as reader:
        batches = list(reader)
    rows = [entries_of(batch.table["features"]) for batch in batches]
    lengths, indices, values = (np.concatenate(each).tolist() for each in zip(*rows, strict=True))
    return lengths, indices, values, [label for batch in batches for label in batch.labels]


@pytest.fixture
def written(tmp_path):
    def write(text, name="rows.svm"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


def test_rows_are_their_non_zeros(written):
    assert rows_of(written(CLEAN)) == (
        [2, 1, 0, 3], [1, 7, 3, 1, 2, 7], [0.5, 2.0, 1.0, -0.004, 1.0, 1.0], ["1", "-1", "1", "-1"],
    )  # fmt: skip


def test_order_comments_zeros_blanks_and_queries_change_nothing(written):
    assert rows_of(written(MESSY)) == rows_of(written(CLEAN, "clean.svm"))


def test_a_file_is_the_same_however_it_is_cut(written, monkeypatch):
    rng = np.random.default_rng(0)
    lines = [
        " ".join(["1", *(f"{k}:{rng.integers(1, 9)}" for k in np.sort(rng.choice(50, 5, False)))])
        for _ in range(400)
    ]
    path = written("\n".join(lines) + "\n")
    whole = rows_of(path)
    monkeypatch.setattr("virtualvector.streams.batches.BATCH", 7)
    assert rows_of(path) == whole
    with open_rows([str(path)], sparse=True) as reader:
        (columns,) = {reader.columns}
        digests = [RowDigest(columns), RowDigest(columns)]
        for batch in reader:
            digests[0] = digests[0].with_rows(batch)
            digests[1] = digests[1].with_rows(batch.part(0, 3))
            digests[1] = digests[1].with_rows(batch.part(3, len(batch.labels)))
    assert digests[0].hexdigest() == digests[1].hexdigest()


def test_other_values_and_other_indices_have_other_digests(written):
    found = set()
    for text in (
        "1 1:1 2:1\n0 3:1\n",
        "1 1:1 2:2\n0 3:1\n",
        "1 1:1 3:1\n0 3:1\n",
        "1 1:1\n0 2:1 3:1\n",
    ):
        with open_rows([str(written(text))], sparse=True) as reader:
            digest = RowDigest(reader.columns)
            for batch in reader:
                digest = digest.with_rows(batch)
        found.add(digest.hexdigest())
    assert len(found) == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 3:1 3:2", "found the index 3 twice; expected each once."),
        ("1 3:nan", "found '3:nan'; expected a finite number behind the colon."),
        ("1 3:inf", "found '3:inf'; expected a finite number"),
        ("1 3:", "found '3:'; expected a finite number"),
        ("1 3=4", "found '3=4'; expected index:value."),
        ("1 -3:1", "found '-3:1'; expected index:value."),
        ("yes 3:1", "found 'yes'; expected a number as a label."),
    ],
)
def test_a_bad_row_is_told_by_its_line_or_skipped(written, line, message):
    path = written(f"1 1:1\n-1 2:1\n{line}\n1 4:1\n")
    with pytest.raises(BadInput) as error:
        rows_of(path)
    assert "rows.svm, line 3" in str(error.value)
    assert message in str(error.value)
    assert rows_of(path, on_error="skip")[0] == [1, 1, 1]


def test_a_huge_index_is_told_by_its_line(written):
    path = written("1 1:1\n-1 99999999999999999999:1\n")
    with pytest.raises(BadInput, match=r"line 2: found the index 9+; expected at most 16,777,216"):
        rows_of(path)


def test_without_being_asked_only_a_very_wide_file_is_sparse(written):
    for index, kind in ((20_000, "number"), (20_481, "sparse")):
        path = written(f"1 1:1\n-1 {index}:1\n")
        with open_rows([str(path)], sparse=None) as reader:
            assert reader.columns[0].kind == kind
    with pytest.raises(BadInput, match="at most 20,480 columns"):
        open_rows([str(path)])


def test_a_model_says_how_many_places_there_are(written):
    from virtualvector.streams import Column

    column = Column("features", categorical=False, n_places=5)
    path = written("1 1:1\n-1 7:1\n")
    with (
        open_rows([str(path)], columns=[column], label="label") as reader,
        pytest.raises(BadInput, match="line 2: found the index 7; expected indices from 0 to 4"),
    ):
        list(reader)
