"""Small tables in every format that is read: what mutations of input files begin with."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Callable

import pyarrow as pa
from pyarrow import csv, ipc, parquet

ENDINGS = {
    "csv": ".csv",
    "tsv": ".tsv",
    "jsonl": ".jsonl",
    "svmlight": ".svm",
    "parquet": ".parquet",
    "arrow": ".arrow",
    "stream": ".arrow",
}
TEXTS = ("csv", "tsv", "jsonl", "svmlight")
NAMES = ("red", "blue, dark", 'a "quote"', "größer", "", "two\nlines", "1.5")
COLUMNS = ("a", "b", "town", "label")


def table(rng: random.Random, n_rows: int) -> pa.Table:
    """Return numbers, whole numbers, names and labels, with some gaps."""
    cells = {
        "a": [rng.choice((None, rng.gauss(0, 1), rng.gauss(0, 1e6))) for _ in range(n_rows)],
        "b": [float(rng.randrange(-5, 5)) for _ in range(n_rows)],
        "town": [rng.choice((None, *NAMES)) for _ in range(n_rows)],
        "label": [rng.choice(("yes", "no")) for _ in range(n_rows)],
    }
    town = rng.choice((pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())))
    b = rng.choice((pa.float64(), pa.int32(), pa.float32(), pa.decimal128(20, 3)))
    kinds = {"a": pa.float64(), "b": pa.float64(), "town": town, "label": pa.string()}
    made = pa.table({name: pa.array(values, kinds[name]) for name, values in cells.items()})
    return made.set_column(1, "b", made["b"].cast(b))


def _delimited(delimiter: str) -> Callable[[random.Random, pa.Table], bytes]:
    def write(rng: random.Random, rows: pa.Table) -> bytes:
        out = io.BytesIO()
        # Arrow writes no large_string; what is quoted is the same for all texts.
        plain = rows.set_column(2, "town", rows["town"].cast(pa.string()))
        csv.write_csv(plain, out, csv.WriteOptions(delimiter=delimiter))
        return out.getvalue()

    return write


def _json_lines(rng: random.Random, rows: pa.Table) -> bytes:
    plain = rows.set_column(1, "b", rows["b"].cast(pa.float64()))
    return b"".join(json.dumps(row).encode() + b"\n" for row in plain.to_pylist())


def _svmlight(rng: random.Random, rows: pa.Table) -> bytes:
    lines = []
    for _ in range(rows.num_rows):
        indices = sorted(rng.sample(range(1, 20), rng.randrange(6)))
        pairs = [f"{index}:{rng.gauss(0, 1):.4g}" for index in indices]
        lines.append(" ".join([rng.choice(("1", "-1")), *pairs]))
    return "\n".join(lines).encode() + b"\n"


def _parquet(rng: random.Random, rows: pa.Table) -> bytes:
    out = io.BytesIO()
    codec = rng.choice(("none", "snappy", "zstd", "gzip", "lz4", "brotli"))
    options: dict = {"use_dictionary": rng.choice((True, False))}
    if not options["use_dictionary"]:
        text = rng.choice(("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"))
        options["column_encoding"] = {"label": text, "town": text, "a": "BYTE_STREAM_SPLIT"}
        rows = rows.set_column(2, "town", rows["town"].cast(pa.string()))
    parquet.write_table(
        rows,
        out,
        compression=codec,
        row_group_size=rng.choice((7, 1000)),
        data_page_size=rng.choice((64, 2**20)),
        data_page_version=rng.choice(("1.0", "2.0")),
        write_statistics=rng.choice((True, False)),
        write_page_checksum=rng.random() < 0.2,
        store_schema=rng.random() < 0.5,
        **options,
    )
    return out.getvalue()


def _arrow(new: Callable) -> Callable[[random.Random, pa.Table], bytes]:
    def write(rng: random.Random, rows: pa.Table) -> bytes:
        out = io.BytesIO()
        codec = rng.choice((None, None, "zstd", "lz4"))
        with new(out, rows.schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
            writer.write_table(rows.unify_dictionaries(), max_chunksize=rng.choice((7, 1000)))
        return out.getvalue()

    return write


WRITERS: dict[str, Callable[[random.Random, pa.Table], bytes]] = {
    "csv": _delimited(","),
    "tsv": _delimited("\t"),
    "jsonl": _json_lines,
    "svmlight": _svmlight,
    "parquet": _parquet,
    "arrow": _arrow(ipc.new_file),
    "stream": _arrow(ipc.new_stream),
}


def packed(data: bytes, ending: str) -> bytes:
    """Return text as it is in a file of that ending."""
    if ending == ".gz":
        return gzip.compress(data, 1, mtime=0)
    return bytes(pa.Codec("zstd").compress(data)) if ending == ".zst" else data
