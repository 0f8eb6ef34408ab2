"""As much of flatbuffers as it takes to see how large something is that Arrow describes by one."""

from __future__ import annotations

import struct
from typing import NamedTuple, Self


class Table(NamedTuple):
    """A table of a flatbuffer: fields by number, of which some may not be there.

    Whatever is outside raises `struct.error`.
    """

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> Self:
        """Return the table that all others hang on."""
        return cls(data, read("<I", data, 0))

    def number(self, field: int, kind: str = "<q") -> int:
        """Return a whole number, 0 if it is not there."""
        at = self._find(field)
        return read(kind, self.data, at) if at else 0

    def table(self, field: int) -> Table | None:
        """Return a table in this one."""
        at = self._find(field)
        return Table(self.data, at + read("<I", self.data, at)) if at else None

    def structs(self, field: int, kind: str) -> list[tuple[int, ...]]:
        """Return a list of structures."""
        at = self._find(field)
        if not at:
            return []
        at += read("<I", self.data, at)
        size = read("<I", self.data, at) * struct.calcsize(kind)
        return list(struct.iter_unpack(kind, self.data[at + 4 : at + 4 + size]))

    def _find(self, field: int) -> int:
        fields = self.at - read("<i", self.data, self.at)
        place = 4 + 2 * field
        inside = place < read("<H", self.data, fields)
        offset = read("<H", self.data, fields + place) if inside else 0
        return self.at + offset if offset else 0


def read(kind: str, data: bytes, at: int) -> int:
    """Return the number at a place."""
    if at < 0:
        raise struct.error("before the beginning")
    number: int = struct.unpack_from(kind, data, at)[0]
    return number
