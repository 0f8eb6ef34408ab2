"""The types that all parts share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
IntArray = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Labels = np.ndarray[tuple[int, ...], np.dtype[Any]]
ClassWeight = dict[Any, float] | str | None  # of some classes, or "balanced", or all alike

LARGEST_COUNT = 2**53  # beyond which numbers of JSON are not whole any more


class Predictions(NamedTuple):
    """What a learner predicted of rows before it learned them."""

    labels: Labels
    probabilities: Array | None  # one column per class; None if the learner has none to offer
