"""The digest of rows: the same for the same rows, however they come, and another for others."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtualvector.streams import Batch, Column
from virtualvector.streams.digest import RowDigest

COLUMNS = (Column("x", False), Column("town", True), Column("y", False), Column("kind", True))

Row = st.tuples(
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.text(max_size=3),
    st.none() | st.integers(-3, 3).map(float),
    st.none() | st.sampled_from(["", "a", "aa", "b"]),
    st.sampled_from(["no", "yes", "n", "oyes"]),
)


def batch_of(rows):
    kinds = [pa.string() if column.categorical else pa.float64() for column in COLUMNS]
    cells = [[row[k] for row in rows] for k in range(len(COLUMNS))]
    arrays = [pa.array(some, kind) for some, kind in zip(cells, kinds, strict=True)]
    names = [column.name for column in COLUMNS]
    return Batch(pa.table(arrays, names), np.array([row[-1] for row in rows], str), None)


def digest_of(*parts):
    digest = RowDigest(COLUMNS)
    for rows in parts:
        digest = digest.with_rows(batch_of(rows))
    return digest.hexdigest()


@given(st.lists(Row, max_size=12), st.data())
def test_any_cut_gives_the_same(rows, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    parts = [rows[a:b] for a, b in itertools.pairwise([0, *cuts, len(rows)])]
    assert digest_of(*parts) == digest_of(rows)


@given(st.lists(Row, max_size=6), st.lists(Row, max_size=6))
def test_other_rows_give_another(one, other):
    same = str(one) == str(other)  # unlike ==, tells 0.0 from -0.0
    assert (digest_of(one) == digest_of(other)) == same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([(1.0, "ab", 2.0, "c", "n")], [(1.0, "a", 2.0, "bc", "n")]),
        ([(1.0, "ab", 2.0, "c", "n"), (1.0, "", 2.0, "c", "n")],
         [(1.0, "a", 2.0, "c", "n"), (1.0, "b", 2.0, "c", "n")]),
        ([(1.0, None, 2.0, "c", "n")], [(1.0, "", 2.0, "c", "n")]),
        ([(None, "a", 2.0, "c", "n")], [(2.0, "a", None, "c", "n")]),
        ([(1.0, "a", 2.0, "c", "n"), (3.0, "a", 4.0, "c", "n")],
         [(3.0, "a", 4.0, "c", "n"), (1.0, "a", 2.0, "c", "n")]),
    ],
    ids=["cells", "rows", "missing", "missing number", "order"],
)  # fmt: skip
def test_nothing_moves_between_cells_unnoticed(one, other):
    assert digest_of(one) != digest_of(other)


def test_adding_rows_leaves_the_digest_as_it_was():
    before = RowDigest(COLUMNS)
    text = before.hexdigest()
    before.with_rows(batch_of([(1.0, "a", 2.0, "c", "n")]))
    assert before.hexdigest() == text


def test_slices_and_chunks_are_seen_as_they_are():
    rows = [(float(k), f"t{k}", None, "k", "n") for k in range(10)]
    batch = batch_of(rows)
    chunked = batch._replace(table=pa.concat_tables([batch.table[:3], batch.table[3:]]))
    whole = RowDigest(COLUMNS).with_rows(chunked).hexdigest()
    assert whole == digest_of(rows)
    assert RowDigest(COLUMNS).with_rows(batch.part(2, 7)).hexdigest() == digest_of(rows[2:7])
