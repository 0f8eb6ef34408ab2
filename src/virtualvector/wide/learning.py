"""Sparse inputs through a posterior of low rank, while classes come as they come."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior import WHOLE
from virtualvector.types import Array, Labels

MEMORY = 2**28  # bytes of all posteriors, if nobody says of which rank they are
MOST_RANK = 20


def affordable_rank(n_weights: int, n_classes: int) -> int:
    """Return the rank that memory is there for: d(L + 3) numbers for each posterior.

    Examples
    --------
    >>> from virtualvector.wide.learning import affordable_rank
    >>> affordable_rank(2**18, 2), affordable_rank(2**18, 20), affordable_rank(2**24, 2)
    (20, 3, 0)
    """
    n_posteriors = n_classes if n_classes > 2 else 1
    return min(max(MEMORY // (8 * n_weights * n_posteriors) - 3, 0), MOST_RANK)


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


def closed(known: OneVsRest) -> OneVsRest:
    """Return the same, which takes no other class."""
    return replace(known, unseen=None)
