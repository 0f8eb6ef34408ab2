"""Measures of a stream while it is learned, in constant memory, whatever its length."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from virtualvector.auto.history import thinned
from virtualvector.evaluation import judgement
from virtualvector.evaluation.metrics import BINS, Measures, Reliability
from virtualvector.evaluation.outcomes import Outcomes
from virtualvector.types import Array, Labels

LONGEST = 256  # moments remembered
FINEST = 16  # rows between two of them, at first
RECENT = 1_000  # rows
_LEAST = 1e-300  # of a probability whose logarithm is taken
_ROUNDING = 1e-6  # of means


class Totals(NamedTuple):
    """Sums over all rows so far."""

    n_rows: int = 0
    wrong: int = 0
    log_loss: float = 0.0
    brier: float = 0.0


BEFORE_ALL = Totals()


class Stretch(NamedTuple):
    """Means over some rows that follow each other."""

    n_rows: int
    error: float
    log_loss: float
    brier: float


@dataclass(frozen=True)
class Tally:
    """What was observed against what was predicted; adding rows returns a new one.

    Any way to cut a stream into calls gives the same sums, to the last bit. The first row of a
    class that was not known counts as wrong, and as if all classes, this one too, had been given
    the same probability.

    Parameters
    ----------
    classes : tuple of str
        The classes that are known; more may come with the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation.tally import Tally
    >>> predicted = np.array([[0.3, 0.7], [0.9, 0.1], [0.6, 0.4]])
    >>> tally = Tally(("ham", "spam")).with_rows(np.array(["spam", "ham", "spam"]), predicted)
    >>> tally.measures.error, round(tally.measures.brier, 2)
    (0.3333333333333333, 0.15)
    """

    classes: tuple[str, ...] = ()
    now: Totals = BEFORE_ALL
    past: tuple[Totals, ...] = ()
    every: int = FINEST  # rows between two moments of the past
    # Rows, sums of predictions and rows for which they came true, in each bin: of the second class
    # while there are two, and of the most probable one.
    of_second: tuple[tuple[float, ...], ...] = ((0.0,) * BINS,) * 3
    of_likeliest: tuple[tuple[float, ...], ...] = ((0.0,) * BINS,) * 3
    outcomes: Outcomes = field(default_factory=lambda: Outcomes.none(0))

    def __post_init__(self) -> None:
        if len(self.outcomes.counts) != len(self.classes):  # before the first row
            object.__setattr__(self, "outcomes", Outcomes.none(len(self.classes)))

    def with_rows(
        self,
        labels: Labels,
        probabilities: Array,
        classes: Labels | None = None,
        weights: Array | None = None,
    ) -> Tally:
        """Add rows.

        Parameters
        ----------
        labels : ndarray of shape (n_rows,)
            What was observed.
        probabilities : ndarray of shape (n_rows, n_classes)
            What was predicted before, a column for each class.
        classes : ndarray of shape (n_classes,), optional
            The classes of the columns, sorted; by default those that are known.
        weights : ndarray of shape (n_rows,), optional
            How often each row counts, of which none is 0: then all numbers of rows are sums of
            these, and nothing is known of moments of the past, nor of the order of labels.

        Returns
        -------
        Tally
            With these rows.
        """
        columns = np.array(self.classes) if classes is None else np.asarray(classes)
        values, first = np.unique(labels, return_index=True)
        new = sorted(int(f) for f in first[~np.isin(values, self.classes)])
        tally = self
        for start, stop in pairwise(sorted({0, *new, len(labels)})):
            known = sorted({*tally.classes, str(labels[start])})
            of_known = probabilities[start:stop, np.searchsorted(columns, known)]
            observed = np.searchsorted(known, labels[start:stop])
            first_is_new = len(known) > len(tally.classes)
            if first_is_new:
                outcomes = tally.outcomes.with_class(int(observed[0]))
                tally = replace(tally, classes=tuple(known), outcomes=outcomes)
            own = None if weights is None else weights[start:stop]
            tally = tally._with_rows(observed, of_known, first_is_new, own)
        return tally

    def _with_rows(
        self,
        observed: NDArray[np.int64],
        predicted: Array,
        first_is_new: bool,
        weights: Array | None,
    ) -> Tally:
        """Add rows of known classes; that of the first one may have been unheard of before."""
        n_rows, n_classes = predicted.shape
        likeliest = np.argmax(predicted, axis=1)
        answers = likeliest.copy()
        if first_is_new:  # which is wrong whatever was predicted, and as if all had seemed alike
            if answers[0] == observed[0]:  # as there was no other class yet
                answers[0] = -1
            predicted = predicted.copy()
            predicted[0] = 1.0 / max(n_classes, 2)
            likeliest[0] = -1
        of_observed = predicted[np.arange(n_rows), observed]
        squares = ((predicted**2).sum(axis=1) - 2.0 * of_observed + 1.0) / 2.0
        losses = (likeliest != observed, -np.log(np.maximum(of_observed, _LEAST)), squares)
        of_likeliest = _binned(
            self.of_likeliest, predicted.max(axis=1), likeliest == observed, weights
        )
        of_second = self.of_second
        if n_classes == 2:
            of_second = _binned(of_second, predicted[:, 1], observed == 1, weights)
        more = replace(
            self,
            of_second=of_second,
            of_likeliest=of_likeliest,
            outcomes=self.outcomes.with_rows(observed, predicted, answers, weights),
        )
        if weights is None:
            return more._with_losses(n_rows, *losses)
        terms = (weights, *(weights * each for each in losses))
        now: Any = [float(_sums(a, b)[-1]) for a, b in zip(self.now, terms, strict=True)]
        return replace(more, now=Totals(*now))

    def _with_losses(self, n_rows: int, errors: Array, logs: Array, squares: Array) -> Tally:
        """Add losses up, and remember moments."""
        wrong = _sums(self.now.wrong, errors)
        log_loss = _sums(self.now.log_loss, logs)
        brier = _sums(self.now.brier, squares)

        def totals(n: int) -> Totals:
            t = n - self.now.n_rows
            return Totals(n, int(wrong[t]), float(log_loss[t]), float(brier[t]))

        end = self.now.n_rows + n_rows
        past, every = list(self.past), self.every
        for n in range((self.now.n_rows // FINEST + 1) * FINEST, end + 1, FINEST):
            if n % every == 0:
                past.append(totals(n))
                past, every = thinned(past, every, LONGEST)
        return replace(self, now=totals(end), past=tuple(past), every=every)

    @property
    def so_far(self) -> Stretch:
        """Means over all rows."""
        return between(BEFORE_ALL, self.now)

    @property
    def recent(self) -> Stretch:
        """Means over the last thousand rows, or a few more of a long stream."""
        far_enough = (m for m in reversed(self.past) if self.now.n_rows - m.n_rows >= RECENT)
        return between(next(far_enough, BEFORE_ALL), self.now)

    @property
    def reliability(self) -> Reliability:
        """What was predicted and what came, in bins of the prediction.

        With two classes the prediction is the probability of the second one; with more, that of the
        most probable one.
        """
        n_rows, predicted, observed = self._bins
        with np.errstate(invalid="ignore"):
            return Reliability(n_rows.astype(np.int64), predicted / n_rows, observed / n_rows)

    @property
    def _bins(self) -> Array:
        return np.array(self.of_second if len(self.classes) == 2 else self.of_likeliest)

    @property
    def measures(self) -> Measures:
        """All measures of the stream so far."""
        _, error, log_loss, brier = self.so_far
        n_rows, (_, predicted, observed) = self._bins[0], self.reliability
        apart = float(np.nansum(n_rows * abs(predicted - observed)))
        return Measures(error, log_loss, brier, apart / (float(n_rows.sum()) or 1.0))

    @property
    def base_rate(self) -> judgement.BaseRate:
        """What guessing would have given that knows how often each class came."""
        return judgement.base_rate(self.classes, self.outcomes)

    @property
    def by_class(self) -> list[judgement.ClassMeasures]:
        """How well each class was told from the others."""
        return judgement.by_class(self.classes, self.outcomes)

    @property
    def cutoffs(self) -> list[judgement.Cutoff]:
        """What cut-offs for the rarer of two classes give, for several costs of a miss."""
        return judgement.cutoffs(self.classes, self.outcomes)

    def most_confused(self, most: int) -> list[judgement.Confusion]:
        """Return which classes were taken for which, the most frequent errors first."""
        return judgement.most_confused(self.classes, self.outcomes, most)

    @property
    def label_order(self) -> judgement.LabelOrder:
        """Whether labels came in blocks."""
        return judgement.label_order(self.outcomes)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain lists and numbers, for files."""
        return asdict(self) | {"outcomes": self.outcomes.as_dict()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return what `as_dict` was made of; raise ValueError if nothing can have been.

        A tally from before there were outcomes begins anew: what classes came is not known.
        """
        try:
            classes = tuple(stored["classes"])
            if "outcomes" not in stored:
                return cls(classes)
            tally = cls(
                classes=classes,
                now=Totals(*stored["now"]),
                past=tuple(Totals(*totals) for totals in stored["past"]),
                every=stored["every"],
                of_second=_rows_of(stored["of_second"]),
                of_likeliest=_rows_of(stored["of_likeliest"]),
                outcomes=Outcomes.from_dict(stored["outcomes"], len(classes)),
            )
            fits = tally._is_one()
        except (TypeError, ValueError, LookupError, ArithmeticError):
            fits = False
        if not fits:
            raise ValueError("found a tally that does not add up; expected that of a stream")
        return tally

    def _is_one(self) -> bool:
        """Whether rows can have added up to it."""
        n_rows, every = self.now.n_rows, self.every
        return (
            all(type(name) is str for name in self.classes)
            and list(self.classes) == sorted(set(self.classes))
            and all(_follows(*both) for both in pairwise((BEFORE_ALL, *self.past, self.now)))
            and type(every) is int
            and every in [FINEST * 2**k for k in range(53)]
            and len(self.past) == n_rows // every <= LONGEST
            and all(m.n_rows == k * every for k, m in enumerate(self.past, start=1))
            and _is_binned(self.of_likeliest, range(n_rows, n_rows + 1))
            and _is_binned(self.of_second, range(n_rows + 1))
            and self.outcomes.n_rows == n_rows
            and self.outcomes.confusion.trace() == n_rows - self.now.wrong
        )


def _sums(start: float, terms: Array) -> Array:
    """Return the running sums, the first being the start; one after the other, however cut."""
    return np.add.accumulate(np.concatenate([[start], terms]))


def _binned(
    bins: tuple[tuple[float, ...], ...],
    predicted: Array,
    observed: NDArray[np.bool_],
    weights: Array | None,
) -> tuple[tuple[float, ...], ...]:
    place = np.minimum((predicted * BINS).astype(int), BINS - 1)
    sums = np.array(bins)
    each = np.ones(len(place)) if weights is None else weights
    for row, terms in zip(sums, (each, each * predicted, each * observed), strict=True):
        np.add.at(row, place, terms)  # one after the other, however cut
    return _rows_of(sums.tolist())


def _rows_of(bins: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(number) for number in row) for row in bins)


def _follows(before: Totals, after: Totals) -> bool:
    """Whether more rows can have led from one moment to another."""
    counts = all(type(n) is int and 0 <= n < 2**53 for n in after[:2])
    _, error, log_loss, brier = between(before, after)
    off = _ROUNDING * (1.0 + _ROUNDING * after.log_loss)  # a sum that is large has few digits left
    return (
        counts
        and after.n_rows >= before.n_rows
        and 0.0 <= error <= 1.0
        and -off <= log_loss <= off - math.log(_LEAST)
        and -off <= brier <= 1.0 + off
    )


def _is_binned(bins: tuple[tuple[float, ...], ...], n_rows: range) -> bool:
    """Whether bins hold as many rows as they may, and as many that came true as there are."""
    counts, predicted, observed = np.array(bins).reshape(3, BINS)
    return bool(
        np.isfinite(bins).all()
        and np.all(counts >= 0)
        and np.array_equal(counts, np.floor(counts))
        and int(counts.sum()) in n_rows
        and np.all((observed >= 0) & (observed <= counts))
        and np.all((predicted >= 0) & (predicted <= counts * (1.0 + _ROUNDING)))
    )


def between(start: Totals, stop: Totals) -> Stretch:
    """Return means over the rows between two moments."""
    n_rows = stop.n_rows - start.n_rows
    means = [(b - a) / (n_rows or 1) for a, b in zip(start[1:], stop[1:], strict=True)]
    return Stretch(n_rows, *means)
