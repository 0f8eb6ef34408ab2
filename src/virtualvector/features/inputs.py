"""From rows of any table to inputs of unit scale, online: numbers, names and gaps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtualvector.features.names import SLOTS, Names, allot, names_of, write_names
from virtualvector.kernels.compiled import compiled

Array = NDArray[np.float64]

LONGEST_MEMORY = 10_000.0  # rows after which a mean begins to follow a drifting column
_FIRST = 10.0  # rows of which each counts in full
_EDGE = 4.0  # standard deviations beyond which a later one does not
LARGEST = 1e150  # squares of what is larger overflow


@compiled
def _asinh(x: float) -> float:
    """Asinh to 16 digits after the point, which is all that inputs need, in half the time."""
    size = min(abs(x), LARGEST)
    far = math.log(size + math.sqrt(size * size + 1.0))
    return far if x > 0.0 else -far


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
            value = min(max(value, -LARGEST), LARGEST)
            count = min(counts[k] + 1.0, LONGEST_MEMORY)
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
            scaled[t, k] = _asinh((value - mean) / deviation) if deviation > noise else 0.0
            if learn:
                counts[k] = count
                means[k] = mean
                squares[k] = square


@dataclass
class RunningInputs:
    """What is known of the columns of a stream, and how its rows become inputs.

    Learning changes no array in place: a shallow copy keeps what was known.

    A column of numbers becomes one input: its distance from the running mean in running standard
    deviations, x, then asinh(x), which leaves small values as they are and brings outliers close. A
    row counts towards the mean and the deviation that it is scaled by, so the first of a kind is
    not far from all others by mistake; but one further out than four deviations counts as if it
    were there. Only a column's last ten thousand rows or so matter, so that it may drift. Gaps
    become the mean, and are counted.

    Behind the numbers there is one more input for every new name, as they come, but no more than
    eight of a column. Later names have a direction in these eight that is drawn at random once and
    for all, by the name. A gap is a name like others.

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
    [[0.0, 0.5, 0.0], [0.88, 0.0, 0.5]]
    """

    named: Sequence[bool]
    scaling: bool = True
    counts: Array = field(init=False)
    means: Array = field(init=False)
    squares: Array = field(init=False)
    names: dict[int, dict[str, int]] = field(init=False)  # of each column, the inputs of its names
    gaps: NDArray[np.int64] = field(init=False)  # seen so far in each column

    def __post_init__(self) -> None:
        numbers = len(self.named) - sum(self.named)
        self.counts, self.means, self.squares = np.zeros((3, numbers))
        self.names = {k: {} for k, is_name in enumerate(self.named) if is_name}
        self.gaps = np.zeros(len(self.named), np.int64)

    @property
    def n_inputs(self) -> int:
        """The number of inputs that rows have become so far."""
        return len(self.counts) + sum(len(known) for known in self.names.values())

    @property
    def most_inputs(self) -> int:
        """The number of inputs that there can ever be."""
        return len(self.counts) + SLOTS * len(self.names)

    @property
    def spread(self) -> float:
        """The typical squared length of a row of inputs: about one for each column."""
        return float(max(len(self.named), 1))

    @property
    def n_bytes(self) -> int:
        """The memory that is taken by what is known of the columns."""
        names = sum(len(name.encode()) for known in self.names.values() for name in known)
        arrays = (self.counts, self.means, self.squares, self.gaps)
        return names + sum(array.nbytes for array in arrays)

    def labels(self, columns: Sequence[str]) -> list[str]:
        """Return what each input means, by the labels of the columns.

        Examples
        --------
        >>> import numpy as np
        >>> from virtualvector.features.inputs import RunningInputs
        >>> inputs = RunningInputs([True, False])
        >>> _ = inputs.learn([np.array(["NO", None], dtype=object), np.array([1.0, 2.0])])
        >>> inputs.labels(["country", "age"])
        ['age', 'country = NO', 'country missing']
        """
        labels = [label for label, is_name in zip(columns, self.named, strict=True) if not is_name]
        places = {
            place: f"{columns[k]} = {name}" if name else f"{columns[k]} missing"
            for k, known in self.names.items()
            for name, place in known.items()
        }
        return labels + [places[place] for place in sorted(places)]

    def scale(self, columns: Sequence[Any]) -> Array:
        """Return rows as inputs, by what is known; nothing is learned.

        A row with new names has more inputs than there are so far, as it would have if it came.
        """
        return self._inputs(columns, learn=False)

    def learn(self, columns: Sequence[Any]) -> Array:
        """Return rows as inputs, each by what is known when it comes; and learn them."""
        return self._inputs(columns, learn=True)

    def _inputs(self, columns: Sequence[Any], learn: bool) -> Array:
        numbers = [c for c, is_name in zip(columns, self.named, strict=True) if not is_name]
        scaled = self._scaled(numbers, learn) if numbers else np.zeros((len(columns[0]), 0))
        if not self.names:
            return scaled
        found = {k: names_of(columns[k]) for k in self.names}
        if learn:
            self._learn_names(found)
        return np.hstack([scaled, write_names(found, self.names, self.n_inputs)[:, len(numbers) :]])

    def _scaled(self, numbers: Sequence[Any], learn: bool) -> Array:
        rows = np.ascontiguousarray(np.transpose(numbers), dtype=np.float64)
        if learn:
            self._count_gaps(~np.array(self.named), np.isnan(rows).sum(axis=0))
        if not self.scaling:
            return np.nan_to_num(rows, nan=0.0)
        # Copies, because what was unpickled may be read-only.
        known = self.counts.copy(), self.means.copy(), self.squares.copy()
        scaled = np.empty_like(rows)
        scale_rows(rows, *known, learn, scaled)
        self.counts, self.means, self.squares = known
        return scaled

    def _learn_names(self, found: dict[int, Names]) -> None:
        self._count_gaps(list(found), [names.n_gaps for names in found.values()])
        self.names = allot(found, self.names, self.n_inputs)

    def _count_gaps(self, columns: Any, n_gaps: Any) -> None:
        self.gaps = self.gaps.copy()
        self.gaps[columns] += n_gaps
