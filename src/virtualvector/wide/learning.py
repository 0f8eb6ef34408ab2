"""Sparse inputs through a posterior of low rank, while classes come as they come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior import WHOLE, Settings, presets
from virtualvector.posterior.presets import Noise
from virtualvector.types import Array, Labels

MEMORY = 2**28  # bytes of all posteriors, if nobody says of which rank they are
MOST_RANK = 20
PER_WEIGHT = 3  # numbers, beside the rank: the mean, the precision, and which cut has written it
ALONE = 2  # numbers of a weight without directions: the mean and the precision
FACTORS = (1.0, 0.25, 4.0)  # of the margin noise, for those beside: see docs/text.md


class Beside(NamedTuple):
    """Who learns beside a learner: others, by their settings, and rates of places in classes."""

    others: list[Settings]
    rates: bool

    def numbers(self, n_classes: int) -> int:
        """Return how many numbers that takes for each weight of a posterior."""
        return ALONE * len(self.others) + self.rates * (2 if n_classes <= 2 else 1)


def affordable_rank(n_weights: int, n_classes: int, memory: int = MEMORY, beside: int = 0) -> int:
    """Return the rank that memory is there for: d(L + 3) numbers for each posterior.

    Beside them may be some numbers more for each weight.

    Examples
    --------
    >>> from virtualvector.wide.learning import affordable_rank
    >>> affordable_rank(2**18, 2), affordable_rank(2**18, 20), affordable_rank(2**24, 2)
    (20, 3, 0)
    """
    numbers = memory // (8 * n_weights * _n_posteriors(n_classes))
    return min(max(numbers - PER_WEIGHT - beside, 0), MOST_RANK)


def settings_beside(own: Settings) -> list[Settings]:
    """Return how others of independent weights learn beside a learner, the most useful first.

    Examples
    --------
    >>> from virtualvector.posterior.presets import Noise, adf
    >>> from virtualvector.wide.learning import settings_beside
    >>> [each.margin_noise for each in settings_beside(adf(Noise(margin_noise=1.0, rank=20)))]
    [1.0, 0.25, 4.0]
    """
    return _at_noises(own, FACTORS, independent=True)


def were_beside(own: Settings) -> list[Settings]:
    """Return how others learned beside a learner in files up to format 9."""
    return _at_noises(own, tuple(sorted(FACTORS)), independent=False)


def _at_noises(own: Settings, factors: Sequence[float], independent: bool) -> list[Settings]:
    half_life = None if own.half_life == math.inf else own.half_life
    alone = presets.adf(Noise(own.label_noise, own.margin_noise, half_life, 0, independent))
    others = [alone._replace(margin_noise=factor * own.margin_noise) for factor in factors]
    return [each for each in others if each != own]


def affordable_beside(
    own: Settings, n_weights: int, n_classes: int, memory: int = MEMORY
) -> Beside:
    """Return who memory is there for beside a learner, without lowering its rank.

    Examples
    --------
    >>> from virtualvector.posterior.presets import Noise, adf
    >>> from virtualvector.wide.learning import affordable_beside
    >>> own = adf(Noise(margin_noise=1.0, rank=0, independent=True))
    >>> for n_classes in (2, 20, 52):
    ...     beside = affordable_beside(own, 2**18, n_classes)
    ...     print(n_classes, beside.rates, [each.margin_noise for each in beside.others])
    2 True [0.25, 4.0]
    20 True [0.25]
    52 False []
    """
    taken = own.rank + PER_WEIGHT if own.rank > 0 else ALONE
    left = memory // (8 * n_weights * _n_posteriors(n_classes)) - taken
    rates = Beside([], True).numbers(n_classes) <= left
    others: list[Settings] = []
    for each in settings_beside(own):
        if Beside([*others, each], rates).numbers(n_classes) <= left:
            others.append(each)
    return Beside(others, rates)


def numbers_beside(noise: Noise, n_classes: int) -> int:
    """Return how many numbers all that may learn beside a learner take for each weight.

    Examples
    --------
    >>> from virtualvector.posterior.presets import Noise
    >>> from virtualvector.wide.learning import numbers_beside
    >>> [numbers_beside(Noise(margin_noise=1.0, rank=0), n_classes) for n_classes in (2, 20)]
    [8, 7]
    """
    return Beside(settings_beside(presets.adf(noise)), True).numbers(n_classes)


def _n_posteriors(n_classes: int) -> int:
    return n_classes if n_classes > 2 else 1


def predict(known: OneVsRest, rows: Any) -> Array:
    """Return the probability of each class that is known."""
    n_classes = len(known.classes)
    return known.probabilities(rows) if n_classes > 1 else np.ones((len(rows), n_classes))


def learn(
    known: OneVsRest, rows: Any, labels: Labels, powers: Array = WHOLE
) -> tuple[OneVsRest, Array]:
    """Learn rows; also return what was said of each before, one column per class.

    Of a row that is the first of its class, what is said is about the classes known before it.
    """
    may_be_new = known.unseen is not None
    classes = known.classes
    new = np.zeros(0, np.int64)
    if may_be_new:
        values, first = np.unique(labels, return_index=True)
        new = np.sort(first[~np.isin(values, classes)])
        classes = np.union1d(classes, values) if len(classes) else values
    predicted = np.zeros((len(rows), len(classes)))
    stops = sorted({0, *new.tolist(), len(rows)})
    for start, stop in pairwise(stops):
        of_first = None
        if start in new:
            of_first = known.classes, predict(known, rows[start : start + 1])[0]
            known = known.welcome(labels[start : start + 1])
        some = slice(start, stop)
        known, said = known.predict_then_learn(rows[some], labels[some], powers[some])
        predicted[some, np.searchsorted(classes, known.classes)] = said.probabilities
        if of_first is not None:
            predicted[start] = 0.0
            predicted[start, np.searchsorted(classes, of_first[0])] = of_first[1]
    return known, predicted
