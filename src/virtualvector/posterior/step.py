"""One row: predict it, add it, run EP, reduce the points to B (Algorithm 1)."""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, dispatched
from virtualvector.kernels.likelihood import (
    clip_margin,
    log_probability,
    write_two_probabilities,
)
from virtualvector.kernels.powered import powered_label_noise
from virtualvector.posterior.approximation import (
    along_next,
    extend,
    lost_digits,
    needs_weight_space,
    query,
    refresh,
    refresh_due,
    reproject,
    upkeep,
)
from virtualvector.posterior.ep import propagate, update_site
from virtualvector.posterior.length import restore_length
from virtualvector.posterior.part import absorb_part
from virtualvector.posterior.point import is_finite, write_query, write_row
from virtualvector.posterior.reduction.pairs import write_distances
from virtualvector.posterior.reduction.reduce import (
    CONTRADICTED,
    MAY_MERGE,
    WAS_EVICTED,
    WAS_IGNORED,
    WAS_KEPT,
    WAS_MERGED,
    Reduction,
    reduce_by_one,
    reduce_cheapest,
    reduce_contradicted,
)
from virtualvector.posterior.residual.full import flush
from virtualvector.posterior.settings import Settings, Strategy
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
    State,
)
from virtualvector.posterior.workspace import (
    LAST_ROW,
    Events,
    KernelArguments,
    Workspace,
    arguments_at,
    clean_arguments_at,
    parts_at,
)
from virtualvector.types import Array


@compiled
def learn_point(
    state: State, settings: Settings, sign: float, noise: float, label_noise: float, sure: float,
    work: Workspace,
) -> tuple[float, int, Reduction]:  # fmt: skip
    """Learn in place the row that was written to the next point.

    A negative one whose margin is more than ``sure`` is ignored. It would teach next to nothing: by
    a row of margin z, whatever its label noise, the posterior moves by at most −log Φ(z),

        KL(after ‖ before) ≤ E[log f(u)/Z] ≤ log (1−ε)/Z ≤ −log Φ(z),   Z = ε + (1−2ε)Φ(z),

    the mean taken under the tilted distribution; moment matching only makes it less.

    Returns its margin before, the sweeps of EP and what was lost.
    """
    number = state.counts[ROWS]
    n = state.counts[POINTS]
    state.counts[ROWS] = number + 1
    if math.isinf(noise):
        state.counts[IGNORED] += 1
        return 0.0, 0, Reduction(WAS_IGNORED, -1, 0.0, 0.0, 0.0)

    state.margin_noises[n] = noise
    state.label_noises[n] = label_noise
    state.row_numbers[n] = number
    mean, variance, residual = along_next(state, n, sign, work)
    z = clip_margin(mean / math.sqrt(variance + noise))
    if sign < 0.0 and z > sure:
        state.counts[IGNORED] += 1
        return z, 0, Reduction(WAS_IGNORED, -1, 0.0, 0.0, 0.0)
    extend(state, n, mean, variance, residual, work)
    if state.distances.shape[0] > 0:
        write_distances(state, n, work)
    state.counts[POINTS] = n + 1

    full = settings.strategy != Strategy.NEVER and n >= settings.buffer_size
    sweeps, served = propagate(state, settings, full, work)
    if not served:
        return z, sweeps, Reduction(CONTRADICTED, -1, 0.0, 0.0, 0.0)
    if settings.max_sweeps == 0:
        update_site(state, settings.tolerance, n + 1, n, 1.0, work)
    if full:
        return z, sweeps, reduce_by_one(state, settings, work)
    return z, sweeps, Reduction(WAS_KEPT, -1, 0.0, 0.0, 0.0)


@compiled
def note_prediction(
    state: State, settings: Settings, margin: float, power: float, events: Events, t: int
) -> None:
    """Write down what was said of a row before it was learned; count it as much as the row."""
    events.margin[t] = margin
    events.log_probability[t] = log_probability(margin, settings.label_noise)
    events.sweeps[t] = 0
    state.sums[LOG_EVIDENCE] += power * events.log_probability[t]


