"""Whether a state of low rank that comes from outside is one: compiled code does not look.

Places are indices into memory, so that they come first.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from virtualvector.posterior.low_rank import directions_of
from virtualvector.posterior.low_rank_state import (
    CUTS,
    RECENT,
    LowRankState,
    check_low_rank,
    low_rank_shapes,
)
from virtualvector.posterior.settings import Settings
from virtualvector.posterior.state import POINTS, ROWS
from virtualvector.posterior.validation import (
    FARTHEST_PER_ROW,
    NARROWEST,
    check_approximation,
    check_counts,
    check_images,
    check_points,
    check_sites,
)
from virtualvector.types import LARGEST_COUNT, Array, IntArray

_OFF = 1e-6  # what may be rounding, of the largest entry


def check_low_rank_state(state: LowRankState, settings: Settings) -> None:
    """Raise ValueError unless a state is one that learning with such settings can lead to.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Settings, empty_low_rank_state
    >>> from virtualvector.posterior.low_rank_validation import check_low_rank_state
    >>> settings = Settings(rank=2, buffer_size=2, margin_noise=1.0)
    >>> state = empty_low_rank_state(9, settings)
    >>> check_low_rank_state(state, settings)
    >>> check_low_rank_state(state._replace(diagonal=np.zeros(9)), settings)
    Traceback (most recent call last):
    ValueError: found precisions of weights below the prior's or above 1e+18; expected them between
    """
    _check_shapes(state, settings)
    for name, array in state._asdict().items():
        if not np.isfinite(array).all():
            raise ValueError(f"found nan or infinity in {name}; expected finite numbers")
    check_counts(state, settings)
    rows = 1.0 + float(state.counts[ROWS])
    _check_places(state)
    columns = _recent_columns(state)
    directions, mean = directions_of(state)
    inner, signs = _check_residual(state, directions, mean, columns, rows)
    points = _points(state)
    check_points(state, settings, points.toarray()[:, np.unique(points.indices)])
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = points.multiply(1.0 / state.diagonal).tocsr()
        linear = np.vstack([(scaled @ directions).T, (columns @ scaled.T).toarray()])
        products = solve_triangular(inner, linear, lower=True)
        gram = (scaled @ points.T).toarray() - products.T * signs @ products
        check_sites(state, settings, rows, np.diagonal(gram))
        check_images(state, products, gram)
        n_columns = len(products)
        check_approximation(state, points @ mean - products.T @ state.shifts[:n_columns])
    if np.any(state.products[n_columns:]):
        raise ValueError("found products behind those of the last column; expected zeros")


def _check_shapes(state: LowRankState, settings: Settings) -> None:
    d = state.mean.size
    non_zeros = state.points.shape[1] if state.points.ndim == 2 else 0
    if d < 1 or settings.rank < 0:
        raise ValueError(f"found {d} weights of rank {settings.rank}; expected at least 1, and 0")
    check_low_rank(d, settings)
    for name, shape in low_rank_shapes(d, settings, non_zeros).items():
        found = getattr(state, name).shape
        if found != shape:
            raise ValueError(f"found {name} of shape {found}; expected {shape}")


def _check_places(state: LowRankState) -> None:
    """Check that what has places has them within the weights, and points theirs in order."""
    d, n_recent = len(state.mean), int(state.extent[RECENT])
    if not 0 <= n_recent < len(state.recent_starts) or not (0 <= state.extent[1] <= LARGEST_COUNT):
        raise ValueError(f"found extent {state.extent.tolist()}; expected columns that fit")
    last = int(state.extent[CUTS])
    if not 0 <= last < len(state.turns):
        raise ValueError(f"found {last} cuts; expected fewer than {len(state.turns)}")
    if np.any(state.visits < 0) or np.any(state.visits > last):
        raise ValueError(f"found visits of cuts other than 0 to {last}; expected these")
    rank = state.lags.shape[1]
    none = np.array_equal(state.turns[last, :, :rank], np.eye(rank))
    if not none or np.any(state.lags[last]) or np.any(state.turns[:, :, rank:]):
        raise ValueError("found a turn since the last cut; expected none")
    starts = state.recent_starts[: n_recent + 1]
    if starts[0] != 0 or np.any(np.diff(starts) < 0) or starts[-1] > len(state.recent_places):
        raise ValueError("found starts of columns that do not rise; expected them to fit")
    _check_within(state.recent_places[: starts[-1]], d)
    sizes = state.point_sizes
    if np.any(sizes < 0) or np.any(sizes > state.points.shape[1]):
        raise ValueError("found sizes of points that do not fit; expected smaller ones")
    for i in range(int(state.counts[POINTS])):
        places = state.point_places[i, : sizes[i]]
        _check_within(places, d)
        if np.any(np.diff(places) <= 0):
            raise ValueError("found places of a point that do not rise; expected them in order")


def _check_within(places: IntArray, d: int) -> None:
    if np.any(places < 0) or np.any(places >= d):
        raise ValueError(f"found a place outside of {d} weights; expected it within")


def _recent_columns(state: LowRankState) -> sparse.csr_array:
    starts = state.recent_starts[: int(state.extent[RECENT]) + 1]
    used = starts[-1]
    parts = (state.recent_values[:used], state.recent_places[:used], starts)
    return sparse.csr_array(parts, shape=(len(starts) - 1, len(state.mean)))


def _points(state: LowRankState) -> sparse.csr_array:
    n = int(state.counts[POINTS])
    sizes = state.point_sizes[:n]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    values = [state.points[i, : sizes[i]] for i in range(n)]
    places = [state.point_places[i, : sizes[i]] for i in range(n)]
    parts = (np.concatenate([[0.0], *values])[1:], np.concatenate([[0], *places])[1:], starts)
    return sparse.csr_array(parts, shape=(n, len(state.mean)))


def _check_residual(
    state: LowRankState, directions: Array, mean: Array, columns: sparse.csr_array, rows: float
) -> tuple[Array, Array]:
    """Check D, W and C, and how far the mean is from zero; return C and the signs of columns."""
    rank = directions.shape[1]
    m = rank + columns.shape[0]
    if np.any(state.diagonal < 0.99) or np.any(state.diagonal > 1.0 / NARROWEST):
        raise ValueError(
            "found precisions of weights below the prior's or above "
            f"{1.0 / NARROWEST:.0e}; expected them between"
        )
    signs, inner = state.signs[:m], state.inner[:m, :m]
    if np.any(np.abs(signs) != 1.0) or np.any(signs[:rank] != 1.0):
        raise ValueError("found signs of columns other than 1 and -1; expected these")
    if np.any(np.diagonal(inner) <= 0.0) or np.any(np.triu(inner, 1)):
        raise ValueError("found an inner factor that is not lower triangular; expected one")
    with np.errstate(over="ignore", invalid="ignore"):
        exact = np.diag(signs)
        scaled = directions / state.diagonal[:, np.newaxis]
        exact[:rank, :rank] += directions.T @ scaled
        exact[rank:, :rank] = columns @ scaled
        exact[:rank, rank:] = exact[rank:, :rank].T
        exact[rank:, rank:] += (columns.multiply(1.0 / state.diagonal) @ columns.T).toarray()
        widths = np.sqrt(np.abs(np.diagonal(exact)) + 1.0)
        apart = np.abs(inner * signs @ inner.T - exact) / (widths[:, np.newaxis] * widths)
        far = max(np.sum(state.diagonal * mean**2), np.sum(state.shifts**2))
    if not np.all(apart <= _OFF):
        raise ValueError("found an inner factor that columns do not have; expected theirs")
    if not far <= FARTHEST_PER_ROW * rows or np.any(state.shifts[m:]):
        raise ValueError("found a mean that rows cannot have led to; expected it closer to zero")
    return inner, signs
