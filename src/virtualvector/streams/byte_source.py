"""Bytes from a file or a pipe as they come, unpacked."""

from __future__ import annotations

import gzip
import io
import select
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from virtualvector.streams.sources import Source

CHUNK = 2**21  # bytes that are parsed in one go
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
_BEGIN = 2**16  # bytes that are looked at to see how it is written
_UNPACKED = 2**16  # bytes per read of what is compressed
_TICK = 0.1  # seconds

# What reading can end with; an error of Arrow's streams is an OSError too.
FAILURES = (OSError, EOFError, zlib.error)


@contextmanager
def opened(source: Source) -> Iterator[io.BufferedReader]:
    """Open a file, or standard input, which stays open afterwards."""
    if source.path is None:
        file = sys.stdin.buffer
        yield file if hasattr(file, "peek") else io.BufferedReader(file)  # type: ignore[arg-type, misc]
        return
    with source.path.open("rb") as file:
        yield file


def blocks(source: Source, size: int = CHUNK) -> Generator[bytes, None, None]:
    """Yield the bytes in blocks of about that size; those of a pipe as they arrive.

    An empty block tells that no more has arrived so far, and comes ten times a second while that
    is so: nobody has to wait who can go on with less. Of what is compressed that is not known, and
    may be so after each block. What could be read is handed out before an error is raised.
    """
    with opened(source) as file:
        read = _unpacking(source, file)
        waiting = _waiting(file) if read == file.read1 and not source.rereadable else None
        held = bytearray()
        try:
            while block := read(size):
                held += block
                if not source.rereadable or len(held) >= size:
                    yield bytes(held)
                    held.clear()
                if waiting is None and not source.rereadable:
                    yield b""
                elif waiting is not None and len(block) < size:  # all that had arrived
                    yield from waiting()
        except FAILURES:
            yield bytes(held)
            raise
        yield bytes(held)


def _unpacking(source: Source, file: io.BufferedReader) -> Callable[[int], bytes]:
    """Return a function that reads at most so many bytes, and fewer rather than wait."""
    suffix = "" if source.path is None else source.path.suffix.lower()
    if suffix not in _MAGIC.values():
        first = file.peek(4)
        suffix = next((known for magic, known in _MAGIC.items() if first.startswith(magic)), "")
    arriving: Any = _Arriving(file)
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=arriving, mode="rb").read1
    if suffix == ".zst":
        import pyarrow as pa

        stream = pa.CompressedInputStream(pa.PythonFile(arriving, mode="r"), "zstd")
        return lambda size: bytes(stream.read(min(size, _UNPACKED)))
    return file.read1


def _waiting(file: io.BufferedReader) -> Callable[[], Iterator[bytes]] | None:
    """Return a generator of empty blocks for as long as there is nothing to read."""
    poll = select.poll()
    try:
        poll.register(file.fileno(), select.POLLIN)
    except OSError:  # not a file of the system's, which never waits
        return None

    def waiting() -> Iterator[bytes]:
        seconds = 0.0
        while not poll.poll(1000 * seconds):
            yield b""
            seconds = _TICK

    return waiting


def begun(
    blocks: Iterator[bytes], enough: Callable[[bytes], bool]
) -> tuple[bytes, Iterator[bytes]]:
    r"""Return what blocks begin with, until that is enough, and all of them.

    What reading ends with meanwhile comes after all that could be read.

    Examples
    --------
    >>> from virtualvector.streams.byte_source import begun
    >>> begin, data = begun(iter([b"a,", b"b\n1", b",2"]), lambda begin: b"b" in begin)
    >>> begin, list(data)
    (b'a,b\n1', [b'a,b\n1', b',2'])
    """
    begin = b""
    try:
        for block in blocks:
            begin += block
            if len(begin) > _BEGIN or enough(begin):
                break
    except FAILURES as error:
        return begin, _ending(begin, error)
    return begin, chain([begin], blocks)


def _ending(begin: bytes, error: BaseException) -> Iterator[bytes]:
    yield begin
    raise error


class _Arriving:
    """A file whose reads return what is there instead of waiting for more."""

    closed = False

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file

    def read(self, size: int) -> Any:
        return self._file.read1(size)

    def close(self) -> None:
        """Leave the file to its owner."""
