"""One row: predict it, add it, run EP, lose a point (Algorithm 1)."""

from __future__ import annotations

import math

from virtualvector.kernels.compiled import compiled
from virtualvector.kernels.likelihood import clip_margin, log_probability
from virtualvector.kernels.normal import cdf
from virtualvector.kernels.triangular import Array, dot
from virtualvector.posterior.losing import (
    CONTRADICTED,
    MAY_MERGE,
    WAS_EVICTED,
    WAS_IGNORED,
    WAS_KEPT,
    WAS_MERGED,
    Loss,
    lose_cheapest,
    lose_contradicted,
    lose_one,
)
from virtualvector.posterior.memory import LAST_ROW, Events, Workspace, memory_at, parts_at
from virtualvector.posterior.pairs import remember_distances
from virtualvector.posterior.propagation import propagate, visit
from virtualvector.posterior.stand_in import (
    extend,
    is_due,
    look_along,
    refresh,
    reproject,
    too_sharp,
    upkeep,
    worn_out,
)
from virtualvector.posterior.state import (
    DIVERGENCE_LOST,
    EVICTED,
    IGNORED,
    LOG_EVIDENCE,
    MERGED,
    POINTS,
    ROWS,
    SWEEPS,
    UNSETTLED,
    Settings,
    State,
    Strategy,
)
from virtualvector.posterior.waiting import catch_up


@compiled
def write_point(row: Array, sign: float, margin_noise: float, point: Array) -> float:
    """Write ±(row, 1)/length to ``point``; return s²/length².

    The constant of the bias is added if ``point`` has room for it. A row that says nothing, because
    it is zero or drowned in noise, gets infinite noise.
    """
    n = row.shape[0]
    bias = point.shape[0] - n
    largest = float(bias)
    for k in range(n):
        largest = max(largest, abs(row[k]))
    if largest == 0.0:
        return math.inf
    scale = sign / largest
    if math.isinf(scale):  # the largest entry is denormal
        return math.inf
    for k in range(n):
        point[k] = row[k] * scale
    if bias:
        point[n] = scale
    # Summing in the loop above would give other bits if row and point happen to lie side by side
    # in memory: whether such a loop is vectorised is decided when it runs.
    inverse = 1.0 / math.sqrt(dot(point, point))
    for k in range(point.shape[0]):
        point[k] *= inverse
    noise = math.sqrt(margin_noise) * inverse / largest
    return noise * noise if noise < 1e50 else math.inf


@compiled
def is_finite(row: Array) -> bool:
    """Whether no entry is nan or infinite."""
    total = 0.0
    for k in range(row.shape[0]):
        total += row[k] - row[k]
    return total == 0.0


@compiled
def write_points(rows: Array, margin_noise: float, points: Array, noises: Array) -> None:
    """Write all rows as points of positive sign; one that says nothing is written as zero."""
    for t in range(rows.shape[0]):
        noises[t] = write_point(rows[t], 1.0, margin_noise, points[t])
        if math.isinf(noises[t]):
            for k in range(points.shape[1]):
                points[t, k] = 0.0


@compiled
def learn_point(
    state: State, settings: Settings, sign: float, noise: float, work: Workspace
) -> tuple[float, int, Loss]:
    """Learn in place the row that was written to the next point.

    Returns its margin before, the sweeps of EP and what was lost.
    """
    number = state.counts[ROWS]
    n = state.counts[POINTS]
    state.counts[ROWS] = number + 1
    if math.isinf(noise):
        state.counts[IGNORED] += 1
        return 0.0, 0, Loss(WAS_IGNORED, -1, 0.0, 0.0, 0.0)

    state.noises[n] = noise
    state.born[n] = number
    mean, variance = extend(state, n, sign, work)
    z = clip_margin(mean / math.sqrt(variance + noise))
    if state.distances.shape[0] > 0:
        remember_distances(state, n, work)
    state.counts[POINTS] = n + 1

    full = settings.strategy != Strategy.NEVER and n >= settings.buffer_size
    sweeps, served = propagate(state, settings, full, work)
    if not served:
        return z, sweeps, Loss(CONTRADICTED, -1, 0.0, 0.0, 0.0)
    if settings.max_sweeps == 0:
        visit(state, settings.label_noise, settings.tolerance, n + 1, n, 1.0, work)
    if full:
        return z, sweeps, lose_one(state, settings, work)
    return z, sweeps, Loss(WAS_KEPT, -1, 0.0, 0.0, 0.0)


@compiled
def record(state: State, sweeps: int, loss: Loss, events: Events, t: int) -> None:
    """Count what happened at a row, and write it down."""
    state.counts[EVICTED] += loss.event == WAS_EVICTED
    state.counts[MERGED] += loss.event == WAS_MERGED
    state.counts[SWEEPS] += sweeps
    state.sums[DIVERGENCE_LOST] += loss.divergence
    events.sweeps[t] += sweeps
    events.event[t] = loss.event
    events.lost_row[t] = loss.row
    events.divergence_lost[t] = loss.divergence
    events.precision[t] = loss.precision
    events.shift[t] = loss.shift


