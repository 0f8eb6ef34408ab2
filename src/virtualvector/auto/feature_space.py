"""What experts see of a row: its inputs, and random Fourier features of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

from virtualvector.auto.experts import Expert, n_posteriors, operations
from virtualvector.features import RandomFourierFeatures
from virtualvector.features.fourier import phases_of
from virtualvector.kernels.fourier import write_fourier_features
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.types import Array, Labels

LINEAR_SHARE = 0.5  # length of the columns beside that of the Fourier features
_LARGEST = 1e150  # of an input and of its scale; a phase this large has long lost its digits


class View(NamedTuple):
    """What experts see of a row: its inputs, and Fourier features of a bandwidth."""

    bandwidth: float | None
    n_frequencies: int


class FeatureSpace(NamedTuple):
    """What all experts of a committee share: the inputs of the stream, and the budget."""

    n_inputs: int  # there is room for
    spread: float  # typical squared length of a row
    n_frequencies: int
    budget: float  # multiplications per row
    seed: int = 0
    most_inputs: int = 0  # that there may ever be, if more than now

    def wider(self, n_inputs: int) -> FeatureSpace:
        """Return the same with room for more inputs than now, and for some to come."""
        room = self.n_inputs
        while room < n_inputs:
            room = min(room + max(4, room // 4), max(self.most_inputs, n_inputs))
        return self._replace(n_inputs=room)

    def view(self, expert: Expert) -> View:
        """Return what an expert sees."""
        n_frequencies = 0 if expert.bandwidth is None else expert.detail * self.n_frequencies
        return View(expert.bandwidth, n_frequencies)

    def look(self, views: Iterable[View], inputs: Array) -> dict[View, Array]:
        """Return what is seen of each row: Fourier features, the inputs, and more of the former.

        Whoever sees more sees the same at the same places, and more behind it.
        """
        views = sorted(set(views), key=lambda view: -view.n_frequencies)
        n_parts = views[0].n_frequencies // self.n_frequencies if self.n_frequencies else 0
        phases = [self._phases(inputs, part) for part in range(n_parts)]
        widest: dict[float | None, Array] = {None: inputs}
        seen = {}
        for view in views:
            if view.bandwidth not in widest:
                widest[view.bandwidth] = self._fourier_features(view, inputs, phases)
            seen[view] = widest[view.bandwidth][:, : 2 * view.n_frequencies + self.n_inputs]
        return seen

    def _phases(self, inputs: Array, part: int) -> Array:
        frequencies = _frequencies(
            self.n_frequencies, max(self.n_inputs, self.most_inputs), self.seed + part
        )
        # An input that nothing is in yet would add nothing to a phase.
        return phases_of(np.clip(inputs, -_LARGEST, _LARGEST), frequencies[:, : inputs.shape[1]])

    def _fourier_features(self, view: View, inputs: Array, phases: list[Array]) -> Array:
        assert view.bandwidth is not None
        scale = min(1.0 / (view.bandwidth * math.sqrt(2.0 * self.spread)), _LARGEST)
        seen = np.empty((len(inputs), 2 * view.n_frequencies + self.n_inputs))
        start = 0
        for part in range(view.n_frequencies // self.n_frequencies):
            write_fourier_features(
                phases[part], scale, seen[:, start : start + 2 * self.n_frequencies]
            )
            start += 2 * self.n_frequencies
            if part == 0:
                np.multiply(self._linear_scale, inputs, out=seen[:, start : start + self.n_inputs])
                start += self.n_inputs
        return seen

    def linear_part(self, expert: Expert) -> tuple[slice, float]:
        """Return which weights of an expert are those of the inputs, and what these come times."""
        if expert.bandwidth is None:
            return slice(0, self.n_inputs), 1.0
        start = 2 * self.n_frequencies
        return slice(start, start + self.n_inputs), self._linear_scale

    @property
    def _linear_scale(self) -> float:
        return LINEAR_SHARE / math.sqrt(self.spread)

    def n_weights(self, expert: Expert) -> int:
        """Return how many weights a posterior of an expert has."""
        return 2 * self.view(expert).n_frequencies + self.n_inputs + 1

    def prior(self, expert: Expert, classes: Labels | None) -> OneVsRest:
        """Return what an expert knows before the first row."""
        return OneVsRest.prior(self.n_weights(expert), expert.settings(), None, classes)

    def operations(self, expert: Expert, n_classes: int) -> float:
        """Return about how many multiplications an expert takes to predict and learn a row."""
        return n_posteriors(n_classes) * operations(expert, self.n_weights(expert))


@cache
def _frequencies(n_frequencies: int, n_inputs: int, seed: int) -> Array:
    fourier = RandomFourierFeatures(n_frequencies, bandwidth=1.0, random_state=seed)
    frequencies: Array = fourier.fit(np.zeros((1, n_inputs))).frequencies_
    return frequencies
