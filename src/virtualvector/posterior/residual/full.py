"""The residual r = N(mean, factorᵀfactor) with a full covariance (eqs. 8 and 14).

What the rest of the engine asks of it is here: the product with a row, covariances of the margins
of points, absorbing a site, drift, and the images of the points, computed anew or kept up. What is
`dispatched` has another version for the other kind of residual (`low_rank.py`).

Absorbing is deferred. It rotates every row of U, and the next row of the stream needs every row of
U for its product: both are done in one pass, when that row comes, which takes little more than one
of them. A flushed state, as others see it, has nothing deferred; whether it was flushed in between
makes no difference to any bit.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, dispatched, inlined
from virtualvector.kernels.symmetric import move_last, rank_one, write_column, write_cross
from virtualvector.kernels.triangular import (
    KEEP,
    add_scaled,
    add_variance,
    dot,
    multiply,
    multiply_rows,
    rotate_and_multiply,
    rotate_columns,
    whole_vectors,
    write_rotation,
)
from virtualvector.posterior.site import SMALLEST, weakened
from virtualvector.posterior.state import POINTS, State, in_margin_space
from virtualvector.posterior.workspace import Workspace
from virtualvector.types import Array


@compiled
def is_deferred(work: Workspace) -> bool:
    """Whether there is a rotation: none scales a row by zero."""
    return work.deferred[KEEP, 0] > 0.0


@compiled
def defer(product: Array, precision: float, step: float, work: Workspace) -> None:
    """Defer what a site of such a precision, and a step along its image, do to r."""
    write_rotation(product, precision, work.deferred)
    work.deferred_step[0] = step


@dispatched
def flush(state: State, work: Workspace) -> None:
    """Do to r what is deferred, if anything is."""
    if is_deferred(work):
        residual_product(state, work.vector, work.other, work)


@dispatched
def residual_product(state: State, vector: Array, out: Array, work: Workspace) -> float:
    """Write U·vector into ``out`` and return the variance of that margin under r."""
    if not is_deferred(work):
        return multiply(state.factor, vector, out)
    variance = rotate_and_multiply(state.factor, work.deferred, work.image, vector, out)
    add_scaled(state.mean, work.deferred_step[0], work.image)
    work.deferred[KEEP, 0] = 0.0
    return variance


@dispatched
def residual_mean(state: State, vector: Array, product: Array) -> float:
    """The mean of a margin under r; ``product`` has what `residual_product` wrote."""
    return dot(vector, state.mean)


@dispatched
def point_mean(state: State, i: int) -> float:
    """The mean of the margin of point i under r."""
    return dot(state.points[i], state.mean)


@dispatched
def point_image(state: State, i: int, out: Array, work: Workspace) -> float:
    """Write U·bᵢ into ``out``, computed anew, and return the variance of that margin under r."""
    return residual_product(state, state.points[i], out, work)


@dispatched
def image_size(state: State) -> int:
    """How many numbers of the image of a point may not be zero."""
    return state.products.shape[0]


@compiled
def point_product(state: State, i: int, work: Workspace) -> None:
    """Write U·bᵢ into ``work.product``."""
    if in_margin_space(state):
        for k in range(image_size(state)):
            work.product[k] = state.products[k, i]
    else:
        point_image(state, i, work.product, work)


@inlined
def residual_variance(state: State, i: int, work: Workspace) -> float:
    """The variance of the margin of point i under r."""
    if in_margin_space(state):
        return state.gram[i, i]
    return point_image(state, i, work.product, work)


@inlined
def residual_covariance(state: State, i: int, j: int, work: Workspace) -> float:
    """The covariance of the margins of two points under r."""
    if in_margin_space(state):
        return state.gram[i, j]
    point_image(state, i, work.product, work)
    point_image(state, j, work.other, work)
    return dot(work.product, work.other)


@compiled
def absorb(state: State, vector: Array, precision: float, shift: float, work: Workspace) -> None:
    """Multiply r by exp(shift·u − ½·precision·u²), u = vectorᵀw (eq. 14)."""
    residual_product(state, vector, work.product, work)
    absorb_product(state, vector, precision, shift, work)


@dispatched
def absorb_product(
    state: State, vector: Array, precision: float, shift: float, work: Workspace
) -> None:
    """As `absorb`; U·vector is in ``work.product`` already.

    The margins of the points under r follow; q̃ is left to the caller. Callers avoid sites that
    would make r improper; what rounding or `SMALLEST` leaves of that is cut off here, so that r is
    proper whatever happens.
    """
    variance = dot(work.product, work.product)
    if not variance > 0.0:  # the difference of two equal points
        return
    flush(state, work)
    mean = dot(vector, state.mean)
    floor = SMALLEST * dot(vector, vector)
    precision, shift = weakened(mean, variance, precision, shift, floor)
    growth = 1.0 + precision * variance
    defer(work.product, precision, (shift - precision * mean) / growth, work)
    n = state.counts[POINTS]
    if n > 0 and in_margin_space(state):
        width = whole_vectors(n)
        rotate_columns(state.products, width, work.deferred, work.column)
        rank_one(state.gram, n, width, work.column, -precision / growth)


@dispatched
def absorb_point(state: State, i: int, precision: float, shift: float, work: Workspace) -> None:
    """As `absorb`, along point i."""
    absorb(state, state.points[i], precision, shift, work)


@dispatched
def absorb_taken(state: State, precision: float, shift: float, work: Workspace) -> None:
    """As `absorb_product`, along the point that was taken to scratch memory."""
    absorb_product(state, work.vector, precision, shift, work)


@dispatched
def drift_residual(state: State, kept: float, drift: float, work: Workspace) -> None:
    """R ← N(am, a²V + (1−a²)I): one row of the identity after the other joins the factor."""
    flush(state, work)
    shrinkage, spread = math.sqrt(kept), math.sqrt(drift)
    for i in range(state.mean.shape[0]):
        state.mean[i] *= shrinkage
        for j in range(i + 1):
            state.factor[i, j] *= shrinkage
            work.vector[j] = 0.0
        work.vector[i] = spread
        add_variance(state.factor, work.vector, i)


@dispatched
def rebuild_images(state: State, work: Workspace) -> None:
    """Compute the margins of the points under r anew, from the points: errors do not add up."""
    for i in range(state.counts[POINTS]):
        state.variances_at_refresh[i] = residual_product(state, state.points[i], work.product, work)
        write_column(state.products, i, work.product)
        multiply_rows(state.products, whole_vectors(i + 1), work.product, work.column)
        write_cross(state.gram, i, work.column)


@compiled
def write_image(state: State, n: int, variance: float, work: Workspace) -> None:
    """Write the image of point n: U·b is in ``work.product``, its covariances in ``column``."""
    write_column(state.products, n, work.product[: image_size(state)])
    work.column[n] = variance
    write_cross(state.gram, n, work.column)
    state.variances_at_refresh[n] = variance


@compiled
def drop_image(state: State, j: int, last: int) -> None:
    """Let the image of the last point take the place of that of point j."""
    state.variances_at_refresh[j] = state.variances_at_refresh[last]
    for k in range(image_size(state)):
        state.products[k, j] = state.products[k, last]
        state.products[k, last] = 0.0
    move_last(state.gram, j, last)
