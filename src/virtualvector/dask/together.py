"""What shards of a round bring to the next one, and how a worker puts it together.

Each worker does that by itself, once: shards that it learns in one round begin with the same.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from virtualvector.auto.shards import ended, round_start
from virtualvector.dask.cluster import check_here


class Shard(NamedTuple):
    """What came of a span.

    Parameters
    ----------
    common : estimator or None
        What all shards of the round went on from, which only the first of them brings along, as
        it has to be sent with it. If the first has none it is no shard, but all that is known.
    model : estimator
        What this one knows.
    """

    common: Any
    model: Any


class Start(NamedTuple):
    """What a shard begins a round with.

    Parameters
    ----------
    round : str
        What no other round is called.
    n_shards : int
        How many there are.
    alone : bool
        Whether there are no rounds yet, so that it is alone.
    is_first : bool
        Whether it is the first of them.
    """

    round: str
    n_shards: int
    alone: bool
    is_first: bool = True


class _Last:
    """The last round that was begun in this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.round, self.begun = "", Shard(None, None)


_last = _Last()


def known(model: Any, expected: dict[str, str]) -> Shard:
    """Return a model as it came to the cluster: lost with a worker, it is there again."""
    check_here(expected)
    return Shard(None, model)


def pooled(shards: Sequence[Shard]) -> Any:
    """Return what all shards of a round know together.

    Examples
    --------
    >>> from copy import copy
    >>> from virtualvector import ADFClassifier
    >>> from virtualvector.dask.together import Shard, pooled
    >>> common = ADFClassifier(margin_noise=1.0).partial_fit([[1.0], [-1.0]], [1, 0])
    >>> one, other = copy(common).partial_fit([[2.0]], [1]), copy(common).partial_fit([[3.0]], [1])
    >>> pooled([Shard(common, one), Shard(None, other)]).n_seen_
    4
    """
    common = shards[0].common
    return shards[0].model if common is None else ended(common, [each.model for each in shards])


def put_together(shards: Sequence[Shard]) -> Shard:
    """Return the same as one who is no shard."""
    return Shard(None, pooled(shards))


def begun(before: Sequence[Shard], start: Start) -> Shard:
    """Return what a shard begins with, after the shards of the round before."""
    with _last.lock:
        if _last.round != start.round:
            _last.round, _last.begun = "", Shard(None, None)  # so that there are never two
            common = pooled(before)
            _last.begun = Shard(common, round_start(common, start.n_shards, start.alone))
            _last.round = start.round
        shard = _last.begun
    return shard if start.is_first else Shard(None, shard.model)
