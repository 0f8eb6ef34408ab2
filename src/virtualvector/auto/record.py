"""Who was trusted when: a history that never grows beyond a bound."""

from __future__ import annotations

from typing import NamedTuple

from virtualvector.auto.experts import Expert

LONGEST = 256  # blocks remembered


class Moment(NamedTuple):
    """How much each expert was trusted after so many rows."""

    n_rows: int
    weights: dict[Expert, float]


class Record(NamedTuple):
    """Moments along the stream, evenly spaced; of a long stream fewer than of a short one."""

    moments: tuple[Moment, ...] = ()
    every: int = 1  # blocks between two moments
    n_blocks: int = 0

    def with_block(self, n_rows: int, weights: dict[Expert, float]) -> Record:
        """Return the record with one more block.

        Examples
        --------
        >>> from virtualvector.auto.record import LONGEST, Record
        >>> record = Record()
        >>> for n_rows in range(128, 128_001, 128):
        ...     record = record.with_block(n_rows, {})
        >>> len(record.moments) <= LONGEST, record.every
        (True, 4)
        """
        n_blocks = self.n_blocks + 1
        if n_blocks % self.every:
            return self._replace(n_blocks=n_blocks)
        moments = (*self.moments, Moment(n_rows, weights))
        if len(moments) <= LONGEST:
            return Record(moments, self.every, n_blocks)
        return Record(moments[1::2], 2 * self.every, n_blocks)
