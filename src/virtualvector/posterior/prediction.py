"""What the posterior says about new rows, each by itself: no bit depends on the rows beside it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from virtualvector.jit.alignment import aligned_zeros
from virtualvector.jit.compiled import compiled, ordered
from virtualvector.jit.lanes import (
    LANES,
    Lanes,
    entry_in_all,
    lanes,
    minus,
    no_lanes,
    plus,
    times,
    write_lanes,
)
from virtualvector.jit.struct_table import StructTable, reader
from virtualvector.kernels.likelihood import clip_margin, log_probability, write_probabilities
from virtualvector.kernels.tiles import (
    dots_of_tile,
    dots_of_tiles,
    multiply_rows_of_tile,
    multiply_tile,
    write_tile,
)
from virtualvector.kernels.triangular import whole_vectors
from virtualvector.posterior.approximation import lost_digits, smallest_left, write_pulls
from virtualvector.posterior.gaussian import Gaussian, gaussian
from virtualvector.posterior.low_rank import LowRankPredictor, low_rank_margins
from virtualvector.posterior.low_rank_state import AnyState, LowRankState, SparseRows
from virtualvector.posterior.point import write_points
from virtualvector.posterior.settings import Settings
from virtualvector.posterior.state import POINTS, State, copy_state, empty_state
from virtualvector.types import Array

_TINY = float(np.finfo(float).tiny)


class PredictorArguments(NamedTuple):
    """What a prediction is made of, and the memory it takes; none is given back."""

    state: State
    margin_noise: float
    rows: Array  # (T, d)  where those rows are that always come from the same place, if any do
    points: Array  # (8, d)
    noises: Array  # (8,)
    tile: Array  # (8d,)
    products: Array  # (8d,)
    means: Array  # (8,)
    variances: Array  # (8,)
    columns: Array  # (8b,)
    scaled: Array  # (8b,)
    crossed: Array  # (8b,)
    pulls: Array  # (b,)


_NOTHING, _NO_ROWS = np.zeros(0), np.zeros((0, 0))
predictor_at = reader(
    PredictorArguments(
        empty_state(1, Settings()), 0.0, _NO_ROWS, _NO_ROWS, *(_NOTHING for _ in range(9))
    )
)


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
    write_margins(mean, factor, rows, margin_noise, margins, *_room_for_tiles(len(mean)))
    return margins


def _room_for_tiles(n_weights: int) -> list[Array]:
    """Return room for points, their noises, tiles of them and of products, means and variances."""
    tile = LANES * n_weights
    return aligned_zeros((LANES, n_weights), (LANES,), (tile,), (tile,), (LANES,), (LANES,))


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
    return Predictor(state, margin_noise).margins(rows)


class Predictor:
    """What a posterior says about rows, time and again, in memory that is made once.

    Not for several threads at once.

    Parameters
    ----------
    state : State or LowRankState
        As for `predicted_margins`; it stays as it is.
    margin_noise : float
        The variance s² of the noise.
    rows : array or SparseRows, optional
        Where rows are that kernels are to predict, given the `address`; or those that are to be
        predicted time and again, of low rank.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Predictor, Settings, empty_state, learn
    >>> settings = Settings(buffer_size=5)
    >>> rows, signs = np.array([[2.0, 0.0], [0.0, 2.0]]), np.array([1.0, -1.0])
    >>> state, _ = learn(empty_state(2, settings), rows, signs, settings)
    >>> predictor = Predictor(state, 0.0)
    >>> [predictor.margins(rows[t : t + 1]).round(4).tolist() for t in (0, 1, 0)]
    [[1.3236], [-1.3236], [1.3236]]
    """

    def __init__(
        self, state: AnyState, margin_noise: float, rows: Array | SparseRows = _NO_ROWS
    ) -> None:
        self._state, self._noise = state, margin_noise
        self._table: StructTable | None = None  # in margin space
        self._known: Gaussian | None = None  # in weight space
        self._of_low_rank: LowRankPredictor | None = None  # of the rows that were given
        if isinstance(state, LowRankState):
            if isinstance(rows, SparseRows):
                self._of_low_rank = LowRankPredictor(state, margin_noise, rows)
                self._place = rows.values.ctypes.data
            return
        if not all(array.flags.writeable for array in state):  # as those in a memory map
            self._state = state = copy_state(state)
        self._room = _room_for_tiles(len(state.mean))
        if len(state.weight_mean):
            self._known = Gaussian(state.weight_mean, state.weight_factor)
            return
        assert isinstance(rows, np.ndarray)
        of_points = LANES * len(state.margins)
        more = aligned_zeros((of_points,), (of_points,), (of_points,), (len(state.margins),))
        self._table = StructTable(
            PredictorArguments(state, float(margin_noise), rows, *self._room, *more)
        )

    @property
    def address(self) -> int | None:
        """Of the table for `write_predicted_margins`; None if that is not how it is done."""
        return None if self._table is None else self._table.address

    def margins(self, rows: Any) -> Array:
        """Return the standardised margin of each row, as `predicted_margins` does."""
        if isinstance(self._state, LowRankState):
            if self._of_low_rank is not None and rows.ctypes.data == self._place:
                return self._of_low_rank.margins(len(rows))
            return low_rank_margins(self._state, rows, self._noise)
        if not rows.flags.carray or rows.dtype != np.float64:
            rows = np.require(rows, np.float64, ["C", "A", "W"])
        margins = np.empty(len(rows))
        if self._known is None:
            if self._table and write_predicted_margins(self._table.address, rows, margins):
                return margins
            self._known = gaussian(self._state)
        mean, factor = (np.require(a, np.float64, ["C", "A", "W"]) for a in self._known)
        write_margins(mean, factor, rows, self._noise, margins, *self._room)
        return margins


@compiled
def write_margins(
    mean: Array, factor: Array, rows: Array, margin_noise: float, margins: Array,
    points: Array, noises: Array, tile: Array, products: Array, means: Array, variances: Array,
) -> None:  # fmt: skip
    """Write mᵀb/√(|Ub|² + s²) for each row, as the unit vector b with its own noise."""
    d = mean.shape[0]
    for start in range(0, rows.shape[0], LANES):
        n = min(LANES, rows.shape[0] - start)
        write_points(rows[start : start + n], margin_noise, points, noises)
        write_tile(points, tile)
        multiply_tile(factor, tile, products)
        write_lanes(dots_of_tile(mean, tile, d), means, 0)
        write_lanes(dots_of_tiles(products, products, d), variances, 0)
        for t in range(n):
            spread = math.sqrt(max(variances[t] + noises[t], _TINY))
            margins[start + t] = means[t] / spread


@compiled
def write_predicted_margins(address: int, rows: Array, margins: Array) -> bool:
    """The same under q̃ in margin space; return False if too many digits have been lost.

    Given is the address of `PredictorArguments`.
    """
    asked = predictor_at(address)
    state, tile, products = asked.state, asked.tile, asked.products
    points, noises, means, variances = asked.points, asked.noises, asked.means, asked.variances
    columns, pulls = asked.columns, asked.pulls
    worn_images, worn_margins = lost_digits(state)
    if worn_images or worn_margins:
        return False
    d, n_points = state.mean.shape[0], state.counts[POINTS]
    write_pulls(state, n_points, pulls)
    for start in range(0, rows.shape[0], LANES):
        n = min(LANES, rows.shape[0] - start)
        write_points(rows[start : start + n], asked.margin_noise, points, noises)
        write_tile(points, tile)
        multiply_tile(state.factor, tile, products)
        mean, explained = dots_of_tile(state.mean, tile, d), no_lanes()
        if n_points > 0:
            more, explained = _by_points(
                state, n_points, products, columns, asked.scaled, asked.crossed, pulls
            )
            mean = plus(mean, more)
        write_lanes(dots_of_tiles(products, products, d), variances, 0)
        write_lanes(mean, means, 0)
        write_lanes(explained, columns, 0)
        for t in range(n):
            variance = smallest_left(variances[t] - columns[t], variances[t])
            margins[start + t] = means[t] / math.sqrt(max(variance + noises[t], _TINY))
    return True


@ordered
def _by_points(
    state: State, n: int, products: Array, columns: Array, scaled: Array, crossed: Array,
    pulls: Array,
) -> tuple[Lanes, Lanes]:  # fmt: skip
    """What n points add to the means and take from the variances of a tile: see `from_product`."""
    width = whole_vectors(n)
    multiply_rows_of_tile(state.products, width, state.mean.shape[0], products, columns)
    for i in range(n):
        entries = times(entry_in_all(state.site_precisions, i), lanes(columns, LANES * i))
        write_lanes(entries, scaled, LANES * i)
    multiply_rows_of_tile(state.covariances, width, n, scaled, crossed)
    for i in range(n):
        entries = minus(lanes(columns, LANES * i), lanes(crossed, LANES * i))
        write_lanes(entries, crossed, LANES * i)
    return dots_of_tile(pulls, columns, n), dots_of_tiles(scaled, crossed, n)


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
