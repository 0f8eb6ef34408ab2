"""Residuals of low rank, multiplied: r = r₀ ∏ (r_k / r₀), cut to the rank.

Diagonals add up, and W has the columns of all: with Λ = D + WSWᵀ for each of them,

    D = D₀ + Σ (D_k − D₀),   WSWᵀ = W₀S₀W₀ᵀ + Σ (W_kS_kW_kᵀ − W₀S₀W₀ᵀ − Σ τbbᵀ).

In units of D this is Σ μuuᵀ over orthonormal directions u. Of those with μ > 0 the leading ones are
kept, and the squares of the rest are added to η; where μ < 0, as label noise and what shards have
cut leave it, the squares are taken from η, but none of the prior. So the result is proper,
and exact where the rank suffices. The mean is that of the precision before the cut; along
directions that would be more than twice as wide as D has them it is that of r₀.

Of wide rows most weights may be in no column: only rows of W that are not zero are written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from virtualvector.posterior.low_rank import directions_of
from virtualvector.posterior.low_rank_state import (
    PER_ROW,
    RECENT,
    LowRankState,
    empty_low_rank_state,
)
from virtualvector.posterior.reduction.eviction import LEAST_GROWTH
from virtualvector.posterior.residual.pooled import Points
from virtualvector.posterior.settings import Settings
from virtualvector.posterior.state import EVICTED, POINTS, ROWS, copy_state
from virtualvector.types import Array, IntArray

_NOTHING = 1e-12  # of the largest μ: rounding, where columns cancel


class LowRankResidual(NamedTuple):
    """N(mean, (diag(diagonal) + directions·directionsᵀ)⁻¹)."""

    mean: Array
    diagonal: Array
    directions: Array


class Columns(NamedTuple):
    """A precision diag(η) + Σ scale·wwᵀ over columns w, and what it is multiplied by the mean.

    The columns are zero but for some places.
    """

    diagonal: Array
    places: IntArray
    columns: Array
    scales: Array
    linear: Array

    @classmethod
    def of(cls, state: LowRankState, places: IntArray) -> Columns:
        """Return those of the residual of a state, which are in these places."""
        directions, mean = directions_of(state)
        rank, n = directions.shape[1], int(state.extent[RECENT])
        columns = np.zeros((len(places), rank + n))
        columns[:, :rank] = directions[places]
        for i in range(n):
            part = slice(state.recent_starts[i], state.recent_starts[i + 1])
            columns[np.searchsorted(places, state.recent_places[part]), rank + i] = (
                state.recent_values[part]
            )
        m = rank + n
        signs = state.signs[:m]
        shared = solve_triangular(state.inner[:m, :m], state.shifts[:m], trans="T", lower=True)
        mean[places] -= columns @ shared / state.diagonal[places]
        linear = state.diagonal * mean
        linear[places] += columns @ (signs * (columns.T @ mean[places]))
        return cls(state.diagonal, places, columns, signs, linear)

    def with_sites(self, points: Points, sign: float) -> Columns:
        """Return the same multiplied by the sites of points, or divided by them."""
        return self._replace(
            columns=np.hstack([self.columns, points.points[:, self.places].T]),
            scales=np.concatenate([self.scales, sign * points.site_precisions]),
            linear=self.linear + sign * (points.site_shifts @ points.points),
        )

    def mean(self) -> Array:
        """Return the mean."""
        return _mean(self, _directions(self), np.zeros_like(self.linear))


def places_in(states: Sequence[LowRankState], points: Sequence[Points]) -> IntArray:
    """Return which weights are in a column of one of the states, or in a point."""
    there = np.zeros(len(states[0].mean), bool)
    for state in states:
        there |= np.any(state.directions != 0.0, axis=1)
        there[state.recent_places[: state.recent_starts[state.extent[RECENT]]]] = True
    for some in points:
        there |= np.any(some.points != 0.0, axis=0)
    return np.flatnonzero(there)


class _Directions(NamedTuple):
    """Orthonormal directions in units of D, in columns, and how much is known along each."""

    directions: Array
    values: Array


def pooled_low_rank(
    shards: Sequence[LowRankState], common: LowRankState, lost: Sequence[Points], gained: Points
) -> LowRankResidual:
    """Return r = r₀ ∏ (r_k / r₀) over shards, divided by the sites of what each has lost.

    It is multiplied by the sites of what is gained. A shard that has none of the common points may
    have begun without them: r₀ with their sites is to it what a cut has left of that.
    """
    places = places_in([common, *shards], [Points.of(common), gained, *lost])
    start = Columns.of(common, places)
    n_points = int(common.counts[POINTS])
    begun = Columns.of(low_rank_start(common), places) if n_points else start
    parts = [start]
    for shard, gone in zip(shards, lost, strict=True):
        own, has_none = Columns.of(shard, places), len(gone.points) == n_points
        parts += [own if has_none else own.with_sites(gone, -1.0), begun if has_none else start]
    signs = [1, *([1, -1] * len(shards))]
    both = list(zip(signs, parts, strict=True))
    together = Columns(
        np.sum([sign * part.diagonal for sign, part in both], axis=0),
        places,
        np.hstack([part.columns for part in parts]),
        np.concatenate([sign * part.scales for sign, part in both]),
        np.sum([sign * part.linear for sign, part in both], axis=0),
    ).with_sites(gained, 1.0)
    least = LEAST_GROWTH * common.diagonal
    known = np.where(together.diagonal > least, together.diagonal, common.diagonal)
    rank = common.directions.shape[1]
    return cut_to_rank(together._replace(diagonal=known), rank, start.mean())


def cut_to_rank(known: Columns, rank: int, usual: Array) -> LowRankResidual:
    """Return a residual of a rank; its mean is the usual one where next to nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior.residual.pooled_low_rank import Columns, cut_to_rank
    >>> columns, scales = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([3.0, 1.0])
    >>> known = Columns(np.ones(2), np.arange(2), columns, scales, np.array([7.0, 7.0]))
    >>> mean, diagonal, directions = cut_to_rank(known, 1, np.zeros(2))
    >>> mean.round(9), diagonal.round(9), (directions @ directions.T).round(9)
    (array([1., 1.]), array([2., 2.]), array([[3., 3.],
           [3., 3.]]))
    """
    found = _directions(known)
    mean = _mean(known, found, usual)
    own = known.diagonal[known.places]
    written = np.sqrt(own)[:, np.newaxis] * found.directions
    kept = np.argsort(-found.values, kind="stable")[:rank]
    kept = kept[found.values[kept] > 0.0]
    rest = found.values.copy()
    rest[kept] = 0.0
    squares = np.square(written) @ rest
    diagonal = known.diagonal.copy()
    diagonal[known.places] = np.maximum(own + squares, np.minimum(own, 1.0))
    directions = np.zeros((len(mean), rank))
    directions[known.places, : len(kept)] = written[:, kept] * np.sqrt(found.values[kept])
    return LowRankResidual(mean, diagonal, directions)


def _directions(known: Columns) -> _Directions:
    """Return Σ scale·D^(−½)wwᵀD^(−½) by its eigenvectors, without those that have cancelled."""
    scaled = known.columns / np.sqrt(known.diagonal[known.places])[:, np.newaxis]
    basis, inner = np.linalg.qr(scaled)
    values, vectors = np.linalg.eigh(inner * known.scales @ inner.T)
    there = np.abs(values) > _NOTHING * np.max(np.abs(values), initial=0.0)
    directions = basis @ vectors[:, there]
    return _Directions(directions, values[there])


def _mean(known: Columns, found: _Directions, usual: Array) -> Array:
    """Return the mean; along directions of which next to nothing is known it is the usual one."""
    places = known.places
    roots = np.sqrt(known.diagonal[places])
    along = found.directions.T @ (known.linear[places] / roots)
    precisions = 1.0 + found.values
    is_known = precisions > LEAST_GROWTH
    ours = along / np.where(is_known, precisions, 1.0)
    pulls = np.where(is_known, ours, found.directions.T @ (roots * usual[places]))
    mean: Array = known.linear / known.diagonal
    mean[places] += found.directions @ (pulls - along) / roots
    return mean


def low_rank_start(state: LowRankState) -> LowRankState:
    """Return q̃ with no points, cut to the rank."""
    points = Points.of(state)
    known = Columns.of(state, places_in([state], [points])).with_sites(points, 1.0)
    start = copy_state(state)
    start.counts[EVICTED] += start.counts[POINTS]
    start.counts[POINTS] = 0
    for name in ("products", "gram", "margins", "covariances", "distances"):
        getattr(start, name)[:] = 0.0
    rank = state.directions.shape[1]
    _write(cut_to_rank(known, rank, np.zeros_like(state.mean)), start)
    return start


def low_rank_state(
    residual: LowRankResidual, points: Points, counts: IntArray, sums: Array, settings: Settings
) -> LowRankState:
    """Return a residual and points, numbered as the last of all rows, as a state."""
    sizes = np.count_nonzero(points.points, axis=1)
    state = empty_low_rank_state(len(residual.mean), settings, int(sizes.max(initial=0)))
    _write(residual, state)
    state.counts[:], state.sums[:] = counts, sums
    n = len(sizes)
    numbers = np.arange(n) + (counts[ROWS] - n)
    for name, array in points._replace(row_numbers=numbers)._asdict().items():
        if name != "points":
            getattr(state, name)[:n] = array
    for i, (point, size) in enumerate(zip(points.points, sizes, strict=True)):
        (places,) = np.nonzero(point)
        state.point_places[i, :size], state.points[i, :size] = places, point[places]
    state.point_sizes[:n] = sizes
    return state


def columns_at_once(state: LowRankState) -> int:
    """Return how many points can be evicted before W has to be cut."""
    n_columns = len(state.signs) - state.directions.shape[1]
    n_whole = len(state.recent_values) // max(state.points.shape[1], 1)
    return max(1, min(n_columns, n_whole) - PER_ROW)


def low_rank_state_in(state: LowRankState, settings: Settings) -> LowRankState:
    """Return the same, without columns since the last cut, in memory of its own."""
    n_points = int(state.counts[POINTS])
    non_zeros = int(state.point_sizes[:n_points].max(initial=0))
    own = empty_low_rank_state(len(state.mean), settings, non_zeros)
    for name, array in state._asdict().items():
        target = getattr(own, name)
        both = zip(array.shape, target.shape, strict=True)
        part = tuple(slice(min(sizes)) for sizes in both)
        target[part] = array[part]
    return own


def _write(residual: LowRankResidual, state: LowRankState) -> None:
    """Let a state have a residual, without columns since the last cut."""
    state.mean[:], state.diagonal[:], state.directions[:] = residual
    scaled = residual.directions / np.sqrt(residual.diagonal)[:, np.newaxis]
    rank = scaled.shape[1]
    for name in ("shifts", "signs", "inner", "extent", "visits", "turns", "lags"):
        getattr(state, name)[:] = 0
    np.fill_diagonal(state.turns[0], 1.0)
    state.signs[:rank] = 1.0
    state.inner[:rank, :rank] = np.linalg.cholesky(np.eye(rank) + scaled.T @ scaled)
