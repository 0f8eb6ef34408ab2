"""VVM and ADF as one, where labels may be wrong: neither's faults cost more than they may.

Under label noise the model may be wrong in a way that makes the exact posterior, and with it VVM,
predict worse than ADF, whose posterior is wider than it should be. So both learn every row, and
predictions are averaged by their evidence: see `kernels/hedge.py`. What is hedged is what is
predicted, the probability of one class among all of them. What is known of the weights is VVM's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import log_expit

from virtualvector.kernels.hedge import write_gains, write_hedged
from virtualvector.learners.one_vs_rest import OneVsRest, against_the_rest
from virtualvector.posterior import WHOLE, AnyState, Settings, log_probabilities
from virtualvector.posterior.state import ROWS
from virtualvector.types import Array, Labels, Predictions

# At first ADF is trusted twice as much as VVM: over a stream they lose at most log 3/2 to ADF, and
# log 3 to VVM. With both alike, log 2, four cells of 324 of `benchmarks/label_noise.py rows` were
# 1.1 % above ADF, where 1 % is allowed: a table of 569 rows on which ADF loses 57 nats in all.
START = -math.log(2.0)


@dataclass(frozen=True)
class Hedged(OneVsRest):
    """What has been learned about classes, with another learner beside it.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.learners.hedge import START, hedged
    >>> from virtualvector.learners.one_vs_rest import OneVsRest
    >>> from virtualvector.posterior.presets import Noise, adf, vvm
    >>> from virtualvector.posterior.state import LOG_EVIDENCE
    >>> noise, classes = Noise(label_noise=0.1), np.array([0, 1])
    >>> known = hedged(OneVsRest.prior(2, vvm(noise, 5), None, classes), adf(noise))
    >>> rows, labels = np.array([[2.0, 1.0], [-1.0, 1.0], [1.5, 1.0]]), np.array([1, 0, 0])
    >>> both = known.learn(rows, labels)
    >>> [float(each.states[0].sums[LOG_EVIDENCE].round(4)) for each in (both, both.beside)]
    [-2.6478, -2.6348]
    >>> round(both.lead - START, 4)
    -0.0129
    """

    beside: OneVsRest
    lead: float  # log-odds of trust: the log evidence over that of the one beside, and `START`

    def check(self) -> int:
        """Return the number of weights; raise ValueError if this cannot have been learned."""
        n_weights, beside = super().check(), self.beside
        n_seen, n_beside = (int(known.states[0].counts[ROWS]) for known in (self, beside))
        if beside.check() != n_weights or n_seen != n_beside:
            raise ValueError("found a hedge of other weights or rows; expected the same")
        if not np.array_equal(self.classes, beside.classes):
            raise ValueError("found a hedge of other classes; expected the same")
        if (self.unseen is None) != (beside.unseen is None):
            raise ValueError("found a hedge for other classes to come; expected the same")
        if not math.isfinite(self.lead):
            raise ValueError(f"found a lead of {self.lead!r}; expected a finite number")
        return n_weights

    def differences(
        self, settings: Settings, settling: Settings | None, beside: Settings | None = None
    ) -> list[str]:
        """Return the names of settings that are others than what was learned with."""
        found = super().differences(settings, settling)
        if beside is None:
            return [*found, "hedge"]
        more = self.beside.differences(beside, None)
        return found + [name for name in more if name not in found]

    def learn_known(self, rows: Array, labels: Labels, powers: Array = WHOLE) -> tuple[Self, Array]:
        """Learn labelled rows of known classes; also return the margins that they had before."""
        after, own, _, _ = self._learn_both(rows, labels, powers)
        return after, own

    def _learn_both(
        self, rows: Array, labels: Labels, powers: Array
    ) -> tuple[Self, Array, Array, Array]:
        """Learn rows; also return their margins under both, and the lead before each."""
        known, own = super().learn_known(rows, labels, powers)
        beside, others = self.beside.learn_known(rows, labels, powers)
        gains = np.empty(len(own))
        places = np.searchsorted(self.classes, labels)
        write_gains(own, others, places, self.settings.label_noise, gains)
        if len(powers):
            gains *= powers
        # One after the other, however the stream is cut.
        leads = np.cumsum(np.concatenate([[self.lead], gains]))
        return replace(known, beside=beside, lead=float(leads[-1])), own, others, leads[:-1]

    def predict_then_learn(
        self, rows: Array, labels: Labels, powers: Array = WHOLE
    ) -> tuple[Self, Predictions]:
        """Learn labelled rows of known classes; also return what was said of each before."""
        after, own, others, leads = self._learn_both(rows, labels, powers)
        if len(self.classes) < 2:
            return after, self.predict(rows)
        odds = self._odds(own, others, leads)
        likely = (odds > 0.0).astype(int) if odds.ndim == 1 else np.argmax(odds, axis=1)
        return after, Predictions(self.classes[likely], self._mixed(own, others, leads))

    def welcome(self, label: Labels) -> Self:
        """Add a class that has not been seen so far; nothing was said of it, and the lead stays."""
        return replace(super().welcome(label), beside=self.beside.welcome(label))

    def with_settings(self, settings: Settings, beside: Settings | None = None) -> Self:
        """Return the same, which learns in another way from now on."""
        assert beside is not None
        hedge = self.beside.with_settings(beside)
        return replace(super().with_settings(settings), beside=hedge)

    def with_classes(self, classes: Labels) -> Self:
        """Return the same for equal classes of maybe another type."""
        return replace(super().with_classes(classes), beside=self.beside.with_classes(classes))

    def each(self, change: Callable[[AnyState], AnyState]) -> Self:
        """Return the same with every posterior changed, also of those beside."""
        return replace(super().each(change), beside=self.beside.each(change))

    def with_more_weights(self, at: int, n_more: int) -> Self:
        """Return the same for rows with more columns at a place, of which nothing is known."""
        beside = self.beside.with_more_weights(at, n_more)
        return replace(super().with_more_weights(at, n_more), beside=beside)

    def before_the_first_row(self) -> Self:
        """Return what was known of the same classes at first."""
        beside = self.beside.before_the_first_row()
        return replace(super().before_the_first_row(), beside=beside, lead=START)

    def probabilities(self, rows: Array) -> Array:
        """Return the probability of each class, one column each; they sum to one."""
        return self._mixed(*self._of_both(rows))

    def log_probabilities(self, rows: Array) -> Array:
        """Return the logarithm of each probability, also of those too small for a number."""
        if len(self.classes) < 2:
            return super().log_probabilities(rows)
        own, others, leads = self._of_both(rows)
        return _mixed_logarithms(
            self.log_probabilities_of(own), self.beside.log_probabilities_of(others), leads
        )

    def log_odds(self, rows: Array) -> Array:
        """Return what decides: higher means more probable.

        For two classes the log-odds of the second before its label was maybe turned, which do not
        end where label noise does; for more, a column for each with the log-odds of the class
        against all others.
        """
        return self._odds(*self._of_both(rows))

    def _of_both(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return the margins of rows under both, and the lead."""
        return self.margins(rows), self.beside.margins(rows), np.full(len(rows), self.lead)

    def _mixed(self, own: Array, others: Array, leads: Array) -> Array:
        n_classes = len(self.classes)
        mixed = np.empty((len(own), n_classes))
        write_hedged(own, others, leads, self.settings.label_noise, np.empty(n_classes), mixed)
        return mixed

    def _odds(self, own: Array, others: Array, leads: Array) -> Array:
        if len(self.classes) > 2:
            both = self.log_probabilities_of(own), self.beside.log_probabilities_of(others)
            return against_the_rest(_mixed_logarithms(*both, leads))
        mixed = _mixed_logarithms(_without_label_noise(own), _without_label_noise(others), leads)
        return mixed[:, 1] - mixed[:, 0]


