"""Two learners of the same rows, hedged: one prediction, by the evidence that each has so far.

With p₁ and p₂ the probabilities of two learners, the Bayesian average is

    p(y|x) = Σₘ πₘ pₘ(y|x),   πₘ ∝ cₘ exp Σₜ log pₘ(yₜ|xₜ),

where c is how much each is trusted at first, c₁ + c₂ = 1. The log-loss of the average is minus its
log evidence, −log Σ c exp Σ log p: over any stream at most log 1/c above that of either learner
(the bound of Freund and Schapire's Hedge, 1997, where it is exact). Only log π₁/π₂ has to be kept,
which is called the lead: π₁ = 1/(1 + exp(−lead)).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from virtualvector.jit.compiled import compiled, ordered
from virtualvector.jit.struct_table import reader
from virtualvector.kernels.likelihood import clip_margin, log_probability, write_probabilities
from virtualvector.types import Array, IntArray


@ordered
def log_probability_of(margins: Array, place: int, label_noise: float) -> float:
    """The logarithm of what `write_probabilities` has at a place, whatever its size.

    Of two classes only the second has a margin; so it is while there is but one, which is not the
    second. Of more, class k has log pₖ/(1−pₖ) − log Σ p/(1−p).
    """
    if margins.shape[0] == 1:
        z = clip_margin(margins[0])
        return log_probability(z if place == 1 else -z, label_noise)
    largest = -math.inf
    total = 0.0
    own = 0.0
    for k in range(margins.shape[0]):
        z = clip_margin(margins[k])
        odds = log_probability(z, label_noise) - log_probability(-z, label_noise)
        if odds > largest:
            total = total * math.exp(largest - odds) + 1.0
            largest = odds
        else:
            total += math.exp(odds - largest)
        if k == place:
            own = odds
    return own - largest - math.log(total)


@ordered
def write_gains(
    own: Array, beside: Array, observed: IntArray, label_noise: float, gains: Array
) -> None:
    """Write log p₁(y) − log p₂(y) of each row: what its label adds to the lead."""
    for t in range(gains.shape[0]):
        gains[t] = log_probability_of(own[t], observed[t], label_noise)
        gains[t] -= log_probability_of(beside[t], observed[t], label_noise)


@ordered
def write_hedged(
    own: Array, beside: Array, leads: Array, label_noise: float, other: Array, out: Array
) -> None:
    """Write π₁p₁ + π₂p₂ of each row, given margins under both learners and the lead before it.

    In the form p₁ + π₂(p₂ − p₁) with π₂ the smaller of the two, which is exact where both agree.
    """
    for t in range(out.shape[0]):
        write_probabilities(own[t], label_noise, out[t])
        write_probabilities(beside[t], label_noise, other)
        smaller = 1.0 / (1.0 + math.exp(abs(leads[t])))
        for k in range(out.shape[1]):
            if leads[t] >= 0.0:
                out[t, k] += smaller * (other[k] - out[t, k])
            else:
                out[t, k] = other[k] + smaller * (out[t, k] - other[k])


class HedgedRow(NamedTuple):
    """All that is known of one row."""

    own: Array  # (1, K) its margins under one learner
    beside: Array  # (1, K) and under the other
    observed: IntArray  # (1,) the place of its class
    gains: Array  # (1,)
    leads: Array  # (1,) before it
    other: Array  # (C,) what the other says of it
    mixed: Array  # (1, C) what both say of it
    label_noise: float


def hedged_row(n_posteriors: int, n_classes: int, label_noise: float) -> HedgedRow:
    """Return room for one row."""
    own, beside, mixed = (np.zeros((1, n)) for n in (n_posteriors, n_posteriors, n_classes))
    gains, leads, other = np.zeros(1), np.zeros(1), np.zeros(n_classes)
    return HedgedRow(own, beside, np.zeros(1, np.int64), gains, leads, other, mixed, label_noise)


_row_at = reader(hedged_row(1, 2, 0.1))


@compiled
def gain_of_row(address: int) -> float:
    """What the label of a row adds to the lead: see `write_gains`."""
    row = _row_at(address)
    write_gains(row.own, row.beside, row.observed, row.label_noise, row.gains)
    return row.gains[0]


@compiled
def mix_row(address: int) -> None:
    """Write what both say of a row: see `write_hedged`."""
    row = _row_at(address)
    write_hedged(row.own, row.beside, row.leads, row.label_noise, row.other, row.mixed)
