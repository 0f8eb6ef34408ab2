"""How much of anything there may be, so that no small file takes much memory or much time."""

from __future__ import annotations

LONGEST_ROW = 2**22  # bytes of a record of text
LONGEST_LABEL = 1000  # characters; labels are held in arrays as wide as the longest of them
LONGEST_CELL = 2**16  # characters of a category
LONGEST_COLUMN = 1000  # characters of what a column is called
WIDEST = 20_480  # columns: 20,000 inputs, and what stands beside them
MOST_PLACES = 2**24  # of sparse rows: a weight and a precision of each take 256 MiB
CELLS = 2**22  # of rows that are taken up at once
LOOKED_AT = 2**23  # bytes of text that decide what columns hold

UNPACKED = 2**28  # bytes that compressed data may become, however little it is
RATIO = 16  # times that compressed data may grow beyond that

REPEATED = 2**34  # bytes of texts that are written once and used by many rows
REPEATED_RATIO = 10_000  # times that they may be more than what is in the file


def may_repeat(n_bytes: int, n_rows: int, packed: int = 0) -> bool:
    """Whether so many rows may use a text of so many bytes, in a file with so many.

    Examples
    --------
    >>> from virtualvector.streams.limits import may_repeat
    >>> may_repeat(100, 10**6, packed=10**5), may_repeat(10**6, 300_000, packed=3000)
    (True, False)
    """
    return n_bytes * n_rows <= REPEATED + REPEATED_RATIO * packed


def room_for(packed: int) -> int:
    """Return how many bytes so much compressed data may become.

    Numbers seldom shrink to less than a tenth; what grows a thousand times is there to do harm.

    Examples
    --------
    >>> from virtualvector.streams.limits import room_for
    >>> room_for(1000), room_for(10**9)
    (268451456, 16268435456)
    """
    return UNPACKED + RATIO * packed
