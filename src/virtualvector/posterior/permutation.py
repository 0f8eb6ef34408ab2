"""The same posterior over weights in another order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from virtualvector.posterior.low_rank_state import AnyState, LowRankState
from virtualvector.posterior.state import copy_state
from virtualvector.types import Array


def permuted(state: AnyState, order: Sequence[int]) -> AnyState:
    """Return a state whose weight j is weight ``order[j]`` of another one: exact.

    With FᵀF the covariance and P the permutation, FP = QL has a lower triangular L: LᵀL is the
    covariance of the weights in their new order, and what the points have in units of the residual
    turns by Qᵀ. All that is between points is what it was.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Settings, empty_state, gaussian, learn
    >>> from virtualvector.posterior.permutation import permuted
    >>> settings, rows = Settings(buffer_size=1), np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
    >>> state, _ = learn(empty_state(3, settings), rows, np.ones(2), settings)
    >>> other, _ = learn(empty_state(3, settings), rows[:, [2, 0, 1]], np.ones(2), settings)
    >>> found, expected = gaussian(permuted(state, [2, 0, 1])), gaussian(other)
    >>> bool(np.allclose(found.covariance, expected.covariance, atol=1e-12))
    True
    """
    order = list(order)
    if isinstance(state, LowRankState):
        return _permuted_of_low_rank(state, order)
    factor, turned = _lower(state.factor[:, order])
    products = state.products
    weight_factor = state.weight_factor
    if len(state.weight_mean):
        weight_factor, _ = _lower(weight_factor[:, order])
    else:
        products = turned.T @ products
    return copy_state(
        state._replace(
            mean=state.mean[order],
            factor=factor,
            points=state.points[:, order],
            products=products,
            weight_mean=state.weight_mean[order] if len(state.weight_mean) else state.weight_mean,
            weight_factor=weight_factor,
        )
    )


def _permuted_of_low_rank(state: LowRankState, order: list[int]) -> LowRankState:
    """Do so where W has rows: these change places, and so does what has places."""
    at = np.empty(len(order), np.int64)
    at[order] = np.arange(len(order))
    points, places = state.points.copy(), state.point_places.copy()
    for i, size in enumerate(state.point_sizes):
        by_place = np.argsort(at[places[i, :size]], kind="stable")
        points[i, :size], places[i, :size] = (
            state.points[i, by_place],
            at[state.point_places[i, by_place]],
        )
    return copy_state(
        state._replace(
            mean=state.mean[order],
            diagonal=state.diagonal[order],
            directions=state.directions[order],
            visits=state.visits[order] if len(state.visits) else state.visits,
            recent_places=at[state.recent_places],
            points=points,
            point_places=places,
        )
    )


def _lower(matrix: Array) -> tuple[Array, Array]:
    """Return the lower triangular L with a positive diagonal, and Q, of a matrix QL."""
    q, r = np.linalg.qr(matrix[:, ::-1])
    signs = np.copysign(1.0, np.diagonal(r))[::-1]
    lower = np.tril(r[::-1, ::-1]) * signs[:, np.newaxis]
    return np.ascontiguousarray(lower), q[:, ::-1] * signs
