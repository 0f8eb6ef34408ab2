"""What several shards have seen of the columns of a stream, as one encoder.

All went on from a common encoder. Counts add up, and so do means and squares, as those of mixtures:
of a mean m_k after n values, the share A is that of the start, and what came since has the mean

    μ_k = (m_k − A m₀) / (1 − A),   and in the same way its mean squared deviation,

so that all together have the mean that one encoder would have, exactly while nothing is forgotten,
nothing lies so far out that it is brought closer, and the start has the first thirty values, which
count for more than later ones. Categories that are new get their inputs here, in the order of
shards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.features.categories import SLOTS, Categories, cells_of
from virtualvector.features.encoder import Encoder
from virtualvector.features.statistics import Statistics
from virtualvector.kernels.scaling import EARLY, EARLY_COUNT, LARGEST, LONGEST_MEMORY, settled
from virtualvector.types import Array, Labels

# Columns whose mean is further from that of all than so many deviations, or whose deviation is so
# many times as large, or as small, are told: their weights then mean something else.
_FAR, _WIDE = 0.5, 2.0


class Seen(NamedTuple):
    """An encoder, and how many rows it has learned."""

    encoder: Encoder
    n_rows: int

    @property
    def n_values(self) -> Array:
        """How many rows had each number."""
        missing = self.encoder.missing[self.encoder.column_of_number]
        return np.asarray(self.n_rows - missing, float)


def check_columns(encoder: Encoder) -> None:
    """Raise if columns have come that were not there at the start: each shard may have its own."""
    n_first, n_columns = encoder.n_first, len(encoder.categorical)
    if n_first < n_columns:
        raise ValueError(
            f"found {n_columns - n_first} columns that came later (new_columns='add'); expected "
            "the same columns from the first row on, so that all shards have them"
        )


def pooled_encoder(shards: Sequence[Seen], start: Seen, like: Encoder | None = None) -> Encoder:
    """Return what shards that went on from a start have seen together.

    Inputs are those of the start, or of one that is given, and behind them what others have more.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.features.encoder import Encoder
    >>> from virtualvector.features.pooling import Seen, pooled_encoder
    >>> shards = []
    >>> for values in ([1.0, 3.0], [5.0, 6.0, 10.0]):
    ...     encoder = Encoder([False])
    ...     _ = encoder.learn([np.array(values)])
    ...     shards.append(Seen(encoder, len(values)))
    >>> pooled_encoder(shards, Seen(Encoder([False]), 0)).means.tolist()
    [5.0]
    """
    pooled = start.encoder.twin()
    pooled.__dict__.pop("places_of_numbers", None)  # which may be others
    encoders = [shard.encoder for shard in shards]
    before = start.encoder
    if before.scaling:
        pooled.counts, pooled.means, pooled.squares = _scales(shards, start)
    pooled.missing = before.missing + sum(each.missing - before.missing for each in encoders)
    statistics = _counted(encoders, before.statistics)
    pooled.categories, places = _allotted(encoders, before if like is None else like, statistics)
    pooled.statistics = statistics._replace(places=places)
    pooled.seen = _seen(encoders, pooled)
    return pooled


def other_scale(encoder: Encoder, together: Encoder, labels: Sequence[str]) -> str | None:
    """Return which column is on quite another scale in one encoder than in all, in words."""
    if not together.scaling:
        return None
    deviation, own = np.sqrt(together.squares), np.sqrt(encoder.squares)
    far = np.abs(encoder.means - together.means) > _FAR * deviation
    other = (own > _WIDE * deviation) | (_WIDE * own < deviation)
    (which,) = np.nonzero((far | other) & (encoder.counts > 0.0))
    if len(which) == 0:
        return None
    k = which[0]
    return (
        f"{labels[k]!r} at {encoder.means[k]:.3g} ± {own[k]:.3g} and all together at "
        f"{together.means[k]:.3g} ± {deviation[k]:.3g}"
        f"{f', and {len(which) - 1} more columns' if len(which) > 1 else ''}: rows were scaled by "
        "that, so weights do not mean the same. Models that go on from a common one have much the "
        "same scales."
    )


def _scales(shards: Sequence[Seen], start: Seen) -> tuple[Array, Array, Array]:
    """Return counts, means and mean squared deviations of the numbers of all."""
    before = start.encoder
    weight = _weight(before.counts)
    offsets, squares, sizes = [np.zeros_like(before.means)], [before.squares], [weight]
    for encoder, n_values in ((shard.encoder, shard.n_values) for shard in shards):
        left = _share_left(before.counts, n_values - start.n_values)
        news = 1.0 - left
        some = np.where(news > 0.0, news, 1.0)
        mean = np.clip(encoder.means, -LARGEST, LARGEST)
        offset = np.clip((mean - before.means) / some, -2.0 * LARGEST, 2.0 * LARGEST)
        square = (encoder.squares - left * before.squares) / some - left * np.square(offset)
        offsets.append(offset)
        squares.append(np.maximum(square, 0.0))
        together = _weight(encoder.counts)
        sizes.append(news * together)
        sizes[0] = sizes[0] * (left * together / np.where(weight > 0.0, weight, 1.0))
    total = np.sum(sizes, axis=0)
    shares = np.array(sizes) / np.where(total > 0.0, total, 1.0)
    offset = np.sum(shares * offsets, axis=0)
    square = np.sum(shares * (squares + np.square(np.array(offsets) - offset)), axis=0)
    n_values = start.n_values + sum(shard.n_values - start.n_values for shard in shards)
    means = np.clip(before.means + offset, -LARGEST, LARGEST)
    # Models of earlier versions go on as they began: all values count alike.
    are_settled = [shard.encoder.counts == settled(shard.n_values) for shard in shards]
    counts = np.where(np.all(are_settled, axis=0), settled(n_values), n_values)
    return np.minimum(counts, LONGEST_MEMORY), means, square


def _weight(counts: Array) -> Array:
    """Return by what the first values of a column count, before they are settled and after."""
    weight: Array = np.where(counts < EARLY, counts * (EARLY_COUNT / EARLY), counts)
    return weight


def _share_left(count: Array, n_more: Array) -> Array:
    """Return the share that what was there before has of a running mean after more values."""
    settles = (count < EARLY) & (count + n_more >= EARLY)
    total = count + n_more + np.where(settles, EARLY_COUNT - EARLY, 0.0)
    n_fading = np.maximum(total - LONGEST_MEMORY, 0.0)
    most = _weight(total - n_fading)
    share = np.where(most > 0.0, _weight(count) / np.where(most > 0.0, most, 1.0), 1.0)
    left: Array = share * (1.0 - 1.0 / LONGEST_MEMORY) ** n_fading
    return left


def _allotted(
    shards: Sequence[Encoder], start: Encoder, statistics: Statistics
) -> tuple[dict[int, dict[str, int]], dict[int, tuple[int, ...]]]:
    """Return the inputs of categories and statistics: those of who has all, or new ones behind."""
    most = max(shards, key=lambda shard: shard.n_inputs)
    if all(begins_like(shard, most) for shard in shards):
        return most.categories, most.statistics.places
    known = {k: dict(places) for k, places in start.categories.items()}
    n_inputs = start.n_inputs
    for shard in shards:
        came = ((place, k, c) for k, own in shard.categories.items() for c, place in own.items())
        for _, k, category in sorted(came):
            if category not in known[k] and len(known[k]) < SLOTS:
                known[k][category] = n_inputs
                n_inputs += 1
    places = dict(start.statistics.places)
    for k in statistics.counts:
        own = places.get(k, ())
        n_more = len(statistics.totals) - 1 - len(own)
        places[k] = (*own, *range(n_inputs, n_inputs + n_more))
        n_inputs += n_more
    return known, places


def places_among(encoder: Encoder, pooled: Encoder) -> list[int]:
    """Return the place among pooled inputs of each input of an encoder; -1: it has none there.

    Examples
    --------
    >>> from virtualvector.features.encoder import Encoder
    >>> from virtualvector.features.pooling import Seen, places_among, pooled_encoder
    >>> one, other = Encoder([True]), Encoder([True])
    >>> _ = one.learn([["red", "blue"]]), other.learn([["blue", "green"]])
    >>> pooled = pooled_encoder([Seen(one, 2), Seen(other, 2)], Seen(Encoder([True]), 0))
    >>> places_among(other, pooled)
    [1, 2]
    """
    n_numbers = len(encoder.counts)
    there = {meaning: n_numbers + k for k, meaning in enumerate(_meanings(pooled))}
    return [*range(n_numbers), *(there.get(meaning, -1) for meaning in _meanings(encoder))]


def begins_like(one: Encoder, other: Encoder) -> bool:
    """Whether an input means the same to both, of which the other may have more."""
    own = _meanings(one)
    return own == _meanings(other)[: len(own)]


def _meanings(encoder: Encoder) -> list[tuple[int, Any]]:
    """Return what each input behind the numbers means: a column, and a category or a class."""
    statistics = encoder.statistics
    classes = () if statistics.classes is None else statistics.classes[1:].tolist()
    places = {place: (k, (c,)) for k, own in encoder.categories.items() for c, place in own.items()}
    of_classes = {
        place: (k, label)
        for k, own in statistics.places.items()
        for place, label in zip(own, classes, strict=False)
    }
    meanings: dict[int, tuple[int, Any]] = {**places, **of_classes}
    return [meanings[place] for place in sorted(meanings)]


def _counted(shards: Sequence[Encoder], start: Statistics) -> Statistics:
    """Return the counts of all rows: those of the start once."""
    known = [each.statistics for each in shards]
    classes = _classes(known, start)
    if classes is None:
        return start
    width = 1 + min(max(len(classes) - 1, 0), start.most)

    def added_up(tables: Sequence[tuple[Statistics, Array | None]]) -> Array:
        (_, first), *others = (
            (own, np.zeros(width) if table is None else _by_class(table, own, classes, width))
            for own, table in tables
        )
        total: Array = first + sum(table - first for _, table in others)
        return total

    totals = added_up([(own, own.totals) for own in (start, *known)])
    columns = sorted({k for own in known for k in own.counts})
    counts = {k: added_up([(own, own.counts.get(k)) for own in (start, *known)]) for k in columns}
    return start._replace(classes=classes, totals=totals, counts=counts)


def _classes(shards: Sequence[Statistics], start: Statistics) -> Labels | None:
    """Return the classes in the order in which they came: of the start, then shard by shard."""
    some = [own.classes for own in (start, *shards) if own.classes is not None]
    if not some:
        return None
    every = np.concatenate(some)
    _, first = np.unique(every, return_index=True)
    classes: Labels = every[np.sort(first)]
    return classes


def _by_class(table: Array, own: Statistics, classes: Labels, width: int) -> Array:
    """Return counts in the order of classes, of which the first has none."""
    if own.classes is None:
        return np.zeros((*table.shape[:-1], width))
    first = table[..., :1] - table[..., 1:].sum(axis=-1, keepdims=True)
    of_each = np.moveaxis(np.append(first, table[..., 1:], axis=-1), -1, 0)
    each = dict(zip(own.classes.tolist(), of_each, strict=False))
    nothing = np.zeros(table.shape[:-1])
    later = [each.get(label, nothing) for label in classes[1:width].tolist()]
    return np.stack([table[..., 0], *later], axis=-1)


def _seen(shards: Sequence[Encoder], pooled: Encoder) -> NDArray[np.bool_]:
    """Return where categories without an input have been seen, also those that had one."""
    seen: NDArray[np.bool_] = np.any([shard.seen for shard in shards], axis=0)
    for row, (k, known) in enumerate(pooled.categories.items()):
        came = [category for shard in shards for category in shard.categories[k]]
        cells = cells_of(Categories(came, [], np.zeros(0, np.int64)), known)
        seen[row, cells[cells >= 0]] = True
    return seen
