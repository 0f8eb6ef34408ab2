"""Who looks at how often each place is not zero in rows of a class, beside learners of weights.

A learner of weights gives what words share to whichever came first; rates know of each word alone.
So they are wrong in other rows, and the pool of both is better than either (docs/text.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from virtualvector.kernels.rates import LARGEST_UNIT, say_and_count
from virtualvector.posterior import WHOLE
from virtualvector.posterior.low_rank_state import sparse_rows
from virtualvector.types import LARGEST_COUNT, Array, IntArray, Labels

_MOST_DOUBLINGS = 100.0  # of what a row counts, from one row to the next
_NOBODY = np.zeros(0, np.int64)


class Rates(NamedTuple):
    """Counts of rows of each class, and of those that are not zero at each place.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from virtualvector.learners.sparse_rows import SparseTable
    >>> from virtualvector.wide.rates import Rates
    >>> rows = SparseTable(csr_array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    >>> rates, said = Rates.start(2, 2).predict_then_learn(rows, np.array([0, 1, 0]), np.inf)
    >>> rates.counts.tolist(), rates.rows.tolist()
    ([[2.0, 0.0], [0.0, 1.0]], [2.0, 1.0])
    >>> said[0]
    array([0.5, 0.5])
    """

    counts: Array  # (d, K)
    rows: Array  # (K,)
    unit: Array  # (1,)  what a row that comes now counts as

    @classmethod
    def start(cls, n_places: int, n_classes: int) -> Rates:
        """Return what is known before the first row."""
        return cls(np.zeros((n_places, n_classes)), np.zeros(n_classes), np.ones(1))

    def predict(self, rows: Any) -> Array:
        """Return the probability of each class, one column each, for rows of a `SparseTable`."""
        known = self
        if not all(array.flags.writeable for array in self):  # as those in a memory map
            known = Rates._make(array.copy() for array in self)
        return _said(known, rows, _NOBODY, WHOLE, 1.0, False)

    def predict_then_learn(
        self, rows: Any, observed: IntArray, half_life: float, powers: Array = WHOLE
    ) -> tuple[Rates, Array]:
        """Count rows, by the number of their class; also return what was said of each before."""
        after = Rates._make(array.copy() for array in self)
        growth = 2.0 ** min(1.0 / half_life, _MOST_DOUBLINGS)
        said = _said(after, rows, observed, powers, growth, True)
        return after, said

    def welcome(self, place: int) -> Rates:
        """Add a class, of which there was no row so far, at a place."""
        rows, counts = np.insert(self.rows, place, 0.0), np.insert(self.counts, place, 0.0, axis=1)
        return self._replace(counts=np.ascontiguousarray(counts), rows=rows)

    def check(self, n_places: int, n_classes: int, n_rows: int) -> None:
        """Raise ValueError unless so many rows can have led to this."""
        shapes = (self.counts.shape, self.rows.shape, self.unit.shape)
        expected = ((n_places, n_classes), (n_classes,), (1,))
        if shapes != expected:
            raise ValueError(f"found rates of shapes {shapes}; expected {expected}")
        unit = float(self.unit[0])
        if not 1.0 <= unit <= LARGEST_UNIT:
            raise ValueError(f"found {unit!r} as what a row counts; expected 1 to {LARGEST_UNIT:g}")
        most = unit * min(n_rows, LARGEST_COUNT) * (1.0 + 1e-9)
        if not (np.all(self.rows >= 0.0) and self.rows.sum() <= most):
            raise ValueError(f"found counts of rows below 0 or above {n_rows}; expected neither")
        if not np.all((self.counts >= 0.0) & (self.counts <= self.rows * (1.0 + 1e-9))):
            raise ValueError("found counts below 0 or above those of rows; expected neither")


def pooled_rates(
    shards: Sequence[Rates], start: Rates | None, places: Sequence[IntArray], n_classes: int
) -> Rates:
    """Return the counts of rows that were learned apart.

    Parameters
    ----------
    shards, start
        What was counted, and what was before, which all of them have counted.
    places : sequence of int arrays
        Where the classes of each shard, and then those of the start, are among all classes.
    n_classes : int
        How many those are.
    """
    total = Rates.start(len(shards[0].counts), n_classes)
    common = 1.0 if start is None else 1.0 - len(shards)
    parts = [*((1.0, shard) for shard in shards), *(() if start is None else ((common, start),))]
    for (times, part), where in zip(parts, places, strict=True):
        total.counts[:, where] += times / part.unit[0] * part.counts
        total.rows[where] += times / part.unit[0] * part.rows
    for array in (total.counts, total.rows):  # what rounding leaves of parts of rows
        np.maximum(array, 0.0, out=array)
    np.minimum(total.counts, total.rows, out=total.counts)
    return total


def places_among(classes: Labels, all_classes: Labels) -> IntArray:
    """Return where classes are among others."""
    return np.searchsorted(all_classes, classes)


def _said(
    known: Rates, table: Any, observed: IntArray, powers: Array, growth: float, learn: bool
) -> Array:
    rows, n_classes = sparse_rows(table.csr), len(known.rows)
    said = np.empty((len(table), n_classes))
    say_and_count(
        rows.starts, rows.places, rows.values, np.ascontiguousarray(observed, np.int64),
        np.ascontiguousarray(powers, float), known.counts, known.rows, known.unit,
        growth, learn, np.zeros((3, n_classes)), said,
    )  # fmt: skip
    return said
