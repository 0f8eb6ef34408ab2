"""Who was trusted when: a history that never grows beyond a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from virtualvector.learners.expert import Expert, describe

LONGEST = 256  # blocks remembered


Entries = TypeVar("Entries", bound=Sequence[Any])


def thinned(entries: Entries, every: int, longest: int) -> tuple[Entries, int]:
    """Return entries, or every other one if they are too many, and what is between two of them.

    Examples
    --------
    >>> from virtualvector.auto.history import thinned
    >>> thinned([1, 2, 3, 4], 1, 4), thinned([1, 2, 3, 4], 1, 3)
    (([1, 2, 3, 4], 1), ([2, 4], 2))
    """
    return (entries, every) if len(entries) <= longest else (entries[1::2], 2 * every)  # type: ignore[return-value]


class HistoryEntry(NamedTuple):
    """How much each expert was trusted after so many rows."""

    n_rows: int
    weights: dict[Expert, float]


class History(NamedTuple):
    """Moments along the stream, evenly spaced; of a long stream fewer than of a short one."""

    entries: tuple[HistoryEntry, ...] = ()
    every: int = 1  # blocks between two moments
    n_blocks: int = 0

    def with_block(self, n_rows: int, weights: dict[Expert, float]) -> History:
        """Return the record with one more block.

        Examples
        --------
        >>> from virtualvector.auto.history import LONGEST, History
        >>> history = History()
        >>> for n_rows in range(128, 128_001, 128):
        ...     history = history.with_block(n_rows, {})
        >>> len(history.entries) <= LONGEST, history.every
        (True, 4)
        """
        n_blocks = self.n_blocks + 1
        if n_blocks % self.every:
            return self._replace(n_blocks=n_blocks)
        entries = (*self.entries, HistoryEntry(n_rows, weights))
        return History(*thinned(entries, self.every, LONGEST), n_blocks)


def in_words(history: Sequence[Mapping[str, Any]]) -> list[tuple[int, dict[str, float]]]:
    """Return the history of a committee with what experts assume in words.

    Examples
    --------
    >>> from virtualvector.learners.expert import Expert, describe
    >>> from virtualvector.auto.history import in_words
    >>> in_words([{"n_rows": 128, "weights": {Expert(None, 1.0): 0.7, Expert(0.5, 0.1): 0.3}}])
    [(128, {'linear, s² 1': 0.7, 'rbf ×0.5, s² 0.1': 0.3})]
    """
    entries = []
    for entry in history:
        weights: dict[str, float] = {}
        for expert, weight in entry["weights"].items():
            words = describe(expert)
            weights[words] = weights.get(words, 0.0) + weight
        entries.append((entry["n_rows"], weights))
    return entries
