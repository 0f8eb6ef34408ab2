"""What was observed against what was predicted, class by class, in counts that do not grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from virtualvector.types import Array

COSTS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # of a miss, in false alarms
MOST_RANKED = 50  # classes whose probabilities are put in bins
_WIDTH, _WIDEST = 0.025, 16.0  # of a bin, and of all on one side, in log-odds


def _edges() -> Array:
    """Return the edges of bins of log-odds, the same on both sides, with one at each cut-off."""
    even = np.arange(1, round(_WIDEST / _WIDTH) + 1) * _WIDTH
    above = np.unique([*even, *(abs(np.log(cost)) for cost in COSTS if cost != 1.0)])
    return np.concatenate([-above[::-1], [0.0], above])


EDGES = _edges()
N_BINS = len(EDGES) + 1

Counts = NDArray[Any]  # whole numbers; of rows that have weights, the sums of these


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Counts of what came and of what was predicted; adding rows returns new ones.

    Parameters
    ----------
    counts : ndarray of shape (n_classes,)
        Rows of each class.
    confusion : ndarray of shape (n_classes, n_classes)
        Rows by the class that came and the class that was predicted. Of the first row of all, while
        no class is known, nothing is predicted.
    scores : ndarray of shape (n_classes, 2, N_BINS)
        Rows that were not of a class, and that were, in bins of its log-odds: 1/40 wide, from
        below −16 to above 16. A class that is not known yet has none at all. Empty if there are
        more than 50 classes.
    n_runs : int
        Runs of rows that have the same label.
    last : int
        The class of the last row; −1 if there was none.
    """

    counts: Counts
    confusion: Counts
    scores: Counts
    n_runs: int = 0
    last: int = -1

    @classmethod
    def none(cls, n_classes: int) -> Self:
        """Return what there is before the first row."""
        n_ranked = n_classes if n_classes <= MOST_RANKED else 0
        return cls(
            np.zeros(n_classes, np.int64),
            np.zeros((n_classes, n_classes), np.int64),
            np.zeros((n_ranked, 2, N_BINS), np.int64),
        )

    @property
    def n_rows(self) -> Any:
        """The rows so far, or how much they weigh."""
        return self.counts.sum().item()

    def with_class(self, place: int) -> Outcomes:
        """Return the same with one more class at a place, of which no row was said to be."""
        scores = self.scores[:0]
        if len(self.counts) < MOST_RANKED:
            scores = np.insert(self.scores, place, 0, axis=0)
            scores[place, 0, 0] = self.n_rows
        return replace(
            self,
            counts=np.insert(self.counts, place, 0),
            confusion=np.insert(np.insert(self.confusion, place, 0, axis=0), place, 0, axis=1),
            scores=scores,
            last=self.last + (self.last >= place),
        )

    def with_rows(
        self,
        observed: Counts,
        probabilities: Array,
        likeliest: Counts,
        weights: Array | None = None,
    ) -> Outcomes:
        """Add rows: the class of each, what was said, and what was predicted, or −1 if nothing."""
        is_predicted = likeliest >= 0
        confusion = _counted(
            self.confusion,
            observed[is_predicted],
            likeliest[is_predicted],
            weights=None if weights is None else weights[is_predicted],
        )
        scores = self.scores
        if len(scores):
            bins, classes = np.searchsorted(EDGES, logit(probabilities)), np.arange(len(scores))
            each = None if weights is None else np.repeat(weights, len(classes))
            is_of = observed[:, np.newaxis] == classes
            scores = _counted(scores, classes, is_of, bins, weights=each)
        before = np.concatenate([[self.last], observed[:-1]])
        return replace(
            self,
            counts=_counted(self.counts, observed, weights=weights),
            confusion=confusion,
            scores=scores,
            n_runs=self.n_runs + int((observed != before).sum()),
            last=int(observed[-1]),
        )

    def ranked(self, k: int) -> Counts:
        """Return the bins of a class: rows that are not of it, and rows that are.

        Of two classes, one has the log-odds of the other with the opposite sign; so that each row
        is said to be of just one of them, a row at an edge is of the first.
        """
        return self.scores[1, ::-1, ::-1] if len(self.scores) == 2 and k == 0 else self.scores[k]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain lists and numbers, for files; of bins only those that have rows."""
        return {
            "counts": self.counts.tolist(),
            "confusion": _sparse(self.confusion),
            "scores": _sparse(self.scores),
            "n_runs": self.n_runs,
            "last": self.last,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any], n_classes: int) -> Self:
        """Return what `as_dict` was made of; raise ValueError or the like if nothing was."""
        none = cls.none(n_classes)
        found = cls(
            np.array([_count(n) for n in stored["counts"]], np.int64),
            _dense(stored["confusion"], none.confusion.shape),
            _dense(stored["scores"], none.scores.shape),
            _count(stored["n_runs"]),
            _count(stored["last"] + 1) - 1,
        )
        n_rows, of_class, of_bins = found.n_rows, found.counts, found.scores.sum(axis=2)
        fits = (
            found.counts.shape == (n_classes,)
            and n_rows - n_classes <= found.confusion.sum() <= n_rows
            and np.all(found.confusion.sum(axis=1) <= of_class)
            and np.array_equal(
                of_bins, np.column_stack([n_rows - of_class, of_class])[: len(of_bins)]
            )
            and np.count_nonzero(of_class) <= found.n_runs <= n_rows
            and -1 <= found.last < n_classes
            and (n_rows == 0 if found.last < 0 else of_class[found.last] > 0)
        )
        if not fits:
            raise ValueError("found outcomes that do not add up")
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcomes) and self.as_dict() == other.as_dict()

    __hash__ = None  # type: ignore[assignment]


def _counted(
    counts: Counts, *places: NDArray[np.int64] | NDArray[np.bool_], weights: Array | None = None
) -> Counts:
    """Return counts with one more at each place, or with a weight more."""
    at = np.zeros(1, np.int64)
    for along, size in zip(places, counts.shape, strict=True):
        at = at * size + along
    if weights is None:
        return counts + np.bincount(at.ravel(), minlength=counts.size).reshape(counts.shape)
    sums = counts.astype(np.float64)
    np.add.at(sums.reshape(-1), at.ravel(), weights)  # one after the other, however cut
    return sums


def _sparse(array: Counts) -> list[list[int]]:
    """Return the places and values of what is not zero."""
    places = np.argwhere(array)
    return np.column_stack([places, array[tuple(places.T)]]).tolist()  # type: ignore[no-any-return]


def _dense(entries: Any, shape: tuple[int, ...]) -> Counts:
    array = np.zeros(shape, np.int64)
    for *place, n in entries:
        at = tuple(map(_count, place))
        if len(at) != len(shape) or array[at]:
            raise ValueError("found an entry at no place, or twice")
        array[at] = _count(n)
    return array


def _count(n: Any) -> int:
    if type(n) is not int or not 0 <= n < 2**53:
        raise ValueError("found no count")
    return n
