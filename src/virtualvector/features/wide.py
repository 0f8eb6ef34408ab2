"""From tables of any columns, texts and sparse rows among them, to sparse inputs of unit scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from virtualvector.features.encoder import Encoder
from virtualvector.features.hashing import (
    hashed,
    place_of,
    tokens_of_categories,
    tokens_of_texts,
)
from virtualvector.features.tables import there_in
from virtualvector.kernels.scaling import scale_entries
from virtualvector.types import Array, IntArray

HASHED = ("category", "text")
LONGEST = 100  # characters of a word that is remembered


@dataclass
class WideEncoder:
    """What is known of the columns of a stream, and how its rows become sparse inputs.

    Numbers and times become inputs as in `Encoder`; behind them come the places of sparse rows, and
    behind these the places that words of texts, and categories, are hashed to. An entry of a sparse
    row is divided by the root of the mean square of those at its place so far. Of each hashed place
    the first word met there is remembered, for people: others may share it.

    Learning changes no array in place: a shallow copy keeps what was known.

    Parameters
    ----------
    kinds : sequence of str
        What each column holds: "number", "time", "category", "text" or "sparse", of which there may
        be one.
    names : sequence of str
        What columns are called, which is hashed with their words.
    n_sparse : int
        The places of sparse rows.
    n_hashed : int
        The places of words and categories.
    scaling : bool
        Whether numbers and sparse rows are scaled.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.features.wide import WideEncoder
    >>> encoder = WideEncoder(["number", "text"], ["price", "wine"], 0, 2**18)
    >>> rows = encoder.learn([np.array([3.0, 5.0]), np.array(["dry red", "red"], object)])
    >>> rows.shape, [int(row.count_nonzero()) for row in rows], encoder.words
    ((2, 262145), [3, 2], ['wine: dry', 'wine: red', 'wine: dry red'])
    """

    kinds: Sequence[str]
    names: Sequence[str]
    n_sparse: int
    n_hashed: int
    scaling: bool = True
    numbers: Encoder = field(init=False)
    counts: Array = field(init=False)  # of entries at each place of sparse rows
    squares: Array = field(init=False)  # their mean squares
    met: NDArray[np.bool_] = field(init=False)  # hashed places at which something was
    words: list[str] = field(init=False)  # the first at each such place, in the order they came
    missing: NDArray[np.int64] = field(init=False)  # values seen so far in each column

    def __post_init__(self) -> None:
        dense = [kind for kind in self.kinds if kind in ("number", "time")]
        times = [kind == "time" for kind in dense]
        self.numbers = Encoder([False] * len(dense), self.scaling, times)
        self.counts, self.squares = np.zeros((2, self.n_sparse))
        self.met = np.zeros(self.n_hashed, bool)
        self.words = []
        self.missing = np.zeros(len(self.kinds), np.int64)

    @property
    def n_inputs(self) -> int:
        """The number of inputs that rows become."""
        return len(self.numbers.counts) + self.n_sparse + self.n_hashed

    @property
    def n_bytes(self) -> int:
        """The memory that is taken by what is known of the columns."""
        arrays = (self.counts, self.squares, self.met, self.missing)
        words = sum(len(word.encode()) for word in self.words)
        return words + self.numbers.n_bytes + sum(array.nbytes for array in arrays)

    def scale(self, columns: Sequence[Any]) -> Any:
        """Return rows as sparse inputs, by what is known; nothing is learned."""
        return self._inputs(columns, learn=False)

    def learn(self, columns: Sequence[Any]) -> Any:
        """Return rows as sparse inputs, each by what is known when it comes; and learn them."""
        n_missing = [
            0 if kind == "sparse" else int((~there_in(cells)).sum())
            for kind, cells in zip(self.kinds, columns, strict=True)
        ]
        self.missing = self.missing + n_missing
        return self._inputs(columns, learn=True)

    def twin(self) -> WideEncoder:
        """Return the same, which learns by itself."""
        other = object.__new__(type(self))
        other.__dict__ = dict(self.__dict__) | {"numbers": self.numbers.twin()}
        return other

    def labels(self, inputs: IntArray) -> list[str]:
        """Return what some inputs mean: a column, an index of sparse rows, a word."""
        dense = [name for name, kind in self._named if kind in ("number", "time")]
        of_numbers = self.numbers.labels(dense)
        first = len(of_numbers) + self.n_sparse
        words = {place_of(word, self.n_hashed): word for word in self.words}
        return [
            of_numbers[k]
            if k < len(of_numbers)
            else f"f{k - len(of_numbers)}"
            if k < first
            else words.get(k - first, f"a long word, of place {k - first}")
            for k in inputs.tolist()
        ]

    def count_unseen(self, columns: Sequence[Any]) -> NDArray[np.int64]:
        """Return how many values of each column are of categories never met: so their places say.

        Some that are new share a place with others, and are not counted.
        """
        counts = np.zeros(len(self.kinds), np.int64)
        for k, (name, kind) in enumerate(self._named):
            if kind == "category":
                _, _, places = hashed(tokens_of_categories(name, columns[k]), self.n_hashed)
                counts[k] = (~self.met[places] & there_in(columns[k])).sum()
        return counts

    @property
    def _named(self) -> list[tuple[str, str]]:
        return list(zip(self.names, self.kinds, strict=True))

    def _inputs(self, columns: Sequence[Any], learn: bool) -> Any:
        parts = []
        each = list(zip(columns, self.kinds, strict=True))
        dense = [cells for cells, kind in each if kind in ("number", "time")]
        if dense:
            scaled = self.numbers.learn(dense) if learn else self.numbers.scale(dense)
            parts.append(sparse.csr_array(scaled))
        parts += [self._scaled(cells, learn) for cells, kind in each if kind == "sparse"]
        if self.n_hashed:
            parts.append(self._hashed(columns, learn))
        rows = parts[0] if len(parts) == 1 else sparse.hstack(parts, format="csr")
        rows.sort_indices()
        return rows

    def _scaled(self, rows: Any, learn: bool) -> Any:
        if not self.scaling:
            return rows
        counts, squares = self.counts, self.squares
        if learn:
            self.counts, self.squares = counts, squares = counts.copy(), squares.copy()
        scaled = np.empty(rows.nnz)
        starts, places = (_as_taken(each, np.int64) for each in (rows.indptr, rows.indices))
        values = _as_taken(rows.data, np.float64)
        scale_entries(starts, places, values, counts, squares, learn, scaled)
        return sparse.csr_array((scaled, rows.indices, rows.indptr), shape=rows.shape)

    def _hashed(self, columns: Sequence[Any], learn: bool) -> Any:
        tokens: list[list[str]] = [[] for _ in range(columns[0].shape[0])]
        for (name, kind), cells in zip(self._named, columns, strict=True):
            if kind in HASHED:
                make = tokens_of_texts if kind == "text" else tokens_of_categories
                for own, more in zip(tokens, make(name, cells), strict=True):
                    own += more
        rows, every, places = hashed(tokens, self.n_hashed)
        if learn:
            new = np.flatnonzero(~self.met[places])
            _, first = np.unique(places[new], return_index=True)
            some = [every[k] for k in new[np.sort(first)]]
            self.words = self.words + [word for word in some if len(word) <= LONGEST]
            self.met = self.met.copy()
            self.met[places] = True
        return rows


def _as_taken(array: Any, kind: Any) -> Any:
    """Return an array as kernels take it."""
    return np.require(array, kind, ["C", "A", "W"])
