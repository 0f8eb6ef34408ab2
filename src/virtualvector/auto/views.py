"""Room for what experts see of some rows, which stays where it is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from virtualvector.concurrency import computed_once
from virtualvector.jit.alignment import aligned_zeros
from virtualvector.jit.struct_table import StructTable
from virtualvector.kernels.views import PARTS, Projection, Sight, Viewed, look_at
from virtualvector.types import Array


class Recipe(NamedTuple):
    """How a view is made of inputs."""

    projections: tuple[Hashable, ...]  # by which they are told apart
    scale: float  # that phases come times
    linear_scale: float  # that inputs come times
    n_squares: int = 0  # inputs, the first ones, whose squares come before all
    n_scaled: int = 0  # inputs, the first ones, that have a reach
    reach: float = 1.0


class Views:
    """The inputs of rows, and what each view has of them.

    Parameters
    ----------
    n_rows, n_inputs : int
        There is room for.
    recipes : mapping of view to Recipe
        The views.
    frequencies : callable
        Gives the frequencies of a projection, which are as many for each.
    """

    def __init__(
        self,
        n_rows: int,
        n_inputs: int,
        recipes: Mapping[Any, Recipe],
        frequencies: Callable[[Any], Array],
    ) -> None:
        keys = dict.fromkeys(key for recipe in recipes.values() for key in recipe.projections)
        drawn = {key: np.require(frequencies(key), float, ["C", "A", "W"]) for key in keys}
        places = {key: place for place, key in enumerate(drawn)}
        n_frequencies = max(map(len, drawn.values()), default=0)
        widths = [
            r.n_squares + n_inputs + 2 * n_frequencies * len(r.projections)
            for r in recipes.values()
        ]
        inputs, clipped, last, phases, *rows = aligned_zeros(
            (n_rows, n_inputs), (PARTS, n_inputs), (n_inputs,), (PARTS, len(drawn), n_frequencies),
            *((n_rows, width) for width in widths),
        )  # fmt: skip
        self.rows = dict(zip(recipes, rows, strict=True))
        self._projections = [StructTable(Projection(each)) for each in drawn.values()]
        self._views = [
            StructTable(
                Viewed(
                    self.rows[view],
                    np.array([places[key] for key in recipe.projections], np.int64),
                    float(recipe.scale),
                    float(recipe.linear_scale),
                    int(recipe.n_squares),
                    int(recipe.n_scaled) if recipe.reach > 1.0 else 0,
                    float(recipe.reach),
                )
            )
            for view, recipe in recipes.items()
        ]
        self.table = Sight(
            inputs, clipped, phases, _addresses(self._projections), _addresses(self._views), last,
            np.zeros(1, np.int64),
        )  # fmt: skip
        self.inputs = inputs
        # About how many multiplications a row takes; a sine or an asinh takes as long as many.
        self.operations = float(len(drawn) * n_frequencies * n_inputs + 150 * sum(widths))

    @computed_once
    def _own(self) -> StructTable:
        return StructTable(self.table)

    def look(self, n_rows: int) -> dict[Any, Array]:
        """Return what each view has of the first rows, whose inputs have been written."""
        look_at(self._own.address, n_rows)
        return self.rows


def _addresses(tables: list[StructTable]) -> Any:
    return np.array([table.address for table in tables], np.int64)
