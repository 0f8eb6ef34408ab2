"""Weights of rows: how often each is learned, and which part of it once more.

A row of weight w is learned ⌊w⌋ times, one after the other, and then its likelihood to the power of
what is left. A weight of 0 leaves it out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from virtualvector.posterior import WHOLE
from virtualvector.types import Array, IntArray, Labels
from virtualvector.values import spelled

MOST_REPETITIONS = 10**8  # of all rows of a call
AT_ONCE = 8192  # of them, so that memory does not grow with weights
_ROUNDING = 1e-12  # what is so near to a whole number, of its size, was meant to be one

BALANCED = "balanced"


class Visits(NamedTuple):
    """Some rows in the order in which they are learned."""

    which: Any  # what picks them
    powers: Array  # of each, or `WHOLE`
    first: Any  # picks those visits that are the first of their row
    learned: bool = True  # rather than left out, for their weights are zero


class Repetitions:
    """Rows of a table, each as often as its weight says.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    weights : array of shape (n_rows,), optional
        Their weights; by default each is visited once.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.learners.weights import Repetitions
    >>> (some,) = Repetitions(3, np.array([2.0, 0.0, 1.5])).visits()
    >>> some.which.tolist(), some.powers.tolist(), some.first.tolist()
    ([0, 0, 2, 2], [1.0, 1.0, 1.0, 0.5], [True, False, True, False])
    """

    def __init__(self, n_rows: int, weights: Array | None = None) -> None:
        self.n_rows, self._weights = n_rows, weights
        self.n_visits = n_rows
        if weights is not None:
            self._counts: IntArray = np.ceil(weights).astype(np.int64)
            self._ends: IntArray = np.cumsum(self._counts)
            self.n_visits = int(self._ends[-1])

    @classmethod
    def of(
        cls,
        sample_weight: Any,
        class_weight: Any,
        labels: Labels,
        known: Labels | None,
        *,
        balance: bool = False,
        begin: bool = True,
    ) -> Self:
        """Return how often to learn rows, as `checked_weights` has it; to begin with, some."""
        weights = checked_weights(sample_weight, class_weight, labels, known, balance)
        if begin and weights is not None and not np.any(weights > 0.0):
            raise ValueError(
                "Input sample_weight, times class_weight, is zero for every row; expected some "
                "weight above 0 to begin with."
            )
        return cls(len(labels), weights)

    def kept(self, labels: Labels) -> Labels:
        """Return those of rows that are not left out."""
        return labels if self._weights is None else labels[self._weights > 0.0]

    def visits(self, order: Any = None, at_once: int | None = None) -> Iterator[Visits]:
        """Yield visits, a few at a time: one after the other, or in an order of them all."""
        at_once = at_once or self._usual(order)
        for start in range(0, self.n_visits, at_once):
            some = slice(start, min(start + at_once, self.n_visits))
            yield self._at(some if order is None else order[some])

    def predicted_visits(self, at_once: int | None = None) -> Iterator[Visits]:
        """Yield visits in their order, with rows of weight zero in their place."""
        at_once = at_once or self._usual(None)
        if self._weights is None:
            yield from self.visits(None, at_once)
            return
        left_out = np.flatnonzero(self._counts == 0)
        runs = np.split(left_out, np.flatnonzero(np.diff(left_out) > 1) + 1)
        start = 0
        for run in [run for run in runs if len(run)]:
            yield from self._between(start, int(self._ends[run[0]]), at_once)
            start = int(self._ends[run[0]])
            yield Visits(slice(int(run[0]), int(run[-1]) + 1), WHOLE, slice(None), learned=False)
        yield from self._between(start, self.n_visits, at_once)

    def _usual(self, order: Any) -> int:
        """How many at once: all rows, if none has to be copied."""
        return self.n_visits if order is None and self._weights is None else AT_ONCE

    def _between(self, start: int, stop: int, at_once: int) -> Iterator[Visits]:
        for begin in range(start, stop, at_once):
            yield self._at(slice(begin, min(begin + at_once, stop)))

    def _at(self, visits: Any) -> Visits:
        if self._weights is None:
            return Visits(visits, WHOLE, slice(None))
        if isinstance(visits, slice):
            visits = np.arange(visits.start, visits.stop)
        which = np.searchsorted(self._ends, visits, side="right")
        counts, ends = self._counts[which], self._ends[which]
        powers = np.where(visits == ends - 1, self._weights[which] - (counts - 1.0), 1.0)
        return Visits(which, powers if np.any(powers < 1.0) else WHOLE, visits == ends - counts)


def checked_weights(
    sample_weight: Any, class_weight: Any, labels: Labels, known: Labels | None, balance: bool
) -> Array | None:
    """Return the weight of each row, or None if all are 1.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,), a number, or None
        As the user gave it.
    class_weight : dict, "balanced" or None
        The same of classes, by which those are multiplied.
    labels : array of shape (n_rows,)
        The classes of the rows.
    known : array, optional
        All classes that there will ever be, if that is known.
    balance : bool
        Whether all rows are here, so that classes can be balanced.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.learners.weights import checked_weights
    >>> y = np.array(["no", "no", "yes"])
    >>> checked_weights([1, 2, 3], {"yes": 2.0}, y, None, balance=False).tolist()
    [1.0, 2.0, 6.0]
    >>> checked_weights([1, -2, 3], None, y, None, balance=False)
    Traceback (most recent call last):
    ValueError: Input sample_weight has -2.0 at row 1; expected a finite number, 0 or more.
    """
    weights = None if sample_weight is None else _numbers(sample_weight, len(labels))
    if isinstance(class_weight, str) and class_weight == BALANCED:
        if not balance:
            raise ValueError(
                "class_weight='balanced' is not supported for partial_fit and predict_then_learn: "
                "how often classes come is not known before all rows are. Give their weights as a "
                "dict, for instance those of sklearn.utils.class_weight.compute_class_weight."
            )
        weights = _balanced(labels, weights)
    elif class_weight is not None:
        check_class_weight(class_weight)
        of_rows = _of_classes(class_weight, labels, known)
        weights = of_rows if weights is None else weights * of_rows
    if weights is None:
        return None
    weights = rounded(weights)
    total = float(np.ceil(weights).sum())
    if not total <= MOST_REPETITIONS:
        raise ValueError(
            f"Input sample_weight and class_weight have rows learned {total:,.0f} times in all; "
            f"expected at most {MOST_REPETITIONS:,} in a call: a row of weight 2 is learned twice. "
            "Divide the weights by a number, or learn the rows in several calls of partial_fit."
        )
    return None if np.all(weights == 1.0) else weights


def rounded(weights: Array) -> Array:
    """Return weights without what rounding left beside whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.learners.weights import rounded
    >>> rounded(np.array([0.1 * 3 * 10, 2.5, 1e-15])).tolist()
    [3.0, 2.5, 0.0]
    """
    whole = np.round(weights)
    is_whole = np.abs(weights - whole) <= _ROUNDING * np.maximum(whole, 1.0)
    return np.where(is_whole, whole, weights)


def check_class_weight(class_weight: Any) -> None:
    """Raise for the first weight of a class that is none."""
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight is {class_weight!r}; expected a dict of weights, 'balanced' or None."
        )
    for label, weight in class_weight.items():
        is_number = isinstance(weight, Real) and not isinstance(weight, bool)
        if not is_number or not 0.0 <= float(weight) < math.inf:
            raise ValueError(
                f"class_weight has {weight!r} for the class {label!r}; expected a finite number, 0 "
                "or more."
            )


def _numbers(sample_weight: Any, n_rows: int) -> Array:
    try:
        weights: Array = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        _refuse_first_text(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"Input sample_weight has shape {weights.shape}; expected {(n_rows,)}: a weight for "
            "each row."
        )
    wrong = ~((weights >= 0.0) & (weights < math.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        found = {math.inf: "infinity"}.get(weights[row], str(weights[row]))
        found = "NaN" if np.isnan(weights[row]) else found
        raise ValueError(
            f"Input sample_weight has {found} at row {row}; expected a finite number, 0 or more."
        )
    return weights


def _refuse_first_text(sample_weight: Any) -> NoReturn:
    for row, cell in enumerate(np.asarray(sample_weight, dtype=object).ravel()):
        try:
            float(cell)
        except (TypeError, ValueError):
            raise ValueError(
                f"Input sample_weight has {cell!r} at row {row}; expected a finite number, 0 or "
                "more."
            ) from None
    raise ValueError("Input sample_weight is no list of numbers; expected one for each row.")


def _balanced(labels: Labels, weights: Array | None) -> Array:
    """Return weights with which all classes count alike: n/(K·n of the class), by weight."""
    classes, which = np.unique(labels, return_inverse=True)
    own = np.ones(len(labels)) if weights is None else weights
    totals = np.bincount(which, weights=own, minlength=len(classes))
    some = totals > 0.0
    of_class = np.zeros(len(classes))
    of_class[some] = totals.sum() / (some.sum() * totals[some])
    balanced: Array = own * of_class[which]
    return balanced


def _of_classes(class_weight: Mapping[Any, Any], labels: Labels, known: Labels | None) -> Array:
    """Return the weight of each row's class; of one that is not mentioned it is 1."""
    of_class = {spelled(label): float(weight) for label, weight in class_weight.items()}
    classes, which = np.unique(labels, return_inverse=True)
    if known is not None:
        there = {spelled(label) for label in (*known.tolist(), *classes.tolist())}
        for label in class_weight:
            if spelled(label) not in there:
                raise ValueError(
                    f"class_weight has the class {label!r}; expected some of {known.tolist()!r}."
                )
    each = np.array([of_class.get(spelled(label), 1.0) for label in classes.tolist()])
    weights: Array = each[which]
    return weights
