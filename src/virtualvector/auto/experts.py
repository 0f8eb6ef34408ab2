"""The experts of a committee: what they assume, what they see, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from virtualvector.features import RandomFourierFeatures
from virtualvector.kernels.triangular import Array
from virtualvector.posterior import Settings

LINEAR_SHARE = 0.5  # length of the columns beside that of the waves
FEWEST_WAVES, MOST_WAVES = 50, 1000


class Expert(NamedTuple):
    """What one expert assumes about the stream."""

    bandwidth: float | None  # of its waves, in typical distances between rows; None: no waves
    margin_noise: float  # s²
    label_noise: float = 0.0  # ε
    buffer_size: int = 0  # virtual points
    half_life: float | None = None  # rows after which half is forgotten; None: never

    def settings(self) -> Settings:
        """Return how its posterior learns."""
        return Settings(
            label_noise=self.label_noise,
            margin_noise=self.margin_noise,
            buffer_size=self.buffer_size,
        )


class Sight(NamedTuple):
    """What experts see of a row: its inputs, and waves of a bandwidth."""

    waves: RandomFourierFeatures | None
    scale: float  # of the inputs beside the waves

    @classmethod
    def of(
        cls, bandwidth: float | None, n_inputs: int, spread: float, n_waves: int, seed: int
    ) -> Sight:
        """Return what experts of a bandwidth see of rows whose squared length is ``spread``."""
        if bandwidth is None:
            return cls(None, 1.0)
        waves = RandomFourierFeatures(
            n_waves, bandwidth=bandwidth * float(np.sqrt(2.0 * spread)), random_state=seed
        )
        return cls(waves.fit(np.zeros((1, n_inputs))), LINEAR_SHARE / float(np.sqrt(spread)))

    def __call__(self, inputs: Array) -> Array:
        """Return what is seen of each row."""
        if self.waves is None:
            return inputs
        return np.hstack([self.waves.transform(inputs), self.scale * inputs])

    def n_features(self, n_inputs: int) -> int:
        """Return the length of what is seen of a row."""
        return n_inputs + (0 if self.waves is None else 2 * len(self.waves.frequencies_))


def operations(n_weights: int, buffer_size: int) -> float:
    """Return about how many multiplications one posterior takes to predict and learn a row."""
    points = buffer_size + 1 if buffer_size else 0
    return 2.0 * n_weights**2 + 250.0 * points**2


def affordable_waves(experts: Sequence[Expert], n_inputs: int, n_states: int, budget: float) -> int:
    """Return how many waves experts can have if all of them together stay within a budget.

    The budget is in multiplications per row, not in seconds: results should not depend on how fast
    a machine is.
    """
    with_waves = [expert for expert in experts if expert.bandwidth is not None]
    if not with_waves:
        return 0
    fixed = n_states * sum(
        operations(0 if expert.bandwidth is not None else n_inputs + 1, expert.buffer_size)
        for expert in experts
    )
    left = max(budget - fixed, 0.0)
    n_weights = (left / (2.0 * n_states * len(with_waves))) ** 0.5
    return int(np.clip((n_weights - n_inputs - 1) / 2.0, FEWEST_WAVES, MOST_WAVES))


# Chosen by which assumptions did best on ordinary streams: little noise or much, smooth or not.
DEFAULT = (
    Expert(None, 1.0),
    Expert(None, 10.0),
    Expert(None, 1.0, label_noise=0.02),
    Expert(0.5, 0.1),
    Expert(0.5, 0.01, label_noise=0.02),
    Expert(1.0, 0.1),
    Expert(1.0, 0.01, label_noise=0.02),
    Expert(2.0, 0.1),
    Expert(2.0, 0.01, label_noise=0.02),
)
