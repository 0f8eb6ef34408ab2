"""Residuals of several shards, multiplied: r = r₀ ∏ (r_k / r₀), in units of the common r₀."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.precision import (
    add_news,
    add_to_lower,
    cholesky,
    divide_by_factor,
    leave_out_widening,
    multiply_lower,
    solve,
    solve_rows,
    solve_transposed,
)
from virtualvector.kernels.triangular import add_scaled, dot, multiply
from virtualvector.posterior.gaussian import Gaussian
from virtualvector.posterior.low_rank import points_of
from virtualvector.posterior.low_rank_state import AnyState, LowRankState
from virtualvector.posterior.reduction.eviction import LEAST_GROWTH
from virtualvector.posterior.state import POINTS, State
from virtualvector.types import Array, IntArray


class Points(NamedTuple):
    """Some virtual points of a state, with their sites."""

    points: Array
    margin_noises: Array
    label_noises: Array
    row_numbers: IntArray
    site_precisions: Array
    site_shifts: Array

    @classmethod
    def of(cls, state: AnyState) -> Points:
        """Return those of a state."""
        n = state.counts[POINTS]
        points = points_of(state) if isinstance(state, LowRankState) else state.points[:n]
        return cls(points, *(getattr(state, name)[:n] for name in cls._fields[1:]))

    def at(self, which: Sequence[int]) -> Points:
        """Return some of them."""
        return Points._make(array[list(which)] for array in self)

    def factors(self) -> list[bytes]:
        """Return what tells the factor of each point from all others."""
        columns = (self.points, self.margin_noises[:, np.newaxis], self.label_noises[:, np.newaxis])
        return [row.tobytes() for row in np.hstack(columns)]


def pooled_residual(shards: Sequence[State], common: State, lost: Sequence[Points]) -> Gaussian:
    """Return r = r₀ ∏ (r_k / r₀) over shards, divided by the sites of what each has lost."""
    d = len(common.mean)
    # In units of r₀, where its own precision is the identity and its linear term zero.
    precision, linear = np.eye(d), np.zeros(d)
    matrix, vector = np.empty((d, d)), np.empty(d)
    for shard, gone in zip(shards, lost, strict=True):
        matrix[:], vector[:] = common.factor, shard.mean - common.mean
        add_shard(shard.factor, matrix, vector, precision, linear)
        divide_by_sites(
            common.mean, common.factor, np.ascontiguousarray(gone.points),
            gone.site_precisions, gone.site_shifts, precision, linear, vector,
        )  # fmt: skip
    if not cholesky(precision, LEAST_GROWTH, matrix):
        leave_out_widening(precision, linear, LEAST_GROWTH, np.eye(d))
    mean, factor = common.mean.copy(), common.factor.copy()
    if cholesky(precision, 0.0, matrix):  # else rounding has left nothing to go by but r₀
        divide(matrix, linear, mean, factor)
    return Gaussian(mean, factor)


@compiled
def add_shard(
    factor: Array, relative: Array, offset: Array, precision: Array, linear: Array
) -> None:
    """Add what r_k knows more than r₀, whose factor is in ``relative``, in units of r₀.

    ``offset`` has m_k − m₀. With L = U₀U_k⁻¹ the precision of r_k is LLᵀ, its linear term
    LU_k⁻ᵀ(m_k − m₀). Both vectors, and ``relative``, are used up.
    """
    divide_by_factor(factor, relative)
    solve_transposed(factor, offset)
    add_news(relative, precision)
    multiply_lower(relative, offset, linear)


@compiled
def divide_by_sites(
    mean: Array, factor: Array, points: Array, precisions: Array, shifts: Array,
    precision: Array, linear: Array, product: Array,
) -> None:  # fmt: skip
    """Take sites exp(νu − ½τu²), u = bᵀw, out of precision and linear term in units of r₀."""
    for i in range(points.shape[0]):
        multiply(factor, points[i], product)
        add_to_lower(precision, -precisions[i], product)
        add_scaled(linear, precisions[i] * dot(points[i], mean) - shifts[i], product)


@compiled
def divide(cholesky_factor: Array, linear: Array, mean: Array, factor: Array) -> None:
    """Give r₀ the precision CCᵀ and the linear term that were found in its units, in place."""
    solve_rows(cholesky_factor, factor)
    solve(cholesky_factor, linear)
    for j in range(linear.shape[0]):
        add_scaled(mean, linear[j], factor[j, : j + 1])
