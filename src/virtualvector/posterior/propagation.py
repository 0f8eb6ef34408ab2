"""Expectation propagation over the virtual points (section 2, eq. 9).

Each visit gives one stand-in factor the moments of the true one. Every state on the way is a proper
Gaussian, so that the result is usable at any stop.
"""

from __future__ import annotations

import math

from virtualvector.kernels.compiled import compiled, part
from virtualvector.kernels.likelihood import matched_site
from virtualvector.posterior.stand_in import (
    marginal,
    move,
    refresh,
    smallest_variance,
    weakened,
)
from virtualvector.posterior.state import POINTS, Settings, State, Workspace

_SMALLEST_ROOM = 1e-13
_SMALLEST_DAMPING = 1.0 / 16.0


@part
def cavity(state: State, i: int, mean: float, variance: float) -> tuple[bool, float, float]:
    """q̃ without the stand-in of point i (eq. 34), along its margin; first whether it is proper."""
    room = 1.0 - state.precisions[i] * variance
    if not (variance > 0.0 and room > _SMALLEST_ROOM):
        return False, 0.0, 1.0
    return True, (mean - state.shifts[i] * variance) / room, variance / room


@part
def visit(
    state: State, settings: Settings, n: int, i: int, damping: float, work: Workspace
) -> float:
    """Match one stand-in factor to its true factor; return how far the margin moved.

    The distance is in standard deviations of the margin; it is infinite if the margin would have to
    become narrower than can be represented. A move within the tolerance is not made, and neither is
    one whose cavity is improper or already that narrow.
    """
    mean, variance = marginal(state, i, work)
    proper, cavity_mean, cavity_variance = cavity(state, i, mean, variance)
    floor = smallest_variance(state, i)
    if not proper or cavity_variance <= floor:
        return 0.0
    _, precision, shift = matched_site(
        cavity_mean, cavity_variance, state.noises[i], settings.label_noise
    )
    wanted = precision
    precision, shift = weakened(cavity_mean, cavity_variance, precision, shift, floor)
    too_narrow = precision != wanted
    precision = damping * (precision - state.precisions[i])
    shift = damping * (shift - state.shifts[i])

    growth = 1.0 + precision * variance
    if not growth > 0.0:
        return 0.0
    change = abs(shift - precision * mean) * math.sqrt(variance)
    movement = max(change, abs(precision) * variance) / growth
    if movement > settings.tolerance:
        move(state, n, i, mean, variance, precision, shift, work)
        state.precisions[i] += precision
        state.shifts[i] += shift
    return math.inf if too_narrow else movement


@compiled
def propagate(state: State, settings: Settings, work: Workspace) -> tuple[int, bool]:
    """Sweep over the points until none moves; return the number of sweeps and whether they served.

    The newest point goes first: it is the one that has something to say. Sweeps are damped when
    they stop coming closer to a fixed point. Without noise there may be none: rows can contradict
    each other, and stand-ins would become narrower forever. Then they are put back as they were.
    """
    n = state.counts[POINTS]
    for i in range(n):
        work.precisions[i] = state.precisions[i]
        work.shifts[i] = state.shifts[i]
    damping = 1.0
    previous = math.inf
    for sweep in range(settings.max_sweeps):
        movement = 0.0
        for i in range(n - 1, -1, -1):
            movement = max(movement, visit(state, settings, n, i, damping, work))
        if movement <= settings.tolerance:
            return sweep + 1, True
        if math.isinf(movement):
            for i in range(n):
                state.precisions[i] = work.precisions[i]
                state.shifts[i] = work.shifts[i]
            refresh(state, work)
            return sweep + 1, False
        if movement >= previous:
            damping = max(0.5 * damping, _SMALLEST_DAMPING)
        previous = movement
    return settings.max_sweeps, True
