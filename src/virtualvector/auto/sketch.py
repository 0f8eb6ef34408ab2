"""Inputs of rows that are too wide, added up in fewer: a count sketch."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from virtualvector.types import Array


class Sketch(NamedTuple):
    """Where each input goes, and with which sign; the same for a seed and these sizes.

    Inputs in their order fill all places before any place gets another one, so that those of
    categories that never come take no room. With random signs lengths and products of rows stay
    what they are on average. What is learned is still a weight for each
    input, but those that share a place have the same up to the sign.
    """

    places: NDArray[np.int64]  # of each input
    signs: Array
    n_places: int

    def narrowed(self, inputs: Array) -> Array:
        """Return rows with as many inputs as there are places.

        Examples
        --------
        >>> import numpy as np
        >>> from virtualvector.auto.sketch import Sketch
        >>> sketch = Sketch(np.array([0, 1, 0]), np.array([1.0, -1.0, -1.0]), 2)
        >>> sketch.narrowed(np.array([[5.0, 7.0, 2.0]]))
        array([[ 3., -7.]])
        """
        n = inputs.shape[1]  # of categorical columns there may be more later
        matrix = csr_array(
            (self.signs[:n], (self.places[:n], np.arange(n))), shape=(self.n_places, n)
        )
        return np.ascontiguousarray((matrix @ inputs.T).T)

    def widened(self, weights: Array) -> Array:
        """Return what each input counts for, given that of each place; of the last axis."""
        wide: Array = self.signs * weights[..., self.places]
        return wide


@lru_cache(maxsize=4)
def sketch_of(n_inputs: int, n_places: int, seed: int) -> Sketch:
    """Return the sketch of so many inputs in so many places.

    Examples
    --------
    >>> from virtualvector.auto.sketch import sketch_of
    >>> sketch_of(7, 3, seed=0).places.tolist()
    [2, 1, 0, 2, 0, 1, 0]
    """
    random = check_random_state(seed)
    rounds = [random.permutation(n_places) for _ in range(0, n_inputs, n_places)]
    places = np.concatenate(rounds)[:n_inputs]
    return Sketch(places, random.choice([-1.0, 1.0], n_inputs), n_places)
