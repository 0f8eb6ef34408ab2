"""Categories without an input of their own: what was observed for them so far, by class."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.features.categories import CELLS, Categories, Places, cells_of
from virtualvector.kernels.target_statistics import target_statistics
from virtualvector.types import Array, Labels

MOST = 8  # inputs of a column


def statistics_for(n_classes: int) -> int:
    """Return the most inputs of a column that pay with so many classes."""
    return min(max(n_classes - 1, 1), MOST)


class Statistics(NamedTuple):
    """What came with the categories of each column that have no input, and the inputs of that.

    Learning returns another one and changes no array in place. Classes have numbers as they come.
    The odds of the first are those against all others, so that it needs no input: with two classes
    a column has one.
    """

    most: int  # inputs of a column; those of later classes are left out
    classes: Labels | None
    totals: Array  # rows so far: all, then those of class 1, 2, …
    counts: dict[int, Array]  # the same of each column, for each cell that a category may be in
    places: dict[int, tuple[int, ...]]  # inputs of each column, of class 1, 2, …

    @classmethod
    def start(cls, most: int) -> Statistics:
        """Return what is known before the first row."""
        return cls(most, None, np.zeros(1), {}, {})

    @property
    def n_inputs(self) -> int:
        """The number of inputs so far."""
        return sum(map(len, self.places.values()))

    @property
    def n_bytes(self) -> int:
        """The memory that is taken."""
        return self.totals.nbytes + sum(counts.nbytes for counts in self.counts.values())

    @property
    def has_all_inputs(self) -> bool:
        """Whether all that is counted has its inputs."""
        each = (len(self.places.get(k, ())) for k in self.counts)
        return all(n == len(self.totals) - 1 for n in each)

    def number_of(self, label: Any) -> int | None:
        """Return the number of a class; None if it is not known."""
        known = [] if self.classes is None else self.classes.tolist()
        return known.index(label) if label in known else None

    def counted(self, number: int) -> Statistics:
        """Return the same with one more row of a class among all rows."""
        totals = self.totals.copy()
        totals[0] += 1.0
        if 1 <= number < len(totals):
            totals[number] += 1.0
        return self._replace(totals=totals)

    def with_classes(self, labels: Labels) -> tuple[Statistics, list[int]]:
        """Return the same with room for new classes, and the first row at which each can count."""
        values, first = np.unique(labels, return_index=True)
        known = values[:0] if self.classes is None else self.classes
        is_new = ~np.isin(values, known)
        order = np.argsort(first[is_new])
        classes = np.concatenate([known, values[is_new][order]])
        since = [0] * len(known) + [row + 1 for row in first[is_new][order].tolist()]
        width = 1 + min(max(len(classes) - 1, 0), self.most)
        return (
            self._replace(
                classes=classes,
                totals=_padded(self.totals, width),
                counts={k: _padded(counts, width) for k, counts in self.counts.items()},
            ),
            since[1:width],
        )

    def with_columns(self, columns: list[int]) -> Statistics:
        """Return the same that also counts for columns which from now on need it."""
        fresh = {k: np.zeros((CELLS, len(self.totals))) for k in columns if k not in self.counts}
        return self._replace(counts=self.counts | fresh)

    def numbers_of(self, labels: Labels) -> NDArray[np.int64]:
        """Return the numbers of the classes of rows, all of which are known."""
        assert self.classes is not None
        order = np.argsort(self.classes)
        found: NDArray[np.int64] = order[np.searchsorted(self.classes[order], labels)]
        return found

    def write(
        self, found: dict[int, Categories], known: Places, came: NDArray[np.int64] | None,
        inputs: Array,
    ) -> Statistics:  # fmt: skip
        """Write the statistics of each row as inputs; count the rows, if it is said what came."""
        counts, totals = dict(self.counts), self.totals.copy()
        for k in self.counts:
            cells = cells_of(found[k], known[k])[found[k].which]
            written, counts[k], totals = self._of_column(k, cells, came)
            places = list(self.places.get(k, ()))
            inputs[:, places] = written[:, : len(places)]
        if came is not None and not counts:
            totals += np.bincount(came, minlength=len(totals))[: len(totals)]
            totals[0] = self.totals[0] + len(came)
        return self if came is None else self._replace(counts=counts, totals=totals)

    def of_row(
        self, cells: dict[int, int], number: int | None
    ) -> tuple[dict[int, float], Statistics]:
        """Return the inputs of one row by their places; count it, if it is of a known class.

        The cells are those of the columns in which the row has a category without an input.
        """
        came = None if number is None else np.array([number])
        counts, written = dict(self.counts), dict[int, float]()
        for k, cell in cells.items():
            of_column, counts[k], _ = self._of_column(k, np.array([cell]), came)
            written |= dict(zip(self.places.get(k, ()), of_column[0].tolist(), strict=False))
        return written, self if number is None else self.counted(number)._replace(counts=counts)

    def _of_column(
        self, k: int, cells: NDArray[np.int64], came: NDArray[np.int64] | None
    ) -> tuple[Array, Array, Array]:
        """Return the statistics of rows in a column, and the counts and totals after them."""
        learn, numbers = came is not None, cells[:0] if came is None else came
        table, totals = self.counts[k], self.totals.copy()
        table = table.copy() if learn and np.any(cells >= 0) else table
        written = np.empty((len(cells), table.shape[1] - 1))
        target_statistics(cells, numbers, table, totals, learn, written)
        return written, table, totals


def _padded(counts: Array, width: int) -> Array:
    more = np.zeros((*counts.shape[:-1], width - counts.shape[-1]))
    return np.concatenate([counts, more], axis=-1) if more.size else counts
