"""Text cut into chunks of whole records, with the number of the first line of each."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.escaping import printable
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.byte_source import FAILURES
from virtualvector.streams.limits import LONGEST_ROW

BOM = b"\xef\xbb\xbf"
PATIENT = 2**16  # bytes without an end of a record, from which on not every block is looked at

Cut = Callable[[bytes], int]


class Chunk(NamedTuple):
    """Some records of a text."""

    data: bytes
    line: int = 1  # of the first of them
    last: bool = False  # the text ends with it, and without a line end

    def after(self, size: int) -> Chunk:
        """Return what comes after so many bytes, which end a line."""
        return self._replace(data=self.data[size:], line=self.line + line_ends(self.data[:size]))


def chunks(name: str, blocks: Iterable[bytes], cut: Cut) -> Iterator[Chunk]:
    r"""Cut blocks of bytes behind their last whole record, which ``cut`` finds.

    An empty block, which tells that no more has arrived so far, becomes an empty chunk.

    Examples
    --------
    >>> from virtualvector.streams.chunks import after_last_line, chunks
    >>> for chunk in chunks("rows", [b"a,b", b"\n1,2\n3", b",4"], after_last_line):
    ...     print(chunk)
    Chunk(data=b'a,b\n1,2\n', line=1, last=False)
    Chunk(data=b'3,4', line=3, last=True)
    """
    rest, failure = Chunk(b""), None
    enough = 0  # bytes; with less it is not worth looking for the end of a record again
    try:
        for block in _without_bom(blocks):
            if not block:
                yield Chunk(b"", rest.line)
                continue
            rest = rest._replace(data=rest.data + block)
            if len(rest.data) < enough:
                continue
            whole, rest = _parted(rest, cut)
            if whole.data:
                yield whole
            if len(rest.data) > LONGEST_ROW:
                raise BadInput(
                    f"{name}, line {rest.line}: found a row of more than {LONGEST_ROW >> 20} MiB; "
                    "expected a line end before that; perhaps a quote is not closed."
                )
            # So that what comes in many small blocks is not gone through for each of them.
            enough = len(rest.data) * 9 // 8 if len(rest.data) > PATIENT else 0
    except FAILURES as error:
        failure = error
    whole, rest = _parted(rest, cut)
    if whole.data:
        yield whole
    if failure is not None:
        behind = f", after line {rest.line - 1}" if rest.line > 1 else ""
        raise BadInput(f"{name}: {why(failure)}{behind}.") from failure
    if rest.data:
        yield rest._replace(last=True)


def _parted(chunk: Chunk, cut: Cut) -> tuple[Chunk, Chunk]:
    """Return whole records, and what comes after them."""
    end = cut(chunk.data)
    return chunk._replace(data=chunk.data[:end]), chunk.after(end)


def joined(chunks: Iterable[Chunk], size: int) -> Iterator[Chunk]:
    r"""Join chunks up to such a size; an empty one, which tells to go on, ends it before.

    Examples
    --------
    >>> from virtualvector.streams.chunks import Chunk, joined
    >>> for chunk in joined([Chunk(b"1\n", 1), Chunk(b"2\n", 2), Chunk(b"3", 3, last=True)], 3):
    ...     print(chunk)
    Chunk(data=b'1\n2\n', line=1, last=False)
    Chunk(data=b'3', line=3, last=True)
    """
    held: list[Chunk] = []
    try:
        for chunk in chunks:
            if held and (chunk.last or not chunk.data):
                yield _whole(held)
                held = []
            held.append(chunk)
            if not chunk.data or sum(len(each.data) for each in held) >= size:
                yield _whole(held)
                held = []
    except BadInput:  # comes after what could be read
        if held:
            yield _whole(held)
        raise
    if held:
        yield _whole(held)


def _whole(parts: Sequence[Chunk]) -> Chunk:
    return parts[-1]._replace(data=b"".join(p.data for p in parts), line=parts[0].line)


def after_last_line(data: bytes) -> int:
    """Return where the last whole line ends; a lone CR ends one if nothing else does."""
    return (data.rfind(b"\n") + 1) or (data.rfind(b"\r", 0, -1) + 1)


def after_last_record(delimiter: str, quote: str = '"') -> Cut:
    """Return a function that finds where the last record ends, as line ends in quotes end none."""
    if not quote:
        return after_last_line
    pattern, sign = _records(delimiter, quote), quote.encode()

    def cut(data: bytes) -> int:
        if sign not in data:
            return after_last_line(data)
        end = _after_even_quotes(data, delimiter, quote)
        match = None if end else pattern.match(data)
        return match.end() if match else end

    return cut


def _after_even_quotes(data: bytes, delimiter: str, quote: str) -> int:
    """Return the last end of a line that is outside quotes, or 0 if that takes a closer look.

    A line end is outside if the number of quotes before it is even.
    """
    quotes = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord(quote))
    if not beside_fields(data, quotes, delimiter, quote):
        return 0
    end = data.rfind(b"\n") + 1
    while (before := np.searchsorted(quotes, end)) % 2:
        end = data.rfind(b"\n", 0, quotes[before - 1] + 1) + 1
    return end


def beside_fields(data: bytes, quotes: NDArray[np.intp], delimiter: str, quote: str) -> bool:
    """Whether each odd quote follows, and each even one is followed by, what is beside a field.

    Then what comes after an even number of quotes is outside of all.
    """
    beside = np.frombuffer(f"{quote}\r\n{delimiter}".encode(), dtype=np.uint8)
    padded = np.frombuffer(b"\n%b\n" % data, dtype=np.uint8)
    return bool(
        np.isin(padded[quotes[::2]], beside).all()
        and np.isin(padded[quotes[1::2] + 2], beside).all()
    )


def end_of_first(data: bytes, delimiter: str, quote: str = '"') -> int:
    """Return where the first record ends that is not blank, or where all ends."""
    match = _first(delimiter, quote).match(data)
    return match.end() if match else len(data)


@cache
def _records(delimiter: str, quote: str) -> re.Pattern[bytes]:
    """Return what matches all whole records."""
    part = _part_of_record(delimiter, quote)
    return re.compile(rb"(?:(?:%b)*+(?:\n|\r\n|\r(?!\n|\Z)))*+" % part)


@cache
def _first(delimiter: str, quote: str) -> re.Pattern[bytes]:
    """Return what matches blank lines and one record."""
    return re.compile(rb"[\r\n]*+(?:%b)++(?:\r\n?|\n)" % _part_of_record(delimiter, quote))


def _part_of_record(delimiter: str, quote: str) -> bytes:
    """Return what matches a part of a record: a quote opens a field only where it begins."""
    if not quote:
        return rb"[^\r\n]++"
    begins = rb"(?:\A|(?<=[%b\r\n]))" % re.escape(delimiter.encode())
    sign = re.escape(quote.encode())
    quoted = rb"%b[^%b]*+(?:%b%b[^%b]*+)*+%b" % ((sign,) * 6)
    return rb"%b%b|(?!%b)%b|[^%b\r\n]++" % (begins, quoted, begins, sign, sign)


def line_ends(data: bytes) -> int:
    """Count the line ends: LF, CR LF, or CR."""
    feeds = np.count_nonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
    lone = data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else 0
    return int(feeds) + lone


def lines_in(data: bytes) -> int:
    """Count the lines that are not blank, or a few more."""
    ends = np.isin(np.frombuffer(data, dtype=np.uint8), np.frombuffer(b"\r\n", dtype=np.uint8))
    return int(np.count_nonzero(ends[1:] & ~ends[:-1])) + 1


def why(error: BaseException) -> str:
    """Return the reason for which reading ended, in a few words."""
    if isinstance(error, EOFError) or "Truncated" in str(error):
        return "the compressed data ends too early"
    if isinstance(error, zlib.error) or "decompress failed" in str(error):
        return "the compressed data is damaged"
    reason = error.strerror if isinstance(error, OSError) else None
    if isinstance(error, UnicodeDecodeError):
        return "found a name whose bytes are no UTF-8; expected text in UTF-8"
    return printable((reason or str(error)).partition("\n")[0].rstrip("."))


def _without_bom(blocks: Iterable[bytes]) -> Iterator[bytes]:
    remaining = iter(blocks)
    first = b""
    for block in remaining:
        first += block
        if len(first) >= len(BOM):
            break
    yield first.removeprefix(BOM)
    yield from remaining
