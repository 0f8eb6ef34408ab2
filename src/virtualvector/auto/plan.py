"""Which experts a budget pays for, and how much of a row they see.

All that an expert knows is the covariance of its weights: rows twice as wide take four times the
time and the memory. A budget of N multiplications bounds both: a multiplication is made for a
number of 8 bytes of which there are half as many, so that an expert of N multiplications takes 4N
bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from virtualvector.auto.experts import (
    FEWEST_FREQUENCIES,
    affordable_frequencies,
    n_posteriors,
    operations,
    usual_budget,
)
from virtualvector.auto.feature_space import FeatureSpace
from virtualvector.features.encoder import Encoder
from virtualvector.learners.expert import Expert, describe

EXCESS = 3.0  # times the budget that all together may take before the worst fall asleep
FEWEST = 3  # experts to have before rows are narrowed for them: one alone may be too bold
MANY = 8  # experts; no more by default, unless there are
ENOUGH = 60  # frequencies for them
NARROWEST = 8  # inputs
CATEGORIES_TO_EXPECT = 2  # in a column of them, to begin with
_LINEAR = Expert(None, 1.0)


class Plan(NamedTuple):
    """Experts that a budget pays for, and what they see."""

    experts: tuple[Expert, ...]
    feature_space: FeatureSpace


def plan(
    experts: Sequence[Expert],
    encoder: Encoder,
    n_classes: int,
    budget: float,
    n_frequencies: int | None,
    seed: int,
    enough: int = 0,
) -> Plan:
    """Return as many experts as fit, the first ones first; for very wide rows, a few on a sketch.

    Parameters
    ----------
    experts : sequence of Expert
        Those that there should be.
    encoder : Encoder
        Which makes the inputs.
    n_classes : int
        How many classes to pay for.
    budget : float
        Multiplications per row.
    n_frequencies : int or None
        Of Fourier features; None: as many as the budget allows, or the usual one if that is less:
        with more than that, many rows would be needed to tell them apart, and after every change of
        the stream again. Who proves to be good grows.
    seed : int
        Of the frequencies.
    enough : int
        Frequencies to have before there are more than `MANY` experts.

    Returns
    -------
    Plan
        With fewer inputs than the encoder makes if these are to be sketched.
    """
    n_inputs = encoder.n_inputs + CATEGORIES_TO_EXPECT * sum(encoder.categorical)
    most_inputs, limit = encoder.most_inputs, EXCESS * budget / n_posteriors(n_classes)
    n_numbers = len(encoder.counts)
    kept = _affordable(experts, n_inputs, n_frequencies, limit, n_numbers)
    n_least = min(FEWEST, len(experts))
    if len(kept) < n_least or operations(kept[0], most_inputs + 1) > limit:
        linear = [expert for expert in experts if expert.bandwidth is None and not expert.squares]
        kept = tuple(linear[:n_least] or experts[:1])
        width = _affordable_width(kept, n_frequencies, limit)
        if width < most_inputs:
            n_inputs = most_inputs = n_numbers = width
    if n_frequencies is None:
        sizes = n_inputs, n_classes, n_numbers
        usual = min(budget, usual_budget(len(encoder.categorical), n_classes))
        _, most = _with_enough(kept, enough, usual, *sizes)
        kept, n_frequencies = _with_enough(kept, enough, budget, *sizes)
        n_frequencies = min(n_frequencies, most)
    feature_space = FeatureSpace(
        n_inputs, encoder.spread, int(n_frequencies), budget, seed, most_inputs, n_numbers,
        len(encoder.counts) if encoder.scaling and most_inputs == encoder.most_inputs else 0,
    )  # fmt: skip
    return Plan(kept, feature_space)


def _with_enough(
    experts: tuple[Expert, ...], enough: int, budget: float, n_inputs: int, n_classes: int,
    n_numbers: int,
) -> tuple[tuple[Expert, ...], int]:  # fmt: skip
    """Return the first experts, as many as have enough frequencies, and how many these are."""
    n = affordable_frequencies(experts, n_inputs, n_classes, budget, n_numbers)
    while len(experts) > MANY and n < enough:
        experts = experts[:-1]
        n = affordable_frequencies(experts, n_inputs, n_classes, budget, n_numbers)
    return experts, n


def check_affordable(encoder: Encoder, feature_space: FeatureSpace, n_classes: int) -> None:
    """Raise ValueError if rows have become too wide for the budget, as columns came.

    From that width on, rows would be sketched if they came at the start.
    """
    limit = EXCESS * feature_space.budget / n_posteriors(n_classes)
    sketched = feature_space.most_inputs < encoder.at_start.most_inputs
    if sketched or operations(_LINEAR, encoder.most_inputs + 1) > limit:
        raise ValueError(
            f"Found {len(encoder.categorical):,} columns, some of them new, which may become "
            f"{encoder.most_inputs:,} inputs; expected no more than the budget of "
            f"{feature_space.budget:,.0f} pays for: give a larger `budget`, or all columns in the "
            "first call."
        )


def _affordable(
    experts: Sequence[Expert],
    n_inputs: int,
    n_frequencies: int | None,
    limit: float,
    n_numbers: int,
) -> tuple[Expert, ...]:
    """Return the first experts that fit together; who would be too much is left out."""
    kept, left = [], limit
    for expert in experts:
        n_squares = n_numbers if expert.squares else 0
        cost = operations(expert, _n_weights(expert, n_inputs, n_frequencies) + n_squares)
        if cost <= left:
            kept.append(expert)
            left -= cost
    return tuple(kept)


def _affordable_width(experts: Sequence[Expert], n_frequencies: int | None, limit: float) -> int:
    """Return for how many inputs experts fit together."""
    fixed = sum(operations(expert, 0) for expert in experts)
    n_weights = math.isqrt(int(max(limit - fixed, 0.0) / (2.0 * len(experts))))
    others = max(_n_weights(expert, 0, n_frequencies) for expert in experts)
    return max(n_weights - others, NARROWEST)


def _n_weights(expert: Expert, n_inputs: int, n_frequencies: int | None) -> int:
    fewest = FEWEST_FREQUENCIES if n_frequencies is None else n_frequencies
    return n_inputs + 1 + (0 if expert.bandwidth is None else 2 * expert.detail * fewest)


def given_up(
    experts: Sequence[Expert], kept: Sequence[Expert], n_inputs: int, feature_space: FeatureSpace
) -> list[str]:
    """Return in words what a budget did not pay for.

    Examples
    --------
    >>> from virtualvector.learners.expert import Expert
    >>> from virtualvector.auto.feature_space import FeatureSpace
    >>> from virtualvector.auto.plan import given_up
    >>> both = [Expert(None, 1.0), Expert(0.5, 0.1)]
    >>> given_up(both, both[:1], 5000, FeatureSpace(1000, 5000.0, 0, 2e6, 0, 1000))
    ['1 of 2 experts: rbf ×0.5, s² 0.1', 'the width of rows: 5,000 inputs are added up in 1,000']
    """
    found = []
    left_out = [expert for expert in experts if expert not in kept]
    if left_out:
        words = "; ".join(map(describe, left_out))
        found.append(f"{len(left_out)} of {len(experts)} experts: {words}")
    width = feature_space.n_inputs
    if max(width, feature_space.most_inputs) < n_inputs:
        found.append(f"the width of rows: {n_inputs:,} inputs are added up in {width:,}")
    return found
