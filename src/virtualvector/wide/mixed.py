"""Several learners of wide rows as a committee: mixed, pooled and corrected as its experts are.

A prior scale and a rank cannot be known beforehand. So beside the learner that was asked for there
are a few of independent weights, which cost next to nothing, at other margin noises: rows are taken
as they come, so that more margin noise is a narrower prior. Beside these are the rates of places in
classes (`rates.py`). What is said is what a committee of them says (`kernels/opinions.py`). What is
known of the weights is the first learner's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from virtualvector.jit.struct_table import StructTable
from virtualvector.kernels import calibration
from virtualvector.kernels.mixing import SHARE
from virtualvector.kernels.opinions import Opinions, conclude_at, opinions_for
from virtualvector.learners.log_pool import Pool
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior import WHOLE, Settings
from virtualvector.posterior.state import ROWS
from virtualvector.types import Array, Labels, Predictions
from virtualvector.wide.rates import Rates

_ROUNDING = 1e-9  # of sums of weights


class Trust(NamedTuple):
    """How much each learner, and each way to correct what they say, is trusted."""

    weights: Array
    evidence: Array
    pool: Pool
    corrections: Array
    counts: Array  # rows of each class

    @classmethod
    def start(cls, n_learners: int, n_classes: int) -> Trust:
        """Return trust in all alike."""
        return cls(
            np.full(n_learners, 1.0 / n_learners),
            np.zeros(n_learners),
            Pool.start(n_learners),
            calibration.first_weights(),
            np.zeros(n_classes),
        )

    def copy(self) -> Trust:
        """Return the same in memory of its own."""
        pool = Pool(self.pool.mean.copy(), self.pool.covariance.copy())
        return Trust(
            self.weights.copy(),
            self.evidence.copy(),
            pool,
            self.corrections.copy(),
            self.counts.copy(),
        )

    def opinions(self, probabilities: Sequence[Array]) -> Opinions:
        """Return what learners say of rows, to be concluded from; shares the memory."""
        n_rows, n_classes = probabilities[0].shape
        opinions = opinions_for(
            n_rows, n_classes, SHARE, self.weights, self.evidence, self.pool.mean,
            self.pool.covariance, self.corrections, np.zeros(2), self.counts,
        )  # fmt: skip
        for e, each in enumerate(probabilities):
            opinions.of_experts[e] = each
        return opinions

    def check(self, n_learners: int, n_classes: int) -> None:
        """Raise ValueError unless this can be the trust in so many learners of so many classes."""
        shapes = {
            "weights": (self.weights, (n_learners,)),
            "evidence": (self.evidence, (n_learners,)),
            "exponents": (self.pool.mean, (n_learners,)),
            "covariances of exponents": (self.pool.covariance, (n_learners, n_learners)),
            "corrections": (self.corrections, calibration.POWERS.shape),
            "counts": (self.counts, (n_classes,)),
        }
        for name, (array, shape) in shapes.items():
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"found {name} of shape {array.shape}; expected {shape}, finite")
        for name in ("weights", "corrections"):
            array = getattr(self, name)
            if np.any(array <= 0.0) or abs(array.sum() - 1.0) > _ROUNDING:
                raise ValueError(f"found {name} that are no shares; expected a sum of one")
        if np.any(self.evidence > _ROUNDING * (1.0 + self.counts.sum())) or np.any(
            self.counts < 0.0
        ):
            raise ValueError("found evidence above 0 or counts below; expected neither")
        covariance = self.pool.covariance
        is_one = np.array_equal(covariance, covariance.T) and np.all(np.diagonal(covariance) > 0.0)
        if not is_one or np.linalg.eigvalsh(covariance)[0] <= -_ROUNDING:
            raise ValueError("found covariances of exponents that are none; expected some")


@dataclass(frozen=True)
class Mixed(OneVsRest):
    """What one learner knows about classes, and others beside it, whose predictions are mixed.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from virtualvector.learners.one_vs_rest import OneVsRest
    >>> from virtualvector.learners.sparse_rows import SparseTable
    >>> from virtualvector.posterior.presets import Noise, adf
    >>> from virtualvector.wide.mixed import mixed
    >>> settings = [adf(Noise(margin_noise=noise, rank=0)) for noise in (1.0, 4.0)]
    >>> known = mixed(OneVsRest.prior(3, settings[0], None, np.array([0, 1])), settings[1:])
    >>> rows = SparseTable(csr_array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    >>> known, said = known.predict_then_learn(rows, np.array([1, 0]))
    >>> said.probabilities[0]
    array([0.5, 0.5])
    >>> known.trust.counts
    array([1., 1.])
    """

    others: tuple[OneVsRest, ...]
    rates: Rates | None
    trust: Trust

    @property
    def learners(self) -> tuple[OneVsRest, ...]:
        """All of them."""
        alone = OneVsRest(self.settings, self.settling, self.classes, self.states, self.unseen)
        return alone, *self.others

    def check(self) -> int:
        """Return the number of weights; raise ValueError if this cannot have been learned."""
        n_weights, n_seen = super().check(), int(self.states[0].counts[ROWS])
        for other in self.others:
            if other.check() != n_weights or int(other.states[0].counts[ROWS]) != n_seen:
                raise ValueError("found learners of other weights or rows; expected the same")
            if not np.array_equal(other.classes, self.classes):
                raise ValueError("found learners of other classes; expected the same")
            if (other.unseen is None) != (self.unseen is None):
                raise ValueError("found learners for other classes to come; expected the same")
        if self.rates is not None:
            self.rates.check(n_weights - 1, len(self.classes), n_seen)
        self.trust.check(self.n_opinions, len(self.classes))
        return n_weights

    @property
    def n_opinions(self) -> int:
        """How many there are whose opinions are mixed."""
        return 1 + len(self.others) + (self.rates is not None)

    def predict_then_learn(
        self, rows: Array, labels: Labels, powers: Array = WHOLE
    ) -> tuple[Self, Predictions]:
        """Learn labelled rows of known classes; also return what was said of each before."""
        after, own = super().predict_then_learn(rows, labels, powers)
        both = [other.predict_then_learn(rows, labels, powers) for other in self.others]
        observed, rates = np.searchsorted(self.classes, labels), self.rates
        said = [np.asarray(each.probabilities) for each in (own, *(other for _, other in both))]
        if rates is not None:
            half_life = self.settings.half_life
            rates, by_rates = rates.predict_then_learn(rows, observed, half_life, powers)
            said.append(by_rates)
        after = replace(after, others=tuple(other for other, _ in both), rates=rates)
        if len(self.classes) < 2:
            return after, own
        trust = self.trust.copy()
        opinions = trust.opinions(said)
        opinions.observed[:] = observed
        if len(powers):
            opinions.powers[:] = powers
        conclude_at(StructTable(opinions).address, len(opinions.observed), True)
        likely = np.argmax(opinions.predicted, axis=1)
        return replace(after, trust=trust), Predictions(self.classes[likely], opinions.predicted)

    def probabilities(self, rows: Array) -> Array:
        """Return the probability of each class, one column each; they sum to one."""
        said = [super().probabilities(rows), *(other.probabilities(rows) for other in self.others)]
        if self.rates is not None:
            said.append(self.rates.predict(rows))
        opinions = self.trust.copy().opinions(said)
        conclude_at(StructTable(opinions).address, len(opinions.predicted), False)
        return opinions.predicted

    def welcome(self, label: Labels) -> Self:
        """Add a class that has not been seen so far."""
        place = int(np.searchsorted(self.classes, label[0])) if len(self.classes) else 0
        return replace(
            super().welcome(label),
            others=tuple(other.welcome(label) for other in self.others),
            rates=None if self.rates is None else self.rates.welcome(place),
            trust=self.trust._replace(counts=np.insert(self.trust.counts, place, 0.0)),
        )

    def closed(self) -> Self:
        """Return the same, which takes no other class."""
        return replace(super().closed(), others=tuple(other.closed() for other in self.others))


def mixed(known: OneVsRest, others: Sequence[Settings], with_rates: bool = False) -> OneVsRest:
    """Return what is known before the first row, with others beside it, if there are some."""
    if not others and not with_rates:
        return known
    classes = known.classes if known.unseen is None else None
    n_weights, n_classes = len(known.states[0].mean), len(known.classes)
    return Mixed(
        known.settings, known.settling, known.classes, known.states, known.unseen,
        tuple(OneVsRest.prior(n_weights, each, None, classes) for each in others),
        Rates.start(n_weights - 1, n_classes) if with_rates else None,
        Trust.start(1 + len(others) + with_rates, n_classes),
    )  # fmt: skip
