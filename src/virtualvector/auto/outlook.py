"""What experts see of a row: its inputs, and random waves of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

from virtualvector.auto.experts import Expert, n_posteriors, operations
from virtualvector.features import RandomFourierFeatures
from virtualvector.features.fourier import phases_of
from virtualvector.features.waves import write_waves
from virtualvector.kernels.triangular import Array
from virtualvector.learners.one_against_rest import Labels, OneAgainstRest

LINEAR_SHARE = 0.5  # length of the columns beside that of the waves
_LARGEST = 1e150  # of an input; a phase this large has long lost its digits


class Sight(NamedTuple):
    """What experts see of a row: its inputs, and waves of a bandwidth."""

    bandwidth: float | None
    n_waves: int


class Outlook(NamedTuple):
    """What all experts of a committee share: the inputs of the stream, and the budget."""

    n_inputs: int  # there is room for
    spread: float  # typical squared length of a row
    n_waves: int
    budget: float  # multiplications per row
    seed: int = 0
    most_inputs: int = 0  # that there may ever be, if more than now

    def wider(self, n_inputs: int) -> Outlook:
        """Return the same with room for more inputs than now, and for some to come."""
        room = self.n_inputs
        while room < n_inputs:
            room = min(room + max(4, room // 4), max(self.most_inputs, n_inputs))
        return self._replace(n_inputs=room)

    def sight(self, expert: Expert) -> Sight:
        """Return what an expert sees."""
        n_waves = 0 if expert.bandwidth is None else expert.detail * self.n_waves
        return Sight(expert.bandwidth, n_waves)

    def look(self, sights: Iterable[Sight], inputs: Array) -> dict[Sight, Array]:
        """Return what is seen of each row: waves, the inputs, and what more waves there are.

        Whoever sees more sees the same at the same places, and more behind it.
        """
        sights = sorted(set(sights), key=lambda sight: -sight.n_waves)
        n_parts = sights[0].n_waves // self.n_waves if self.n_waves else 0
        phases = [self._phases(inputs, part) for part in range(n_parts)]
        widest: dict[float | None, Array] = {None: inputs}
        seen = {}
        for sight in sights:
            if sight.bandwidth not in widest:
                widest[sight.bandwidth] = self._waves(sight, inputs, phases)
            seen[sight] = widest[sight.bandwidth][:, : 2 * sight.n_waves + self.n_inputs]
        return seen

    def _phases(self, inputs: Array, part: int) -> Array:
        frequencies = _frequencies(
            self.n_waves, max(self.n_inputs, self.most_inputs), self.seed + part
        )
        # An input that nothing is in yet would add nothing to a phase.
        return phases_of(np.clip(inputs, -_LARGEST, _LARGEST), frequencies[:, : inputs.shape[1]])

    def _waves(self, sight: Sight, inputs: Array, phases: list[Array]) -> Array:
        assert sight.bandwidth is not None
        scale = 1.0 / (sight.bandwidth * math.sqrt(2.0 * self.spread))
        seen = np.empty((len(inputs), 2 * sight.n_waves + self.n_inputs))
        start = 0
        for part in range(sight.n_waves // self.n_waves):
            write_waves(phases[part], scale, seen[:, start : start + 2 * self.n_waves])
            start += 2 * self.n_waves
            if part == 0:
                np.multiply(self._linear_scale, inputs, out=seen[:, start : start + self.n_inputs])
                start += self.n_inputs
        return seen

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
        return n_posteriors(n_classes) * operations(expert, self.n_weights(expert))


@cache
def _frequencies(n_waves: int, n_inputs: int, seed: int) -> Array:
    waves = RandomFourierFeatures(n_waves, bandwidth=1.0, random_state=seed)
    frequencies: Array = waves.fit(np.zeros((1, n_inputs))).frequencies_
    return frequencies
