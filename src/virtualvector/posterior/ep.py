"""Expectation propagation over the virtual points (section 2, eq. 9).

Each update gives one site the moments of the true factor. Every state on the way is a proper
Gaussian, so that the result is usable at any stop.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, dispatched, inlined
from virtualvector.kernels.likelihood import rematched_site
from virtualvector.posterior.approximation import (
    invalidate,
    marginal,
    move,
    move_margins,
    refresh,
    smallest_variance,
)
from virtualvector.posterior.fixed_point import (
    FAR,
    distance,
    has_a_choice,
    lower_bound,
    restore_sites,
    save_margins,
    save_sites,
    write_sites,
)
from virtualvector.posterior.settings import CleanSettings, Settings, Strategy
from virtualvector.posterior.site import weakened
from virtualvector.posterior.state import (
    MATCHED_DIVERGENCE,
    MATCHED_EASE,
    MATCHED_MEAN,
    MATCHED_VARIANCE,
    POINTS,
    UNSETTLED,
    State,
    in_margin_space,
)
from virtualvector.posterior.workspace import Workspace
from virtualvector.types import Array

_SMALLEST_ROOM = 1e-13
_SMALLEST_DAMPING = 1.0 / 16.0
_MOST_SWEEPS = 5  # with label noise, where a point goes; see docs/engine.md
_COARSER = 1e7
_COARSEST, _COARSEST_WITHOUT_NOISE = 1e-3, 1e-4


# How far matching moves a margin at most, for each unit that it has moved since the last time: in
# the worst case, for rows without noise. Where the noise is wider than the margin is uncertain, by
# 1/ρ = 1 + s²/v, it is less, as ρ², and with label noise as √ρ³.
_RESPONSE = 4.4
_LEAST_SHARE = 0.01
_FARTHEST = 0.03  # all this is true of small movements


@compiled
def ease(variance: float, noise: float, label_noise: float) -> float:
    """By how much a margin may move before matching its site again would move it by one."""
    share = max(_LEAST_SHARE, variance / (variance + noise))
    if label_noise > 0.0:
        return 1.0 / (_RESPONSE * share * math.sqrt(share))
    return 1.0 / (_RESPONSE * share * share)


@compiled
def is_as_matched(mean: float, variance: float, matched: Array, tolerance: float) -> bool:
    """Whether a margin is where its site was matched, as far as that shows."""
    reach = min(tolerance * matched[MATCHED_EASE], _FARTHEST)
    moved = mean - matched[MATCHED_MEAN]
    return (
        abs(variance - matched[MATCHED_VARIANCE]) < reach * variance
        and moved * moved < reach * reach * variance
    )


@inlined
def change(
    mean: float, variance: float, precision: float, shift: float,
    noise: float, floor: float, label_noise: float, damping: float,
) -> tuple[float, float, float, bool]:  # fmt: skip
    """What matching one site to its true factor changes.

    Returns how far the margin moves, in its standard deviations, by how much precision and shift of
    the site change, and whether the margin would have to become narrower than can be
    represented. Nothing moves if the cavity is improper or already that narrow.
    """
    room = 1.0 - precision * variance  # the cavity is N((m − νv)/room, v/room)
    if not (room > _SMALLEST_ROOM and variance > floor * room):
        return 0.0, 0.0, 0.0, False
    _, wanted, new_shift = rematched_site(mean, variance, precision, shift, noise, label_noise)
    new_precision = wanted
    growth = room + wanted * variance
    if not (growth > 0.0 and floor * growth <= variance):
        cavity_mean = (mean - shift * variance) / room
        new_precision, new_shift = weakened(cavity_mean, variance / room, wanted, new_shift, floor)
    more_precision = damping * (new_precision - precision)
    more_shift = damping * (new_shift - shift)
    growth = 1.0 + more_precision * variance
    if not growth > 0.0:
        return 0.0, 0.0, 0.0, False
    moved = abs(more_shift - more_precision * mean) * math.sqrt(variance)
    movement = max(moved, abs(more_precision) * variance) / growth
    return movement, more_precision, more_shift, new_precision != wanted


@compiled
def tolerance_for(settings: Settings, loses_a_point: bool) -> float:
    """How far margins may be from a fixed point, in standard deviations.

    With the point that is chosen to go, far more goes than a coarse fixed point leaves to do.
    Window-EP, which does not choose, is exact, and so are the limits without and with all points.
    """
    chooses = settings.buffer_size > 0 and settings.strategy != Strategy.OLDEST
    if loses_a_point and chooses:
        coarsest = _COARSEST if settings.margin_noise > 0.0 else _COARSEST_WITHOUT_NOISE
        return max(settings.tolerance, min(_COARSER * settings.tolerance, coarsest))
    return settings.tolerance


@compiled
def update_site(
    state: State, tolerance: float, n: int, i: int, damping: float, work: Workspace
) -> float:  # fmt: skip
    """Match one site to its true factor; return how far the margin moved.

    It is infinite if the margin would have to become narrower than can be represented. A move
    within the tolerance is not made, except that a new point always gets a site.
    """
    mean, variance = marginal(state, i, work)
    movement, precision, shift, too_narrow = change(
        mean, variance, state.site_precisions[i], state.site_shifts[i], state.margin_noises[i],
        smallest_variance(state, i), state.label_noises[i], damping,
    )  # fmt: skip
    if movement > tolerance or state.site_precisions[i] == 0.0:
        move(state, n, i, mean, variance, precision, shift, work)
        state.site_precisions[i] += precision
        state.site_shifts[i] += shift
        invalidate(state, i)
    return math.inf if too_narrow else movement


@compiled
def sweep_margins(
    margins: Array, covariances: Array, precisions: Array, shifts: Array, noises: Array,
    label_noises: Array, floors: Array, matched: Array, column: Array,
    n: int, tolerance: float, damping: float,
) -> float:  # fmt: skip
    """`update_site` of every point in margin space, newest first; return the largest movement.

    The inner loop of the engine: it takes the few arrays that it needs, because handing over a
    whole state takes longer than a visit. A point is passed by if its margin is where it was when
    its site was matched.
    """
    largest = 0.0
    for i in range(n - 1, -1, -1):
        mean, variance = margins[i], covariances[i, i]
        if is_as_matched(mean, variance, matched[i], tolerance):
            continue
        movement, precision, shift, too_narrow = change(
            mean, variance, precisions[i], shifts[i], noises[i], floors[i], label_noises[i], damping
        )
        if movement > tolerance or precisions[i] == 0.0:
            growth = 1.0 + precision * variance
            step = (shift - precision * mean) / growth
            move_margins(margins, covariances, n, i, -precision / growth, step, column)
            precisions[i] += precision
            shifts[i] += shift
        if too_narrow:
            return math.inf
        largest = max(largest, movement)
        matched[i, MATCHED_MEAN] = margins[i]
        matched[i, MATCHED_VARIANCE] = covariances[i, i] if damping == 1.0 else 0.0
        matched[i, MATCHED_EASE] = ease(variance, noises[i], label_noises[i])
        matched[i, MATCHED_DIVERGENCE] = -1.0
    return largest


@compiled
def sweep(state: State, tolerance: float, n: int, damping: float, work: Workspace) -> float:
    """Visit every point, newest first: it is the one that has something to say."""
    if in_margin_space(state):
        return sweep_margins(
            state.margins, state.covariances, state.site_precisions, state.site_shifts,
            state.margin_noises, state.label_noises, work.floors, state.matched, work.column,
            n, tolerance, damping,
        )  # fmt: skip
    movement = 0.0
    for i in range(n - 1, -1, -1):
        movement = max(movement, update_site(state, tolerance, n, i, damping, work))
    return movement


@dispatched
def propagate(
    state: State, settings: Settings, loses_a_point: bool, work: Workspace
) -> tuple[int, bool]:
    """Run EP; return the number of sweeps and whether they served.

    With label noise it may have gone from a good fixed point to a worse one. Then only the last
    point is matched, as in ADF.
    """
    if not has_a_choice(settings, loses_a_point):
        return sweep_until_settled(state, settings, loses_a_point, work)
    save_margins(state, work)
    sweeps, served = sweep_until_settled(state, settings, loses_a_point, work)
    # After a single sweep nothing has moved by more than the tolerance.
    if served and sweeps > 1 and distance(state, work) > FAR:
        save_sites(state, work.other_precisions, work.other_shifts)
        match_last(state, work)
        write_sites(state, work.saved_precisions, work.saved_shifts)
        bound = lower_bound(state, work)
        write_sites(state, work.other_precisions, work.other_shifts)
        if bound > lower_bound(state, work):
            restore_sites(state, work.saved_precisions, work.saved_shifts)
            refresh(state, work)
    return sweeps, served


@propagate.register(CleanSettings)
def _(
    state: State, settings: CleanSettings, loses_a_point: bool, work: Workspace
) -> tuple[int, bool]:
    return sweep_until_settled(state, settings, loses_a_point, work)


@compiled
def match_last(state: State, work: Workspace) -> None:
    """Match the site of the last point, of those that were saved, at its margin that was saved."""
    i = state.counts[POINTS] - 1
    _, precision, shift, _ = change(
        work.saved_means[i], work.saved_variances[i],
        work.saved_precisions[i], work.saved_shifts[i], state.margin_noises[i],
        smallest_variance(state, i), state.label_noises[i], 1.0,
    )  # fmt: skip
    work.saved_precisions[i] += precision
    work.saved_shifts[i] += shift


@compiled
def sweep_until_settled(
    state: State, settings: Settings, loses_a_point: bool, work: Workspace
) -> tuple[int, bool]:
    """Sweep over the points until none moves; return the number of sweeps and whether they served.

    Sweeps are damped when they stop coming closer to a fixed point. With label noise they may not
    find one, which is counted. Without noise there may be none: rows can contradict each other, and
    sites would become narrower forever. Then they are put back as they were, and q̃ has to be
    rebuilt with `refresh`.
    """
    n = state.counts[POINTS]
    tolerance = tolerance_for(settings, loses_a_point)
    save_sites(state, work.saved_precisions, work.saved_shifts)
    for i in range(n):
        work.floors[i] = smallest_variance(state, i)
    damping = 1.0
    previous = math.inf
    most = settings.max_sweeps
    if has_a_choice(settings, loses_a_point):
        most = min(most, _MOST_SWEEPS)  # it may go round in circles; the next row goes on from here
    for k in range(most):
        movement = sweep(state, tolerance, n, damping, work)
        if movement <= tolerance:
            return k + 1, True
        if math.isinf(movement):
            restore_sites(state, work.saved_precisions, work.saved_shifts)
            return k + 1, False
        if movement >= previous:
            damping = max(0.5 * damping, _SMALLEST_DAMPING)
        previous = movement
    # With a single sweep, or a single factor, as in ADF, there is nothing to settle.
    if settings.label_noise > 0.0 and settings.max_sweeps > 1 and n > 1:
        state.counts[UNSETTLED] += 1
    return most, True
