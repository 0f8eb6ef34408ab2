"""What Python does with a posterior of low rank: read it, make room in it, predict with it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from virtualvector.jit.compiled import compiled
from virtualvector.jit.struct_table import StructTable
from virtualvector.posterior.approximation import lost_digits, query
from virtualvector.posterior.low_rank_state import (
    CUTS,
    RECENT,
    LowRankAddress,
    LowRankArguments,
    LowRankState,
    empty_low_rank_state,
    low_rank_arguments,
    make_low_rank_workspace,
)
from virtualvector.posterior.point import write_query
from virtualvector.posterior.settings import Settings
from virtualvector.posterior.state import POINTS, copy_state
from virtualvector.posterior.step import rebuild
from virtualvector.posterior.workspace import arguments_at, parts_at
from virtualvector.types import Array, IntArray

_MOST_WEIGHTS = 5_000  # of which all covariances are written out
_TINY = float(np.finfo(float).tiny)


def directions_of(state: LowRankState) -> tuple[Array, Array]:
    """Return the directions, turned, and a: as if the last cut had written all of them.

    Examples
    --------
    >>> from virtualvector.posterior.low_rank import directions_of
    >>> from virtualvector.posterior.low_rank_state import empty_low_rank_state
    >>> from virtualvector.posterior.settings import Settings
    >>> settings = Settings(rank=1, buffer_size=0, margin_noise=1.0)
    >>> directions, mean = directions_of(empty_low_rank_state(3, settings))
    >>> directions.shape, mean
    ((3, 1), array([0., 0., 0.]))
    """
    directions, mean = state.directions.copy(), state.mean.copy()
    for cut in range(int(state.extent[CUTS])):
        (places,) = np.nonzero(state.visits == cut)
        rows = directions[places]
        mean[places] -= rows @ state.lags[cut] / state.diagonal[places]
        directions[places] = rows @ state.turns[cut, :, : rows.shape[1]]
    return directions, mean


def columns_of(state: LowRankState) -> tuple[Array, Array]:
    """Return W and its signs, written out."""
    rank, n = state.directions.shape[1], int(state.extent[RECENT])
    columns = np.zeros((len(state.mean), rank + n))
    columns[:, :rank], _ = directions_of(state)
    for i in range(n):
        part = slice(state.recent_starts[i], state.recent_starts[i + 1])
        columns[state.recent_places[part], rank + i] = state.recent_values[part]
    return columns, state.signs[: rank + n]


def points_of(state: LowRankState) -> Array:
    """Return the points, written out."""
    points = np.zeros((int(state.counts[POINTS]), len(state.mean)))
    for i, row in enumerate(points):
        n = state.point_sizes[i]
        row[state.point_places[i, :n]] = state.points[i, :n]
    return points


def precision_of(state: LowRankState) -> Array:
    """Return the precision matrix that q̃ has: of the residual, and of all sites.

    Examples
    --------
    >>> from virtualvector.posterior.low_rank import precision_of
    >>> from virtualvector.posterior.low_rank_state import empty_low_rank_state
    >>> from virtualvector.posterior.settings import Settings
    >>> settings = Settings(rank=1, buffer_size=0, margin_noise=1.0)
    >>> precision_of(empty_low_rank_state(2, settings))
    array([[1., 0.],
           [0., 1.]])
    """
    if len(state.mean) > _MOST_WEIGHTS:
        raise ValueError(
            f"found {len(state.mean)} weights; expected at most {_MOST_WEIGHTS} to write out all "
            "of their covariances"
        )
    columns, signs = columns_of(state)
    points = points_of(state)
    sites = state.site_precisions[: len(points)]
    written: Array = np.diag(state.diagonal) + columns * signs @ columns.T
    return written + points.T * sites @ points


def mean_of(state: LowRankState) -> Array:
    """Return the mean of q̃: that of r, and V(Σᵢ bᵢ(νᵢ − τᵢuᵢ)) with u the margins under q̃."""
    columns_used = state.directions.shape[1] + int(state.extent[RECENT])
    n = int(state.counts[POINTS])
    pulls = state.site_shifts[:n] - state.site_precisions[:n] * state.margins[:n]
    shifts = state.shifts[:columns_used] + state.signs[:columns_used] * (
        state.products[:columns_used, :n] @ pulls
    )
    weights = solve_triangular(
        state.inner[:columns_used, :columns_used], shifts, trans="T", lower=True
    )
    linear = np.zeros(len(state.mean))
    for i in range(n):
        size = state.point_sizes[i]
        linear[state.point_places[i, :size]] += pulls[i] * state.points[i, :size]
    directions, before = directions_of(state)
    rank = directions.shape[1]
    linear -= directions @ weights[:rank]
    for i, weight in enumerate(weights[rank:]):
        part = slice(state.recent_starts[i], state.recent_starts[i + 1])
        linear[state.recent_places[part]] -= weight * state.recent_values[part]
    mean: Array = before + linear / state.diagonal
    return mean


def mirrored(state: LowRankState) -> LowRankState:
    """Return the posterior for the same rows with all labels swapped: w has become −w."""
    state = copy_state(state)
    for array in (state.mean, state.lags, state.shifts, state.points, state.products):
        array *= -1.0
    return state


def with_more_low_rank_weights(
    state: LowRankState, settings: Settings, at: int, n_more: int
) -> LowRankState:
    """Return the same state with more weights, of which nothing is known, before one."""

    def moved(places: Any) -> Any:
        return np.where(places >= at, places + n_more, places)

    more = [at] * n_more
    wider = state._replace(
        mean=np.insert(state.mean, more, 0.0),
        diagonal=np.insert(state.diagonal, more, 1.0),
        directions=np.insert(state.directions, more, 0.0, axis=0),
        visits=np.insert(state.visits, more if len(state.visits) else [], 0),
        recent_places=moved(state.recent_places),
        point_places=moved(state.point_places),
    )
    return _in_larger_arrays(wider, settings, state.points.shape[1])


def _in_larger_arrays(state: LowRankState, settings: Settings, non_zeros: int) -> LowRankState:
    """Return the same state with room for so many non-zeros, in memory of its own."""
    larger = empty_low_rank_state(len(state.mean), settings, non_zeros)
    for name, array in state._asdict().items():
        getattr(larger, name)[tuple(map(slice, array.shape))] = array
    return larger


def with_room(arguments: LowRankArguments, row: int) -> LowRankArguments:
    """Return arguments for the same state, with room for points of more non-zeros."""
    state, rows = arguments.state, arguments.rows
    values = rows.values[rows.starts[row] : rows.starts[row + 1]]
    sizes: list[Any] = [
        1 + np.count_nonzero(values),
        int(state.point_sizes.max()),
        state.points.shape[1],
    ]
    needed = max(map(int, sizes))
    larger = _in_larger_arrays(state, arguments.settings, 2 * needed)
    work = make_low_rank_workspace(larger, arguments.settings, rows)
    work = work._replace(probabilities=arguments.work.probabilities)
    work.unfinished[:] = arguments.work.unfinished
    return arguments._replace(state=larger, work=work)


def low_rank_margins(state: LowRankState, rows: Any, margin_noise: float) -> Array:
    """Return the standardised margin of each row under q̃, as `predicted_margins` does."""
    return LowRankPredictor(state, margin_noise, rows).margins()


def deviations_of(state: LowRankState, places: IntArray) -> Array:
    """Return the standard deviations of some weights under q̃.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior.low_rank import deviations_of
    >>> from virtualvector.posterior.low_rank_state import empty_low_rank_state
    >>> from virtualvector.posterior.settings import Settings
    >>> settings = Settings(rank=1, buffer_size=0, margin_noise=1.0)
    >>> deviations_of(empty_low_rank_state(5, settings), np.array([0, 3]))
    array([1., 1.])
    """
    n = len(places)
    # The margin of a row with a one at one place is its weight.
    ones = sparse.csr_array((np.ones(n), places, np.arange(n + 1)), shape=(n, len(state.mean)))
    deviations: Array = LowRankPredictor(state, 0.0, ones).margins_and_deviations()[1]
    return deviations


class LowRankPredictor:
    """What a posterior of low rank says about rows, time and again, in memory that is made once.

    Parameters
    ----------
    state : LowRankState
        It stays as it is.
    margin_noise : float
        The variance s² of the noise.
    rows : array or sparse table
        Where the rows are; those in an array may become others.
    """

    def __init__(self, state: LowRankState, margin_noise: float, rows: Any) -> None:
        settings = Settings(margin_noise=margin_noise, rank=0, buffer_size=0, merge_pairs=0)
        if not all(array.flags.writeable for array in state):  # as those in a memory map
            state = copy_state(state)
        self._arguments = low_rank_arguments(state, settings, rows, np.zeros(0))
        self._table = StructTable(self._arguments)

    def margins(self, n_rows: int | None = None) -> Array:
        """Return the standardised margin of each of the first rows, or of all of them."""
        return self.margins_and_deviations(n_rows)[0]

    def margins_and_deviations(self, n_rows: int | None = None) -> Array:
        """Return both, one after the other."""
        both = np.empty((2, len(self._arguments.rows.starts) - 1 if n_rows is None else n_rows))
        if not write_low_rank_margins(LowRankAddress(self._table.address), *both):
            arguments = self._arguments
            self._arguments = arguments._replace(state=copy_state(arguments.state))
            self._table = StructTable(self._arguments)
            rebuild(LowRankAddress(self._table.address), True)  # type: ignore[arg-type]
            write_low_rank_margins(LowRankAddress(self._table.address), *both)
        return both


@compiled
def write_low_rank_margins(address: LowRankAddress, margins: Array, deviations: Array) -> bool:
    """Write the margins of all rows; return False if too many digits have been lost.

    Also write √(bᵀVb + s²) of each row as the unit vector b with its own noise.
    """
    state, settings, work, _ = parts_at(address)  # type: ignore[arg-type]
    rows = arguments_at(address).rows
    images, worn = lost_digits(state)
    for t in range(margins.shape[0]):
        noise, vector = write_query(rows, t, settings.margin_noise, work)
        margins[t], deviations[t] = 0.0, math.inf
        if not math.isinf(noise):
            mean, variance = query(state, state.counts[POINTS], vector, work)
            deviations[t] = math.sqrt(max(variance + noise, _TINY))
            margins[t] = mean / deviations[t]
    return not (images or worn)
