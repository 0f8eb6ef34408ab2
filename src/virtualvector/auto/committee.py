"""A committee of experts that learn the same stream, and who of them is awake."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtualvector.auto.experts import Expert, Sight
from virtualvector.auto.mixing import mix
from virtualvector.kernels.triangular import Array
from virtualvector.learners.one_against_rest import Labels, OneAgainstRest

SHARE = 1e-4  # of its weight that an expert gives to the others at every row
BLOCK = 128  # rows between two decisions on who is awake
NEGLIGIBLE = 1e-3  # weight below which an expert goes to sleep
SETTLING = 4096  # rows by which most experts sleep, counted from the last alarm
FEWEST = 0.25  # the share of experts that may then be awake
FRESH_SHARE = 0.1  # of the weight, to those that wake up
ALARM = 5.0  # standard deviations by which a block has to be worse than those before it
ALARM_HISTORY = 8  # blocks needed to know what is usual
LONGEST_HISTORY = 32  # blocks that count towards it
AFTERMATH = 4  # blocks after an alarm in which those who fail begin anew instead of sleeping


@dataclass(frozen=True)
class Watch:
    """What losses are usual, block by block, to notice when the stream changes."""

    loss: float = 0.0  # of the block that is under way
    n_blocks: int = 0
    mean: float = 0.0
    square: float = 0.0  # mean squared deviation

    def with_loss(self, loss: float) -> Watch:
        """Add to the loss of the block that is under way."""
        return replace(self, loss=self.loss + loss)

    def end_block(self) -> tuple[Watch, bool]:
        """Return what is usual now, and whether the block that ends was alarming."""
        loss = self.loss / BLOCK
        limit = self.mean + ALARM * self.square**0.5
        if self.n_blocks >= ALARM_HISTORY and loss > limit:
            return Watch(), True
        n = min(self.n_blocks + 1, LONGEST_HISTORY)
        mean = self.mean + (loss - self.mean) / n
        square = self.square + ((loss - self.mean) * (loss - mean) - self.square) / n
        return Watch(0.0, self.n_blocks + 1, mean, square), False


@dataclass(frozen=True)
class Committee:
    """Experts, what each has learned, and how much each is trusted; learning returns a new one.

    Experts that have become negligible sleep: they neither learn nor predict, and cost nothing.
    When the stream changes, which shows in losses that are not usual, all wake up, and those who
    slept begin anew: what they knew is of another time.
    """

    experts: tuple[Expert, ...]
    sights: dict[float | None, Sight]
    priors: tuple[OneAgainstRest, ...]
    posteriors: tuple[OneAgainstRest, ...]
    weights: Array  # of all experts; they sum to one over those awake
    awake: NDArray[np.bool_]
    evidence: Array  # log-probability that each gave to what came while it was awake
    watch: Watch
    n_rows: int = 0
    calm_since: int = 0  # the row of the last alarm

    @classmethod
    def start(
        cls,
        experts: Sequence[Expert],
        sights: dict[float | None, Sight],
        n_inputs: int,
        classes: Labels | None,
    ) -> Committee:
        """Return experts that know nothing and are trusted alike."""
        priors = tuple(
            OneAgainstRest.prior(
                sights[expert.bandwidth].n_features(n_inputs) + 1, expert.settings(), None, classes
            )
            for expert in experts
        )
        n = len(experts)
        return cls(
            tuple(experts), sights, priors, priors, np.full(n, 1.0 / n), np.ones(n, bool),
            np.zeros(n), Watch(),
        )  # fmt: skip

    @property
    def classes(self) -> Labels:
        """The classes known so far."""
        return self.posteriors[0].classes

    def predict(self, inputs: Array) -> Array:
        """Return the mixed probability of each class."""
        seen = self._seen(inputs)
        mixed = np.zeros((len(inputs), len(self.classes)))
        for e in np.flatnonzero(self.awake):
            said = self.posteriors[e].probabilities(seen[self.experts[e].bandwidth])
            mixed += self.weights[e] * said
        return mixed

    @property
    def takes_new_classes(self) -> bool:
        """Whether classes may come that were not known from the start."""
        return self.posteriors[0].unseen is not None

    def learn(
        self, inputs: Array, labels: Labels, pool: ThreadPoolExecutor | None = None
    ) -> tuple[Committee, Array]:
        """Learn rows; also return what was said of each before, one column per class."""
        committee = self
        classes = np.union1d(self.classes, labels) if self.takes_new_classes else self.classes
        said = np.zeros((len(inputs), len(classes)))
        start = 0
        for stop in self._stops(labels):
            rows = slice(start, stop)
            if not np.isin(labels[start], committee.classes):
                committee = committee._welcome(labels[start : start + 1])
            committee, of_known = committee._learn(inputs[rows], labels[rows], pool)
            said[rows, np.searchsorted(classes, committee.classes)] = of_known
            start = stop
        return committee, said

    def _stops(self, labels: Labels) -> list[int]:
        """Return where blocks end and where the first row of a new class comes next."""
        n = len(labels)
        stops = set(range(BLOCK - self.n_rows % BLOCK, n, BLOCK)) | {n}
        if self.takes_new_classes:
            values, first = np.unique(labels, return_index=True)
            stops |= {int(f) for f in first[~np.isin(values, self.classes)] if f > 0}
        return sorted(stops)

    def _welcome(self, label: Labels) -> Committee:
        return replace(
            self,
            priors=tuple(prior.welcome(label) for prior in self.priors),
            posteriors=tuple(posterior.welcome(label) for posterior in self.posteriors),
        )

    def _learn(
        self, inputs: Array, labels: Labels, pool: ThreadPoolExecutor | None
    ) -> tuple[Committee, Array]:
        """Learn rows of one block."""
        seen = self._seen(inputs)
        awake: list[int] = np.flatnonzero(self.awake).tolist()

        def learn(e: int) -> Any:
            return self.posteriors[e].predict_then_learn(seen[self.experts[e].bandwidth], labels)

        results = list(pool.map(learn, awake) if pool else map(learn, awake))
        said = np.array([stated.probabilities for _, stated in results])
        mixed = np.empty(said.shape[1:])
        weights, evidence = self.weights.copy(), self.evidence.copy()
        of_awake, evidence_of_awake = weights[awake], evidence[awake]
        came = np.searchsorted(self.classes, labels)
        loss = mix(said, came, of_awake, evidence_of_awake, SHARE, mixed)
        weights[awake], evidence[awake] = of_awake, evidence_of_awake
        posteriors = list(self.posteriors)
        for e, (posterior, _) in zip(awake, results, strict=True):
            posteriors[e] = posterior
        learned = replace(
            self,
            posteriors=tuple(posteriors),
            weights=weights,
            evidence=evidence,
            watch=self.watch.with_loss(loss),
            n_rows=self.n_rows + len(labels),
        )
        return (learned._end_block() if learned.n_rows % BLOCK == 0 else learned), mixed

    def _end_block(self) -> Committee:
        """Decide who is awake in the next block."""
        watch, alarm = self.watch.end_block()
        if alarm:
            return replace(self, watch=watch, calm_since=self.n_rows)._wake(~self.awake)
        calm = self.n_rows - self.calm_since
        most = max(1, int(np.ceil(len(self.experts) * max(FEWEST, 1.0 - calm / SETTLING))))
        by_weight = np.argsort(-self.weights, kind="stable")
        tired = self.awake & (self.weights < NEGLIGIBLE)
        tired[by_weight[most:]] |= self.awake[by_weight[most:]]
        tired[by_weight[0]] = False
        if not tired.any():
            return replace(self, watch=watch)
        weights = np.where(self.awake & ~tired, self.weights, 0.0)
        rested = replace(
            self, watch=watch, awake=self.awake & ~tired, weights=weights / weights.sum()
        )
        if self.calm_since > 0 and calm <= AFTERMATH * BLOCK:
            return rested._wake(tired)
        return rested

    def _wake(self, sleepers: NDArray[np.bool_]) -> Committee:
        """Let some begin anew, with a part of the trust."""
        if not sleepers.any():
            return self
        posteriors = tuple(
            prior if wakes else posterior
            for prior, posterior, wakes in zip(self.priors, self.posteriors, sleepers, strict=True)
        )
        weights = np.where(
            sleepers, FRESH_SHARE / sleepers.sum(), (1.0 - FRESH_SHARE) * self.weights
        )
        return replace(self, posteriors=posteriors, weights=weights, awake=self.awake | sleepers)

    def _seen(self, inputs: Array) -> dict[float | None, Array]:
        """Return what those awake see of each row."""
        kinds = dict.fromkeys(self.experts[e].bandwidth for e in np.flatnonzero(self.awake))
        return {bandwidth: self.sights[bandwidth](inputs) for bandwidth in kinds}
