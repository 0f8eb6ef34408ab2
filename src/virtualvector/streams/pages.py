"""Pages of Parquet files, looked at before Arrow takes any memory for them.

A column of a row group is a sequence of pages, each with a header in Thrift's compact protocol that
says how long the page is, compressed and not, and how many values it has. Nothing else in the file
says so, and Arrow takes as much memory as a header says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from virtualvector.streams.bad_input import Damaged
from virtualvector.streams.limits import CELLS

_LONGEST_HEADER = 2**24  # bytes; Arrow reads no longer ones
_PADDING = 100  # bytes behind a column that Arrow looks at, because of old writers
_DATA, _INDEX, _DICTIONARY, _DATA_2 = 0, 1, 2, 3  # kinds of pages
_DETAILS = {_DATA: 5, _DICTIONARY: 7, _DATA_2: 8}  # the field of the header that has them
_BY_DICTIONARY = (2, 8)  # encodings
_BY_LENGTHS, _BY_PREFIXES = 6, 7
_WIDTHS = {"INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12, "BYTE_ARRAY": 4}
_TEXT = "BYTE_ARRAY"
_PER_ENTRY = 20  # bytes that Arrow takes for an entry of a dictionary, beside what it is

Fields = dict[int, Any]
_NO_DETAILS: Fields = {1: 0, 2: 0}


class Load(NamedTuple):
    """What it takes to read a column of a row group."""

    page: int = 0  # bytes, compressed or not, that are held at once
    cell: float = 0.0  # bytes of a text, the mean of the page where they are longest
    entry: int = 0  # bytes of the longest text in a dictionary


class Page(NamedTuple):
    """What the header of a page says."""

    kind: int
    n_bytes: int
    packed: int
    n_values: int
    encoding: int


def load_of(file: BinaryIO, size: int, column: Any) -> Load:
    """Return what it takes to read a column, of which `column` is Arrow's metadata."""
    largest, cell, entry = 0, 0.0, 0
    for at, page in _pages(file, size, column):
        held = page.n_bytes + page.packed
        if page.kind == _DICTIONARY:
            if page.n_values * _WIDTHS.get(column.physical_type, 1) > page.n_bytes:
                raise Damaged(f"found {page.n_values:,} entries in {page.n_bytes:,} bytes")
            held += page.n_values * _PER_ENTRY
            if column.physical_type == _TEXT:
                entry = _longest(_unpacked(file, at, page, column.compression))
        elif column.physical_type == _TEXT:
            if page.encoding in (_BY_LENGTHS, _BY_PREFIXES) and page.n_values > CELLS:
                raise Damaged(f"found a page of {page.n_values:,} texts; expected smaller pages")
            cell = max(cell, _cell(page, entry))
        largest = max(largest, held)
    return Load(largest, cell, entry)


def _cell(page: Page, entry: int) -> float:
    """Return the mean length of texts, where they are no longer than an entry of a dictionary."""
    if page.encoding in _BY_DICTIONARY:
        return float(entry)
    if page.encoding == _BY_PREFIXES:  # each may have all of those before it
        return float(page.n_bytes)
    return page.n_bytes / max(page.n_values, 1)


def _pages(file: BinaryIO, size: int, column: Any) -> Iterator[tuple[int, Page]]:
    """Yield where each page begins, and what it is."""
    at = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
        at = column.dictionary_page_offset
    end = at + column.total_compressed_size
    if not 0 <= at <= end <= size:
        raise Damaged(f"found a column that ends at byte {end:,} of {size:,}")
    end = min(end + _PADDING, size)
    n_values = 0
    while n_values < column.num_values and at < end:
        page, length = _header(file, at, end)
        at += length
        if not (0 <= page.packed <= end - at and page.n_bytes >= 0 and page.n_values >= 0):
            raise Damaged(f"found a page of {page.packed:,} bytes; expected at most {end - at:,}")
        yield at, page
        at += page.packed
        n_values += page.n_values if page.kind in (_DATA, _DATA_2) else 0


def _header(file: BinaryIO, at: int, end: int) -> tuple[Page, int]:
    """Return the header of a page, and how long it is."""
    length = 128
    while True:
        file.seek(at)
        data = file.read(min(length, end - at))
        try:
            fields, size = _struct(data, 0)
            break
        except IndexError:
            if len(data) < length or length >= _LONGEST_HEADER:
                raise Damaged("found a damaged page header") from None
            length *= 8
    kind = fields.get(1, -1)
    details = fields.get(_DETAILS.get(kind, 0), _NO_DETAILS) if type(kind) is int else None
    if not isinstance(details, dict):
        raise Damaged("found a damaged page header")
    encoding = details.get(4 if kind == _DATA_2 else 2)
    numbers: list[Any] = [kind, fields.get(2), fields.get(3), details.get(1), encoding]
    if not all(type(number) is int for number in numbers):
        raise Damaged("found a damaged page header")
    return Page(*numbers), size


def _struct(data: bytes, at: int, depth: int = 0) -> tuple[Fields, int]:
    """Return whole numbers and structures by their fields, and where it ends.

    There is nothing else in the header of a page but texts, which are left out.
    """
    fields: Fields = {}
    field = 0
    while head := data[at]:
        at += 1
        kind = head & 15
        if head >> 4:
            field += head >> 4
        else:
            field, at = _zigzag(data, at)
        if kind in (4, 5, 6):
            fields[field], at = _zigzag(data, at)
        elif kind == 8:
            length, at = _varint(data, at)
            at += length
        elif kind == 12 and depth < 3:
            fields[field], at = _struct(data, at, depth + 1)
        elif kind in (1, 2):  # truth values, which are in the kind
            continue
        else:
            raise Damaged("found a damaged page header")
    return fields, at + 1


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    number, at = _varint(data, at)
    return (number >> 1) ^ -(number & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while (byte := data[at]) > 127:
        number |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift > 63:
            raise Damaged("found a damaged page header")
    return number | byte << shift, at + 1


def _unpacked(file: BinaryIO, at: int, page: Page, codec: str) -> bytes | int:
    """Return what is in a page, or how long that is if the codec is not at hand."""
    import pyarrow as pa

    file.seek(at)
    packed = file.read(page.packed)
    if codec == "UNCOMPRESSED":
        return packed
    try:
        return bytes(pa.Codec(codec.lower()).decompress(packed, page.n_bytes))
    except (pa.ArrowException, OSError, ValueError):
        return page.n_bytes


def _longest(dictionary: bytes | int) -> int:
    """Return the length of the longest entry of a dictionary."""
    if isinstance(dictionary, int):
        return dictionary
    longest = at = 0
    while at + 4 <= len(dictionary):
        length = struct.unpack_from("<I", dictionary, at)[0]
        at += 4 + length
        longest = max(longest, length)
    return min(longest, len(dictionary))
