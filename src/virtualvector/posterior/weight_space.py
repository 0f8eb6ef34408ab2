"""q̃ as the distribution of the d weights, for more points than there are weights.

A residual of low rank is for many weights and few points: it knows margins only, and has versions
of these functions that nobody calls.
"""

from __future__ import annotations

from virtualvector.jit.compiled import compiled, dispatched
from virtualvector.kernels.triangular import add_precision, add_scaled, copy, dot, multiply
from virtualvector.posterior.site import SMALLEST, log_normaliser, weakened
from virtualvector.posterior.state import State
from virtualvector.posterior.workspace import Workspace
from virtualvector.types import Array


@dispatched
def marginal_of_weights(state: State, i: int, work: Workspace) -> tuple[float, float]:
    """Mean and variance of the margin of point i; leaves U·bᵢ in ``work.product``."""
    variance = multiply(state.weight_factor, state.points[i], work.product)
    return dot(state.points[i], state.weight_mean), variance


@dispatched
def covariance_of_weights(state: State, i: int, j: int, work: Workspace) -> float:
    """The covariance of the margins of two points."""
    multiply(state.weight_factor, state.points[i], work.product)
    multiply(state.weight_factor, state.points[j], work.other)
    return dot(work.product, work.other)


@dispatched
def move_weights(state: State, precision: float, step: float, work: Workspace) -> None:
    """Add a precision along the vector that ``work.product`` is of; move the mean by a step."""
    add_precision(state.weight_factor, work.product, precision, work.image)
    add_scaled(state.weight_mean, step, work.image)


@dispatched
def refresh_weights(state: State, n: int, work: Workspace) -> float:
    """Build q̃ anew from r and the sites of n points, as `absorb_sites` does."""
    copy(state.mean, state.weight_mean)
    for j in range(state.mean.shape[0]):
        copy(state.factor[j], state.weight_factor[j])
    return absorb_sites(
        state.weight_mean, state.weight_factor, state.points[:n],
        state.site_precisions, state.site_shifts, work.product, work.image,
    )  # fmt: skip


@compiled
def absorb_sites(
    mean: Array, factor: Array, points: Array, precisions: Array, shifts: Array,
    product: Array, image: Array,
) -> float:  # fmt: skip
    """Multiply N(mean, factorᵀfactor) by the sites of all points; write back what was used.

    Sites that narrow come first: then every Gaussian on the way is at least as narrow as the
    last one, hence proper. Returns the logarithm of what the product integrates to.
    """
    evidence = 0.0
    for narrowing in (True, False):
        for i in range(points.shape[0]):
            if (precisions[i] > 0.0) == narrowing:
                variance = multiply(factor, points[i], product)
                along = dot(points[i], mean)
                precision, shift = weakened(along, variance, precisions[i], shifts[i], SMALLEST)
                evidence += log_normaliser(along, variance, precision, shift)
                add_precision(factor, product, precision, image)
                step = (shift - precision * along) / (1.0 + precision * variance)
                add_scaled(mean, step, image)
                precisions[i], shifts[i] = precision, shift
    return evidence
