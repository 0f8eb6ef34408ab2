"""Several learners on the same stream."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.evaluation.metrics import Measures, cumulative_error, measure
from virtualvector.evaluation.prequential import predict_then_learn
from virtualvector.types import Array, Labels

WARM_UP = 100  # rows after which all that is compiled for a learner has been: its points are full


class Outcome(NamedTuple):
    """How one learner did.

    Attributes
    ----------
    learner : str
        Its name.
    measures : Measures
        How well it did.
    error_so_far : ndarray of shape (n_rows,)
        The error after each row.
    seconds : float
        Of processor time, to predict and learn all rows.
    n_bytes : int
        Of the pickled model, after the last row.

    Examples
    --------
    >>> from virtualvector import ADFClassifier
    >>> from virtualvector.evaluation import side_by_side
    >>> from virtualvector.streams import read
    >>> stream = read("ionosphere")
    >>> learners = {"ADF": ADFClassifier(margin_noise=1.0)}
    >>> (outcome,) = side_by_side(learners, stream.rows, stream.labels, stream.classes).outcomes
    >>> outcome.learner, len(outcome.error_so_far)
    ('ADF', 351)
    >>> bool(outcome.error_so_far[-1] == outcome.measures.error)
    True
    """

    learner: str
    measures: Measures
    error_so_far: Array
    seconds: float
    n_bytes: int


class LeftOut(NamedTuple):
    """Why there is nothing to say of one learner.

    Attributes
    ----------
    learner : str
        Its name.
    reason : str
        What went wrong, in one line.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> from virtualvector.evaluation import one_by_one
    >>> rows, labels = np.array([[1.0], [-1.0]]), np.array([0, 1])
    >>> (left_out,) = one_by_one({"counts": MultinomialNB()}, rows, labels, np.array([0, 1]))
    >>> left_out.learner, left_out.reason
    ('counts', 'Negative values in data passed to MultinomialNB (input X).')
    """

    learner: str
    reason: str


class Comparison(NamedTuple):
    """How all learners did, the one with the lowest error first, and why some are missing.

    Attributes
    ----------
    outcomes : list of Outcome
        How each learner did.
    left_out : dict of str to str
        What went wrong, by the names of those that could not cope.

    Examples
    --------
    >>> from virtualvector.evaluation import Comparison, LeftOut
    >>> Comparison.of([LeftOut("counts", "Negative values.")]).left_out
    {'counts': 'Negative values.'}
    """

    outcomes: list[Outcome]
    left_out: dict[str, str]

    @classmethod
    def of(cls, results: Iterable[Outcome | LeftOut]) -> Comparison:
        """Put what came out in order."""
        every = list(results)
        outcomes = [result for result in every if isinstance(result, Outcome)]
        return cls(
            sorted(outcomes, key=lambda outcome: outcome.measures.error),
            {result.learner: result.reason for result in every if isinstance(result, LeftOut)},
        )


Advance = Callable[[str, int], None]


def side_by_side(
    learners: Mapping[str, Any],
    rows: Array,
    labels: Labels,
    classes: Labels,
    advance: Advance | None = None,
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
    return Comparison.of(one_by_one(learners, rows, labels, classes, advance))


def one_by_one(
    learners: Mapping[str, Any],
    rows: Array,
    labels: Labels,
    classes: Labels,
    advance: Advance | None = None,
    table: Any = None,
) -> Iterator[Outcome | LeftOut]:
    """Yield what came out for each learner as soon as it has finished.

    As `side_by_side`, with the same rows as a ``table``, if there is one, for learners that take
    categories and missing values themselves.

    Examples
    --------
    >>> from virtualvector.evaluation import all_learners, one_by_one
    >>> from virtualvector.streams import read
    >>> stream = read("ionosphere")
    >>> learners = {name: all_learners(34)[name] for name in ("Perceptron", "VVM")}
    >>> results = one_by_one(learners, stream.rows, stream.labels, stream.classes)
    >>> next(results).learner  # before the other one has learned anything
    'Perceptron'
    """
    for name, learner in learners.items():
        takes_tables = table is not None and isinstance(learner, AutoVVMClassifier)
        count = _Count(name, advance)
        # One thread: more would be slower at this size. What overflows pays by its error.
        with threadpool_limits(1), np.errstate(over="ignore", invalid="ignore"):
            try:
                result: Outcome | LeftOut = _outcome(
                    name, learner, table if takes_tables else rows, labels, classes, count
                )
            except (ValueError, ArithmeticError) as error:
                result = LeftOut(name, str(error).partition("\n")[0])
                count(len(labels) - count.n_rows)  # which will not come
        yield result


class _Count:
    """How many rows a learner has learned, told to whoever wants to know."""

    def __init__(self, learner: str, advance: Advance | None) -> None:
        self._learner, self._advance = learner, advance
        self.n_rows = 0

    def __call__(self, n_rows: int) -> None:
        self.n_rows += n_rows
        if self._advance is not None:
            self._advance(self._learner, n_rows)


def _outcome(
    name: str,
    learner: Any,
    rows: Any,
    labels: Labels,
    classes: Labels,
    count: Callable[[int], None],
) -> Outcome:
    # What is compiled or imported at first use should not count as learning.
    predict_then_learn(clone(learner), rows[:WARM_UP], labels[:WARM_UP], classes)
    model = clone(learner)
    start = process_time()
    predicted = predict_then_learn(model, rows, labels, classes, count)
    seconds = process_time() - start
    return Outcome(
        name,
        measure(labels, *predicted, classes),
        cumulative_error(labels, predicted.labels),
        seconds,
        len(pickle.dumps(model)),
    )
