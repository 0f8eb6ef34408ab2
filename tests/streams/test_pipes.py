"""Rows that come in through a pipe, and how much memory any length of them takes."""

import gzip
import io
import os
import sys
import threading

import pyarrow as pa
import pytest

from tests.streams.gathering import all_of
from virtualvector.streams import PEEK, BadInput, open_rows

HEAD = b"a,label\n"
FIRST = b"".join(b"%d,%s\n" % (row, b"xy"[row % 2 :][:1]) for row in range(PEEK))


@pytest.fixture
def pipe(monkeypatch):
    """Make standard input a pipe, and return its other end."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as file, os.fdopen(writing, "wb", buffering=0) as other:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        yield other


@pytest.mark.parametrize(
    ("first", "later"),
    [
        (HEAD + FIRST, b"7,x\n"),
        (
            b"".join(
                b'{"a": %d, "label": "%s"}\n' % (row, b"xy"[row % 2 :][:1]) for row in range(PEEK)
            ),
            b'{"a": 7, "label": "x"}\n',
        ),
    ],
    ids=["csv", "json lines"],
)
def test_rows_are_handed_out_before_the_pipe_ends(pipe, first, later):
    pipe.write(first)
    reader = open_rows(["-"])
    batches = iter(reader)
    rows = 0
    while rows < PEEK:
        rows += len(next(batches).labels)
    for _ in range(3):
        pipe.write(later[:2])  # half a row is none yet
        pipe.write(later[2:])
        batch = next(batches)
        assert (batch.table["a"].to_pylist(), batch.labels.tolist()) == ([7.0], ["x"])
    pipe.close()
    assert list(batches) == []


def test_a_compressed_pipe_is_unpacked(pipe):
    pipe.write(gzip.compress(HEAD + FIRST))
    pipe.close()
    rows, said = all_of(open_rows(["-"]))
    assert (len(rows), said) == (PEEK, None)


def test_a_pipe_is_read_only_once(pipe):
    pipe.write(HEAD + FIRST)
    pipe.close()
    reader = open_rows(["-"])
    assert len(list(reader)) == 1
    with pytest.raises(BadInput, match=r"^standard input can be read only once\.$"):
        list(reader)
    with pytest.raises(BadInput, match="only once"):
        open_rows(["-", "-"])


def test_an_empty_pipe_is_no_table(pipe):
    pipe.close()
    with pytest.raises(BadInput, match=r"^standard input, line 1: found ''; expected the names"):
        open_rows(["-"])


def test_a_pipe_with_a_name_is_read_as_it_comes(tmp_path):
    path = tmp_path / "rows"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(HEAD + FIRST,))
    writer.start()
    rows, said = all_of(open_rows([str(path)]))
    writer.join()
    assert (len(rows), said) == (PEEK, None)


def test_places_in_standard_input_have_no_path(pipe):
    pipe.write(HEAD + FIRST + b"no,x\n")
    pipe.close()
    _, said = all_of(open_rows(["-"]))
    assert said.startswith("standard input, line 102, column 'a': found 'no';")


@pytest.mark.parametrize(("times", "bad"), [(50, b""), (5, b"oh,no,x\n")])
def test_memory_does_not_grow_with_the_stream(pipe, times, bad):
    block = FIRST * times + bad

    def write():
        with pipe:
            pipe.write(HEAD)
            for _ in range(400):
                pipe.write(block)

    writer = threading.Thread(target=write)
    writer.start()
    held = []
    for batch in open_rows(["-"], on_error="skip"):
        held.append(pa.total_allocated_bytes())
        del batch
    writer.join()
    half = len(held) // 2
    assert half > 5
    assert max(held[half:]) <= 1.5 * max(held[:half])
    assert max(held) < 10e6
