"""Messages of Arrow's own format, looked at before Arrow takes any memory for them.

A message is a length, a description of that length, and a body. The description says how long the
body is and where buffers are in it; a compressed buffer begins with how long it becomes. Arrow
checks descriptions and, when asked to, arrays, but takes as much memory as a message says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from virtualvector.streams.bad_input import Damaged
from virtualvector.streams.flatbuffer import Table, read
from virtualvector.streams.limits import room_for

MAGIC = b"ARROW1"
_BEGIN = 8  # bytes of a file before its first message
_END = len(MAGIC) + 4  # bytes behind the footer: its length, and the magic
_CONTINUATION = b"\xff\xff\xff\xff"  # before the length, unless the file is very old
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3  # kinds of messages
_AS_IT_IS = -1  # what a buffer among compressed ones becomes that is not
_ROWS_OF_NOTHING = 2**20  # rows that a batch may have beyond one for each bit


class _Message(NamedTuple):
    begin: bytes  # the length, and the description
    kind: int = 0  # 0: the stream ends here
    batch: Table | None = None
    length: int = 0  # of the body


class Messages:
    """The messages of a file, as a stream for Arrow to read: each is looked at when its turn comes.

    A file ends with where its dictionaries and batches are. They are handed out in that order,
    which makes a stream of a file.
    """

    closed = False

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("rb")
        self._size = path.stat().st_size
        self._ready = b""
        try:
            with _telling():
                is_file = self._file.read(len(MAGIC)) == MAGIC
                self._places = self._footer() if is_file else None
        except BaseException:
            self.close()
            raise
        self._parts = filter(None, self._checked())

    def read(self, size: int) -> bytes:
        """Return so many bytes, or what there is."""
        parts = []
        while size > 0:
            if not self._ready:
                with _telling():
                    self._ready = next(self._parts, b"")
                if not self._ready:
                    break
            parts.append(self._ready[:size])
            self._ready = self._ready[size:]
            size -= len(parts[-1])
        return b"".join(parts)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self.closed = True

    def count_rows(self) -> int | None:
        """Return the number of rows, if there is a footer to find all batches by."""
        if self._places is None:
            return None
        n_rows = 0
        with _telling():
            for at, kind in self._places:
                if kind == _BATCH:
                    self._file.seek(at)
                    n_rows += _n_rows(self._described(kind).batch)
        return n_rows

    def _checked(self) -> Iterator[bytes]:
        """Yield what Arrow is to read, part by part."""
        if self._places is None:
            self._file.seek(0)
            while (message := self._described()).kind:
                yield from self._whole(message)
            yield message.begin
            return
        for at, kind in [(_BEGIN, _SCHEMA), *self._places]:
            self._file.seek(at)
            yield from self._whole(self._described(kind))

    def _described(self, expected: int | None = None) -> _Message:
        """Return the message that begins here, of the kind that is expected."""
        begin = self._file.read(4)
        if begin == _CONTINUATION:
            begin += self._file.read(4)
        length = read("<i", begin, len(begin) - 4) if len(begin) in (4, 8) else 0
        self._check_inside(length)
        message = _Message(begin)
        if length:
            description = self._file.read(length)
            root = Table.root(description)
            kind, body, batch = root.number(1, "<B"), root.number(3), root.table(2)
            if kind == _DICTIONARY and batch is not None:
                batch = batch.table(1)
            message = _Message(begin + description, kind, batch, body)
        if expected not in (None, message.kind):
            raise Damaged("found a damaged message; expected an Arrow file")
        return message

    def _whole(self, message: _Message) -> tuple[bytes, bytes]:
        """Return the beginning and the body of a message, if both are what they say."""
        self._check_inside(message.length)
        body = self._file.read(message.length)
        if message.kind in (_DICTIONARY, _BATCH) and message.batch is not None:
            _check_size(message.batch, body)
        return message.begin, body

    def _footer(self) -> list[tuple[int, int]]:
        """Return where dictionaries and batches are, with their kinds."""
        self._file.seek(max(0, self._size - _END))
        end = self._file.read(_END)
        length = read("<i", end, 0)
        if end[4:] != MAGIC or not 0 < length <= self._size - _BEGIN - _END:
            raise Damaged("found no footer; expected an Arrow file as a whole")
        self._file.seek(self._size - _END - length)
        footer = Table.root(self._file.read(length))
        dictionaries, batches = (footer.structs(field, "<qi4xq") for field in (2, 3))
        blocks = [*dictionaries, *batches]
        # Nothing may be handed out again and again.
        total = sum(described + body for _, described, body in blocks)
        if any(min(block) < 0 for block in blocks) or total > self._size:
            raise Damaged("found a damaged footer; expected an Arrow file")
        kinds = [_DICTIONARY] * len(dictionaries) + [_BATCH] * len(batches)
        return [(at, kind) for (at, _, _), kind in zip(blocks, kinds, strict=True)]

    def _check_inside(self, length: int) -> None:
        left = max(0, self._size - self._file.tell())
        if not 0 <= length <= left:
            raise Damaged(f"found a message of {length:,} bytes; expected no more than {left:,}")


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except struct.error as error:
        raise Damaged("found a damaged message; expected an Arrow file") from error


def _n_rows(batch: Table | None) -> int:
    return 0 if batch is None else batch.number(0)


def _check_size(batch: Table, body: bytes) -> None:
    """Raise if a small body would become large."""
    n_bytes = len(body)
    if batch.table(3) is not None:  # compressed
        buffers = [(at, size) for at, size in batch.structs(2, "<qq") if size >= 8]
        sizes = [(read("<q", body, at), size) for at, size in buffers]
        n_bytes = sum(size if becomes == _AS_IT_IS else becomes for becomes, size in sizes)
    if n_bytes > room_for(len(body)):
        raise Damaged(
            f"found a batch of {len(body):,} bytes that become {n_bytes:,}; expected smaller ones"
        )
    if not 0 <= _n_rows(batch) <= 8 * n_bytes + _ROWS_OF_NOTHING:
        raise Damaged(f"found {_n_rows(batch):,} rows in {n_bytes:,} bytes; expected fewer")
