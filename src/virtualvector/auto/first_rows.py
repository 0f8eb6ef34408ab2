"""The first rows of a stream, kept for a while, and replayed on the scale that they have by then.

What is learned of a row is learned of its inputs: numbers in deviations from the mean of their
column so far. After a few rows mean and deviation are not yet what they will be, and weights mean
something on one scale only. So the first rows are learned again, from the prior, each time that
there are twice as many. Labels do not enter scales, and what was predicted of a row stays what it
was: nothing is known of a label before its row is predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from virtualvector.features.encoder import Encoder
from virtualvector.types import Array, IntArray, Labels

Entry = TypeVar("Entry", bound=np.generic)

# Numbers of rows after which all so far are replayed; none is kept after the last. Chosen after
# looking at drawn streams and short ones, of ten such lists: docs/auto_measured.md.
REPLAYED_AT = (4, 8, 16, 32)


class Replay(NamedTuple):
    """Rows to be learned again, on a later scale."""

    inputs: Array
    labels: Labels
    powers: Array


class FirstRows(NamedTuple):
    """Rows as they came, their classes and powers.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.auto.first_rows import FirstRows
    >>> from virtualvector.features.encoder import Encoder
    >>> encoder, columns = Encoder([False, True]), [np.array([1.0, 3.0]), ["red", "blue"]]
    >>> inputs = encoder.learn(columns)
    >>> inputs.round(2).tolist()
    [[0.0, 0.5, 0.0], [0.88, 0.0, 0.5]]
    >>> rows = FirstRows.of(encoder, encoder.numbers_of(columns), inputs, np.array([0, 1]))
    >>> rows.replay(encoder, np.array(["no", "yes"])).inputs.round(2).tolist()
    [[-0.88, 0.5, 0.0], [0.88, 0.0, 0.5]]
    """

    numbers: Array  # (n, m)  one for each input that is a number; 0 where missing
    missing: NDArray[np.bool_]  # (n, m)
    others: Array  # (n, k)  the other inputs, in their places; none if there are no categories
    observed: IntArray  # (n,)  places of classes
    powers: Array  # (n,)

    @classmethod
    def none(cls) -> FirstRows:
        """Return no rows, to which some are added."""
        nothing = np.zeros((0, 0))
        return cls(nothing, nothing.astype(bool), nothing, np.zeros(0, np.int64), np.zeros(0))

    @classmethod
    def of(
        cls, encoder: Encoder, numbers: Array, inputs: Array, observed: IntArray,
        powers: Array | None = None,
    ) -> FirstRows:  # fmt: skip
        """Return rows of which an encoder has just made inputs."""
        n = len(numbers)
        others = np.zeros((n, encoder.n_inputs if encoder.categories else 0))
        if encoder.categories:
            width = min(inputs.shape[1], encoder.n_inputs)
            others[:, :width] = inputs[:, :width]
            others[:, encoder.places_of_numbers] = 0.0
        missing = np.isnan(numbers)
        powers = np.ones(n) if powers is None or len(powers) == 0 else powers
        return cls(np.where(missing, 0.0, numbers), missing, others, observed, powers)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.observed)

    @property
    def n_bytes(self) -> int:
        """The memory that they take."""
        return sum(array.nbytes for array in self)

    def followed_by(self, others: FirstRows) -> FirstRows:
        """Return these and others, whose columns may be more: these lacked them."""
        n_numbers, n_inputs = others.numbers.shape[1], others.others.shape[1]
        return FirstRows(
            np.concatenate([_as_wide(self.numbers, n_numbers, 0.0), others.numbers]),
            np.concatenate([_as_wide(self.missing, n_numbers, True), others.missing]),
            np.concatenate([_as_wide(self.others, n_inputs, 0.0), others.others]),
            np.concatenate([self.observed, others.observed]),
            np.concatenate([self.powers, others.powers]),
        )

    def replay(self, encoder: Encoder, classes: Labels) -> Replay:
        """Return the rows as inputs, their numbers on the scale that an encoder has now.

        What categories became stays as it was: nothing of a row's own label is in it.
        """
        numbers = np.where(self.missing, np.nan, self.numbers)
        inputs = _as_wide(self.others, encoder.n_inputs, 0.0).copy()
        scaled = encoder.rescaled_rows(_as_wide(numbers, len(encoder.counts), np.nan))
        inputs[:, encoder.places_of_numbers] = scaled
        return Replay(inputs, classes[self.observed], self.powers)


class Encoded(NamedTuple):
    """What an encoder made of rows, some of which are among the first."""

    inputs: Array
    rows: FirstRows | None  # all so far, if they are still to be kept
    replays: dict[int, Replay]  # by the number of these rows after which they are due


def encode(
    encoder: Encoder, before: FirstRows, columns: Sequence[Any], observed: IntArray,
    powers: Array, classes: Labels,
) -> Encoded:  # fmt: skip
    """Let an encoder learn the rows that come after those kept so far.

    Classes are by their places among those known in the end, also of the rows before.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.auto.first_rows import FirstRows, encode
    >>> from virtualvector.features.encoder import Encoder
    >>> columns, observed = [np.arange(10.0)], np.arange(10) % 2
    >>> parts = Encoder([False]), FirstRows.none(), columns, observed, np.ones(10)
    >>> encoded = encode(*parts, np.array([0, 1]))
    >>> list(encoded.replays), encoded.rows.n_rows
    ([4, 8], 10)
    """
    rows, labels, start = before, classes[observed], 0
    inputs, replays = [], {}
    due = [n - before.n_rows for n in REPLAYED_AT if n > before.n_rows]
    for stop in [*(n for n in due if n < len(observed)), len(observed)]:
        some = [values[start:stop] for values in columns]
        inputs.append(encoder.learn(some, labels[start:stop]))
        if start < due[-1]:
            numbers, part = encoder.numbers_of(some), slice(start, stop)
            more = FirstRows.of(encoder, numbers, inputs[-1], observed[part], powers[part])
            rows = rows.followed_by(more)
        if stop in due:
            replays[stop] = rows.replay(encoder, classes)
        start = stop
    whole = np.concatenate([_as_wide(each, encoder.n_inputs, 0.0) for each in inputs])
    return Encoded(whole, rows if len(observed) < due[-1] else None, replays)


def _as_wide(rows: NDArray[Entry], width: int, fill: float) -> NDArray[Entry]:
    if rows.shape[1] == width:
        return rows
    wide = np.full((len(rows), width), fill, rows.dtype)
    wide[:, : rows.shape[1]] = rows
    return wide
