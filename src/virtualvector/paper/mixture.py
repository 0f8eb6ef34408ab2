"""The rows of figure 1: a mixture of two-dimensional Gaussians, nearly separable."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from virtualvector.types import Array

ROWS_PER_CLASS = 150


class Mixture(NamedTuple):
    """Where rows come from, and how well a line has to separate them.

    A class is an equal mixture of two round Gaussians. The centres of the first class scatter
    about (separation, 0), those of the second about (−separation, 0).
    """

    separation: float = 0.7
    spread: float = 0.3  # standard deviation of the centres
    deviation: float = 0.3  # standard deviation of the rows about their centre
    wrong: tuple[int, int] = (0, 0)  # how many rows may be on the wrong side of the best line
    flipped: float = 0.0  # probability that a label is then turned round

    def enlarged(self, factor: float) -> Mixture:
        """Return the same picture, larger; the bias stays 1."""
        return self._replace(
            separation=factor * self.separation,
            spread=factor * self.spread,
            deviation=factor * self.deviation,
        )

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array, int]:
        """Return rows and labels of ±1 in random order, and after how many draws they fitted."""
        for draws in count(1):
            signs = rng.permutation(np.repeat([1.0, -1.0], ROWS_PER_CLASS))
            centres = self.spread * rng.normal(size=(2, 2, 2))  # class, component, coordinate
            centres[:, :, 0] += self.separation * np.array([[1.0], [-1.0]])
            of_class = np.where(signs > 0.0, 0, 1)
            component = rng.integers(2, size=len(signs))
            rows = centres[of_class, component] + self.deviation * rng.normal(size=(len(signs), 2))
            fewest, most = self.wrong
            if fewest <= rows_on_the_wrong_side(labelled(rows, signs)) <= most:
                signs = np.where(rng.random(len(signs)) < self.flipped, -signs, signs)
                return rows, signs, draws
        raise AssertionError("counting has no end")


def labelled(rows: Array, signs: Array) -> Array:
    """Return rows with a bias of 1, times their labels."""
    return np.column_stack([rows, np.ones(len(rows))]) * signs[:, None]


def rows_on_the_wrong_side(points: Array) -> int:
    """Return how many rows the line of least total violation of margins leaves on its wrong side.

    Nought means that the rows are separable; linear programming finds the line.
    """
    n, d = points.shape
    found = linprog(
        np.append(np.zeros(d), np.ones(n)),
        A_ub=-np.column_stack([points, np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * d + [(0, None)] * n,
    )
    return int(np.sum(points @ found.x[:d] <= 0.0))
