"""Compressed files: as if they were not, and cut off anywhere."""

import gzip

import pyarrow as pa
import pytest

from tests.streams.gathering import all_of, complaint, in_chunks
from virtualvector.streams import BadInput, open_rows

TEXT = b"a,label\n" + b"".join(b"%d,%s\n" % (row, b"xy"[row % 2 :][:1]) for row in range(120))
ROWS = [(float(row), "xy"[row % 2]) for row in range(120)]
ENDS = "the compressed data ends too early"


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".zst", zstd)])
@pytest.mark.parametrize("chunk", [100, 10**6])
def test_compressed_files_have_the_same_rows(tmp_path, ending, pack, chunk):
    whole, parts = pack(TEXT), pack(TEXT[:500]) + pack(TEXT[500:])
    for name in (f"rows.csv{ending}", "rows.csv"):  # the first bytes say it too
        path = tmp_path / name
        for data in (whole, parts):
            path.write_bytes(data)
            assert all_of(in_chunks(path, chunk)) == (ROWS, None)


def test_a_gzip_file_cut_off_anywhere_is_noticed(tmp_path):
    whole = gzip.compress(TEXT)
    path = tmp_path / "rows.csv.gz"
    longest = 0
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        try:
            rows, message = all_of(in_chunks(path, 10**6, stop=False))
        except BadInput as error:
            rows, message = [], str(error)
        assert rows == ROWS[: len(rows)]
        assert ENDS in message or size < 2
        assert not rows or message == f"{path}: {ENDS}, after line {1 + len(rows)}."
        longest = max(longest, len(rows))
    assert longest == len(ROWS)  # only the checksum was missing


def test_a_zstandard_file_cut_off_anywhere_is_noticed(tmp_path):
    whole = zstd(TEXT)
    path = tmp_path / "rows.csv.zst"
    for size in range(1, len(whole), 7):
        path.write_bytes(whole[:size])
        assert ENDS in complaint(path)


def test_damage_is_noticed(tmp_path):
    path = tmp_path / "rows.csv.gz"
    damaged = bytearray(gzip.compress(TEXT))
    damaged[-6] ^= 1  # the checksum
    path.write_bytes(damaged)
    assert complaint(path).startswith("FILE: CRC check failed")
    damaged = bytearray(gzip.compress(TEXT))
    damaged[10:20] = b"\xff" * 10
    path.write_bytes(damaged)
    assert complaint(path) == "FILE: the compressed data is damaged."
    path.write_bytes(TEXT)
    assert complaint(path).startswith("FILE: Not a gzipped file")


def test_compressed_json_lines_and_svmlight_are_known_by_name(tmp_path):
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1, "label": true}\n{"a": 2, "label": false}\n'))
    assert all_of(open_rows([str(path)])) == ([(1.0, "true"), (2.0, "false")], None)
    path = tmp_path / "rows.libsvm.zst"
    path.write_bytes(zstd(b"+1 2:3\n0 1:4\n"))
    assert all_of(open_rows([str(path)])) == ([(0.0, 3.0, "1"), (4.0, 0.0, "0")], None)
