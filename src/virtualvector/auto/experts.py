"""The experts of a committee: what they assume, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from virtualvector.posterior import Settings, Strategy

FEWEST_WAVES, MOST_WAVES = 20, 1000
STARTING_SHARE = 0.6  # of the budget, for all experts together; the rest is for the best to grow
_EVICTION = {
    "divergence": Strategy.DIVERGENCE,
    "margin": Strategy.MARGIN,
    "oldest": Strategy.OLDEST,
}


class Expert(NamedTuple):
    """What one expert assumes about the stream."""

    bandwidth: float | None  # of its waves, in typical distances between rows; None: no waves
    margin_noise: float  # s²
    label_noise: float = 0.0  # ε
    buffer_size: int = 0  # virtual points
    half_life: float | None = None  # rows after which half is forgotten; None: never
    detail: int = 1  # how many times as many waves as usual
    merge_pairs: int = 0  # closest pairs of points that are tried to merge
    eviction: str = "divergence"  # which point goes, by that, by "margin", or the "oldest"

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
            # With a single factor the first visit is already exact.
            max_sweeps=Settings().max_sweeps if self.buffer_size else 1,
        )


def operations(expert: Expert, n_weights: int) -> float:
    """Return about how many multiplications a posterior takes to predict and learn a row.

    What does not depend on its size takes as long as some.
    """
    points = expert.buffer_size + 1 if expert.buffer_size else 0
    forgetting = 0.0 if expert.half_life is None else 4.0 * n_weights**2.5 / expert.half_life**0.5
    return 3e3 + 2.0 * n_weights**2 + 250.0 * points**2 + forgetting


def n_posteriors(n_classes: int) -> int:
    """Return how many posteriors an expert has."""
    return n_classes if n_classes > 2 else 1


def usual_budget(n_columns: int, n_classes: int) -> float:
    """Return the multiplications per row that are spent unless the user says otherwise."""
    return (3e5 + 3e3 * n_columns) * max(1.0, n_classes / 4.0)


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
    fixed = sum(
        operations(expert, n_inputs + 1 if expert.bandwidth is None else 0) for expert in experts
    )
    left = max(STARTING_SHARE * budget / n_posteriors(n_classes) - fixed, 0.0)
    n_weights = math.sqrt(left / (2.0 * with_waves))
    return int(min(max((n_weights - n_inputs - 1) / 2.0, FEWEST_WAVES), MOST_WAVES))


# Little noise or much, planes or curves, steady or drifting. What is in the list was picked by how
# well the best of it does on the streams of benchmarks/streams.py.
DEFAULT = (
    Expert(None, 1.0, buffer_size=3),
    Expert(None, 1.0, label_noise=0.02),
    Expert(None, 3.0, label_noise=0.02),
    Expert(0.25, 0.3, label_noise=0.02),
    Expert(0.5, 0.01),
    Expert(0.5, 0.1),
    Expert(0.5, 0.1, label_noise=0.02),
    Expert(1.0, 0.03, label_noise=0.02),
    Expert(1.0, 0.3, label_noise=0.02),
)
