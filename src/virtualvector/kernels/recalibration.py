"""Of more than two classes: whether one is said too readily, or the likeliest one too surely.

What is said in the end is corrected once more, in two steps, each of which is learned as a
regression is and trusted beside what it corrects by its evidence:

1. *By class* (vector scaling, Guo et al. 2017): the probability p of class k becomes proportional
   to p · exp(a_k x + c_k), with x = log(K p), K classes.
2. *Of the likeliest*: its odds are multiplied by exp f(p), with f straight between `LEVELS` values
   of p from 1/K to 1. The others keep their proportions.

All a, c and f begin at zero, which changes nothing. Over a stream a step costs at most
−log(1 − `TRUST`), and `SHARE` at every row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.jit.compiled import compiled
from virtualvector.types import Array

LEVELS = 6
PRECISION = 30.0  # of a, c and of f at each level, before anything is known
TRUST = 0.2  # in each step at the start; docs/auto_measured.md says what was tried
SHARE = 2e-5  # the least trust in a step, and in what it corrects
MOST_LEAD = -math.log(SHARE)
_LEAST = 1e-7  # of a probability whose logarithm counts
_MOST = 30.0  # of the logarithm of what a probability is multiplied with
_TINY = 1e-300


class Recalibration(NamedTuple):
    """Normal posteriors of what probabilities are moved by, and how much each step is trusted."""

    by_class: Array  # (K, 2)  the means of a and c
    class_covariances: Array  # (K, 2, 2)  taken for independent between classes
    of_likeliest: Array  # (L,)  the mean of f at each level
    likeliest_covariance: Array  # (L, L)
    leads: Array  # (2,)  log-odds of the trust in each step

    @classmethod
    def start(cls, n_classes: int) -> Recalibration:
        """Return what changes nothing."""
        return cls(
            np.zeros((n_classes, 2)),
            np.tile(np.eye(2) / PRECISION, (n_classes, 1, 1)),
            np.zeros(LEVELS),
            np.eye(LEVELS) / PRECISION,
            np.full(2, math.log(TRUST / (1.0 - TRUST))),
        )

    def copy(self) -> Recalibration:
        """Return the same in memory of its own."""
        return Recalibration(*(array.copy() for array in self))

    def of_classes(self, places: NDArray[np.int64], n_classes: int) -> Recalibration:
        """Return the same for more classes; those known come to these places.

        Examples
        --------
        >>> import numpy as np
        >>> from virtualvector.kernels.recalibration import Recalibration
        >>> two = Recalibration.start(2)._replace(by_class=np.array([[0.1, 0.2], [0.3, 0.4]]))
        >>> two.of_classes(np.array([0, 2]), 3).by_class.tolist()
        [[0.1, 0.2], [0.0, 0.0], [0.3, 0.4]]
        """
        more = Recalibration.start(n_classes)
        more.by_class[places] = self.by_class
        more.class_covariances[places] = self.class_covariances
        return self._replace(
            by_class=more.by_class, class_covariances=more.class_covariances
        ).copy()


NONE = Recalibration.start(0)  # corrects nothing


@compiled
def sum_of_others(values: Array, place: int) -> float:
    """The sum of all values but one."""
    total = 0.0
    for k in range(values.shape[0]):
        if k != place:
            total += values[k]
    return total


@compiled
def recalibrate(
    predicted: Array, observed: NDArray[np.int64], row_powers: Array, known: Recalibration,
    learn: bool, work: Array,
) -> None:  # fmt: skip
    """Correct the probabilities of each row in place; then, if ``learn``, learn from what came.

    Learning is one step of Newton's method per row for each regression, as in `log_pool`. The
    largest probability is what the others leave, as in `calibration.correct`.

    Parameters
    ----------
    predicted : array of shape (T, K)
        Probabilities; changed in place.
    observed : array of shape (T,)
        The number of the class that came; not looked at unless ``learn``.
    row_powers : array of shape (T,) or (0,)
        How much each row counts, as for `mixing.mix`.
    known : Recalibration
        Changed in place if ``learn``.
    learn : bool
        Whether to learn.
    work : array of shape (4, K or LEVELS, whatever is more)
        Scratch memory: x, what the first step says, what is made of it, and C u of the second.
    """
    n_rows, n_classes = predicted.shape
    logs, scaled, mixed = work[0, :n_classes], work[1, :n_classes], work[2, :n_classes]
    for t in range(n_rows):
        said = predicted[t]
        scale_by_class(said, known.by_class, logs, scaled)
        trust = 1.0 / (1.0 + math.exp(-known.leads[0]))
        likely = 0
        for k in range(n_classes):
            mixed[k] = (1.0 - trust) * said[k] + trust * scaled[k]
            if mixed[k] > mixed[likely]:
                likely = k
        rest = sum_of_others(mixed, likely)
        place = max(n_classes * mixed[likely] - 1.0, 0.0) / (n_classes - 1) * (LEVELS - 1)
        level = min(int(place), LEVELS - 2)
        part = min(place - level, 1.0)
        f = (1.0 - part) * known.of_likeliest[level] + part * known.of_likeliest[level + 1]
        odds = mixed[likely] * math.exp(min(max(f, -_MOST), _MOST))
        whole = odds + rest

        came = observed[t] if learn else 0
        before = said[came]
        trust = 1.0 / (1.0 + math.exp(-known.leads[1]))
        largest = 0
        for k in range(n_classes):
            moved = odds if k == likely else mixed[k]
            said[k] = (1.0 - trust) * mixed[k] + trust * moved / whole
            if said[k] > said[largest]:
                largest = k
        said[largest] = 1.0 - sum_of_others(said, largest)
        if not learn:
            continue

        power = row_powers[t] if row_powers.shape[0] > 0 else 1.0
        after = (odds if came == likely else mixed[came]) / whole
        _follow(known.leads, 0, power, scaled[came], before)
        _follow(known.leads, 1, power, after, mixed[came])
        _learn_by_class(logs, scaled, came, power, known)
        _learn_of_likeliest(level, part, odds / whole, came == likely, power, known, work[3])


@compiled
def scale_by_class(said: Array, by_class: Array, logs: Array, scaled: Array) -> None:
    """Write x of each class, and what the first step makes of the probabilities of a row."""
    n_classes = len(said)
    whole = 0.0
    for k in range(n_classes):
        logs[k] = math.log(n_classes * max(said[k], _LEAST))
        move = by_class[k, 0] * logs[k] + by_class[k, 1]
        scaled[k] = said[k] * math.exp(min(max(move, -_MOST), _MOST))
        whole += scaled[k]
    for k in range(n_classes):
        scaled[k] /= whole


@compiled
def _follow(leads: Array, step: int, power: float, after: float, before: float) -> None:
    """Move the trust in a step by what it gave to what came."""
    gain = power * (math.log(max(after, _TINY)) - math.log(max(before, _TINY)))
    leads[step] = min(max(leads[step] + gain, -MOST_LEAD), MOST_LEAD)


@compiled
def _learn_by_class(
    logs: Array, scaled: Array, came: int, power: float, known: Recalibration
) -> None:
    """Move a and c of every class; those of others are held meanwhile."""
    for k in range(len(scaled)):
        covariance, x = known.class_covariances[k], logs[k]
        error = (1.0 if k == came else 0.0) - scaled[k]
        precision = power * scaled[k] * (1.0 - scaled[k])
        first = covariance[0, 0] * x + covariance[0, 1]
        second = covariance[1, 0] * x + covariance[1, 1]
        scale = 1.0 + precision * (first * x + second)
        known.by_class[k, 0] += power * error * first / scale
        known.by_class[k, 1] += power * error * second / scale
        covariance[0, 0] -= precision / scale * first * first
        covariance[1, 1] -= precision / scale * second * second
        covariance[0, 1] -= precision / scale * first * second
        covariance[1, 0] = covariance[0, 1]


@compiled
def _learn_of_likeliest(
    level: int, part: float, stated: float, was_it: bool, power: float, known: Recalibration,
    along: Array,
) -> None:  # fmt: skip
    """Move f at all levels by whether the likeliest class came, which was ``stated``."""
    covariance = known.likeliest_covariance
    for i in range(LEVELS):
        along[i] = (1.0 - part) * covariance[i, level] + part * covariance[i, level + 1]
    precision = power * stated * (1.0 - stated)
    variance = (1.0 - part) * along[level] + part * along[level + 1]
    scale = 1.0 + precision * variance
    error = (1.0 if was_it else 0.0) - stated
    for i in range(LEVELS):
        known.of_likeliest[i] += power * error * along[i] / scale
        for j in range(i + 1):  # and to the other side, so that it stays symmetric to the last bit
            covariance[i, j] -= precision / scale * along[i] * along[j]
            covariance[j, i] = covariance[i, j]
