"""Columns of names as inputs: one for each of the first names of a column, as they come."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = dict[int, dict[str, int]]  # of each column, the inputs of its names

SLOTS = 8  # most inputs that a column of names becomes
LENGTH = 0.5  # of a name; that of a number is typically one


class Names(NamedTuple):
    """The names in a column, in the order in which they come, and which of them each row has."""

    names: list[str]
    first: list[int]  # the row of each that comes first
    which: NDArray[np.int64]

    @property
    def n_gaps(self) -> int:
        """How many rows have none."""
        return int(np.sum(self.which == self.names.index(""))) if "" in self.names else 0


def names_of(column: Any) -> Names:
    """Return the names in a column; a gap has the empty one.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.features.names import names_of
    >>> names_of(np.array(["a", None, "b", "a"], dtype=object)).names
    ['a', '', 'b']
    """
    names = [v if type(v) is str else _name(v) for v in column.tolist()]
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        first.setdefault(name, row)
    places = {name: place for place, name in enumerate(first)}
    which = np.fromiter(map(places.__getitem__, names), np.int64, len(names))
    return Names(list(first), list(first.values()), which)


def allot(found: dict[int, Names], known: Places, n_inputs: int) -> Places:
    """Return the inputs of all names; new ones come behind those there are, row by row."""
    known = {k: dict(places) for k, places in known.items()}
    new = [
        (row, k, name)
        for k, names in found.items()
        for row, name in zip(names.first, names.names, strict=True)
        if name not in known[k]
    ]
    for _, k, name in sorted(new):
        if len(known[k]) < SLOTS:
            known[k][name] = n_inputs
            n_inputs += 1
    return known


def write_names(found: dict[int, Names], known: Places, n_inputs: int) -> Array:
    """Return the inputs of rows; names with none take those behind what there is, in each row."""
    n_rows = len(next(iter(found.values())).which)
    inputs = np.zeros((n_rows, n_inputs + len(found)))
    n_new = np.zeros(n_rows, np.int64)
    for k, names in found.items():
        slots = list(known[k].values())
        place = np.array([known[k].get(name, -1) for name in names.names])[names.which]
        there = np.flatnonzero(place >= 0)
        inputs[there, place[there]] = LENGTH
        if len(slots) < SLOTS:
            new = np.flatnonzero(place < 0)
            inputs[new, n_inputs + n_new[new]] = LENGTH
            n_new[new] += 1
            continue
        for i, name in enumerate(names.names):
            if name not in known[k]:
                inputs[np.ix_(names.which == i, slots)] = LENGTH * _direction(name)
    return inputs[:, : n_inputs + n_new.max()]


def _direction(name: str) -> Array:
    """Return a direction that depends on nothing but the name."""
    drawn = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(SLOTS)
    unit: Array = drawn / np.linalg.norm(drawn)
    return unit


def _name(value: Any) -> str:
    """Return a value as a name: whole numbers have the same one with and without a gap nearby."""
    if value is None or type(value).__name__ == "NAType" or value != value:
        return ""
    whole = isinstance(value, float | np.floating) and value.is_integer()
    return str(int(value) if whole else value)
