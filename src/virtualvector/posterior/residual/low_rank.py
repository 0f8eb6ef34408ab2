"""The residual r = N(m, (D + WSWᵀ)⁻¹): the versions of `full.py` for a precision of low rank.

A site exp(νu − ½τu²), u = xᵀw, adds the column √|τ|·x to W, with the sign of τ. When the columns
have cost as much as a cut does, W is cut to its rank (`cut.py`). A row costs in proportion to its
non-zeros, but for the triangular factor of the columns.
"""

from __future__ import annotations

import math
from typing import Any

from virtualvector.jit.compiled import compiled
from virtualvector.jit.lanes import LANES, prefetch
from virtualvector.kernels.directions import add_rows, add_turned, lagging_dot
from virtualvector.kernels.low_rank import (
    add_entries,
    clear_places,
    divide_by_lower,
    gathered_dot,
    scaled_square,
    scatter_scaled,
    signed_square,
    write_scaled,
)
from virtualvector.kernels.symmetric import rank_one, write_column, write_cross
from virtualvector.kernels.triangular import dot, dot_of_row, multiply_rows, whole_vectors
from virtualvector.posterior.approximation import along, along_point, with_sites
from virtualvector.posterior.length import restore_length
from virtualvector.posterior.low_rank_state import (
    COST,
    CUTS,
    PER_ROW,
    RECENT,
    LowRankState,
    LowRankWorkspace,
    SparseRows,
)
from virtualvector.posterior.residual.full import (
    absorb_point,
    absorb_product,
    absorb_taken,
    flush,
    image_size,
    point_image,
    point_mean,
    rebuild_images,
    residual_mean,
    residual_product,
)
from virtualvector.posterior.settings import Settings
from virtualvector.posterior.site import SMALLEST, weakened
from virtualvector.posterior.sparse import Sparse, held_vector, row_size, sparse_point
from virtualvector.posterior.state import POINTS
from virtualvector.posterior.step import cut_due, fetch, out_of_capacity
from virtualvector.posterior.weight_space import (
    covariance_of_weights,
    marginal_of_weights,
    move_weights,
    refresh_weights,
)
from virtualvector.types import Array

# A variance is a difference, from that under D. Sites leave no less of it than the first share, so
# that it has seven digits; rounding is cut off at the second.
_NARROWEST = 1e-8
_RESOLUTION = 1e-9
_IN_CACHE = 4  # a cut of few weights is due at such a part of its cost: C stays in the cache
_DENSE = 8  # a vector with non-zeros at one of so many places meets most entries of others


@compiled
def n_columns(state: LowRankState) -> int:
    """How many columns W has now."""
    return state.directions.shape[1] + state.extent[RECENT]


@image_size.register(LowRankState)
def _(state: LowRankState) -> int:
    return n_columns(state)


@compiled
def recent_column(state: LowRankState, i: int) -> Sparse:
    """A column since the last cut."""
    start, stop = state.recent_starts[i], state.recent_starts[i + 1]
    return Sparse(state.recent_places[start:stop], state.recent_values[start:stop])


