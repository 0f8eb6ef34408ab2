"""What the posterior says about new rows, each by itself: no bit depends on the rows beside it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from virtualvector.jit.alignment import aligned_zeros
from virtualvector.jit.compiled import compiled
from virtualvector.jit.struct_table import StructTable, reader
from virtualvector.kernels.likelihood import clip_margin, log_probability, write_probabilities
from virtualvector.kernels.triangular import dot, multiply_each
from virtualvector.posterior.approximation import from_product, lost_digits
from virtualvector.posterior.gaussian import Gaussian, gaussian
from virtualvector.posterior.low_rank import low_rank_margins
from virtualvector.posterior.low_rank_state import AnyState, LowRankState
from virtualvector.posterior.point import write_points
from virtualvector.posterior.settings import Settings
from virtualvector.posterior.state import POINTS, copy_state, empty_state
from virtualvector.types import Array

_ROWS_AT_ONCE = 32  # for which a part of the factor is read once
_TINY = float(np.finfo(float).tiny)

_state_at = reader(empty_state(1, Settings()))


def standardised_margins(known: Gaussian, rows: Array, margin_noise: float) -> Array:
    """Return mᵀx/√(xᵀVx + s²) for each row x: what its probability depends on.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Gaussian, standardised_margins
    >>> prior = Gaussian(np.array([0.0, 3.0]), np.eye(2))
    >>> standardised_margins(prior, np.array([[0.0], [1.0]]), margin_noise=0.0).round(4)
    array([3.    , 2.1213])
    """
    rows, mean, factor = (np.require(a, np.float64, ["C", "A", "W"]) for a in (rows, *known))
    margins = np.empty(len(rows))
    size, d = min(len(rows), _ROWS_AT_ONCE), len(mean)
    points, products, noises = aligned_zeros((size, d), (size, d), (size,))
    write_margins(mean, factor, rows, margin_noise, points, products, noises, margins)
    return margins


def predicted_margins(state: AnyState, rows: Any, margin_noise: float) -> Array:
    """Return the same for q̃ of a state, to the last bit as `Engine.predict` and `learn` find it.

    The state has nothing deferred, as those have that `learn` returns.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Settings, empty_state, learn, predicted_margins
    >>> settings = Settings(buffer_size=5)
    >>> rows, signs = np.array([[2.0, 0.5], [1.0, -1.0], [-1.5, 0.2]]), np.array([1.0, 1.0, -1.0])
    >>> state, _ = learn(empty_state(2, settings), rows[:2], signs[:2], settings)
    >>> _, events = learn(state, rows[2:], signs[2:], settings)
    >>> bool(-events.margin[0] == predicted_margins(state, rows, 0.0)[2])
    True
    """
    if isinstance(state, LowRankState):
        return low_rank_margins(state, rows, margin_noise)
    if len(state.weight_mean):
        return standardised_margins(
            Gaussian(state.weight_mean, state.weight_factor), rows, margin_noise
        )
    if not all(array.flags.writeable for array in state):  # as those in a memory map
        state = copy_state(state)
    rows = np.require(rows, np.float64, ["C", "A", "W"])
    margins = np.empty(len(rows))
    size, d, w = min(len(rows), _ROWS_AT_ONCE), len(state.mean), len(state.margins)
    points, products, noises, column, scaled, crossed = aligned_zeros(
        (size, d), (size, d), (size,), (w,), (w,), (w,)
    )
    table = StructTable(state)
    if not write_predicted_margins(
        table.address,
        rows,
        margin_noise,
        points,
        products,
        noises,
        column,
        scaled,
        crossed,
        margins,
    ):
        return standardised_margins(gaussian(state), rows, margin_noise)
    return margins


@compiled
def write_margins(
    mean: Array, factor: Array, rows: Array, margin_noise: float,
    points: Array, products: Array, noises: Array, margins: Array,
) -> None:  # fmt: skip
    """Write mᵀb/√(|Ub|² + s²) for each row, as the unit vector b with its own noise."""
    size = points.shape[0]
    for start in range(0, rows.shape[0], size):
        n = min(size, rows.shape[0] - start)
        write_points(rows[start : start + n], margin_noise, points, noises)
        multiply_each(factor, points[:n], products[:n])
        for t in range(n):
            variance = dot(products[t], products[t])
            spread = math.sqrt(max(variance + noises[t], _TINY))
            margins[start + t] = dot(points[t], mean) / spread


@compiled
def write_predicted_margins(
    address: int, rows: Array, margin_noise: float, points: Array, products: Array, noises: Array,
    column: Array, scaled: Array, crossed: Array, margins: Array,
) -> bool:  # fmt: skip
    """The same under q̃ in margin space; return False if too many digits have been lost."""
    state = _state_at(address)
    worn_images, worn_margins = lost_digits(state)
    if worn_images or worn_margins:
        return False
    size = points.shape[0]
    for start in range(0, rows.shape[0], size):
        n = min(size, rows.shape[0] - start)
        write_points(rows[start : start + n], margin_noise, points, noises)
        multiply_each(state.factor, points[:n], products[:n])
        for t in range(n):
            residual = dot(products[t], products[t])
            mean, variance = from_product(
                state, state.counts[POINTS], points[t], residual, products[t], column, scaled,
                crossed,
            )  # fmt: skip
            margins[start + t] = mean / math.sqrt(max(variance + noises[t], _TINY))
    return True


@compiled
def log_probabilities(margins: Array, label_noise: float, out: Array) -> None:
    """Write log(ε + (1−2ε)Φ(z)) for each standardised margin z: the posterior's average."""
    for t in range(margins.shape[0]):
        out[t] = log_probability(clip_margin(margins[t]), label_noise)


@compiled
def write_each_probabilities(margins: Array, label_noise: float, out: Array) -> None:
    """Write the probabilities of the classes of each row, given its margins."""
    for t in range(margins.shape[0]):
        write_probabilities(margins[t], label_noise, out[t])
