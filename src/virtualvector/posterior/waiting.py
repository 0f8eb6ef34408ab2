"""What the residual has absorbed, but its factor has not followed yet.

Absorbing a factor rotates every row of U, and the next row of the stream needs every row of U for
its product. Both are done in one pass, when that row comes, which takes little more than one of
them. Between two rows the state holds the rotation that waits.
"""

from __future__ import annotations

from virtualvector.kernels.compiled import compiled
from virtualvector.kernels.triangular import (
    ADD,
    KEEP,
    TAKE,
    Array,
    add_scaled,
    rotate_and_multiply,
    write_rotation,
)
from virtualvector.posterior.memory import Workspace
from virtualvector.posterior.state import State


@compiled
def wait(state: State, product: Array, precision: float, step: float) -> None:
    """Let wait what a factor of such a precision, and a step along its image, do to r."""
    write_rotation(product, precision, state.waiting)
    state.waiting_step[0] = step


@compiled
def is_waiting(waiting: Array) -> bool:
    """Whether there is a rotation: none scales a row by zero."""
    return waiting[KEEP, 0] > 0.0


@compiled
def follow(
    mean: Array, factor: Array, waiting: Array, waiting_step: Array,
    vector: Array, out: Array, image: Array,
) -> float:  # fmt: skip
    """Let mean and factor follow what waits; write U·vector into ``out``, return its variance.

    If nothing waits, rows are left as they are by the same code: other code would add up the
    product in another order, and what is said of a row would depend on what was asked before.
    """
    if not is_waiting(waiting):
        waiting_step[0] = 0.0
        for j in range(mean.shape[0]):
            waiting[KEEP, j], waiting[TAKE, j], waiting[ADD, j] = 1.0, 0.0, 0.0
    variance = rotate_and_multiply(factor, waiting, image, vector, out)
    add_scaled(mean, waiting_step[0], image)
    waiting[KEEP, 0] = 0.0
    return variance


@compiled
def residual_product(state: State, vector: Array, out: Array, work: Workspace) -> float:
    """Write U·vector into ``out`` and return the variance of that margin under r."""
    return follow(
        state.mean, state.factor, state.waiting, state.waiting_step, vector, out, work.image
    )


@compiled
def catch_up(state: State, work: Workspace) -> None:
    """Let r follow what waits, if anything does."""
    if is_waiting(state.waiting):
        residual_product(state, work.vector, work.other, work)
