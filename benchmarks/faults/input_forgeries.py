"""What is done to a file: damage that happens, and forgeries that someone means."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

Change = Callable[[random.Random, bytes], bytes]

NUMBERS = (0, 1, -1, 7, 255, 2**15, 2**16, 2**30, 2**31 - 1, -(2**31), 2**32 - 1, 2**40, 2**62)


# Damage to any file.


def flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def splice(rng: random.Random, data: bytes) -> bytes:
    """Copy a part to another place, over what is there or before it."""
    start, size = rng.randrange(len(data) + 1), rng.randrange(1, 200)
    place = rng.randrange(len(data) + 1)
    behind = place + rng.choice((0, size))
    return data[:place] + data[start : start + size] + data[behind:]


def noise(rng: random.Random, data: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    return (
        data[:place] + rng.randbytes(rng.choice((1, 4, 100))) + data[place + rng.choice((0, 4)) :]
    )


def number(rng: random.Random, data: bytes) -> bytes:
    """Write a number over what is at an aligned place."""
    kind = rng.choice(("<b", "<h", "<i", "<i", "<q", "<q"))
    size = struct.calcsize(kind)
    if len(data) < 2 * size:
        return data
    place = rng.randrange(len(data) // size) * size
    bits = 8 * size
    value = rng.choice((*NUMBERS, len(data), rng.getrandbits(bits))) % 2**bits
    return data[:place] + struct.pack(kind.upper(), value) + data[place + size :]


DAMAGE: tuple[Change, ...] = (flip, truncate, splice, noise, number)


# Forgeries of text.

BITS = (
    b'"', b'"', b'""', b"\r", b"\n", b"\r\n", b",", b"\t", b"\x00", b"\xff", b"\xef\xbb\xbf",
    b"nan", b"-inf", b"1e999", b"1_0", b"0x1p3", b"9" * 5000, b"1" + b"0" * 400, b"\x1b[31mred",
    b'=HYPERLINK("http://x","y")', b"$\\frac$", b"[red]x[/]", b"\xe2\x80\xae", b"\xed\xa0\x80",
    b"{", b"}", b"[", b"\\ud800", b"\\udc00", b"null", b"true", b'{"a":{"b":1}}', b"'", b"#",
    b"99999999999999999999:1", b" 99999:1", b" 19999:1", b"-1:1", b"qid:1", b"1:1 1:1", b"\x85",
)  # fmt: skip


def insert(rng: random.Random, data: bytes) -> bytes:
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(data) + 1)
        data = data[:place] + rng.choice(BITS) + data[place + rng.choice((0, 0, 1)) :]
    return data


def in_a_cell(rng: random.Random, data: bytes) -> bytes:
    """Replace a cell by something odd, or something huge."""
    cells = [place for place, byte in enumerate(data) if byte in b',\t: \n"']
    place = 1 + rng.choice(cells) if cells else 0
    end = place
    while end < len(data) and data[end] not in b',\t: \n"}':
        end += 1
    huge = rng.choice((b"x", b'"', b"\xc3\xa9", b"9", b"a,", b"[", b"\n", b" 1:1"))
    odd = rng.choice((rng.choice(BITS), huge * rng.choice((100, 2000, 70_000, 1_000_000))))
    return data[:place] + odd + data[end:]


def lines(rng: random.Random, data: bytes) -> bytes:
    """Repeat, swap or leave out lines."""
    every = data.split(b"\n")
    for _ in range(rng.choice((1, 3))):
        place, other = rng.randrange(len(every)), rng.randrange(len(every))
        act = rng.randrange(4)
        if act == 0:
            every[place], every[other] = every[other], every[place]
        elif act == 1:
            every.insert(place, every[other])
        elif act == 2:
            every[place:place] = [every[other]] * rng.choice((10, 2000))
        elif len(every) > 1:
            del every[place]
    return b"\n".join(every)


def encoding(rng: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "latin-1", "utf-8-sig", "utf-32", "utf-7")), "replace")


def line_ends(rng: random.Random, data: bytes) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r", b"\r\n", b"\n\n", b"\n" * 5000, b"\r\r\n")))


def columns(rng: random.Random, data: bytes) -> bytes:
    """Give the first line many columns, the same one twice, or one with a long name."""
    first, end, rest = data.partition(b"\n")
    n = rng.choice((2, 100, 5000, 30_000))
    if first.startswith(b"{"):
        keys = b",".join(b'"c%d":1' % k for k in range(n))
        forged = rng.choice((b"{" + keys + b"," + first[1:], b'{"a":1,' + first[1:]))
    elif rng.random() < 0.3:
        forged = first + b"," + first
    elif rng.random() < 0.5:
        forged = first.replace(b"town", b"t" * rng.choice((500, 5000, 10**7)))
    else:
        forged = first + b"".join(b",c%d" % k for k in range(n))
    return forged + end + rest


def deep(rng: random.Random, data: bytes) -> bytes:
    """Put something deep into JSON."""
    depth = rng.choice((50, 5000, 500_000))
    nested = rng.choice((b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth))
    place = data.find(b":") + 1
    return data[:place] + nested + b"," + data[place:]


FORGED_TEXT: tuple[Change, ...] = (
    insert, insert, insert, in_a_cell, in_a_cell, lines, encoding, line_ends, columns, deep
)  # fmt: skip


# Forgeries of Arrow and Parquet.


def offsets(rng: random.Random, data: bytes) -> bytes:
    """Break offsets of texts: runs of rising numbers of 32 or 64 bits."""
    kind = rng.choice(("<i", "<q"))
    size = struct.calcsize(kind)
    found = []
    for place in range(0, len(data) - 3 * size, size):
        first, second, third = struct.unpack_from(kind[0] + 3 * kind[1], data, place)
        if 0 <= first <= second <= third < 2**16 and third > 0:
            found.append(place + size)
    if not found:
        return data
    place = rng.choice(found)
    value = rng.choice((*NUMBERS, len(data))) % 2 ** (8 * size)
    return data[:place] + struct.pack(kind.upper(), value) + data[place + size :]


def footer(rng: random.Random, data: bytes) -> bytes:
    """Change the footer of a Parquet file, with its length put right."""
    if data[-4:] != b"PAR1" or len(data) < 12:
        return data
    length = struct.unpack("<I", data[-8:-4])[0]
    body, tail = data[: -8 - length], data[-8 - length : -8]
    if not tail:
        return data
    place = rng.randrange(len(tail))
    value = varint(rng.choice((*NUMBERS, len(data), rng.getrandbits(30))))
    changed = rng.choice((flip, splice, noise, None))
    forged = changed(rng, tail) if changed else tail[:place] + value + tail[place + 1 :]
    return body + forged + struct.pack("<I", len(forged)) + b"PAR1"


def page(rng: random.Random, data: bytes) -> bytes:
    """Change a number in the header of a page; the page is as much shorter as the header longer."""
    try:
        meta = parquet.read_metadata(io.BytesIO(data))
        group = meta.row_group(rng.randrange(meta.num_row_groups))
        column = group.column(rng.randrange(group.num_columns))
    except Exception:  # whatever was done to the file before
        return data
    starts = [column.data_page_offset]
    if column.has_dictionary_page:
        starts.append(column.dictionary_page_offset)
    start = rng.choice(starts)
    place = start + rng.choice((1, 1, 3, 3, 5, 7, 8, 9, 10, 12))  # numbers begin about there
    value = varint(rng.choice((*NUMBERS, len(data), rng.getrandbits(20))))
    end = place + 1
    while end < len(data) and data[end - 1] > 127:
        end += 1
    forged = data[:place] + value + data[end:]
    longer = len(forged) - len(data)
    return forged[: end + 40] + forged[end + 40 + longer :] if longer > 0 else forged


def varint(value: int) -> bytes:
    """Return a number as Thrift writes it, with its sign in the last bit."""
    left, out = (value << 1 ^ value >> 63) % 2**64, b""
    while left > 127:
        out, left = out + bytes([left & 127 | 128]), left >> 7
    return out + bytes([left])


def _alike(text: str, n_rows: int) -> pa.Array:
    """Return a column of one text, which takes no room until it is taken apart."""
    return pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int8), [text])


def parquet_bomb(rng: random.Random, _: bytes) -> bytes:
    """Return a small file of pages, dictionaries or runs that become large."""
    encoding = rng.choice((True, True, "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"))
    long = rng.choice((10, 2**10, 2**16, 2**20, 2**24))
    n_rows = rng.choice((10, 3000, 300_000))
    options: dict = {"use_dictionary": True}
    if encoding is not True:
        n_rows = max(1, min(n_rows, 2**25 // long))
        options = {"use_dictionary": False, "column_encoding": {"town": encoding}}
    town = _alike("x" * long, n_rows)
    town = town if encoding is True else town.cast(pa.string())
    label = rng.choice((_alike("x" * long, n_rows), _alike("yes", n_rows)))
    rows = pa.table({"a": np.zeros(n_rows), "town": town, "label": label})
    out = io.BytesIO()
    parquet.write_table(
        rows,
        out,
        compression=rng.choice(("zstd", "gzip", "snappy", "brotli")),
        data_page_size=rng.choice((2**10, 2**20, 2**30)),
        dictionary_pagesize_limit=2**30,
        **options,
    )
    return out.getvalue()


def arrow_bomb(rng: random.Random, data: bytes) -> bytes:
    """Return a small file of batches, dictionaries or empty columns that become large."""
    n_rows = rng.choice((10, 3000, 300_000, 35_000_000))
    town = _alike("x" * rng.choice((10, 2**16, 2**20)), n_rows)
    label = rng.choice((town, _alike("yes", n_rows)))
    numbers = rng.choice((pa.nulls(n_rows), np.zeros(n_rows)))
    rows = pa.table({"a": numbers, "town": town, "label": label})
    out = io.BytesIO()
    new = ipc.new_file if data.startswith(b"ARROW1") else ipc.new_stream
    with new(out, rows.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(rows)
    return out.getvalue()


def text_bomb(rng: random.Random, data: bytes) -> bytes:
    """Return text with something in it that is endless, or rows that are wider than they look."""
    many = rng.choice((10**4, 2 * 10**5))  # a bad row takes ten microseconds
    first, end, _ = data.partition(b"\n")
    if rng.random() < 0.5:
        return first + end + rng.choice((b"\n", b"x", b'"', b"{}\n", b"1\n", b",", b" ")) * many
    if first.startswith(b"{"):
        keys = b",".join(b'"c%d":1' % k for k in range(rng.choice((100, 3000, 19_000))))
        return b"{" + keys + b"," + first[1:] + b"\n" + b'{"label":"no"}\n' * (many // 10)
    return first + b" %d:1\n" % rng.choice((900, 19_000)) + b"1\n" * (many // 10)


FORGED: dict[str, tuple[Change, ...]] = {
    "parquet": (footer, footer, page, page, page, offsets),
    "arrow": (offsets, offsets, number),
    "stream": (offsets, offsets, number),
}
BOMBS: dict[str, Change] = {
    "parquet": parquet_bomb,
    "arrow": arrow_bomb,
    "stream": arrow_bomb,
    "csv": text_bomb,
    "tsv": text_bomb,
    "jsonl": text_bomb,
    "svmlight": text_bomb,
}