@residual_product.register(LowRankState)
def _(state: LowRankState, vector: Sparse, out: Array, work: LowRankWorkspace) -> float:
    """Write y = C⁻¹WᵀD⁻¹x into ``out`` and return the variance of that margin."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    rank, scaled = state.directions.shape[1], work.scaled_vector
    write_scaled(vector.places, vector.values, state.diagonal, scaled)
    if rank > 0:
        add_rows(vector.places, scaled, state.directions, state.visits, work.by_visit)
        add_turned(work.by_visit, state.turns, state.extent[CUTS], out)
    if _DENSE * vector.places.shape[0] < state.mean.shape[0]:
        follow_columns(state, work)
        add_entries(
            vector.places, scaled, work.latest, work.earlier, work.owners, state.recent_values,
            rank, out,
        )  # fmt: skip
    else:
        scatter_scaled(vector.places, vector.values, state.diagonal, work.dense)
        for i in range(state.extent[RECENT]):
            column = recent_column(state, i)
            out[rank + i] = gathered_dot(column.places, column.values, work.dense)
        clear_places(vector.places, work.dense)
    divide_by_lower(state.inner, n_columns(state), out)
    return variance_of(state, vector, out)


@compiled
def follow_columns(state: LowRankState, work: LowRankWorkspace) -> None:
    """Find the entries of new columns by their places, too."""
    for i in range(work.followed[0], state.extent[RECENT]):
        for k in range(state.recent_starts[i], state.recent_starts[i + 1]):
            place = state.recent_places[k]
            if work.latest[place] == 0:
                work.touched[work.followed[1]] = place
                work.followed[1] += 1
            work.earlier[k] = work.latest[place]
            work.owners[k] = i
            work.latest[place] = k + 1
    work.followed[0] = state.extent[RECENT]


@compiled
def variance_of(state: LowRankState, vector: Sparse, product: Array) -> float:
    """The variance xᵀD⁻¹x − yᵀSy of a margin."""
    alone = scaled_square(vector.places, vector.values, state.diagonal)
    together = signed_square(state.signs, product, n_columns(state))
    return max(alone - together, _RESOLUTION * alone)


@residual_mean.register(LowRankState)
def _(state: LowRankState, vector: Sparse, product: Array) -> float:
    return mean_before(state, vector) - dot_of_row(state.shifts, product, n_columns(state))


@compiled
def mean_before(state: LowRankState, vector: Sparse) -> float:
    """The mean aᵀx of a margin, but for what columns share."""
    mean = gathered_dot(vector.places, vector.values, state.mean)
    if state.extent[CUTS] > 0:
        mean -= lagging_dot(
            vector.places, vector.values, state.diagonal, state.directions, state.visits,
            state.lags,
        )  # fmt: skip
    return mean


@point_mean.register(LowRankState)
def _(state: LowRankState, i: int) -> float:
    point, shared = sparse_point(state, i), 0.0
    for j in range(n_columns(state)):
        shared += state.shifts[j] * state.products[j, i]
    return mean_before(state, point) - shared


@point_image.register(LowRankState)
def _(state: LowRankState, i: int, out: Array, work: LowRankWorkspace) -> float:
    return residual_product(state, sparse_point(state, i), out, work)


@compiled
def write_covariances(state: LowRankState, n: int, vector: Sparse, work: LowRankWorkspace) -> None:
    """Write xᵀVbᵢ for the first n points to ``work.column``; ``work.product`` has y."""
    m = n_columns(state)
    for j in range(m):
        work.other[j] = -state.signs[j] * work.product[j]
    multiply_rows(state.products, whole_vectors(n), work.other[:m], work.column)
    scatter_scaled(vector.places, vector.values, state.diagonal, work.dense)
    for i in range(n):
        point = sparse_point(state, i)
        work.column[i] += gathered_dot(point.places, point.values, work.dense)
    clear_places(vector.places, work.dense)


@compiled
def sparse_along(
    state: LowRankState, n: int, vector: Sparse, work: LowRankWorkspace
) -> tuple[float, float, float]:
    """As `along`."""
    residual = residual_product(state, vector, work.product, work)
    mean = residual_mean(state, vector, work.product)
    if n > 0:
        write_covariances(state, n, vector, work)
    of_any_kind: Any = state
    mean, variance = with_sites(
        of_any_kind, n, mean, residual, work.column, work.scaled, work.crossed
    )
    return mean, variance, residual


@along.register(LowRankState)
def _(
    state: LowRankState, n: int, vector: Sparse, work: LowRankWorkspace
) -> tuple[float, float, float]:
    return sparse_along(state, n, vector, work)


@along_point.register(LowRankState)
def _(state: LowRankState, n: int, work: LowRankWorkspace) -> tuple[float, float, float]:
    return sparse_along(state, n, sparse_point(state, n), work)


@compiled
def absorb_sparse(
    state: LowRankState, vector: Sparse, precision: float, shift: float, work: LowRankWorkspace
) -> None:
    """Multiply r by exp(shift·u − ½·precision·u²); ``work.product`` has y.

    With v = xᵀVx the mean moves by Vx·(ν − τm)/(1 + τv), which is D⁻¹x at the non-zeros of x, and
    −Sy in t. Without directions and points η takes in τx² at once, or, if weights are independent,
    what leaves each the variance that it then has, 1/η − (x/η)²τ/(1 + τv).
    """
    variance = variance_of(state, vector, work.product)
    if not variance > 0.0:  # the difference of two equal points
        return
    n, m = state.counts[POINTS], n_columns(state)
    mean = residual_mean(state, vector, work.product)
    alone = scaled_square(vector.places, vector.values, state.diagonal)
    floor = max(SMALLEST * dot(vector.values, vector.values), _NARROWEST * alone)
    precision, shift = weakened(mean, variance, precision, shift, floor)
    growth = 1.0 + precision * variance
    step = (shift - precision * mean) / growth
    if n > 0:
        write_covariances(state, n, vector, work)
        rank_one(state.gram, n, whole_vectors(n), work.column, -precision / growth)
    for k in range(vector.places.shape[0]):
        place = vector.places[k]
        state.mean[place] += step * vector.values[k] / state.diagonal[place]
    for j in range(m):
        state.shifts[j] += step * state.signs[j] * work.product[j]
    if state.inner.shape[0] > 0:
        append_column(state, vector, precision, growth, work)
    elif work.independent[0]:
        for k in range(vector.places.shape[0]):
            known = state.diagonal[vector.places[k]]
            less = precision * vector.values[k] ** 2 / (growth * known)
            state.diagonal[vector.places[k]] = max(known / (1.0 - less), min(known, 1.0))
    else:
        for k in range(vector.places.shape[0]):
            known = state.diagonal[vector.places[k]]
            state.diagonal[vector.places[k]] = without(known, -precision * vector.values[k] ** 2)


@compiled
def without(known: float, precision: float) -> float:
    """η less what is taken from it: what rows have added, and nothing from the prior."""
    return max(known - precision, min(known, 1.0))


@compiled
def append_column(
    state: LowRankState, vector: Sparse, precision: float, growth: float, work: LowRankWorkspace
) -> None:
    """Add the column √|τ|·x to W and a row to C; ``work.column`` has xᵀVbᵢ, ``product`` y."""
    i, m = state.extent[RECENT], n_columns(state)
    root, scale = math.sqrt(abs(precision)), math.sqrt(growth)
    for j in range(m):
        state.inner[m, j] = root * state.signs[j] * work.product[j]
    state.inner[m, m] = scale
    state.signs[m] = 1.0 if precision >= 0.0 else -1.0
    state.shifts[m] = 0.0
    for p in range(state.counts[POINTS]):
        state.products[m, p] = root * work.column[p] / scale
    start, size = state.recent_starts[i], vector.places.shape[0]
    for k in range(size):
        state.recent_places[start + k] = vector.places[k]
        state.recent_values[start + k] = root * vector.values[k]
    state.recent_starts[i + 1] = start + size
    state.extent[RECENT] = i + 1
    state.extent[COST] += m * m // 2 + start + size


@absorb_product.register(LowRankState)
def _(
    state: LowRankState, vector: Sparse, precision: float, shift: float, work: LowRankWorkspace
) -> None:
    absorb_sparse(state, vector, precision, shift, work)


@absorb_point.register(LowRankState)
def _(state: LowRankState, i: int, precision: float, shift: float, work: LowRankWorkspace) -> None:
    vector = sparse_point(state, i)
    residual_product(state, vector, work.product, work)
    absorb_sparse(state, vector, precision, shift, work)


@absorb_taken.register(LowRankState)
def _(state: LowRankState, precision: float, shift: float, work: LowRankWorkspace) -> None:
    absorb_sparse(state, held_vector(work, 0), precision, shift, work)


@flush.register(LowRankState)
def _(state: LowRankState, work: LowRankWorkspace) -> None:
    """Nothing is ever deferred."""


@rebuild_images.register(LowRankState)
def _(state: LowRankState, work: LowRankWorkspace) -> None:
    for i in range(state.counts[POINTS]):
        vector = sparse_point(state, i)
        variance = residual_product(state, vector, work.product, work)
        write_column(state.products, i, work.product)
        if i > 0:
            write_covariances(state, i, vector, work)
        work.column[i] = variance
        write_cross(state.gram, i, work.column)
        state.variances_at_refresh[i] = variance


@cut_due.register(LowRankState)
def _(state: LowRankState, rows: SparseRows, t: int) -> bool:
    """Whether the columns have cost as much as a cut, or there is no room for those of a row.

    A cut writes all rows of W, or as many as the columns have entries; then it looks at each
    weight, and has its part in the next one that writes all.
    """
    n = state.extent[RECENT]
    d, rank = state.directions.shape
    most = state.recent_starts.shape[0] - 1
    if n == 0:
        return False
    full = n + PER_ROW > most or (
        state.recent_starts[n] + PER_ROW * state.points.shape[1] > state.recent_places.shape[0]
    )
    per_row = (rank + 1) * (rank + 1)
    few = state.recent_starts[n] * per_row + d + d * per_row // state.turns.shape[0]
    few //= _IN_CACHE
    return full or (n >= rank and state.extent[COST] >= min(d * per_row, few))


@compiled
def fetch_weight(state: LowRankState, place: int, work: LowRankWorkspace) -> None:
    """Ask memory for all that there is of a weight: its row of W is where no other one is."""
    row = state.directions[place]
    for j in range(0, row.shape[0], LANES):
        prefetch(row, j)
    prefetch(row, row.shape[0] - 1)
    prefetch(state.mean, place)
    prefetch(state.diagonal, place)
    prefetch(state.visits, place)
    prefetch(work.latest, place)


@fetch.register(LowRankState)
def _(state: LowRankState, rows: SparseRows, t: int, work: LowRankWorkspace) -> None:
    if state.directions.shape[1] == 0 or t + 1 >= rows.starts.shape[0]:
        return
    start, stop = rows.starts[t], rows.starts[t + 1]
    if _DENSE * (stop - start) < state.mean.shape[0]:
        for k in range(start, stop):
            fetch_weight(state, rows.places[k], work)


@out_of_capacity.register(LowRankState)
def _(state: LowRankState, rows: SparseRows, t: int) -> bool:
    """Whether there is no room for the row as a point, or for two points that are merged."""
    room = state.points.shape[1]
    if room == state.mean.shape[0]:
        return False
    size = row_size(rows, t, state.mean.shape[0])
    if state.distances.shape[0] == 0:
        return size > room
    for i in range(state.counts[POINTS]):
        size = max(size, state.point_sizes[i])
    return 2 * size > room


@restore_length.register(LowRankState)
def _(state: LowRankState, settings: Settings, work: LowRankWorkspace) -> None:
    """Lengths are left as they are: of so many weights, rows say something of few."""


@marginal_of_weights.register(LowRankState)
def _(state: LowRankState, i: int, work: LowRankWorkspace) -> tuple[float, float]:
    return 0.0, 1.0


@covariance_of_weights.register(LowRankState)
def _(state: LowRankState, i: int, j: int, work: LowRankWorkspace) -> float:
    return 0.0


@move_weights.register(LowRankState)
def _(state: LowRankState, precision: float, step: float, work: LowRankWorkspace) -> None:
    pass


@refresh_weights.register(LowRankState)
def _(state: LowRankState, n: int, work: LowRankWorkspace) -> float:
    return 0.0