def hedged(known: OneVsRest, settings: Settings | None) -> OneVsRest:
    """Return what is known before the first row, with another learner beside it, if there is one.

    Parameters
    ----------
    known : OneVsRest
        What is known before the first row.
    settings : Settings, optional
        Those of the other learner.
    """
    if settings is None:
        return known
    classes = known.classes if known.unseen is None else None
    beside = OneVsRest.prior(len(known.states[0].mean), settings, None, classes)
    return Hedged(
        known.settings, known.settling, known.classes, known.states, known.unseen, beside, START
    )


def _mixed_logarithms(own: Array, others: Array, leads: Array) -> Array:
    """Return log Σ πp of log-probabilities p, a column for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.learners.hedge import _mixed_logarithms
    >>> own, others = np.log([[0.9, 0.1]]), np.log([[0.5, 0.5]])
    >>> np.exp(_mixed_logarithms(own, others, np.log([3.0]))).round(3)
    array([[0.8, 0.2]])
    """
    trust = leads[:, np.newaxis]
    mixed: Array = np.logaddexp(log_expit(trust) + own, log_expit(-trust) + others)
    return mixed


def _without_label_noise(margins: Array) -> Array:
    """Return log Φ(∓z): the logarithms of the probabilities of both sides."""
    both = np.column_stack([-margins[:, 0], margins[:, 0]])
    logarithms = np.empty_like(both)
    log_probabilities(both.ravel(), 0.0, logarithms.ravel())
    return logarithms
