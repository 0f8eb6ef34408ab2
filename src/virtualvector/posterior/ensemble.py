"""Posteriors that see the same rows and speak with one voice: one row, in one call.

All that a committee does for a row is done here, on memory that stays where it is: inputs are
scaled, looked at, predicted and learned by every posterior, and opinions mixed and corrected. What
is seldom due is left to `Engine`, for one posterior at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from virtualvector.jit.compiled import compiled, dispatched
from virtualvector.jit.struct_table import reader
from virtualvector.kernels.likelihood import write_probabilities
from virtualvector.kernels.opinions import NO_OPINIONS, Opinions, conclude
from virtualvector.kernels.scaling import count_missing, has_infinity, scale_rows
from virtualvector.kernels.triangular import copy
from virtualvector.kernels.views import NO_SIGHT, Sight, look
from virtualvector.posterior.low_rank_state import LowRankAddress
from virtualvector.posterior.prediction import predictor_at, write_predicted_margins
from virtualvector.posterior.state import ROWS
from virtualvector.posterior.step import DONE, learn_rows, predict_row
from virtualvector.posterior.workspace import DRIFT, arguments_at
from virtualvector.types import Array, IntArray

# Places in `Ensemble.progress`: whether a row is under way; the posterior whose turn it is, and how
# many rows that one had learned before; one more than the posterior that was left to `Engine` last;
# the number of rows learned by all; whether the last prediction began with the last expert.
UNDER_WAY, TURN, BEFORE, LEFT, LEARNED, BACKWARDS = range(6)

DRIFT_DUE = -1  # why a posterior is left to `Engine`, beside what `learn_rows` stops for
LEARNED_ROW, REFUSED_ROW = -1, -2  # what `learn_one_row` returns but for a posterior


class Numbers(NamedTuple):
    """A row as it came, and the running scales of its columns; none, if others make the inputs."""

    row: Array  # (1, m)
    scaled: Array  # (1, m)
    counts: Array  # (m,)
    means: Array  # (m,)
    squares: Array  # (m,)
    missing: IntArray  # (m,)


class Ensemble(NamedTuple):
    """All that one call works on."""

    numbers: Numbers
    sight: Sight
    opinions: Opinions
    posteriors: IntArray  # (G,)  addresses of `KernelArguments`, or of `LowRankArguments`
    of_low_rank: IntArray  # (G,)  whether of the latter
    positives: IntArray  # (G,)  the class that each is about; −1: one that has not come yet
    firsts: IntArray  # (E + 1,)  the first posterior of each expert
    margins: Array  # (K,)  of a row, under the posteriors of an expert
    progress: IntArray  # (6,)


class MixedAddress(NamedTuple):
    """The address of an `Ensemble` of which some are of low rank, of a type that says so.

    What learns those takes as long to compile as all the rest: only who has them needs it.
    """

    address: int = 0


_NONE = np.zeros(0, np.int64)
NO_NUMBERS = Numbers(
    np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0), _NONE
)
_ensemble_at = reader(
    Ensemble(NO_NUMBERS, NO_SIGHT, NO_OPINIONS, _NONE, _NONE, _NONE, _NONE, np.zeros(1), _NONE)
)


@dispatched
def ensemble_at(address: int) -> Ensemble:
    """Return what is at an address."""
    return _ensemble_at(address)


@ensemble_at.register(MixedAddress)
def _(address: MixedAddress) -> Ensemble:
    return _ensemble_at(address.address)


@compiled
def margin_of(ensemble: Ensemble, g: int, t: int) -> float:
    """The margin that row t had under posterior g before it learned it; not times its sign."""
    if ensemble.of_low_rank[g]:
        other = arguments_at(LowRankAddress(ensemble.posteriors[g]))
        return other.signs[t] * other.events.margin[t]
    one = arguments_at(ensemble.posteriors[g])
    return one.signs[t] * one.events.margin[t]


@compiled
def label_noise_of(ensemble: Ensemble, g: int) -> float:
    """The label noise that posterior g assumes."""
    if ensemble.of_low_rank[g]:
        return arguments_at(LowRankAddress(ensemble.posteriors[g])).settings.label_noise
    return arguments_at(ensemble.posteriors[g]).settings.label_noise


@compiled
def write_sign(ensemble: Ensemble, g: int, start: int, t: int) -> None:
    """Say whether row t, counted from ``start`` on, is of the class that posterior g is about."""
    is_it = ensemble.opinions.observed[t] == ensemble.positives[g]
    sign = 1.0 if is_it else -1.0
    if ensemble.of_low_rank[g]:
        arguments_at(LowRankAddress(ensemble.posteriors[g])).signs[start + t] = sign
    else:
        arguments_at(ensemble.posteriors[g]).signs[start + t] = sign


@compiled
def write_opinion(ensemble: Ensemble, e: int, t: int) -> None:
    """Write what expert e says of row t, given the margins under its posteriors."""
    noise = label_noise_of(ensemble, ensemble.firsts[e])
    write_probabilities(ensemble.margins, noise, ensemble.opinions.of_experts[e, t])


@compiled
def gather_opinions(ensemble: Ensemble, start: int, n_rows: int) -> None:
    """Write what experts said of rows, from ``start`` on, before they learned them."""
    n_posteriors = ensemble.margins.shape[0]
    for e in range(ensemble.firsts.shape[0] - 1):
        for t in range(n_rows):
            for k in range(n_posteriors):
                ensemble.margins[k] = margin_of(ensemble, ensemble.firsts[e] + k, start + t)
            write_opinion(ensemble, e, t)


@compiled
def look_at_rows(address: int, start: int, stop: int, part: int) -> None:
    """Look at rows whose inputs have been written; parts may do so side by side."""
    look(_ensemble_at(address).sight, start, stop, part)


@compiled
def begin_rows(address: int, start: int, n_rows: int) -> None:
    """Tell posteriors which rows, from ``start`` on, are theirs."""
    ensemble = _ensemble_at(address)
    for g in range(ensemble.posteriors.shape[0]):
        for t in range(n_rows):
            write_sign(ensemble, g, start, t)


@compiled
def end_rows(address: int, start: int, n_rows: int) -> None:
    """Say what experts made of rows that all of them have learned; learn whom to trust."""
    ensemble = _ensemble_at(address)
    gather_opinions(ensemble, start, n_rows)
    conclude(ensemble.opinions, n_rows, True)
    ensemble.progress[LEARNED] += n_rows


@compiled
def scale_inputs(ensemble: Ensemble, learn: bool) -> None:
    """Make inputs of a row of numbers, if that is what comes; those for which there is room."""
    numbers = ensemble.numbers
    if numbers.row.shape[1] > 0:
        scale_rows(
            numbers.row, numbers.counts, numbers.means, numbers.squares, learn, numbers.scaled
        )
        copy(numbers.scaled[0], ensemble.sight.inputs[0])
        if learn:
            count_missing(numbers.row, numbers.missing)


@compiled
def n_rows_of(ensemble: Ensemble, g: int) -> int:
    """The number of rows that posterior g has learned."""
    if ensemble.of_low_rank[g]:
        return arguments_at(LowRankAddress(ensemble.posteriors[g])).state.counts[ROWS]
    return arguments_at(ensemble.posteriors[g]).state.counts[ROWS]


@compiled
def learn_row_of(address: int) -> int:
    """Let a posterior learn the first row; return why it has not, or not to the end."""
    one, why = arguments_at(address), DRIFT_DUE
    n_rows = one.state.counts[ROWS]
    if n_rows + 1 < one.work.unfinished[DRIFT] or one.settings.half_life == math.inf:
        _, why = learn_rows(address, 0, 1, False)
    return why


@dispatched
def learn_row_of_either(address: int, ensemble: Ensemble, g: int) -> int:
    """Let posterior g do so; of which kinds there are, the type of the address says."""
    return learn_row_of(ensemble.posteriors[g])


@learn_row_of_either.register(MixedAddress)
def _(address: MixedAddress, ensemble: Ensemble, g: int) -> int:
    if ensemble.of_low_rank[g]:
        return learn_row_of(LowRankAddress(ensemble.posteriors[g]))  # type: ignore[arg-type]
    return learn_row_of(ensemble.posteriors[g])


@dispatched
def predict_row_of_either(address: int, ensemble: Ensemble, g: int) -> float:
    """Return the margin of the first row under posterior g, as `predict_row` does."""
    return predict_row(ensemble.posteriors[g])


@predict_row_of_either.register(MixedAddress)
def _(address: MixedAddress, ensemble: Ensemble, g: int) -> float:
    if ensemble.of_low_rank[g]:
        return predict_row(LowRankAddress(ensemble.posteriors[g]))  # type: ignore[arg-type]
    return predict_row(ensemble.posteriors[g])


@compiled
def learn_one_row(address: int) -> int:
    """Learn a row, or go on with it; return which posterior needs something first.

    Or else that it was learned, or refused, because a number is infinite.
    """
    ensemble = ensemble_at(address)
    progress = ensemble.progress
    if progress[UNDER_WAY] == 0:
        if has_infinity(ensemble.numbers.row):
            return REFUSED_ROW
        scale_inputs(ensemble, True)
        look(ensemble.sight, 0, 1, 0)
        progress[TURN] = 0
        progress[LEFT] = 0
        progress[UNDER_WAY] = 1
    n_posteriors = ensemble.posteriors.shape[0]
    while progress[TURN] < n_posteriors:
        g = progress[TURN]
        if progress[LEFT] == g + 1:  # whoever should have seen to it was interrupted
            return g
        write_sign(ensemble, g, 0, 0)
        progress[BEFORE] = n_rows_of(ensemble, g)
        why = learn_row_of_either(address, ensemble, g)
        if why != DONE:
            progress[LEFT] = g + 1
            return g
        progress[TURN] = g + 1
    gather_opinions(ensemble, 0, 1)
    conclude(ensemble.opinions, 1, True)
    progress[LEARNED] += 1
    progress[UNDER_WAY] = 0
    return LEARNED_ROW


@compiled
def predict_one_row(address: int) -> bool:
    """Write what is said of a row; return whether all could say something at once.

    Not so if a posterior has to be rebuilt first, or if a number is infinite. Every other row is
    taken through the experts backwards: who was last is still near in memory, and is asked first.
    """
    ensemble = ensemble_at(address)
    if has_infinity(ensemble.numbers.row):
        return False
    scale_inputs(ensemble, False)
    look(ensemble.sight, 0, 1, 0)
    n_experts = ensemble.firsts.shape[0] - 1
    ensemble.progress[BACKWARDS] = 1 - ensemble.progress[BACKWARDS]
    for turn in range(n_experts):
        e = n_experts - 1 - turn if ensemble.progress[BACKWARDS] else turn
        for k in range(ensemble.margins.shape[0]):
            margin = predict_row_of_either(address, ensemble, ensemble.firsts[e] + k)
            if not margin < math.inf:
                return False
            ensemble.margins[k] = margin
        write_opinion(ensemble, e, 0)
    conclude(ensemble.opinions, 1, False)
    return True


class Panel(NamedTuple):
    """Posteriors that are asked about some rows at once, and learn nothing."""

    sight: Sight
    opinions: Opinions
    predictors: IntArray  # (E, K)  addresses of `PredictorArguments`
    label_noises: Array  # (E,)
    margins: Array  # (K, T)
    margins_of_row: Array  # (K,)


_panel_at = reader(
    Panel(
        NO_SIGHT, NO_OPINIONS, np.zeros((0, 0), np.int64), np.zeros(0), np.zeros((0, 0)),
        np.zeros(0),
    )
)  # fmt: skip


@compiled
def predict_rows(address: int, n_rows: int) -> bool:
    """Write what is said of rows whose inputs are there; return whether all could say something."""
    panel = _panel_at(address)
    look(panel.sight, 0, n_rows, 0)
    n_experts, n_margins = panel.predictors.shape
    for e in range(n_experts):
        for k in range(n_margins):
            place = panel.predictors[e, k]
            rows = predictor_at(place).rows[:n_rows]
            if not write_predicted_margins(place, rows, panel.margins[k]):
                return False
        for t in range(n_rows):
            for k in range(n_margins):
                panel.margins_of_row[k] = panel.margins[k, t]
            out = panel.opinions.of_experts[e, t]
            write_probabilities(panel.margins_of_row, panel.label_noises[e], out)
    conclude(panel.opinions, n_rows, False)
    return True