@compiled
def record(state: State, sweeps: int, reduction: Reduction, events: Events, t: int) -> None:
    """Count what happened at a row, and write it down."""
    state.counts[EVICTED] += reduction.event == WAS_EVICTED
    state.counts[MERGED] += reduction.event == WAS_MERGED
    state.counts[SWEEPS] += sweeps
    state.sums[DIVERGENCE_LOST] += reduction.divergence
    events.sweeps[t] += sweeps
    events.event[t] = reduction.event
    events.lost_row[t] = reduction.row
    events.divergence_lost[t] = reduction.divergence
    events.precision[t] = reduction.precision
    events.shift[t] = reduction.shift


# Why `learn_rows` stops: it is through; there is no room for one more point; something has to be
# rebuilt; the next row has an entry that is nan or infinite, or is too sharp for margin space, or
# only a part of it is to be learned, or the residual is to be cut first; or the last row is not
# done with, because two points may merge, or because it contradicts them. What is then due is
# seldom needed, and compiled when it is.
(
    DONE,
    OUT_OF_CAPACITY,
    REFRESH_DUE,
    NOT_FINITE,
    NEEDS_WEIGHT_SPACE,
    MERGE_POSSIBLE,
    CONTRADICTORY,
    PART_DUE,
    CUT_DUE,
) = range(9)


@dispatched
def out_of_capacity(state: State, rows: Array, t: int) -> bool:
    """Whether there is no room for one more point."""
    return state.counts[POINTS] == state.points.shape[0]


@dispatched
def cut_due(state: State, rows: Array, t: int) -> bool:
    """Whether the residual has to be cut to its rank before row t: never, if it has all ranks."""
    return False


@dispatched
def fetch(state: State, rows: Array, t: int, work: Workspace) -> None:
    """Ask memory for what row t will need, if there is such a row: nothing, of a dense one."""


@compiled
def learn_rows(address: int, start: int, stop: int, rebuilt: bool) -> tuple[int, int]:
    """Learn rows in place from ``start`` on; return the next row, and why it is not learned here.

    ``rebuilt`` says that nothing need be for the first row.
    """
    return learn_rows_of(arguments_at(address), start, stop, rebuilt)


@compiled
def learn_clean_rows(address: int, start: int, stop: int, rebuilt: bool) -> tuple[int, int]:
    """As `learn_rows`, without label noise: a quarter less to compile."""
    return learn_rows_of(clean_arguments_at(address), start, stop, rebuilt)


@compiled
def learn_rows_of(
    arguments: KernelArguments, start: int, stop: int, rebuilt: bool
) -> tuple[int, int]:
    """As `learn_rows`; of what kind things are, the type of the arguments says."""
    state, settings, work = arguments.state, arguments.settings, arguments.work
    rows, signs, powers = arguments.rows, arguments.signs, arguments.powers
    events, sure = arguments.events, arguments.sure
    for t in range(start, stop):
        if out_of_capacity(state, rows, t):
            return t, OUT_OF_CAPACITY
        if cut_due(state, rows, t):
            return t, CUT_DUE
        if not is_finite(rows, t):
            return t, NOT_FINITE
        fetch(state, rows, t + 1, work)
        noise = write_row(rows, t, signs[t], settings.margin_noise, state, state.counts[POINTS])
        if needs_weight_space(state, noise):
            return t, NEEDS_WEIGHT_SPACE
        if noise < math.inf and refresh_due(state) and not (rebuilt and t == start):
            return t, REFRESH_DUE
        label_noise, power = settings.label_noise, 1.0
        if powers.shape[0] > 0 and powers[t] < 1.0:
            if 0.0 < noise < math.inf:
                return t, PART_DUE
            power = powers[t]
            label_noise = powered_label_noise(label_noise, power)
        margin, sweeps, reduction = learn_point(
            state, settings, signs[t], noise, label_noise, sure, work
        )
        note_prediction(state, settings, margin, power, events, t)
        record(state, sweeps, reduction, events, t)
        if reduction.event == MAY_MERGE:
            work.unfinished[LAST_ROW] = MERGE_POSSIBLE
            return t + 1, MERGE_POSSIBLE
        if reduction.event == CONTRADICTED:
            work.unfinished[LAST_ROW] = CONTRADICTORY
            return t + 1, CONTRADICTORY
    if stop - start > 1:  # a single one is not likely to be the last
        flush(state, work)
    return stop, DONE


