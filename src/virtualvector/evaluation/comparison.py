"""Several learners on the same stream."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from virtualvector.evaluation.metrics import Measures, cumulative_error, measure
from virtualvector.evaluation.prequential import predict_then_learn
from virtualvector.types import Array, Labels


class Outcome(NamedTuple):
    """How one learner did."""

    learner: str
    measures: Measures
    error_so_far: Array  # after each row
    seconds: float  # of processor time, to predict and learn all rows
    n_bytes: int  # of the pickled model, after the last row


class Comparison(NamedTuple):
    """How all learners did, the one with the lowest error first, and why some are missing."""

    outcomes: list[Outcome]
    left_out: dict[str, str]  # learner → what went wrong


def side_by_side(
    learners: Mapping[str, Any],
    rows: Array,
    labels: Labels,
    classes: Labels,
    advance: Callable[[str, int], None] | None = None,
) -> Comparison:
    """Let every learner predict and then learn the same rows.

    Parameters
    ----------
    learners : mapping of str to estimator
        Classifiers with `partial_fit` by name; they are left as they are, copies learn.
    rows : ndarray of shape (n_rows, n_inputs)
        Finite numbers.
    labels : ndarray of shape (n_rows,)
        The class of each row.
    classes : ndarray
        All classes, sorted.
    advance : callable, optional
        Called now and then with the name of a learner and how many rows it has learned since.

    Returns
    -------
    Comparison
        What came out. A learner that cannot cope with the rows is left out.

    Examples
    --------
    >>> from virtualvector.evaluation import all_learners, side_by_side
    >>> from virtualvector.streams import read
    >>> stream = read("ionosphere")
    >>> learners = all_learners(34)
    >>> some = {name: learners[name] for name in ("Perceptron", "VVM")}
    >>> result = side_by_side(some, stream.rows, stream.labels, stream.classes)
    >>> [(o.learner, round(o.measures.error, 3)) for o in result.outcomes]
    [('VVM', 0.168), ('Perceptron', 0.293)]
    """
    outcomes: list[Outcome] = []
    left_out: dict[str, str] = {}
    # One thread: more would be slower at this size. A learner that overflows pays by its error.
    with threadpool_limits(1), np.errstate(over="ignore", invalid="ignore"):
        for name, learner in learners.items():
            try:
                outcomes.append(_outcome(name, learner, rows, labels, classes, advance))
            except (ValueError, ArithmeticError) as error:
                left_out[name] = str(error).partition("\n")[0]
    return Comparison(sorted(outcomes, key=lambda outcome: outcome.measures.error), left_out)


def _outcome(
    name: str,
    learner: Any,
    rows: Array,
    labels: Labels,
    classes: Labels,
    advance: Callable[[str, int], None] | None,
) -> Outcome:
    # What is compiled or imported at first use should not count as learning.
    predict_then_learn(clone(learner), rows[:2], labels[:2], classes)
    model = clone(learner)
    start = process_time()
    predicted = predict_then_learn(
        model, rows, labels, classes, None if advance is None else lambda n: advance(name, n)
    )
    seconds = process_time() - start
    return Outcome(
        name,
        measure(labels, *predicted, classes),
        cumulative_error(labels, predicted.labels),
        seconds,
        len(pickle.dumps(model)),
    )
