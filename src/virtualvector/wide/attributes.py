"""What `WideVVMClassifier` tells of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from virtualvector.concurrency import of_one_moment
from virtualvector.features.wide import WideEncoder
from virtualvector.learners.expert import INDEPENDENT, RATES, Expert
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior import LowRankState, mean_of
from virtualvector.posterior.low_rank import deviations_of
from virtualvector.posterior.state import LOG_EVIDENCE, ROWS, counters
from virtualvector.wide.learning import MOST_RANK, settings_beside
from virtualvector.wide.mixed import Mixed

MOST_WEIGHTS = 1000  # of a class, that are looked at


class WideAttributes(BaseEstimator):
    """All that can be asked of a fitted `WideVVMClassifier`, which describes it."""

    buffer_size: int
    label_noise: float
    margin_noise: float
    merge_pairs: int
    eviction: str
    half_life: float | None
    covariance: str
    rank: int | None
    mix: bool
    _posterior: OneVsRest
    _encoder: WideEncoder

    @property
    def n_seen_(self) -> int:
        """The number of rows learned."""
        check_is_fitted(self)
        return int(self._posterior.states[0].counts[ROWS])

    @property
    def rank_(self) -> int:
        """The directions along which it is kept how weights hang together."""
        check_is_fitted(self)
        return self._posterior.settings.rank

    @property
    def takes_new_classes_(self) -> bool:
        """Whether classes may still come that have not been seen."""
        check_is_fitted(self)
        return self._posterior.unseen is not None

    @property
    def n_missing_(self) -> NDArray[np.int64]:
        """The missing values seen in each column."""
        check_is_fitted(self)
        return self._encoder.missing.copy()

    @property
    def is_categorical_(self) -> NDArray[np.bool_]:
        """Which columns are categorical."""
        return self._are("category")

    @property
    def is_time_(self) -> NDArray[np.bool_]:
        """Which columns hold dates or times."""
        return self._are("time")

    @property
    def is_text_(self) -> NDArray[np.bool_]:
        """Which columns hold texts, of which words count."""
        return self._are("text")

    @property
    def n_places_(self) -> NDArray[np.int64]:
        """The places of sparse rows in each column; 0 where there are none."""
        return self._are("sparse") * self._encoder.n_sparse

    @property
    def n_awake_(self) -> int:
        """How many learners there are: all are awake."""
        check_is_fitted(self)
        known = self._posterior
        return known.n_opinions if isinstance(known, Mixed) else 1

    @property
    def experts_(self) -> list[dict[str, Any]]:
        """The learner itself, and those beside it, as `AutoVVMClassifier` has its experts."""
        check_is_fitted(self)
        known = self._posterior
        expert = Expert(
            None,
            self.margin_noise,
            self.label_noise,
            self.buffer_size,
            self.half_life,
            merge_pairs=self.merge_pairs,
            eviction=self.eviction,
            rank=known.settings.rank,
        )
        weights, evidence = [1.0], [float(sum(s.sums[LOG_EVIDENCE] for s in known.states))]
        experts = [expert]
        if isinstance(known, Mixed):
            weights, evidence = known.trust.weights.tolist(), known.trust.evidence.tolist()
            alone = expert._replace(buffer_size=0, merge_pairs=0, eviction="divergence")
            experts += [
                alone._replace(margin_noise=how.margin_noise, rank=how.rank)
                for how in (other.settings for other in known.others)
            ]
            experts += [alone._replace(rank=0)] * (known.rates is not None)
        kinds = [INDEPENDENT if own.settings.independent else "" for own in learners_of(known)]
        kinds += [RATES] * (len(experts) - len(kinds))
        return [
            each._asdict() | {"evidence": e, "weight": w, "awake": True, "kind": kind}
            for each, e, w, kind in zip(experts, evidence, weights, kinds, strict=True)
        ]

    @property
    def history_(self) -> list[dict[str, Any]]:
        """Who was trusted when: nobody else."""
        return []

    @property
    def given_up_(self) -> list[str]:
        """What memory was not there for, in words."""
        check_is_fitted(self)
        found = []
        d = len(self._posterior.states[0].mean)
        if self.covariance == "low-rank" and self.rank is None and self.rank_ < MOST_RANK:
            found.append(
                f"rank {self.rank_} instead of {MOST_RANK}, for {d:,} weights of each class"
            )
        n_left_out = 1 + len(settings_beside(self._posterior.settings)) - (self.n_awake_ - 1)
        if self.mix and n_left_out > 0:
            found.append(f"{n_left_out} of those that would learn beside it, and be mixed with it")
        return found

    @property
    def n_bytes_(self) -> int:
        """The memory that everything learned takes."""
        check_is_fitted(self)
        states: list[Any] = [
            state
            for known in learners_of(self._posterior)
            for state in [*known.states, *([] if known.unseen is None else [known.unseen])]
        ]
        if isinstance(self._posterior, Mixed) and self._posterior.rates is not None:
            states.append(self._posterior.rates)
        arrays: dict[int, int] = {id(array): array.nbytes for state in states for array in state}
        return sum(arrays.values()) + self._encoder.n_bytes

    @property
    def counters_(self) -> dict[str, float]:
        """What has happened to points: how many were evicted, merged, and so on."""
        check_is_fitted(self)
        return counters(self._posterior.states)

    @property
    @of_one_moment
    def weight_table_(self) -> list[dict[str, Any]]:
        """The weights that are most certain, at most a thousand of each class.

        For each ``column``, ``class``, and the posterior's ``mean`` and standard ``deviation`` of
        the weight, as `AutoVVMClassifier` has them. A column is called as in the table, ``f7`` is
        the index 7 of sparse rows, and ``text: word`` or ``column = category`` what is hashed: the
        first that was met at its place. Those looked at are the ones most certain if weights were
        independent.
        """
        check_is_fitted(self)
        known = self._posterior
        found = []
        for positive, state in zip(known.positives.tolist(), known.states, strict=False):
            means, deviations, inputs = _most_certain(state, self._encoder.n_inputs)
            labels = self._encoder.labels(inputs)
            found += [
                {"column": label, "class": positive, "mean": float(m), "deviation": float(d)}
                for label, m, d in zip(labels, means, deviations, strict=True)
            ]
        return found

    def _are(self, kind: str) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return np.array([each == kind for each in self._encoder.kinds])

    def _counters(self) -> dict[str, float]:
        return {"rows": self.n_seen_, "missing": int(self._encoder.missing.sum())}


def learners_of(known: OneVsRest) -> tuple[OneVsRest, ...]:
    """Return the learner, and those beside it."""
    return known.learners if isinstance(known, Mixed) else (known,)


def _most_certain(state: LowRankState, n_inputs: int) -> tuple[Any, Any, Any]:
    """Return means and deviations of weights, the most certain first, and their inputs."""
    mean = mean_of(state)
    rough = np.abs(mean[:n_inputs]) * np.sqrt(state.diagonal[:n_inputs])
    inputs = np.argsort(-rough, kind="stable")[: 2 * MOST_WEIGHTS]
    inputs = np.sort(inputs[rough[inputs] > 0.0])
    means, deviations = mean[inputs], deviations_of(state, inputs)
    some = np.argsort(-np.abs(means) / deviations, kind="stable")[:MOST_WEIGHTS]
    return means[some], deviations[some], inputs[some]
