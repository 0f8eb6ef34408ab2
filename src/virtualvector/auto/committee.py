"""A committee of experts that learn the same stream, and who of them is awake."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtualvector.auto.drift import DriftDetector
from virtualvector.auto.feature_space import FeatureSpace, View
from virtualvector.auto.first_rows import FirstRows
from virtualvector.auto.history import History
from virtualvector.concurrency import computed_once
from virtualvector.kernels import calibration
from virtualvector.kernels.recalibration import Recalibration
from virtualvector.learners.expert import Expert
from virtualvector.learners.log_pool import Pool
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.types import Array, Labels

BLOCK = 128  # rows between two decisions on who is awake
FEW = 8  # classes, of which each learns every row
SURE = 2.3263478740408408  # the margin of a probability of 0.99


@dataclass(frozen=True)
class Committee:
    """Experts, what each has learned, and how much each is trusted; learning returns a new one.

    At first all are awake. Then the worst fall asleep, one after the other: they neither learn nor
    predict, and cost nothing. What they leave of the budget goes to heirs of the best one, which
    know what it knows and see rows in more detail, or forget, in case the stream drifts; and to one
    of low rank that sees more still, and begins with nothing. When the stream changes at once,
    which shows in more surprises than expected, all begin anew, beside the best one and the twin,
    who keep what they know.
    """

    feature_space: FeatureSpace
    at_start: tuple[Expert, ...]
    experts: tuple[Expert, ...]
    classes_at_start: Labels | None
    posteriors: tuple[OneVsRest, ...]
    weights: Array  # of all experts; those asleep have none, the others sum to one
    awake: NDArray[np.bool_]
    evidence: Array  # log-probability that each gave to what came while it was awake
    pool: Pool
    corrections: Array  # how much each way to correct the mix, or the pool, is trusted
    recalibration: Recalibration  # of more than two classes, after that
    counts: Array  # rows of each class since the last alarm
    drift: DriftDetector
    history: History
    n_rows: int = 0
    calm_since: int = 0  # the row of the last alarm
    grown_at: int = 0  # the row at which the best one grew last
    first_rows: FirstRows | None = None  # all so far, while they are to be replayed

    @classmethod
    def start(
        cls, experts: Sequence[Expert], feature_space: FeatureSpace, classes: Labels | None
    ) -> Committee:
        """Return experts that know nothing and are trusted alike."""
        n, n_classes = len(experts), 0 if classes is None else len(classes)
        return cls(
            feature_space=feature_space,
            at_start=tuple(experts),
            experts=tuple(experts),
            classes_at_start=classes,
            posteriors=tuple(feature_space.prior(expert, classes) for expert in experts),
            weights=np.full(n, 1.0 / n),
            awake=np.ones(n, bool),
            evidence=np.zeros(n),
            pool=Pool.start(n),
            corrections=calibration.first_weights(),
            recalibration=Recalibration.start(n_classes),
            counts=np.zeros(n_classes),
            drift=DriftDetector(),
            history=History(),
            first_rows=FirstRows.none() if feature_space.n_scaled else None,
        )

    @property
    def classes(self) -> Labels:
        """The classes known so far."""
        return self.posteriors[0].classes

    @property
    def takes_new_classes(self) -> bool:
        """Whether classes may come that were not known from the start."""
        return self.classes_at_start is None

    @property
    def alone(self) -> bool:
        """Whether there is one expert only, with whom nothing is mixed, corrected or changed."""
        return len(self.at_start) == 1

    @property
    def calm_rows(self) -> float:
        """Rows since the last alarm: as many as would say as much of two classes alike.

        Where one class is rare, most rows say next to nothing of who is right: n rows of classes
        with frequencies f count as n · min(1, −Σ f log₂ f).
        """
        there = [count for count in self.counts.tolist() if count > 0.0]
        n = sum(there)
        return n * min(1.0, sum(each / n * math.log2(n / each) for each in there)) if n else 0.0

    @property
    def sure(self) -> float:
        """The margin beyond which a posterior does not learn that a row is not of its class.

        Of many classes, a row is one for which few compete. A posterior that gives less than 0.01
        to its class would move by less than 0.01 nats.
        """
        return math.inf if self.alone or len(self.classes) <= FEW else SURE

    @computed_once
    def operations(self) -> float:
        """About how many multiplications the next row takes."""
        awake = np.flatnonzero(self.awake)
        return sum(self.operations_of(self.experts[e]) for e in awake)

    def closed(self) -> Committee:
        """Return the same committee, which takes no more classes than those it knows."""
        return replace(
            self,
            classes_at_start=self.classes,
            posteriors=tuple(replace(each, unseen=None) for each in self.posteriors),
        )

    def wide_enough(self, n_inputs: int) -> Committee:
        """Return the same with room for so many inputs, as if all rows had had zeros there."""
        if n_inputs <= self.feature_space.n_inputs:
            return self
        feature_space = self.feature_space.wider(n_inputs)
        posteriors = list(self.posteriors)
        for e in np.flatnonzero(self.awake):
            at = self.feature_space.linear_part(self.experts[e])[0].stop
            n_more = feature_space.n_inputs - self.feature_space.n_inputs
            posteriors[e] = posteriors[e].with_more_weights(at, n_more)
        return replace(self, feature_space=feature_space, posteriors=tuple(posteriors))

    def welcome(self, label: Labels) -> Committee:
        """Add a class that has not been seen so far."""
        n = len(self.classes)
        place = int(np.searchsorted(self.classes, label[0])) if n else 0
        others = np.delete(np.arange(n + 1), place)
        return replace(
            self,
            posteriors=tuple(each.welcome(label) for each in self.posteriors),
            recalibration=self.recalibration.of_classes(others, n + 1),
            counts=np.insert(self.counts, place, 0.0),
        )

    def prior(self, expert: Expert) -> OneVsRest:
        """Return what an expert knows that begins now."""
        prior = self.feature_space.prior(expert, self.classes_at_start)
        if self.takes_new_classes:
            for k in range(len(self.classes)):
                prior = prior.welcome(self.classes[k : k + 1])
        return prior

    def operations_of(self, expert: Expert) -> float:
        """Return about how many multiplications an expert takes for a row."""
        return self.feature_space.operations(expert, len(self.classes))

    def view(self, e: Any) -> View:
        """Return what expert e sees of a row."""
        return self.feature_space.view(self.experts[e])
