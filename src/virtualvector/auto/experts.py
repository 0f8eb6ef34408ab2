"""The experts of a committee: what they assume, what they see, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from virtualvector.features import RandomFourierFeatures
from virtualvector.kernels.triangular import Array
from virtualvector.learners.one_against_rest import Labels, OneAgainstRest
from virtualvector.posterior import Settings, Strategy

LINEAR_SHARE = 0.5  # length of the columns beside that of the waves
FEWEST_WAVES, MOST_WAVES = 20, 1000
_EVICTION = {
    "divergence": Strategy.DIVERGENCE,
    "margin": Strategy.MARGIN,
    "oldest": Strategy.OLDEST,
}
STARTING_SHARE = 0.6  # of the budget, for all experts together; the rest is for the best to grow


class Expert(NamedTuple):
    """What one expert assumes about the stream."""

    bandwidth: float | None  # of its waves, in typical distances between rows; None: no waves
    margin_noise: float  # s²
    label_noise: float = 0.0  # ε
    buffer_size: int = 0  # virtual points
    half_life: float | None = None  # rows after which half is forgotten; None: never
    detail: int = 1  # how many times as many waves as usual
    merge_pairs: int = 0  # closest pairs of points that are tried to merge
    eviction: str = (
        "divergence"  # which point goes: that, the one of the largest "margin", "oldest"
    )

    def settings(self) -> Settings:
        """Return how its posterior learns."""
        if self.eviction not in _EVICTION:
            raise ValueError(
                f"An expert has eviction={self.eviction!r}; expected one of {sorted(_EVICTION)}."
            )
        return Settings(
            label_noise=self.label_noise,
            margin_noise=self.margin_noise,
            buffer_size=self.buffer_size,
            strategy=int(_EVICTION[self.eviction]),
            half_life=math.inf if self.half_life is None else self.half_life,
            merge_pairs=self.merge_pairs,
        )


class Sight(NamedTuple):
    """What experts see of a row: its inputs, and waves of a bandwidth."""

    bandwidth: float | None
    n_waves: int


class Outlook(NamedTuple):
    """What all experts of a committee share: the inputs of the stream, and the budget."""

    n_inputs: int
    spread: float  # typical squared length of a row
    n_waves: int
    budget: float  # multiplications per row
    seed: int = 0

    def sight(self, expert: Expert) -> Sight:
        """Return what an expert sees."""
        n_waves = 0 if expert.bandwidth is None else expert.detail * self.n_waves
        return Sight(expert.bandwidth, n_waves)

    def look(self, sight: Sight, inputs: Array) -> Array:
        """Return what is seen of each row: waves, the inputs, and what more waves there are.

        Whoever sees more sees the same at the same places, and more behind it.
        """
        if sight.bandwidth is None:
            return inputs
        bandwidth = sight.bandwidth * math.sqrt(2.0 * self.spread)
        parts = [
            _waves(self.n_waves, bandwidth, self.n_inputs, self.seed + k).transform(inputs)
            for k in range(sight.n_waves // self.n_waves)
        ]
        parts.insert(1, self._linear_scale * inputs)
        return np.hstack(parts)

    def linear_part(self, expert: Expert) -> tuple[slice, float]:
        """Return which weights of an expert are those of the inputs, and what these come times."""
        if expert.bandwidth is None:
            return slice(0, self.n_inputs), 1.0
        start = 2 * self.n_waves
        return slice(start, start + self.n_inputs), self._linear_scale

    @property
    def _linear_scale(self) -> float:
        return LINEAR_SHARE / math.sqrt(self.spread)

    def n_weights(self, expert: Expert) -> int:
        """Return how many weights a posterior of an expert has."""
        return 2 * self.sight(expert).n_waves + self.n_inputs + 1

    def prior(self, expert: Expert, classes: Labels | None) -> OneAgainstRest:
        """Return what an expert knows before the first row."""
        return OneAgainstRest.prior(self.n_weights(expert), expert.settings(), None, classes)

    def operations(self, expert: Expert, n_classes: int) -> float:
        """Return about how many multiplications an expert takes to predict and learn a row."""
        n_posteriors = n_classes if n_classes > 2 else 1
        return n_posteriors * _operations(self.n_weights(expert), expert.buffer_size)


@cache
def _waves(n_waves: int, bandwidth: float, n_inputs: int, seed: int) -> RandomFourierFeatures:
    waves = RandomFourierFeatures(n_waves, bandwidth=bandwidth, random_state=seed)
    return waves.fit(np.zeros((1, n_inputs)))


def _operations(n_weights: int, buffer_size: int) -> float:
    points = buffer_size + 1 if buffer_size else 0
    return 2.0 * n_weights**2 + 250.0 * points**2


def usual_budget(n_columns: int, n_classes: int) -> float:
    """Return the multiplications per row that are spent unless the user says otherwise."""
    return (3e5 + 5e3 * n_columns) * max(1.0, n_classes / 5.0)


def affordable_waves(
    experts: Sequence[Expert], n_inputs: int, n_classes: int, budget: float
) -> int:
    """Return how many waves experts can have if all of them together stay within a budget's share.

    The budget is in multiplications per row, not in seconds: results should not depend on how fast
    a machine is.
    """
    with_waves = sum(expert.bandwidth is not None for expert in experts)
    if with_waves == 0:
        return 0
    n_posteriors = n_classes if n_classes > 2 else 1
    fixed = sum(
        _operations(n_inputs + 1 if expert.bandwidth is None else 0, expert.buffer_size)
        for expert in experts
    )
    left = max(STARTING_SHARE * budget / n_posteriors - fixed, 0.0)
    n_weights = math.sqrt(left / (2.0 * with_waves))
    return int(min(max((n_weights - n_inputs - 1) / 2.0, FEWEST_WAVES), MOST_WAVES))


# Little noise or much, planes or curves, steady or drifting. What is in the list was picked by how
# well the best of it does on the streams of benchmarks/streams.py.
DEFAULT = (
    Expert(None, 1.0, buffer_size=10),
    Expert(None, 1.0, label_noise=0.02),
    Expert(None, 3.0, label_noise=0.02),
    Expert(0.25, 0.3, label_noise=0.02),
    Expert(0.5, 0.01),
    Expert(0.5, 0.1),
    Expert(0.5, 0.1, label_noise=0.02),
    Expert(1.0, 0.03, label_noise=0.02),
    Expert(1.0, 0.3, label_noise=0.02),
)
