"""The rows that everybody learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Rows(NamedTuple):
    """Rows, and their labels: 1 or −1."""

    X: Array
    signs: Array

    def part(self, start: int, stop: int) -> Rows:
        """Return some of them."""
        return Rows(self.X[start:stop], self.signs[start:stop])


@dataclass(frozen=True)
class Problem:
    """A linear rule with noise; learners that ask for the variance of the noise are told."""

    name: str
    margin_noise: float

    def draw(self, n_rows: int, d: int, seed: int = 0) -> Rows:
        """Return Gaussian rows of length about one; margins have a variance near one.

        The rule depends on d alone; each seed gives other rows.
        """
        weights = np.random.default_rng(d).normal(size=d)
        generator = np.random.default_rng((d, seed))
        X = generator.normal(size=(n_rows, d)) / np.sqrt(d)
        noise = np.sqrt(self.margin_noise) * generator.normal(size=n_rows)
        return Rows(X, np.where(X @ weights + noise > 0.0, 1.0, -1.0))


NOISY = Problem("noisy", 0.1)
SEPARABLE = Problem("separable", 0.0)
