"""Rows that come in through a pipe, and how much memory any length of them takes."""

import gzip
import io
import os
import sys
import threading
import time
import zlib

import pyarrow as pa
import pytest

from tests.streams.gathering import all_of
from virtualvector.streams import BadInput, Column, Dialect, open_rows, text
from virtualvector.streams.chunks import Chunk, joined
from virtualvector.values import PEEK

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
    rows, message = all_of(open_rows(["-"]))
    assert (len(rows), message) == (PEEK, None)


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
    with pytest.raises(BadInput, match=r"^standard input, line 1: found nothing; expected names"):
        open_rows(["-"])


def test_a_pipe_with_a_name_is_read_as_it_comes(tmp_path):
    path = tmp_path / "rows"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(HEAD + FIRST,))
    writer.start()
    rows, message = all_of(open_rows([str(path)]))
    writer.join()
    assert (len(rows), message) == (PEEK, None)


def test_places_in_standard_input_have_no_path(pipe):
    pipe.write(HEAD + FIRST + b"no,x\n")
    pipe.close()
    _, message = all_of(open_rows(["-"]))
    assert message.startswith("standard input, line 102, column 'a': found 'no';")


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


# --- pipes that are slow ---

JSON = b'{"a": %d, "label": "%s"}\n'


@pytest.mark.parametrize("with_half", [False, True])
def test_columns_are_decided_by_what_comes_within_a_second(pipe, with_half):
    pipe.write(HEAD + b"7,x\nred,y\n" + b"blu" * with_half)
    began = time.monotonic()
    reader = open_rows(["-"])  # although the pipe is open, and nothing more comes
    assert 0.9 < time.monotonic() - began < 10.0
    assert (reader.n_in_time, reader.columns) == (2, (Column("a", categorical=True),))
    batches = iter(reader)
    assert next(batches).table["a"].to_pylist() == ["7", "red"]
    pipe.write(b"blue"[3 * with_half :] + b",x\n")
    assert next(batches).table["a"].to_pylist() == ["blue"]


def test_rows_that_trickle_in_are_not_waited_for_longer(pipe):
    def write():
        with pipe:
            pipe.write(HEAD)
            for row in range(80):
                pipe.write(b"%d,%s\n" % (row, b"xy"[row % 2 :][:1]))
                time.sleep(0.03)

    writer = threading.Thread(target=write)
    writer.start()
    reader = open_rows(["-"])
    assert writer.is_alive()
    assert 1 <= reader.n_in_time < 80
    rows, message = all_of(reader)
    writer.join()
    assert (len(rows), message) == (80, None)


def test_the_names_alone_decide_nothing(pipe):
    threading.Timer(1.5, pipe.write, [b"7,x\n" * PEEK]).start()
    pipe.write(HEAD)
    assert open_rows(["-"]).n_in_time is None


KNOWN = (Column("a", categorical=False),)


@pytest.mark.parametrize(
    ("head", "row"),
    [
        (HEAD, b"%d,x\n"),
        (b"a\n", b"%d\n"),
        (b"", b'{"a": %d}\n'),
        (b"\n\n", b'{"a": %d, "b": ""}\n'),
    ],
)
def test_where_columns_are_known_each_row_comes_at_once(pipe, head, row, monkeypatch):
    monkeypatch.setattr(text, "PATIENCE", 1e6)
    pipe.write(head + row % 0)
    reader = open_rows(["-"], columns=KNOWN, labelled=False, label="label" if head == HEAD else "b")
    assert reader.n_in_time is None
    batches = iter(reader)
    for number in range(3):
        assert next(batches).table["a"].to_pylist() == [number]
        pipe.write(row % (number + 1))


def test_rows_without_a_header_come_at_once_too(pipe, monkeypatch):
    monkeypatch.setattr(text, "PATIENCE", 1e6)
    pipe.write(b"0,x\n")
    columns = (Column("x1", categorical=False),)
    dialect = Dialect(header=False)
    batches = iter(open_rows(["-"], columns=columns, labelled=False, dialect=dialect))
    for number in range(3):
        assert next(batches).table["x1"].to_pylist() == [number]
        pipe.write(b"%d,x\n" % (number + 1))


@pytest.mark.parametrize("is_slow", [False, True])
def test_how_numbers_are_written_is_seen_although_columns_are_known(pipe, monkeypatch, is_slow):
    monkeypatch.setattr(text, "PATIENCE", 0.5)
    pipe.write(b"a;b\n1;u\n")
    if is_slow:
        threading.Timer(0.1, pipe.write, [b"1,5;v\n"]).start()
    else:
        pipe.write(b"1,5;v\n")
    reader = open_rows(["-"], columns=KNOWN, labelled=False)
    assert "standard input: numbers are written as 1,5 (--decimal)" in reader.notes
    pipe.close()
    assert all_of(reader) == ([(1.0,), (1.5,)], None)


def test_keys_that_are_missing_at_first_are_waited_for_but_not_for_long(pipe, monkeypatch):
    monkeypatch.setattr(text, "PATIENCE", 0.3)
    pipe.write(b'{"b": 1}\n')
    with pytest.raises(BadInput, match="no column 'a'"):
        open_rows(["-"], columns=(*KNOWN, Column("b", categorical=False)), labelled=False)
    threading.Timer(0.1, pipe.write, [b'{"a": 1}\n']).start()
    pipe.write(b'{"b": 1}\n')
    reader = open_rows(["-"], columns=(*KNOWN, Column("b", categorical=False)), labelled=False)
    pipe.close()
    assert all_of(reader) == ([(None, 1.0), (1.0, None)], None)


def test_a_silent_pipe_is_not_taken_for_csv_before_it_says_anything(pipe):
    threading.Timer(0.5, pipe.write, [JSON % (1, b"x") * PEEK]).start()
    pipe.write(b"\n")
    assert [column.name for column in open_rows(["-"]).columns] == ["a"]


def test_a_file_is_never_hurried(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "PATIENCE", -1.0)
    (tmp_path / "rows.csv").write_bytes(HEAD + FIRST)
    with (tmp_path / "rows.csv").open("rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        assert open_rows(["-"]).n_in_time is None
    assert open_rows([str(tmp_path / "rows.csv")]).n_in_time is None


def test_chunks_are_joined_unless_no_more_has_come():
    parts = [Chunk(b"1\n", 1), Chunk(b"2\n", 2), Chunk(b"", 3), Chunk(b"3\n", 3), Chunk(b"4\n", 4)]
    assert list(joined(parts, 100)) == [
        Chunk(b"1\n2\n", 1),
        Chunk(b"", 3),
        Chunk(b"3\n4\n", 3),
    ]


def test_what_was_read_before_an_error_comes_before_it():
    def failing():
        yield Chunk(b"1\n", 1)
        yield Chunk(b"2\n", 2)
        raise BadInput("the end")

    found = []
    with pytest.raises(BadInput, match="the end"):
        found.extend(joined(failing(), 100))
    assert found == [Chunk(b"1\n2\n", 1)]


def test_wide_rows_of_a_compressed_pipe_are_handed_out_as_they_come(pipe):
    names = [b"c%d" % k for k in range(600)]
    row = b",".join([b"1"] * 600)
    packer = zlib.compressobj(wbits=31)

    def send(data):
        pipe.write(packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH))

    send(b",".join([*names, b"label"]) + b"\n" + (row + b",x\n" + row + b",y\n") * PEEK)
    batches = iter(open_rows(["-"]))
    n_rows = 0
    while n_rows < 2 * PEEK:
        n_rows += len(next(batches).labels)
    send(row + b",x\n")
    assert next(batches).labels.tolist() == ["x"]
