"""Which experts a budget pays for, and how much of a row they see.

All that an expert knows is the covariance of its weights: rows twice as wide take four times the
time and the memory. A budget of N multiplications bounds both: a multiplication is made for a
number of 8 bytes of which there are half as many, so that an expert of N multiplications takes 4N
bytes. Where that does not pay for covariances, it pays for precisions of low rank, for which the
same bound holds.
"""

from __future__ import annotations

from bisect import bisect_left
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
RANKS = (20, 10, 5, 2, 0)  # to try one after the other where covariances do not fit
_LINEAR = Expert(None, 1.0)
# Beside those of such a rank: whether it helps, and how narrow a prior should be, the rows tell.
# Picked on the five problems of benchmarks/wide_rows.py, of eight sets with and without squares.
BESIDE = (
    Expert(None, 1.0, reach=8.0, rank=0),
    Expert(None, 30.0, label_noise=0.02, rank=0),
)


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
    usual: bool = False,
) -> Plan:
    """Return as many experts as fit, the first ones first; for very wide rows, some of low rank.

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
    usual : bool
        Whether nobody chose these experts: then there are enough frequencies before there are more
        than `MANY` of them, and beside those of low rank others of rank 0.

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
        if linear:
            kept = _of_low_rank(kept, BESIDE if usual else (), most_inputs, limit)
        width = _affordable_width(kept, n_frequencies, limit)
        if width < most_inputs:
            n_inputs = most_inputs = n_numbers = width
    if n_frequencies is None:
        sizes = n_inputs, n_classes, n_numbers
        enough, common = ENOUGH if usual else 0, usual_budget(len(encoder.categorical), n_classes)
        _, most = _with_enough(kept, enough, min(budget, common), *sizes)
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


def check_affordable(
    encoder: Encoder, feature_space: FeatureSpace, n_classes: int, rank: int | None
) -> None:
    """Raise ValueError if rows have become too wide for the budget, as columns came.

    From that width on, experts would be of a lower rank, or rows sketched, had they come at the
    start.
    """
    limit = EXCESS * feature_space.budget / n_posteriors(n_classes)
    sketched = feature_space.most_inputs < encoder.at_start.most_inputs
    if sketched or operations(_LINEAR._replace(rank=rank), encoder.most_inputs + 1) > limit:
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


def _of_low_rank(
    experts: tuple[Expert, ...], beside: tuple[Expert, ...], n_inputs: int, limit: float
) -> tuple[Expert, ...]:
    """Return experts of the highest rank that fits, and those beside them if there is room."""
    for rank in RANKS:
        ranked = tuple(e if e.rank is not None else e._replace(rank=rank) for e in experts)
        left = limit - sum(operations(expert, n_inputs + 1) for expert in ranked)
        if left >= 0.0:
            others = sum(operations(expert, n_inputs + 1) for expert in beside)
            return ranked + beside if others <= left else ranked
    return ranked


def _affordable_width(experts: Sequence[Expert], n_frequencies: int | None, limit: float) -> int:
    """Return for how many inputs experts fit together."""

    def fits(width: int) -> bool:
        sizes = [_n_weights(expert, width, n_frequencies) for expert in experts]
        return sum(map(operations, experts, sizes)) <= limit

    too_wide = 2 * NARROWEST
    while fits(too_wide):
        too_wide *= 2
    return max(bisect_left(range(too_wide), True, key=lambda width: not fits(width)) - 1, NARROWEST)


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
    >>> both, thin = [Expert(None, 1.0), Expert(0.5, 0.1)], Expert(None, 1.0, rank=5)
    >>> for line in given_up(both, [thin], 5000, FeatureSpace(1000, 5000.0, 0, 2e6, 0, 1000)):
    ...     print(line)
    1 of 2 experts: rbf ×0.5, s² 0.1
    covariances of 5,000 weights: precisions of rank 5 are in their place
    the width of rows: 5,000 inputs are added up in 1,000
    """
    found = []
    ranks = {expert._replace(rank=None): expert.rank for expert in kept}
    left_out = [expert for expert in experts if expert not in kept and expert not in ranks]
    if left_out:
        words = "; ".join(map(describe, left_out))
        found.append(f"{len(left_out)} of {len(experts)} experts: {words}")
    lower = [ranks[expert] for expert in experts if expert not in kept and expert in ranks]
    if lower:
        found.append(
            f"covariances of {n_inputs:,} weights: precisions of rank {lower[0]} are in their place"
        )
    width = feature_space.n_inputs
    if max(width, feature_space.most_inputs) < n_inputs:
        found.append(f"the width of rows: {n_inputs:,} inputs are added up in {width:,}")
    return found
