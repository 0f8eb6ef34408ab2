"""What a person needs to judge a model: what guessing would give, and each class on its own."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from virtualvector.evaluation.outcomes import COSTS, EDGES, Counts, Outcomes

_CLEARLY = 5.0  # standard deviations
_FEW = 0.25  # of the runs that a random order has


class BaseRate(NamedTuple):
    """What needs no model: always the most frequent class, or always the shares of all classes."""

    class_: str
    error: float
    log_loss: float


class ClassMeasures(NamedTuple):
    """How well a class is told from the others; None where no row says so."""

    class_: str
    rows: int
    share: float
    recall: float | None  # share of its rows that were predicted to be of it
    precision: float | None  # share of rows predicted to be of it that were
    roc_auc: float | None
    average_precision: float | None


class Cutoff(NamedTuple):
    """What comes of saying that a row is of a class where that is more probable than a cut-off.

    Costs are those of a row on average, in false alarms.
    """

    class_: str
    cost_of_miss: float  # in false alarms
    cutoff: float  # 1/(1 + that cost)
    flagged: float  # share of all rows
    recall: float
    precision: float | None
    cost: float
    cost_at_half: float  # of the most probable class, whatever errors cost
    cost_without_model: float  # of saying always the same


class LabelOrder(NamedTuple):
    """Whether labels come in blocks: runs of equal ones, and how many a random order has."""

    n_runs: int
    expected: float
    deviation: float  # standard, of what a random order has

    @property
    def in_blocks(self) -> bool:
        """Whether there are fewer runs than chance makes, and by so much that it matters."""
        far = self.expected - self.n_runs > _CLEARLY * self.deviation
        return far and self.n_runs < _FEW * self.expected


def base_rate(classes: tuple[str, ...], outcomes: Outcomes) -> BaseRate:
    """Return the errors of guesses that know how often each class came.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import Tally
    >>> predicted = np.full((4, 2), 0.5)
    >>> tally = Tally(("no", "yes")).with_rows(np.array(["no", "no", "yes", "no"]), predicted)
    >>> always, error, log_loss = tally.base_rate
    >>> always, error, round(log_loss, 3)
    ('no', 0.25, 0.562)
    """
    if outcomes.n_rows == 0:
        return BaseRate("", 0.0, 0.0)
    shares = outcomes.counts / outcomes.n_rows
    most = int(np.argmax(shares))
    return BaseRate(classes[most], float(1.0 - shares[most]), float(entr(shares).sum()))


def by_class(classes: tuple[str, ...], outcomes: Outcomes) -> list[ClassMeasures]:
    """Return how well each class is told from the others."""
    n_predicted, hits = outcomes.confusion.sum(axis=0), outcomes.confusion.diagonal()
    found = []
    for k, (name, n) in enumerate(zip(classes, outcomes.counts.tolist(), strict=True)):
        ranked = outcomes.ranked(k) if len(outcomes.scores) else None
        both = ranked is not None and 0 < n < outcomes.n_rows
        found.append(
            ClassMeasures(
                name,
                n,
                n / (outcomes.n_rows or 1),
                _ratio(hits[k], n),
                _ratio(hits[k], n_predicted[k]),
                roc_auc(ranked) if both and ranked is not None else None,
                average_precision(ranked) if both and ranked is not None else None,
            )
        )
    return found


def roc_auc(ranked: Counts) -> float:
    """Return the area under the ROC curve, from rows in bins: within a bin all are alike.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation.judgement import roc_auc
    >>> roc_auc(np.array([[2, 1, 0], [0, 1, 1]]))
    0.9166666666666666
    """
    negatives, positives = ranked.astype(np.float64)
    below = np.cumsum(negatives) - negatives
    return float(positives @ (below + 0.5 * negatives) / (positives.sum() * negatives.sum()))


def average_precision(ranked: Counts) -> float:
    """Return the mean precision over recall, from rows in bins: within a bin all are alike.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation.judgement import average_precision
    >>> average_precision(np.array([[2, 1, 0], [0, 1, 1]]))
    0.8333333333333333
    """
    negatives, positives = np.cumsum(ranked[:, ::-1], axis=1)
    gained, some = np.diff(positives, prepend=0), positives > 0
    precision = positives[some] / (positives[some] + negatives[some])
    return float(gained[some] @ precision / positives[-1])


class Confusion(NamedTuple):
    """How many rows of one class were predicted to be of another."""

    observed: str
    predicted: str
    rows: int


def most_confused(classes: tuple[str, ...], outcomes: Outcomes, most: int) -> list[Confusion]:
    """Return which classes are taken for which, the most frequent errors first.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import Tally
    >>> from virtualvector.evaluation.judgement import most_confused
    >>> predicted = np.array([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4]])
    >>> tally = Tally(("no", "yes")).with_rows(np.array(["no", "yes", "yes"]), predicted)
    >>> most_confused(tally.classes, tally.outcomes, 1)
    [Confusion(observed='yes', predicted='no', rows=2)]
    """
    errors = outcomes.confusion * ~np.eye(len(classes), dtype=bool)
    places = np.argsort(-errors, axis=None, kind="stable")[:most]
    pairs = zip(*np.unravel_index(places, errors.shape), strict=True)
    return [
        Confusion(classes[i], classes[j], errors[i, j].item()) for i, j in pairs if errors[i, j]
    ]


def cutoffs(classes: tuple[str, ...], outcomes: Outcomes) -> list[Cutoff]:
    """Return, of two classes, what cut-offs for the rarer one give, for several costs of a miss.

    If probabilities are right, errors cost least where the rarer class is said when its
    probability is above 1/(1 + cost of a miss in false alarms).
    """
    counts = outcomes.counts
    if len(classes) != 2 or not counts.all():
        return []
    k = int(counts[1] <= counts[0])
    ranked, n_rows = outcomes.ranked(k), outcomes.n_rows
    above: Counts = np.cumsum(ranked[:, ::-1], axis=1)[:, ::-1]  # rows in a bin and those above it
    n_negatives, n_positives = above[:, 0].tolist()

    def errors(cost: float) -> tuple[float, float]:
        place = int(np.searchsorted(EDGES, -np.log(cost), "right"))
        false_alarms, hits = above[:, place].tolist()
        return false_alarms, n_positives - hits

    found = []
    for cost in COSTS:
        (false_alarms, misses), at_half = errors(cost), errors(1.0)
        hits = n_positives - misses
        found.append(
            Cutoff(
                classes[k],
                cost,
                1.0 / (1.0 + cost),
                (hits + false_alarms) / n_rows,
                hits / n_positives,
                _ratio(hits, hits + false_alarms),
                (false_alarms + cost * misses) / n_rows,
                (at_half[0] + cost * at_half[1]) / n_rows,
                min(n_negatives, cost * n_positives) / n_rows,
            )
        )
    return found


def label_order(outcomes: Outcomes) -> LabelOrder:
    """Return the runs of equal labels, beside those of a random order of the same labels.

    The test of Wald and Wolfowitz, for any number of classes as by Barton and David (1957).

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import Tally
    >>> labels, predicted = np.repeat(["a", "b"], 50), np.full((100, 2), 0.5)
    >>> order = Tally(("a", "b")).with_rows(labels, predicted).label_order
    >>> order.n_runs, order.expected, round(order.deviation, 2), order.in_blocks
    (2, 51.0, 4.97, True)
    """
    return order_of(outcomes.counts, outcomes.n_runs)


def order_of(counts: Counts, n_runs: int) -> LabelOrder:
    """Return the same, given how often each label came, and in how many runs."""
    n, counts = counts.sum().item(), counts.astype(np.float64)
    if n < 2:
        return LabelOrder(n_runs, float(n_runs), 0.0)
    squares, cubes = float((counts**2).sum()), float((counts**3).sum())
    variance = (squares * (squares + n * (n + 1.0)) - 2.0 * n * cubes - n**3) / (n**2 * (n - 1.0))
    expected = (n * (n + 1.0) - squares) / n
    return LabelOrder(n_runs, expected, math.sqrt(max(variance, 0.0)))


def _ratio(part: float, whole: float) -> float | None:
    return float(part) / float(whole) if whole else None
