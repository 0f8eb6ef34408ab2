"""A committee of experts that learn the same stream, and who of them is awake."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtualvector.auto.drift import DriftDetector
from virtualvector.auto.experts import Expert
from virtualvector.auto.feature_space import FeatureSpace, View
from virtualvector.auto.history import History, HistoryEntry
from virtualvector.concurrency import computed_once
from virtualvector.kernels import calibration
from virtualvector.kernels.mixing import mix
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior import WHOLE
from virtualvector.types import Array, Labels

SHARE = 2e-5  # of its weight that an expert gives to the others at every row
BLOCK = 128  # rows between two decisions on who is awake
LONG_BLOCK = 64 * BLOCK  # rows at once where there is nothing to decide; bounds the memory
PATIENCE = 256  # rows that all experts have, from the start or an alarm, to show what they can
FEWEST = 0.25  # the share of experts that stay awake for good
FRESH_SHARE = 0.05  # of the weight, to those that begin
HALF_LIVES = (1_000.0, 20_000.0)  # of the forgetful twins of the best expert
TOO_MUCH = 0.9  # of the budget: who takes more can have no twin awake beside it
JOINING = 512  # calm rows before others join, and between one that sees more and the next


@dataclass(frozen=True)
class Committee:
    """Experts, what each has learned, and how much each is trusted; learning returns a new one.

    At first all are awake. Then the worst fall asleep, one after the other: they neither learn nor
    predict, and cost nothing. What they leave of the budget goes to heirs of the best one, which
    know what it knows and see rows in more detail, or forget, in case the stream drifts. When the
    stream changes at once, which shows in more surprises than expected, all begin anew, beside the
    best one and the twin, who keep what they know.
    """

    feature_space: FeatureSpace
    at_start: tuple[Expert, ...]
    experts: tuple[Expert, ...]
    classes_at_start: Labels | None
    posteriors: tuple[OneVsRest, ...]
    weights: Array  # of all experts; those asleep have none, the others sum to one
    awake: NDArray[np.bool_]
    evidence: Array  # log-probability that each gave to what came while it was awake
    corrections: Array  # how much each way to correct the mix is trusted
    drift: DriftDetector
    history: History
    n_rows: int = 0
    calm_since: int = 0  # the row of the last alarm
    grown_at: int = 0  # the row at which the best one grew last

    @classmethod
    def start(
        cls, experts: Sequence[Expert], feature_space: FeatureSpace, classes: Labels | None
    ) -> Committee:
        """Return experts that know nothing and are trusted alike."""
        n = len(experts)
        return cls(
            feature_space=feature_space,
            at_start=tuple(experts),
            experts=tuple(experts),
            classes_at_start=classes,
            posteriors=tuple(feature_space.prior(expert, classes) for expert in experts),
            weights=np.full(n, 1.0 / n),
            awake=np.ones(n, bool),
            evidence=np.zeros(n),
            corrections=calibration.first_weights(),
            drift=DriftDetector(),
            history=History(),
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

    @computed_once
    def operations(self) -> float:
        """About how many multiplications the next row takes."""
        awake = np.flatnonzero(self.awake)
        return sum(self.feature_space.operations(self.experts[e], len(self.classes)) for e in awake)

    def predict(self, inputs: Array) -> Array:
        """Return the mixed probability of each class."""
        wide = self._wide_enough(inputs.shape[1])
        seen = wide._seen(inputs)
        mixed = np.zeros((len(inputs), len(self.classes)))
        for e in np.flatnonzero(self.awake):
            mixed += self.weights[e] * wide.posteriors[e].probabilities(seen[self._view(e)])
        if self.alone:
            return mixed
        nothing = np.zeros(0, np.int64)
        return _corrected(mixed, nothing, WHOLE, self.corrections.copy(), learn=False)

    def learn(
        self,
        inputs: Array,
        labels: Labels,
        pool: ThreadPoolExecutor | None = None,
        powers: Array = WHOLE,
    ) -> tuple[Committee, Array]:
        """Learn rows; also return what was said of each before, one column per class.

        Of a row that is the first of its class, what is said is about the classes known before it:
        a class has probability 0 until it is known. Decisions fall after certain numbers of rows,
        however the stream is cut into calls. Of a row with a power, all likelihoods are raised to
        it; it is one row all the same.
        """
        committee = self
        classes = np.union1d(self.classes, labels) if self.takes_new_classes else self.classes
        predicted = np.zeros((len(inputs), len(classes)))
        start, n_used = 0, _inputs_used(inputs, self.feature_space.n_inputs)
        for stop in self._stops(labels, n_used):
            rows, before = slice(start, stop), committee._wide_enough(n_used[start])
            known = not self.takes_new_classes or bool(np.isin(labels[start], before.classes))
            committee = before if known else before._welcome(labels[start : start + 1])
            committee, of_known = committee._learn(inputs[rows], labels[rows], powers[rows], pool)
            predicted[rows, np.searchsorted(classes, committee.classes)] = of_known
            if not known:
                predicted[start] = 0.0
                if len(before.classes):
                    before_it = np.searchsorted(classes, before.classes)
                    predicted[start, before_it] = before.predict(inputs[start : start + 1])[0]
            start = stop
        return committee, predicted

    def closed(self) -> Committee:
        """Return the same committee, which takes no more classes than those it knows."""
        return replace(
            self,
            classes_at_start=self.classes,
            posteriors=tuple(replace(each, unseen=None) for each in self.posteriors),
        )

    def _stops(self, labels: Labels, n_used: NDArray[np.int64]) -> list[int]:
        """Return where blocks end, and where a new class or more inputs than expected come next."""
        n, block = len(labels), LONG_BLOCK if self.alone else BLOCK
        stops = set(range(block - self.n_rows % block, n, block)) | {n}
        if self.takes_new_classes:
            values, first = np.unique(labels, return_index=True)
            stops |= {int(f) for f in first[~np.isin(values, self.classes)] if f > 0}
        feature_space = self.feature_space
        for row in np.flatnonzero(np.diff(n_used)) + 1:
            if n_used[row] > feature_space.n_inputs:
                feature_space = feature_space.wider(n_used[row])
                stops.add(int(row))
        return sorted(stops)

    def _wide_enough(self, n_inputs: int) -> Committee:
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

    def _welcome(self, label: Labels) -> Committee:
        return replace(self, posteriors=tuple(each.welcome(label) for each in self.posteriors))

    def _learn(
        self, inputs: Array, labels: Labels, powers: Array, pool: ThreadPoolExecutor | None
    ) -> tuple[Committee, Array]:
        """Learn rows of one block."""
        seen = self._seen(inputs)
        awake: list[int] = np.flatnonzero(self.awake).tolist()

        def learn(e: int) -> Any:
            return self.posteriors[e].predict_then_learn(seen[self._view(e)], labels, powers)

        results = list(pool.map(learn, awake) if pool else map(learn, awake))
        of_experts = np.array([each.probabilities for _, each in results])
        mixed = np.empty(of_experts.shape[1:])
        weights, evidence = self.weights.copy(), self.evidence.copy()
        of_awake, evidence_of_awake = weights[awake], evidence[awake]
        observed = np.searchsorted(self.classes, labels)
        # Added up row by row, so that sums do not depend on how calls are cut.
        tally = np.array([self.drift.excess, self.drift.variance])
        share = 0.0 if self.alone else SHARE
        mix(of_experts, observed, powers, of_awake, evidence_of_awake, share, tally, mixed)
        corrections = self.corrections.copy()
        predicted = (
            of_experts[0]
            if self.alone
            else _corrected(mixed, observed, powers, corrections, learn=True)
        )
        evidence[awake] = evidence_of_awake
        if not self.alone:  # rounding would make something else of a weight of one
            weights[awake] = of_awake
        posteriors = list(self.posteriors)
        for e, (posterior, _) in zip(awake, results, strict=True):
            posteriors[e] = posterior
        learned = replace(
            self,
            posteriors=tuple(posteriors),
            weights=weights,
            evidence=evidence,
            corrections=corrections,
            drift=self.drift._replace(excess=float(tally[0]), variance=float(tally[1])),
            n_rows=self.n_rows + len(labels),
        )
        if self.alone:
            certain = HistoryEntry(learned.n_rows, dict.fromkeys(self.experts, 1.0))
            return replace(learned, history=History((certain,))), predicted
        return (learned._end_block() if learned.n_rows % BLOCK == 0 else learned), predicted

    def _end_block(self) -> Committee:
        """Decide who is awake in the next block."""
        drift, alarm = self.drift.end_block()
        weights = dict.fromkeys(self.experts, 0.0)
        for expert, weight in zip(self.experts, self.weights.tolist(), strict=True):
            weights[expert] += weight  # who began anew may assume the same as who was kept
        known = replace(self, drift=drift, history=self.history.with_block(self.n_rows, weights))
        return known._begin_anew() if alarm else known._put_to_sleep()._fork()._grow()

    def _begin_anew(self) -> Committee:
        """Let all begin anew, beside the most trusted and the most trusted that forgets."""
        forgetful = self._best_forgetful()
        kept = sorted({self._best()} | (set() if forgetful is None else {forgetful}))
        n = len(self.at_start)
        of_kept = self.weights[kept] / self.weights[kept].sum()
        fresh = tuple(self._prior(expert) for expert in self.at_start)
        return replace(
            self,
            experts=self.at_start + tuple(self.experts[e] for e in kept),
            posteriors=fresh + tuple(self.posteriors[e] for e in kept),
            weights=np.append(np.full(n, FRESH_SHARE / n), (1.0 - FRESH_SHARE) * of_kept),
            awake=np.ones(n + len(kept), bool),
            evidence=np.append(np.zeros(n), self.evidence[kept]),
            calm_since=self.n_rows,
            grown_at=self.n_rows,
        )

    def _put_to_sleep(self) -> Committee:
        """Let the worst fall asleep: half of all after 1000 calm rows, three quarters after 4000.

        One that forgets stays awake, to notice when the stream drifts away slowly. In any case the
        budget is kept, once all have had time to show what they can.
        """
        calm = self.n_rows - self.calm_since
        share = max(FEWEST, min(1.0, (PATIENCE / calm) ** 0.5))
        most = max(1, int(share * len(self.experts)))
        order = [e for e in np.argsort(-self.weights, kind="stable").tolist() if self.awake[e]]
        forgetful = self._best_forgetful()
        if forgetful is not None and forgetful != order[0]:
            order.remove(forgetful)
            order.insert(1, forgetful)
            most += share > FEWEST  # not at the cost of others yet
        costs = np.cumsum([self._operations(self.experts[e]) for e in order])
        affordable = max(1, int(np.searchsorted(costs, self.feature_space.budget, "right")))
        awake = np.zeros_like(self.awake)
        awake[order[: min(most, affordable)]] = True
        weights = np.where(awake, self.weights, 0.0)
        return replace(self, awake=awake, weights=weights / weights.sum())

    def _fork(self) -> Committee:
        """Let the best one have twins that know all it knows, and forget."""
        best = self._best()
        expert, posterior = self.experts[best], self.posteriors[best]
        twins = [expert._replace(half_life=half_life) for half_life in HALF_LIVES]
        calm = self.n_rows - self.calm_since
        if calm < JOINING or expert.half_life is not None or twins[0] in self.experts:
            return self
        if self._operations(expert) > TOO_MUCH * self.feature_space.budget:
            return self
        return self._with_heirs(
            {twin: replace(posterior, settings=twin.settings()) for twin in twins}
        )

    def _grow(self) -> Committee:
        """Let the best one have a twin that knows all it knows, and sees more from now on."""
        best = self._best()
        expert = self.experts[best]
        larger = expert._replace(detail=2 * expert.detail)
        too_soon = self.n_rows - max(self.calm_since, self.grown_at) < JOINING
        if expert.bandwidth is None or too_soon or larger in self.experts:
            return self
        if self.operations + self._operations(larger) > self.feature_space.budget:
            return self
        n_weights = self.feature_space.n_weights(expert)
        n_more = self.feature_space.n_weights(larger) - n_weights
        heir = self.posteriors[best].with_more_weights(n_weights - 1, n_more)
        return replace(self._with_heirs({larger: heir}), grown_at=self.n_rows)

    def _with_heirs(self, heirs: dict[Expert, OneVsRest]) -> Committee:
        """Let experts join, with a part of the trust in the best one, from whom they know."""
        best, n = self._best(), len(heirs)
        weights = self.weights.copy()
        weights[best] *= 1.0 - FRESH_SHARE
        return replace(
            self,
            experts=(*self.experts, *heirs),
            posteriors=(*self.posteriors, *heirs.values()),
            weights=np.append(weights, np.full(n, FRESH_SHARE * self.weights[best] / n)),
            awake=np.append(self.awake, np.ones(n, bool)),
            evidence=np.append(self.evidence, np.full(n, self.evidence[best])),
        )

    def _best(self) -> int:
        return int(np.argmax(self.weights))

    def _best_forgetful(self) -> int | None:
        weights = [
            weight if expert.half_life is not None and awake else -1.0
            for expert, weight, awake in zip(self.experts, self.weights, self.awake, strict=True)
        ]
        return int(np.argmax(weights)) if max(weights) >= 0.0 else None

    def _operations(self, expert: Expert) -> float:
        return self.feature_space.operations(expert, len(self.classes))

    def _prior(self, expert: Expert) -> OneVsRest:
        """Return what an expert knows that begins now."""
        prior = self.feature_space.prior(expert, self.classes_at_start)
        if self.takes_new_classes:
            for k in range(len(self.classes)):
                prior = prior.welcome(self.classes[k : k + 1])
        return prior

    def _view(self, e: Any) -> View:
        return self.feature_space.view(self.experts[e])

    def _seen(self, inputs: Array) -> dict[View, Array]:
        """Return what those awake see of each row; inputs that did not come yet are zeros."""
        n_inputs = self.feature_space.n_inputs
        if inputs.shape[1] != n_inputs:
            there = inputs[:, :n_inputs]
            inputs = np.zeros((len(inputs), n_inputs))
            inputs[:, : there.shape[1]] = there
        return self.feature_space.look((self._view(e) for e in np.flatnonzero(self.awake)), inputs)


def _inputs_used(inputs: Array, room: int) -> NDArray[np.int64]:
    """Return how many inputs there are up to each row; 0 where there is room for them anyway."""
    used = np.arange(room + 1, inputs.shape[1] + 1)
    return np.maximum.accumulate(((inputs[:, room:] != 0.0) * used).max(axis=1, initial=0))


def _corrected(
    mixed: Array, observed: NDArray[np.int64], row_powers: Array, weights: Array, learn: bool
) -> Array:
    """Return what is stated in place of a mix; learn from what came in place."""
    predicted = np.empty_like(mixed)
    powers, shares = calibration.POWERS, calibration.SHARES
    work = np.empty((len(powers) + 1, mixed.shape[1]))
    calibration.correct(
        mixed, observed, row_powers, powers, shares, weights, calibration.SHARE, learn, work,
        predicted,
    )  # fmt: skip
    predicted /= predicted.sum(axis=1, keepdims=True)  # or rounding would leave more than one
    return predicted
