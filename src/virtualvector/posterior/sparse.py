"""Points and rows by their non-zeros: the versions of `point.py` for a residual of low rank."""

from __future__ import annotations

import math
from typing import NamedTuple

from virtualvector.jit.compiled import compiled
from virtualvector.posterior.low_rank_state import LowRankState, LowRankWorkspace, SparseRows
from virtualvector.posterior.point import (
    combined,
    copy_point,
    is_finite,
    is_kept_query,
    keep_query,
    put_point,
    squared_distance,
    take_point,
    write_query,
    write_row,
)
from virtualvector.types import Array, IntArray


class Sparse(NamedTuple):
    """A vector by its non-zeros, in the order of their places."""

    places: IntArray
    values: Array


@compiled
def sparse_point(state: LowRankState, i: int) -> Sparse:
    """The vector of point i."""
    n = state.point_sizes[i]
    return Sparse(state.point_places[i, :n], state.points[i, :n])


@compiled
def held_vector(work: LowRankWorkspace, i: int) -> Sparse:
    """A vector in scratch memory."""
    n = work.held_sizes[i]
    return Sparse(work.held_places[i, :n], work.held[i, :n])


@compiled
def row_size(rows: SparseRows, t: int, n_weights: int) -> int:
    """The number of non-zeros of a row, with the constant of the bias if there is one."""
    size = n_weights - rows.n_columns
    for k in range(rows.starts[t], rows.starts[t + 1]):
        size += rows.values[k] != 0.0
    return size


@compiled
def write_sparse(
    rows: SparseRows, t: int, sign: float, margin_noise: float, n_weights: int,
    places: IntArray, values: Array,
) -> tuple[int, float]:  # fmt: skip
    """Write ±(row, 1)/length as `write_point` does; return how many non-zeros it has, its noise."""
    n, bias = 0, n_weights - rows.n_columns
    largest = float(bias)
    for k in range(rows.starts[t], rows.starts[t + 1]):
        if rows.values[k] != 0.0:
            places[n] = rows.places[k]
            values[n] = rows.values[k]
            largest = max(largest, abs(values[n]))
            n += 1
    scale = sign / largest
    if largest == 0.0 or math.isinf(scale):  # the largest entry is denormal
        return 0, math.inf
    for k in range(n):
        values[k] *= scale
    if bias:
        places[n] = n_weights - 1
        values[n] = scale
        n += 1
    square = 0.0
    for k in range(n):
        square += values[k] * values[k]
    inverse = 1.0 / math.sqrt(square)
    for k in range(n):
        values[k] *= inverse
    noise = math.sqrt(margin_noise) * inverse / largest
    return n, noise * noise if noise < 1e50 else math.inf


@is_finite.register(SparseRows)
def _(rows: SparseRows, t: int) -> bool:
    total = 0.0
    for k in range(rows.starts[t], rows.starts[t + 1]):
        total += rows.values[k] - rows.values[k]
    return total == 0.0


@write_row.register(SparseRows)
def _(
    rows: SparseRows, t: int, sign: float, margin_noise: float, state: LowRankState, place: int
) -> float:
    size, noise = write_sparse(
        rows, t, sign, margin_noise, state.mean.shape[0],
        state.point_places[place], state.points[place],
    )  # fmt: skip
    state.point_sizes[place] = size
    return noise


@write_query.register(SparseRows)
def _(
    rows: SparseRows, t: int, margin_noise: float, work: LowRankWorkspace
) -> tuple[float, Sparse]:
    size, noise = write_sparse(
        rows, t, 1.0, margin_noise, work.dense.shape[0], work.held_places[0], work.held[0]
    )
    work.held_sizes[0] = size
    return noise, held_vector(work, 0)


@take_point.register(LowRankState)
def _(state: LowRankState, i: int, work: LowRankWorkspace) -> None:
    work.held_sizes[0] = state.point_sizes[i]
    for k in range(state.point_sizes[i]):
        work.held_places[0, k] = state.point_places[i, k]
        work.held[0, k] = state.points[i, k]


@copy_point.register(LowRankState)
def _(state: LowRankState, source: int, target: int) -> None:
    put_sparse(state, target, sparse_point(state, source))


@put_point.register(LowRankState)
def _(state: LowRankState, place: int, vector: Sparse) -> None:
    put_sparse(state, place, vector)


@compiled
def put_sparse(state: LowRankState, place: int, vector: Sparse) -> None:
    """Write a vector to the place of a point."""
    state.point_sizes[place] = vector.places.shape[0]
    for k in range(vector.places.shape[0]):
        state.point_places[place, k] = vector.places[k]
        state.points[place, k] = vector.values[k]


@combined.register(LowRankState)
def _(
    state: LowRankState, i: int, j: int, first: tuple[float, float], second: tuple[float, float],
    scale: float, work: LowRankWorkspace,
) -> tuple[Sparse, Sparse, Sparse]:  # fmt: skip
    one, two = sparse_point(state, i), sparse_point(state, j)
    p, q, n = 0, 0, 0
    while p < one.places.shape[0] or q < two.places.shape[0]:
        of_one = of_two = 0.0
        place = state.mean.shape[0]
        if p < one.places.shape[0]:
            place = one.places[p]
        if q < two.places.shape[0]:
            place = min(place, two.places[q])
        if p < one.places.shape[0] and one.places[p] == place:
            of_one = one.values[p]
            p += 1
        if q < two.places.shape[0] and two.places[q] == place:
            of_two = two.values[q]
            q += 1
        for m in range(3):
            work.held_places[m, n] = place
        work.held[0, n] = first[0] * of_one + first[1] * of_two
        work.held[1, n] = second[0] * of_one + second[1] * of_two
        work.held[2, n] = scale * (of_one + of_two)
        n += 1
    for m in range(3):
        work.held_sizes[m] = n
    return held_vector(work, 0), held_vector(work, 1), held_vector(work, 2)


@squared_distance.register(LowRankState)
def _(state: LowRankState, i: int, j: int) -> float:
    one, two = sparse_point(state, i), sparse_point(state, j)
    p, q, total = 0, 0, 0.0
    while p < one.places.shape[0] and q < two.places.shape[0]:
        if one.places[p] == two.places[q]:
            difference = one.values[p] - two.values[q]
            total += difference * difference
            p += 1
            q += 1
        elif one.places[p] < two.places[q]:
            total += one.values[p] * one.values[p]
            p += 1
        else:
            total += two.values[q] * two.values[q]
            q += 1
    for k in range(p, one.places.shape[0]):
        total += one.values[k] * one.values[k]
    for k in range(q, two.places.shape[0]):
        total += two.values[k] * two.values[k]
    return total


@keep_query.register(Sparse)
def _(vector: Sparse, work: LowRankWorkspace) -> bool:
    """It stays where `write_query` has written it until something is learned."""
    return True


@is_kept_query.register(LowRankState)
def _(state: LowRankState, i: int, sign: float, work: LowRankWorkspace) -> bool:
    point, kept = sparse_point(state, i), held_vector(work, 0)
    if point.places.shape[0] != kept.places.shape[0]:
        return False
    different = 0
    for k in range(point.places.shape[0]):
        different += point.places[k] != kept.places[k]
        different += point.values[k] != sign * kept.values[k]
    return different == 0
