"""The data sets as the experiments see them, in random order and through random features."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler

from virtualvector.datasets import load_ionosphere, load_spambase, load_thyroid
from virtualvector.features import RandomFourierFeatures
from virtualvector.types import Array


class Problem(NamedTuple):
    """Rows of unit scale, and labels of 0 or 1."""

    rows: Array
    labels: Any

    def shuffled(self, seed: list[int]) -> Problem:
        """Return the same rows in an order that the seed determines."""
        order = np.random.default_rng(seed).permutation(len(self.labels))
        return Problem(self.rows[order], self.labels[order])


class FeatureMap(NamedTuple):
    """The columns as they are (no features), or random Fourier features of so many dimensions."""

    n_features: int = 0
    bandwidth: float = 0.0

    def __call__(self, rows: Array, seed: list[int]) -> Array:
        """Return the features of rows; the seed determines the frequencies."""
        if self.n_features == 0:
            return rows
        random_state = int(np.random.SeedSequence(seed).generate_state(1)[0])
        fourier = RandomFourierFeatures(
            self.n_features // 2,
            bandwidth=self.bandwidth,
            frequencies="independent",  # as in the paper
            random_state=random_state,
        )
        features: Array = fourier.fit_transform(rows)
        return features


@cache
def load_problem(name: str) -> Problem:
    """Return a data set of the paper.

    The paper does not say how columns are scaled. Spambase has counts and frequencies, which are
    replaced by log(1 + x); the columns of the others are standardised, over the whole data set.
    """
    if name == "spambase":
        rows, labels = load_spambase(return_X_y=True)
        return Problem(np.log1p(rows), labels)
    if name == "thyroid":
        rows, labels = load_thyroid(two_class=True, return_X_y=True)
    else:
        rows, labels = load_ionosphere(return_X_y=True)
    return Problem(StandardScaler().fit_transform(rows), labels)


@cache
def typical_distance(name: str) -> float:
    """Return the median distance between rows of a data set, the unit for bandwidths."""
    rows = load_problem(name).rows
    return float(RandomFourierFeatures(1, random_state=0).fit(rows).bandwidth_)