# Why `learn_rows` stops: it is through; there is no room for one more point; something has to be
# rebuilt; the next row has an entry that is nan or infinite, or is too sharp for margin space; or
# the last row is not done with, because two points may merge, or because it contradicts them. What
# is then due is seldom needed, and compiled when it is.
DONE, FULL, WORN, NOT_FINITE, SHARP, CROWDED, TORN = range(7)


@compiled
def learn_rows(memory: int, start: int, stop: int, rebuilt: bool) -> tuple[int, int]:
    """Learn rows in place from ``start`` on; return the next row, and why it is not learned here.

    ``rebuilt`` says that nothing need be for the first row.
    """
    state, settings, work, events = parts_at(memory)
    rows, signs = memory_at(memory).rows, memory_at(memory).signs
    for t in range(start, stop):
        if state.counts[POINTS] == state.points.shape[0]:
            return t, FULL
        if not is_finite(rows[t]):
            return t, NOT_FINITE
        point = state.points[state.counts[POINTS]]
        noise = write_point(rows[t], signs[t], settings.margin_noise, point)
        if too_sharp(state, noise):
            return t, SHARP
        if noise < math.inf and is_due(state) and not (rebuilt and t == start):
            return t, WORN
        margin, sweeps, loss = learn_point(state, settings, signs[t], noise, work)
        evidence = log_probability(margin, settings.label_noise)
        state.sums[LOG_EVIDENCE] += evidence
        events.margin[t] = margin
        events.log_probability[t] = evidence
        events.sweeps[t] = 0
        record(state, sweeps, loss, events, t)
        if loss.event == MAY_MERGE:
            work.unfinished[LAST_ROW] = CROWDED
            return t + 1, CROWDED
        if loss.event == CONTRADICTED:
            work.unfinished[LAST_ROW] = TORN
            return t + 1, TORN
    if rows.shape[0] > 1:  # a single one is not likely to be the last
        catch_up(state, work)
    return stop, DONE


@compiled
def come_to_rest(memory: int) -> None:
    """Let the state follow what waits, so that it can be read."""
    state, _, work, _ = parts_at(memory)
    catch_up(state, work)


@compiled
def rebuild(memory: int, everything: bool) -> None:
    """Compute anew what is due, or everything that follows from points and residual."""
    state, _, work, _ = parts_at(memory)
    if everything:
        reproject(state, work)
    else:
        upkeep(state, work)


@compiled
def yield_to_contradiction(memory: int, t: int) -> None:
    """Take in row t as ADF would; the point that the others contradict most goes."""
    state, settings, work, events = parts_at(memory)
    refresh(state, work)
    n = state.counts[POINTS]
    visit(state, settings.label_noise, settings.tolerance, n, n - 1, 1.0, work)
    state.counts[UNSETTLED] += 1
    record(state, 0, lose_contradicted(state, work), events, t)
    work.unfinished[LAST_ROW] = DONE


@compiled
def merge_or_evict(memory: int, t: int) -> None:
    """Lose a point at row t, where merging two may cost less than evicting one."""
    state, settings, work, events = parts_at(memory)
    loss = lose_cheapest(state, settings, work)
    sweeps = 0
    if loss.event == WAS_MERGED:
        sweeps, served = propagate(state, settings, True, work)
        if not served:
            refresh(state, work)
    record(state, sweeps, loss, events, t)
    work.unfinished[LAST_ROW] = DONE


@compiled
def write_probabilities(z: float, label_noise: float, out: Array) -> None:
    """Write ε + (1−2ε)Φ(∓z), for the labels −1 and +1."""
    out[0] = label_noise + (1.0 - 2.0 * label_noise) * cdf(-z)
    out[1] = label_noise + (1.0 - 2.0 * label_noise) * cdf(z)


@compiled
def predict_row(memory: int) -> float:
    """The standardised margin of the first row under q̃, as `learn_rows` would find it.

    It is nan if the row has entries that are not finite, and infinite if q̃ has to be rebuilt first.
    Else the probabilities of both labels are written to ``work.said``.
    """
    state, settings, work, _ = parts_at(memory)
    row = memory_at(memory).rows[0]
    if not is_finite(row):
        return math.nan
    images, margins = worn_out(state)
    if images or margins:
        return math.inf
    noise = write_point(row, 1.0, settings.margin_noise, work.vector)
    z = 0.0
    if not math.isinf(noise):
        mean, variance = look_along(state, state.counts[POINTS], work.vector, work)
        z = clip_margin(mean / math.sqrt(variance + noise))
    write_probabilities(z, settings.label_noise, work.said)
    return z
