"""Rows that others read: what is passed over is cut into records, and counted, but not parsed.

Parsing takes ten times as long as finding where records end. Who reads a part of a source goes
through its bytes, so that lines have their numbers, and parses what is his.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from virtualvector.streams.chunks import beside_fields


class Passing(Protocol):
    """What is passed over of a source, which comes in portions, one after the other."""

    @property
    def has_begun(self) -> bool:
        """Whether there was anything to pass over or to read."""

    def over_group(self, n_rows: int) -> bool:
        """Whether to pass over several portions at once, unread."""

    def over(self, count: Callable[[], int]) -> bool:
        """Whether to pass over a portion, of which it can be counted how many rows it has."""


def count_records(data: bytes, delimiter: str, quote: str) -> int | None:
    r"""Count the records of delimited text, or return None if that takes a closer look.

    A record is what is between two line ends that are not in quotes, unless that is nothing.

    Examples
    --------
    >>> from virtualvector.streams.passing import count_records
    >>> count_records(b'1,"a\nb"\n\n2,c\r\n3,d', ",", '"')
    3
    >>> count_records(b'1,a"b\n2,"c"\n', ",", '"') is None
    True
    """
    signs = np.frombuffer(data, dtype=np.uint8)
    is_end = signs == ord("\n")
    if b"\r" in data:
        is_end |= signs == ord("\r")
    ends = np.flatnonzero(is_end)
    if quote and quote.encode() in data:
        quotes = np.flatnonzero(signs == ord(quote))
        if len(quotes) % 2 or not beside_fields(data, quotes, delimiter, quote):
            return None
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    starts = np.concatenate([[-1], ends])
    return int(np.count_nonzero(np.diff(np.append(starts, len(data))) > 1))
