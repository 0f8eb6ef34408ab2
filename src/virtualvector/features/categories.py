"""Categorical columns as inputs: one for each of the first categories of a column, as they come."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.types import Array

Places = dict[int, dict[str, int]]  # of each column, the inputs of its categories

SLOTS = 8  # most inputs that a categorical column becomes
LENGTH = 0.5  # of a name; that of a number is typically one
CELLS = 4096  # of a column, which tell whether a category without an input has been seen


class Categories(NamedTuple):
    """The categories in a column, in the order in which they come, and which one each row has."""

    categories: list[str]
    first: list[int]  # the row of each that comes first
    which: NDArray[np.int64]

    @property
    def n_missing(self) -> int:
        """How many rows have none."""
        return int(np.sum(self.which == self.categories.index(""))) if "" in self.categories else 0


def categories_of(column: Sequence[str]) -> Categories:
    """Return the categories in a column; a missing value has the empty one.

    Examples
    --------
    >>> from virtualvector.features.categories import categories_of
    >>> categories_of(["a", "", "b", "a"]).categories
    ['a', '', 'b']
    """
    categories, n = list(column), len(column)
    # No loop of Python's own goes through the rows: most of a short row's time would be spent here.
    distinct = [*dict.fromkeys(categories)]
    first = dict(zip(reversed(categories), range(n - 1, -1, -1), strict=True))
    places = {category: place for place, category in enumerate(distinct)}
    which = np.fromiter(map(places.__getitem__, categories), np.int64, n)
    return Categories(distinct, [first[category] for category in distinct], which)


def allot(
    found: dict[int, Categories],
    known: Places,
    n_inputs: int,
    statistics: dict[int, tuple[int, ...]],
    since: dict[int, list[int]],
) -> tuple[Places, dict[int, tuple[int, ...]]]:
    """Return the inputs of all categories, and of statistics of those without one.

    New ones come behind those there are, row by row. Of the statistics of a column, number j has
    its input from row ``since[k][j]`` on, but not before a category needs it.
    """
    known = {k: dict(places) for k, places in known.items()}
    n_rows = len(next(iter(found.values())).which)
    new: list[tuple[int, int, int, str]] = []
    for k, categories in found.items():
        each = zip(categories.first, categories.categories, strict=True)
        unknown = [(row, category) for row, category in each if category not in known[k]]
        room = SLOTS - len(known[k])
        new += [(row, k, 0, category) for row, category in unknown[:room]]
        if k in since:
            n_there = len(statistics.get(k, ()))
            new += [(row, k, 1, "") for row in since[k][n_there:] if row < n_rows]
    statistics = dict(statistics)
    for _, k, is_statistic, category in sorted(new):
        if is_statistic:
            statistics[k] = (*statistics.get(k, ()), n_inputs)
        else:
            known[k][category] = n_inputs
        n_inputs += 1
    return known, statistics


def first_without(categories: Categories, known: dict[str, int]) -> int | None:
    """Return the first row whose category will have no input; None if all have, or will."""
    new = [
        row
        for row, c in zip(categories.first, categories.categories, strict=True)
        if c not in known
    ]
    room = SLOTS - len(known)
    return new[room] if len(new) > room else None


def write_categories(
    found: dict[int, Categories], known: Places, n_inputs: int, directions: bool
) -> Array:
    """Return the inputs of rows; categories with none take those behind, in each row.

    Of a column that has all its inputs, others have a direction in them, or nothing.
    """
    n_rows = len(next(iter(found.values())).which)
    inputs = np.zeros((n_rows, n_inputs + len(found)))
    n_new = np.zeros(n_rows, np.int64)
    for k, categories in found.items():
        slots = list(known[k].values())
        place = np.array([known[k].get(category, -1) for category in categories.categories])[
            categories.which
        ]
        there = np.flatnonzero(place >= 0)
        inputs[there, place[there]] = LENGTH
        if len(slots) < SLOTS:
            new = np.flatnonzero(place < 0)
            inputs[new, n_inputs + n_new[new]] = LENGTH
            n_new[new] += 1
            continue
        for i, category in enumerate(categories.categories if directions else ()):
            if category not in known[k]:
                inputs[np.ix_(categories.which == i, slots)] = LENGTH * _direction(category)
    return inputs[:, : n_inputs + n_new.max()]


def cells_of(categories: Categories, known: dict[str, int]) -> NDArray[np.int64]:
    """Return the cell of each category that has no input, -1 for those that have one."""
    cells = [-1 if c in known else cell_of(c) for c in categories.categories]
    return np.array(cells, np.int64)


def cell_of(category: str) -> int:
    """Return the cell of a category that has no input."""
    return _hash(category) % CELLS


def _direction(category: str) -> Array:
    """Return a direction that depends on nothing but the name."""
    drawn = np.random.default_rng(_hash(category)).standard_normal(SLOTS)
    unit: Array = drawn / np.linalg.norm(drawn)
    return unit


def _hash(category: str) -> int:
    return zlib.crc32(category.encode())
