"""From rows of any table to inputs of unit scale, online: numbers, names and gaps."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtualvector.kernels.compiled import compiled

Array = NDArray[np.float64]

SLOTS = 8  # inputs that a column of names becomes
_LONGEST_MEMORY = 10_000.0  # rows after which a mean begins to follow a drifting column
_FIRST = 10.0  # rows of which each counts in full
_EDGE = 4.0  # standard deviations beyond which a later one does not
_LARGEST = 1e150  # squares of what is larger overflow


@compiled
def scale_rows(
    rows: Array, counts: Array, means: Array, squares: Array, learn: bool, scaled: Array
) -> None:
    """Write asinh((x − mean)/deviation) of each number, by the rows before it and itself.

    A gap (nan) becomes 0, as its column's mean would. If ``learn``, each row is remembered in
    ``counts``, ``means`` and ``squares`` (mean squared deviations) before the next one comes.
    """
    for t in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            value = rows[t, k]
            if math.isnan(value):
                scaled[t, k] = 0.0
                continue
            value = min(max(value, -_LARGEST), _LARGEST)
            count = min(counts[k] + 1.0, _LONGEST_MEMORY)
            apart = value - means[k]
            if count > _FIRST and squares[k] > 0.0:
                # A value far out counts as one at the edge: one slip should not blind the column.
                edge = _EDGE * math.sqrt(squares[k])
                apart = min(max(apart, -edge), edge)
            mean = means[k] + apart / count
            square = squares[k] + (apart * (apart - apart / count) - squares[k]) / count
            # Rounding leaves a constant column with a square of its own; it says nothing.
            noise = 1e-12 * abs(mean)
            deviation = math.sqrt(max(square, 0.0))
            scaled[t, k] = math.asinh((value - mean) / deviation) if deviation > noise else 0.0
            if learn:
                counts[k] = count
                means[k] = mean
                squares[k] = square


@dataclass
class RunningInputs:
    """What is known of the columns of a stream, and how its rows become inputs.

    A column of numbers becomes one input: its distance from the running mean in running standard
    deviations, x, then asinh(x), which leaves small values as they are and brings outliers close. A
    row counts towards the mean and the deviation that it is scaled by, so the first of a kind is
    not far from all others by mistake; but one further out than four deviations counts as if it
    were there. Only a column's last ten thousand rows or so matter, so that it may drift. Gaps
    become the mean, and are counted.

    A column of names becomes eight inputs. Each of its first eight names has one for itself; later
    ones have a direction in all eight that is drawn at random once and for all, by the name. A gap
    is a name like others.

    Parameters
    ----------
    named : sequence of bool
        Which columns hold names.
    scaling : bool
        Whether numbers are scaled; otherwise they are taken as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.features.inputs import RunningInputs
    >>> inputs = RunningInputs([False, True])
    >>> inputs.learn([np.array([1.0, 3.0]), np.array(["red", "blue"])]).round(2).tolist()
    [[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.88, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """

    named: Sequence[bool]
    scaling: bool = True
    counts: Array = field(init=False)
    means: Array = field(init=False)
    squares: Array = field(init=False)
    names: dict[int, dict[str, int]] = field(init=False)  # of each column, the slots of its names
    gaps: NDArray[np.int64] = field(init=False)  # seen so far in each column

    def __post_init__(self) -> None:
        numbers = len(self.named) - sum(self.named)
        self.counts, self.means, self.squares = np.zeros((3, numbers))
        self.names = {k: {} for k, is_name in enumerate(self.named) if is_name}
        self.gaps = np.zeros(len(self.named), np.int64)

    @property
    def n_inputs(self) -> int:
        """The number of inputs that a row becomes."""
        return len(self.counts) + SLOTS * len(self.names)

    @property
    def spread(self) -> float:
        """The typical squared length of a row of inputs: one for each column."""
        return float(max(len(self.named), 1))

    @property
    def n_bytes(self) -> int:
        """The memory that is taken by what is known of the columns."""
        names = sum(len(name.encode()) for known in self.names.values() for name in known)
        arrays = (self.counts, self.means, self.squares, self.gaps)
        return names + sum(array.nbytes for array in arrays)

    def labels(self, columns: Sequence[str]) -> list[str | None]:
        """Return what each input means, by the labels of the columns; None if nothing yet.

        Examples
        --------
        >>> import numpy as np
        >>> from virtualvector.features.inputs import RunningInputs
        >>> inputs = RunningInputs([True, False])
        >>> _ = inputs.learn([np.array(["NO", None], dtype=object), np.array([1.0, 2.0])])
        >>> inputs.labels(["country", "age"])[:4]
        ['age', 'country = NO', 'country missing', None]
        """
        labels: list[str | None] = [
            label for label, is_name in zip(columns, self.named, strict=True) if not is_name
        ]
        for k, known in self.names.items():
            labels += [f"{columns[k]} = {n}" if n else f"{columns[k]} missing" for n in known]
            labels += [None] * (SLOTS - len(known))
        return labels

    def scale(self, columns: Sequence[Any]) -> Array:
        """Return rows as inputs, by what is known; nothing is learned."""
        return self._inputs(columns, learn=False)

    def learn(self, columns: Sequence[Any]) -> Array:
        """Return rows as inputs, each by what is known when it comes; and learn them."""
        return self._inputs(columns, learn=True)

    def _inputs(self, columns: Sequence[Any], learn: bool) -> Array:
        n_rows = len(columns[0])
        inputs = np.zeros((n_rows, self.n_inputs))
        numbers = [c for c, is_name in zip(columns, self.named, strict=True) if not is_name]
        if numbers:
            rows = np.ascontiguousarray(np.column_stack(numbers), dtype=np.float64)
            scaled = np.nan_to_num(rows, nan=0.0)
            if self.scaling:
                # Copies, because what was unpickled may be read-only.
                known = self.counts.copy(), self.means.copy(), self.squares.copy()
                scale_rows(rows, *known, learn, scaled)
                self.counts, self.means, self.squares = known
            inputs[:, : len(numbers)] = scaled
            if learn:
                self.gaps[~np.array(self.named)] += np.isnan(rows).sum(axis=0)
        start = len(numbers)
        for k in self.names:
            slots = inputs[:, start : start + SLOTS]
            missing = [_is_gap(value) for value in columns[k]]
            self._write_names(slots, columns[k], missing, self.names[k], learn)
            if learn:
                self.gaps[k] += sum(missing)
            start += SLOTS
        return inputs

    def _write_names(
        self, slots: Array, column: Any, missing: Any, known: dict[str, int], learn: bool
    ) -> None:
        names = np.array(
            ["" if gap else _name(value) for value, gap in zip(column, missing, strict=True)]
        )
        found, first, which = np.unique(names, return_index=True, return_inverse=True)
        written = np.zeros((len(found), SLOTS))
        for i in np.argsort(first):  # in the order in which they come
            name = str(found[i])
            slot = known.get(name, len(known))
            if slot == SLOTS:
                written[i] = _direction(name)
                continue
            written[i, slot] = 1.0
            if learn:
                known[name] = slot
        slots[:] = written[which]


def _name(value: Any) -> str:
    """Return a value as a name: whole numbers have the same one with and without a gap nearby."""
    whole = isinstance(value, float | np.floating) and value.is_integer()
    return str(int(value) if whole else value)


def _direction(name: str) -> Array:
    """Return a direction that depends on nothing but the name."""
    drawn = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(SLOTS)
    unit: Array = drawn / np.linalg.norm(drawn)
    return unit


def _is_gap(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or value != value
