"""The experts of a committee: which there are, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

from virtualvector.learners.expert import Expert
from virtualvector.posterior.low_rank_state import columns_between_cuts

FEWEST_FREQUENCIES, MOST_FREQUENCIES = 20, 1000
_MOST_USUAL = 4e6  # of the usual budget, for up to four classes
STARTING_SHARE = 0.6  # of the budget, for all experts together; the rest is for the best to grow


def operations(expert: Expert, n_weights: int) -> float:
    """Return about how many multiplications a posterior takes to predict and learn a row.

    What does not depend on its size takes as long as some. Of low rank, by the time that a row
    without zeros takes: one by one its entries take as long as a hundred multiplications of a
    covariance, and each column of W two more, of which half that there is room for are there in the
    mean; and by the memory of what columns have to do with each other.
    """
    points = expert.buffer_size + 1 if expert.buffer_size else 0
    fixed = 3e3 + 250.0 * points**2
    if expert.rank is None:
        forgets = 0.0 if expert.half_life is None else 4.0 * n_weights**2.5 / expert.half_life**0.5
        return fixed + 2.0 * n_weights**2 + forgets
    between = columns_between_cuts(n_weights, expert.rank, expert.buffer_size)
    forgets = 0.0
    if expert.half_life is not None:
        forgets = 16.0 * (n_weights / expert.half_life) ** 0.5 * (expert.rank + 1) ** 2
    in_the_mean, most = expert.rank + 0.5 * between, expert.rank + between
    return fixed + (100.0 + 2.0 * in_the_mean) * n_weights + 2.0 * most**2 + forgets


def n_posteriors(n_classes: int) -> int:
    """Return how many posteriors an expert has."""
    return n_classes if n_classes > 2 else 1


def usual_budget(n_columns: int, n_classes: int) -> float:
    """Return the multiplications per row that are spent unless the user says otherwise.

    Of very many columns no more than a linear expert takes that has 1,400: 16 MB each.
    """
    return min(1.5e6 + 1.5e4 * n_columns, _MOST_USUAL) * max(1.0, n_classes / 3.5)


def affordable_frequencies(
    experts: Sequence[Expert], n_inputs: int, n_classes: int, budget: float, n_numbers: int = 0
) -> int:
    """Return how many frequencies experts can have if all stay within a budget's share.

    The budget is in multiplications per row, not in seconds: results should not depend on how fast
    a machine is.
    """
    with_frequencies = sum(expert.bandwidth is not None for expert in experts)
    if with_frequencies == 0:
        return 0
    widths = {True: n_inputs + n_numbers + 1, False: n_inputs + 1}
    fixed = sum(
        operations(expert, widths[expert.squares] if expert.bandwidth is None else 0)
        for expert in experts
    )
    left = max(STARTING_SHARE * budget / n_posteriors(n_classes) - fixed, 0.0)
    n_weights = math.sqrt(left / (2.0 * with_frequencies))
    return int(min(max((n_weights - n_inputs - 1) / 2.0, FEWEST_FREQUENCIES), MOST_FREQUENCIES))


# Little noise or much, planes or curves of one column, of two or of all. What is in the list was
# picked by how well the pool of it does on the streams of benchmarks/streams.py.
DEFAULT = (
    Expert(None, 1.0, buffer_size=3, reach=8.0),
    Expert(None, 1.0, label_noise=0.02),
    Expert(None, 3.0, label_noise=0.02),
    Expert(None, 1.0, label_noise=0.02, squares=True, reach=3.0),
    Expert(0.5, 0.1),
    Expert(0.5, 0.01),
    Expert(0.25, 0.1, label_noise=0.02, columns=1),
    Expert(1.0, 0.3, label_noise=0.02),
    Expert(0.25, 0.3, label_noise=0.02),
    Expert(0.25, 0.1, label_noise=0.02, columns=2),
    Expert(0.5, 0.01, columns=1),
)


def usual_experts(n_numbers: int, n_categorical: int) -> tuple[Expert, ...]:
    """Return the experts for a table of so many columns: those that see something of their own.

    Examples
    --------
    >>> from virtualvector.auto.experts import DEFAULT, usual_experts
    >>> set(DEFAULT) - set(usual_experts(2, 0)) == {e for e in DEFAULT if e.columns == 2}
    True
    >>> any(e.squares or e.columns == 1 for e in usual_experts(0, 3))
    False
    """
    n_columns = n_numbers + n_categorical
    return tuple(
        expert
        for expert in DEFAULT
        if (n_numbers > 0 or not (expert.squares or expert.columns == 1))
        and expert.columns < n_columns
    )
