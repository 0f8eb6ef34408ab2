"""What the residual has absorbed, but its factor has not followed yet.

Absorbing a factor rotates every row of U, and the next row of the stream needs every row of U for
its product. Both are done in one pass, when that row comes, which takes little more than one of
them. A state at rest, as others see it, has nothing waiting; whether it was at rest in between
makes no difference to any bit.
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
def wait(product: Array, precision: float, step: float, work: Workspace) -> None:
    """Let wait what a factor of such a precision, and a step along its image, do to r."""
    write_rotation(product, precision, work.waiting)
    work.waiting_step[0] = step


@compiled
def is_waiting(work: Workspace) -> bool:
    """Whether there is a rotation: none scales a row by zero."""
    return work.waiting[KEEP, 0] > 0.0


@compiled
def residual_product(state: State, vector: Array, out: Array, work: Workspace) -> float:
    """Write U·vector into ``out`` and return the variance of that margin under r.

    If nothing waits, rows are left as they are by the same code: other code would add up the
    product in another order.
    """
    if not is_waiting(work):
        work.waiting_step[0] = 0.0
        for j in range(vector.shape[0]):
            work.waiting[KEEP, j], work.waiting[TAKE, j], work.waiting[ADD, j] = 1.0, 0.0, 0.0
    variance = rotate_and_multiply(state.factor, work.waiting, work.image, vector, out)
    add_scaled(state.mean, work.waiting_step[0], work.image)
    work.waiting[KEEP, 0] = 0.0
    return variance


@compiled
def catch_up(state: State, work: Workspace) -> None:
    """Let r follow what waits, if anything does."""
    if is_waiting(work):
        residual_product(state, work.vector, work.other, work)
