"""Rounds: shards learn side by side from one posterior, then it is pooled, and so on.

What hurts pooling is how far a posterior moves while shards do not know of each other. So the first
rows are learned by one shard alone, and each round after that is as long as a share of all rows
before it. The plan follows from numbers of rows and shards alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import NamedTuple, TypeVar

from virtualvector.learners.base import BayesianLinearClassifier
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.learners.pooling import known_together
from virtualvector.posterior import shard_start

Model = TypeVar("Model", bound=BayesianLinearClassifier)

# Both were chosen after looking at the log-loss of six data sets: 128 rows alone, or rounds of
# half as many rows as came before, were up to 2 % worse than one machine, these within 1 %.
ALONE = 256  # rows that one shard learns before there are rounds, at least
_SHARE = 4  # rounds have a fourth of the rows before them
# What shards do not know of each other matters less the more is known: from so many rows on, rounds
# of half of the rows before, and of as many, were both within 0.01 % (docs/scaling.md).
_LATE_SHARES = ((65_536, 1), (16_384, 2))
FEWEST = 2048  # rows of a span: a round's tasks and pooling take as long as learning thousands


class Span(NamedTuple):
    """Rows that one shard learns in a round: from one number to another."""

    start: int
    stop: int


def rounds(
    n_seen: int, n_rows: int, shards: int, fewest: int | None = None, decides: bool = False
) -> Iterator[list[Span]]:
    """Yield the spans of each round in which some rows are learned, after those seen before.

    Parameters
    ----------
    n_seen : int
        How many rows were learned before.
    n_rows : int
        How many there are to learn; spans count from the first of them.
    shards : int
        Into how many spans a round is cut at most.
    fewest : int, optional
        How many rows a span has at least, unless it is the only one of its round; by default
        `FEWEST`.
    decides : bool
        Whether something is decided at the ends of rounds, as it is by committees: then they stay
        at a fourth of the rows before them, so that nothing is decided late.

    Examples
    --------
    >>> from virtualvector.learners.rounds import rounds
    >>> [[span.stop - span.start for span in each] for each in rounds(0, 460, 3, fewest=25)]
    [[256], [32, 32], [27, 27, 26], [30, 30]]
    """
    done, fewest = 0, FEWEST if fewest is None else fewest
    n_alone = rows_alone(fewest)
    while done < n_rows:
        before = n_seen + done
        alone = before < n_alone
        share = _SHARE if decides else _share(before)
        stop = min(n_rows, done + (n_alone - before if alone else before // share))
        yield cut(done, stop, 1 if alone else min(shards, max(1, (stop - done) // fewest)))
        done = stop


def _share(before: int) -> int:
    """Return by what the rows before a round are divided to have its own."""
    return next((share for many, share in _LATE_SHARES if before >= many), _SHARE)


def rows_alone(fewest: int | None = None) -> int:
    """Return how many rows one shard learns before there are rounds: until two have enough to do.

    Examples
    --------
    >>> from virtualvector.learners.rounds import rows_alone
    >>> rows_alone(fewest=1), rows_alone(fewest=500)
    (256, 4000)
    """
    return max(ALONE, 2 * _SHARE * (FEWEST if fewest is None else fewest))


def cut(start: int, stop: int, shards: int) -> list[Span]:
    """Return so many spans that are about equally long."""
    size, longer = divmod(stop - start, shards)
    spans = []
    for k in range(shards):
        end = start + size + (k < longer)
        spans.append(Span(start, end))
        start = end
    return spans


def begun(model: Model) -> Model:
    """Return the model that a shard goes on from: the same Gaussian, with no points of its own."""
    return _with(model, model._posterior.each(shard_start))


def ended(model: Model, shards: Sequence[Model]) -> Model:
    """Return what shards that went on from a model know together."""
    if len(shards) == 1:
        return shards[0]
    learned = known_together([shard._posterior for shard in shards], model._posterior)
    return _with(model, learned)


def _with(model: Model, learned: OneVsRest) -> Model:
    model = copy(model)
    model._keep(learned)
    return model