@compiled
def flush_residual(address: int) -> None:
    """Let the state follow what waits, so that it can be read."""
    state, _, work, _ = parts_at(address)
    flush(state, work)


@compiled
def rebuild(address: int, everything: bool) -> None:
    """Compute anew what is due, or everything that follows from points and residual."""
    state, _, work, _ = parts_at(address)
    if everything:
        reproject(state, work)
    else:
        upkeep(state, work)


@compiled
def yield_to_contradiction(address: int, t: int) -> None:
    """Take in row t as ADF would; the point that the others contradict most goes."""
    state, settings, work, events = parts_at(address)
    refresh(state, work)
    n = state.counts[POINTS]
    update_site(state, settings.tolerance, n, n - 1, 1.0, work)
    state.counts[UNSETTLED] += 1
    record(state, 0, reduce_contradicted(state, settings, work), events, t)
    work.unfinished[LAST_ROW] = DONE


@compiled
def learn_part(address: int, t: int) -> None:
    """Learn row t to a power below one, where that makes no virtual point: see `part.py`.

    `learn_rows` has written it to the next point.
    """
    state, settings, work, events = parts_at(address)
    sign, power = arguments_at(address).signs[t], arguments_at(address).powers[t]
    number, n = state.counts[ROWS], state.counts[POINTS]
    noise = write_row(arguments_at(address).rows, t, sign, settings.margin_noise, state, n)
    state.counts[ROWS] = number + 1
    state.margin_noises[n], state.label_noises[n] = noise, settings.label_noise
    state.row_numbers[n] = number
    mean, variance, residual = along_next(state, n, sign, work)
    extend(state, n, mean, variance, residual, work)
    state.counts[POINTS] = n + 1
    margin = clip_margin(mean / math.sqrt(variance + noise))
    note_prediction(state, settings, margin, power, events, t)
    precision, shift = absorb_part(state, power, work)
    full = settings.strategy != Strategy.NEVER and n >= settings.buffer_size
    sweeps, served = propagate(state, settings, full, work)
    if not served:
        refresh(state, work)
    record(state, sweeps, Reduction(WAS_EVICTED, number, 0.0, precision, shift), events, t)


@compiled
def merge_or_evict(address: int, t: int) -> None:
    """Lose a point at row t, where merging two may cost less than evicting one."""
    state, settings, work, events = parts_at(address)
    reduction = reduce_cheapest(state, settings, work)
    sweeps = 0
    if reduction.event == WAS_MERGED:
        sweeps, served = propagate(state, settings, True, work)
        if not served:
            refresh(state, work)
        restore_length(state, settings, work)
    record(state, sweeps, reduction, events, t)
    work.unfinished[LAST_ROW] = DONE


@compiled
def predict_row(address: int) -> float:
    """The standardised margin of the first row under q̃, as `learn_rows` would find it.

    It is nan if the row has entries that are not finite, and infinite if q̃ has to be rebuilt first.
    Else the probabilities of both labels are written to ``work.probabilities``.
    """
    state, settings, work, _ = parts_at(address)
    rows = arguments_at(address).rows
    if not is_finite(rows, 0):
        return math.nan
    images, margins = lost_digits(state)
    if images or margins:
        return math.inf
    noise, vector = write_query(rows, 0, settings.margin_noise, work)
    z = 0.0
    if not math.isinf(noise):
        mean, variance = query(state, state.counts[POINTS], vector, work)
        z = clip_margin(mean / math.sqrt(variance + noise))
    write_two_probabilities(z, settings.label_noise, work.probabilities)
    return z
