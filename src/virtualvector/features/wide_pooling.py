"""What several shards have seen of the columns of wide rows, as one encoder.

Numbers are put together as in `features/pooling.py`. Of sparse rows, with n entries at a place and
m their mean square, after n₀ and m₀ that all went on from,

    N = n₀ + Σ (n_k − n₀),   N M = n₀m₀ + Σ (n_k m_k − n₀m₀),

which is what one encoder would have, while there are no more entries at a place than are remembered
and none is so far out that it is brought closer; beyond that it is the mean of the shards. Places
of words are where their hash says, whoever met them: what was met anywhere has been met.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from virtualvector.features.hashing import place_of
from virtualvector.features.pooling import Seen, pooled_encoder
from virtualvector.features.wide import WideEncoder
from virtualvector.kernels.scaling import LONGEST_MEMORY
from virtualvector.types import Array


class WideSeen(NamedTuple):
    """An encoder, and how many rows it has learned."""

    encoder: WideEncoder
    n_rows: int

    @property
    def numbers(self) -> Seen:
        """The same of columns of numbers and times."""
        return Seen(self.encoder.numbers, self.n_rows)


def pooled_wide_encoder(shards: Sequence[WideSeen], start: WideSeen) -> WideEncoder:
    """Return what shards that went on from a start have seen together.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.features.wide import WideEncoder
    >>> from virtualvector.features.wide_pooling import WideSeen, pooled_wide_encoder
    >>> encoders = [WideEncoder(["text"], ["wine"], 0, 2**18) for _ in range(3)]
    >>> for encoder, text in zip(encoders, ("dry", "red", "dry")):
    ...     _ = encoder.learn([np.array([text], object)])
    >>> start = WideSeen(WideEncoder(["text"], ["wine"], 0, 2**18), 0)
    >>> pooled_wide_encoder([WideSeen(each, 1) for each in encoders], start).words
    ['wine: dry', 'wine: red']
    """
    before = start.encoder
    encoders = [shard.encoder for shard in shards]
    pooled = before.twin()
    pooled.numbers = pooled_encoder([shard.numbers for shard in shards], start.numbers)
    pooled.counts, pooled.squares = _scales(encoders, before)
    pooled.met = np.any([before.met, *(each.met for each in encoders)], axis=0)
    words: dict[int, str] = {}
    for each in (before, *encoders):
        for word in each.words:
            words.setdefault(place_of(word, each.n_hashed), word)
    pooled.words = list(words.values())
    pooled.missing = before.missing + sum(each.missing - before.missing for each in encoders)
    return pooled


def _scales(shards: Sequence[WideEncoder], start: WideEncoder) -> tuple[Array, Array]:
    """Return how many entries each place of sparse rows had, and their mean squares."""
    counts = start.counts + sum(shard.counts - start.counts for shard in shards)
    totals = [shard.counts * shard.squares for shard in shards]
    of_start = start.counts * start.squares
    total = of_start + sum(own - of_start for own in totals)
    of_all, in_all = np.sum(totals, axis=0), sum(shard.counts for shard in shards)
    full = np.any([shard.counts >= LONGEST_MEMORY for shard in shards], axis=0)
    total, n = np.where(full, of_all, total), np.where(full, in_all, counts)
    squares = np.maximum(total, 0.0) / np.where(n > 0.0, n, 1.0)
    return np.minimum(counts, LONGEST_MEMORY), squares
