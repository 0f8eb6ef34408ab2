"""From rows of any table to inputs of unit scale, online: numbers, categories, missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtualvector.features.categories import (
    SLOTS,
    Categories,
    allot,
    categories_of,
    write_categories,
)
from virtualvector.kernels.scaling import scale_rows
from virtualvector.types import Array


@dataclass
class Encoder:
    """What is known of the columns of a stream, and how its rows become inputs.

    Learning changes no array in place: a shallow copy keeps what was known.

    A column of numbers becomes one input: its distance from the running mean in running standard
    deviations, x, then asinh(x), which leaves small values as they are and brings outliers close. A
    row counts towards the mean and the deviation that it is scaled by, so the first of a kind is
    not far from all others by mistake; but one further out than four deviations counts as if it
    were there. Only a column's last ten thousand rows or so matter, so that it may drift. Gaps
    become the mean, and are counted.

    Behind the numbers there is one more input for every new category, as they come, but no more
    than eight of a column. Later ones have a direction in these eight that is drawn at random once
    and for all, by the category. A missing value is a category like others.

    Parameters
    ----------
    categorical : sequence of bool
        Which columns are categorical.
    scaling : bool
        Whether numbers are scaled; otherwise they are taken as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.features.encoder import Encoder
    >>> inputs = Encoder([False, True])
    >>> inputs.learn([np.array([1.0, 3.0]), np.array(["red", "blue"])]).round(2).tolist()
    [[0.0, 0.5, 0.0], [0.88, 0.0, 0.5]]
    """

    categorical: Sequence[bool]
    scaling: bool = True
    counts: Array = field(init=False)
    means: Array = field(init=False)
    squares: Array = field(init=False)
    categories: dict[int, dict[str, int]] = field(
        init=False
    )  # of each column, the inputs of its categories
    missing: NDArray[np.int64] = field(init=False)  # seen so far in each column

    def __post_init__(self) -> None:
        numbers = len(self.categorical) - sum(self.categorical)
        self.counts, self.means, self.squares = np.zeros((3, numbers))
        self.categories = {
            k: {} for k, is_categorical in enumerate(self.categorical) if is_categorical
        }
        self.missing = np.zeros(len(self.categorical), np.int64)

    @property
    def n_inputs(self) -> int:
        """The number of inputs that rows have become so far."""
        return len(self.counts) + sum(len(known) for known in self.categories.values())

    @property
    def most_inputs(self) -> int:
        """The number of inputs that there can ever be."""
        return len(self.counts) + SLOTS * len(self.categories)

    @property
    def spread(self) -> float:
        """The typical squared length of a row of inputs: about one for each column."""
        return float(max(len(self.categorical), 1))

    @property
    def n_bytes(self) -> int:
        """The memory that is taken by what is known of the columns."""
        categories = sum(
            len(category.encode()) for known in self.categories.values() for category in known
        )
        arrays = (self.counts, self.means, self.squares, self.missing)
        return categories + sum(array.nbytes for array in arrays)

    def labels(self, columns: Sequence[str]) -> list[str]:
        """Return what each input means, by the labels of the columns.

        Examples
        --------
        >>> import numpy as np
        >>> from virtualvector.features.encoder import Encoder
        >>> inputs = Encoder([True, False])
        >>> _ = inputs.learn([np.array(["NO", None], dtype=object), np.array([1.0, 2.0])])
        >>> inputs.labels(["country", "age"])
        ['age', 'country = NO', 'country missing']
        """
        labels = [
            label
            for label, is_categorical in zip(columns, self.categorical, strict=True)
            if not is_categorical
        ]
        places = {
            place: f"{columns[k]} = {category}" if category else f"{columns[k]} missing"
            for k, known in self.categories.items()
            for category, place in known.items()
        }
        return labels + [places[place] for place in sorted(places)]

    def scale(self, columns: Sequence[Any]) -> Array:
        """Return rows as inputs, by what is known; nothing is learned.

        A row with new categories has more inputs than there are so far, as if it came.
        """
        return self._inputs(columns, learn=False)

    def learn(self, columns: Sequence[Any]) -> Array:
        """Return rows as inputs, each by what is known when it comes; and learn them."""
        return self._inputs(columns, learn=True)

    def _inputs(self, columns: Sequence[Any], learn: bool) -> Array:
        numbers = [
            c
            for c, is_categorical in zip(columns, self.categorical, strict=True)
            if not is_categorical
        ]
        scaled = self._scaled(numbers, learn) if numbers else np.zeros((len(columns[0]), 0))
        if not self.categories:
            return scaled
        found = {k: categories_of(columns[k]) for k in self.categories}
        if learn:
            self._learn_categories(found)
        return np.hstack(
            [scaled, write_categories(found, self.categories, self.n_inputs)[:, len(numbers) :]]
        )

    def _scaled(self, numbers: Sequence[Any], learn: bool) -> Array:
        rows = np.ascontiguousarray(np.transpose(numbers), dtype=np.float64)
        if learn:
            self._count_missing(~np.array(self.categorical), np.isnan(rows).sum(axis=0))
        if not self.scaling:
            return np.nan_to_num(rows, nan=0.0)
        # Copies, because what was unpickled may be read-only.
        known = self.counts.copy(), self.means.copy(), self.squares.copy()
        scaled = np.empty_like(rows)
        scale_rows(rows, *known, learn, scaled)
        self.counts, self.means, self.squares = known
        return scaled

    def _learn_categories(self, found: dict[int, Categories]) -> None:
        self._count_missing(list(found), [categories.n_missing for categories in found.values()])
        self.categories = allot(found, self.categories, self.n_inputs)

    def _count_missing(self, columns: Any, n_missing: Any) -> None:
        self.missing = self.missing.copy()
        self.missing[columns] += n_missing
