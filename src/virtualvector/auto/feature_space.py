"""What experts see of a row: its inputs, and squares or random Fourier features of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from virtualvector.auto.experts import n_posteriors, operations
from virtualvector.auto.views import Recipe, Views
from virtualvector.features import RandomFourierFeatures
from virtualvector.features.categories import SLOTS
from virtualvector.kernels.views import LARGEST
from virtualvector.learners.expert import Expert
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.types import Array, Labels

LINEAR_SHARE = 0.5  # length of the columns beside that of the Fourier features


class View(NamedTuple):
    """What experts see of a row: its inputs, and squares, or Fourier features of a bandwidth."""

    bandwidth: float | None
    n_frequencies: int
    columns: int = 0  # that each frequency sees; 0: all
    squares: bool = False
    reach: float = 1.0


class FeatureSpace(NamedTuple):
    """What all experts of a committee share: the inputs of the stream, and the budget."""

    n_inputs: int  # there is room for
    spread: float  # typical squared length of a row
    n_frequencies: int
    budget: float  # multiplications per row
    seed: int = 0
    most_inputs: int = 0  # that the columns of the start may ever become, if more than now
    n_numbers: int = 0  # inputs that are numbers, the first ones; others are categories
    n_scaled: int = 0  # numbers, the first ones, that are asinh of deviations

    def wider(self, n_inputs: int) -> FeatureSpace:
        """Return the same with room for more inputs than now, and for some to come."""
        room = self.n_inputs
        while room < n_inputs:
            room = min(room + max(4, room // 4), max(self.most_inputs, n_inputs))
        return self._replace(n_inputs=room)

    def view(self, expert: Expert) -> View:
        """Return what an expert sees."""
        if expert.bandwidth is None:
            return View(None, 0, 0, expert.squares, expert.reach)
        return View(expert.bandwidth, expert.detail * self.n_frequencies, expert.columns)

    def look(self, views: Iterable[View], inputs: Array) -> dict[View, Array]:
        """Return what is seen of each row: Fourier features, the inputs, and more of the former.

        Whoever sees more sees the same at the same places, and more behind it.
        """
        room = self.views(views, len(inputs))
        room.inputs[:] = inputs
        return room.look(len(inputs))

    def views(self, views: Iterable[View], n_rows: int) -> Views:
        """Return room for what is seen of so many rows."""
        recipes = {view: self._recipe(view) for view in views}
        return Views(n_rows, self.n_inputs, recipes, self.frequencies)

    def _recipe(self, view: View) -> Recipe:
        if view.bandwidth is None:
            n_squares = self.n_numbers if view.squares else 0
            return Recipe((), 1.0, 1.0, n_squares, self.n_scaled, view.reach)
        scale = min(1.0 / (view.bandwidth * math.sqrt(2.0 * self.spread)), LARGEST)
        parts = range(view.n_frequencies // self.n_frequencies)
        return Recipe(tuple((view.columns, part) for part in parts), scale, self._linear_scale)

    def frequencies(self, drawn: tuple[int, int]) -> Array:
        """Return the frequencies that see so many columns each, of a part of the features.

        They are for all inputs that the columns of the start may ever become: one that nothing is
        in yet adds nothing to a phase. Those of columns that came later are seen, too, but not by
        frequencies that see a few columns each.
        """
        columns, part = drawn
        n_inputs = self.most_inputs or self.n_inputs
        n_later = max(self.n_inputs - n_inputs, 0)
        if columns == 0:
            frequencies = _frequencies(self.n_frequencies, n_inputs, self.seed + part)
            if n_later == 0:
                return frequencies
            later = [
                _later_frequencies(self.n_frequencies, n_inputs, place, self.seed + part)
                for place in range(n_inputs, n_inputs + n_later)
            ]
            return np.column_stack([frequencies, *later])
        # A category is a column of its own here: of each column of categories, about two.
        n_categories = (n_inputs - self.n_numbers) * 2 // SLOTS
        n_columns = self.n_numbers + (n_categories if columns > 1 else 0)
        few = _frequencies_of_few(self.n_frequencies, n_columns, columns, self.seed + part)
        frequencies = np.zeros((self.n_frequencies, n_inputs + n_later))
        frequencies[:, :n_columns] = math.sqrt(self.spread / columns) * few[:, :n_inputs]
        return frequencies

    def linear_part(self, expert: Expert) -> tuple[slice, float]:
        """Return which weights of an expert are those of the inputs, and what these come times."""
        if expert.bandwidth is None:
            start = self.n_numbers if expert.squares else 0
            return slice(start, start + self.n_inputs), 1.0
        start = 2 * self.n_frequencies
        return slice(start, start + self.n_inputs), self._linear_scale

    @property
    def _linear_scale(self) -> float:
        return LINEAR_SHARE / math.sqrt(self.spread)

    def n_weights(self, expert: Expert) -> int:
        """Return how many weights a posterior of an expert has."""
        view = self.view(expert)
        n_squares = self.n_numbers if view.squares else 0
        return 2 * view.n_frequencies + n_squares + self.n_inputs + 1

    def prior(self, expert: Expert, classes: Labels | None) -> OneVsRest:
        """Return what an expert knows before the first row."""
        return OneVsRest.prior(self.n_weights(expert), expert.settings(), None, classes)

    def operations(self, expert: Expert, n_classes: int) -> float:
        """Return about how many multiplications an expert takes to predict and learn a row."""
        return _operations(self, expert, n_classes)


@lru_cache(maxsize=1024)  # it is asked for after every block
def _operations(space: FeatureSpace, expert: Expert, n_classes: int) -> float:
    return n_posteriors(n_classes) * operations(expert, space.n_weights(expert))


@cache
def _frequencies(n_frequencies: int, n_inputs: int, seed: int) -> Array:
    fourier = RandomFourierFeatures(n_frequencies, bandwidth=1.0, random_state=seed)
    frequencies: Array = fourier.fit(np.zeros((1, n_inputs))).frequencies_
    return frequencies


@cache
def _later_frequencies(n_frequencies: int, n_inputs: int, place: int, seed: int) -> Array:
    """Return what frequencies that were drawn for so many inputs see of a later one.

    The more come, the less of each: distances between rows grow with the logarithm of their number.
    """
    drawn = np.random.default_rng([seed, place]).standard_normal(n_frequencies)
    seen: Array = math.sqrt(n_inputs / (place + 1.0)) * drawn
    return seen


@cache
def _frequencies_of_few(n_frequencies: int, n_columns: int, of_each: int, seed: int) -> Array:
    """Return frequencies that see a few columns each, all columns about equally often."""
    random = check_random_state(seed)
    frequencies = np.zeros((n_frequencies, n_columns))
    of_each = min(of_each, n_columns)
    at_once = n_columns // of_each if of_each else n_frequencies
    for start in range(0, n_frequencies, at_once):
        order = random.permutation(n_columns)
        for k in range(start, min(start + at_once, n_frequencies)):
            some = order[(k - start) * of_each : (k - start + 1) * of_each]
            frequencies[k, some] = random.standard_normal(of_each)
    return frequencies
