"""What several encoders have seen of columns, as one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtualvector.features.encoder import Encoder
from virtualvector.features.pooling import Seen, pooled_encoder
from virtualvector.kernels.scaling import EARLY, EARLY_COUNT, settled

NOTHING = [False, True, False]  # numbers at both ends, categories between them


def table(seed, n, categories="abcdef"):
    rng = np.random.default_rng(seed)
    numbers = rng.uniform(2.0, 5.0, size=(n, 2))
    numbers[:4] = np.array([[2.0], [5.0], [2.0], [5.0]])[:n]  # nobody is four deviations out
    numbers[rng.random(n) < 0.2, 1] = np.nan
    return [numbers[:, 0], rng.choice(list(categories), n), numbers[:, 1]], rng.choice(
        ["u", "v"], n
    )


def learned(tables, start=None, statistics=1):
    encoder = (
        Encoder(NOTHING, most_statistics=statistics) if start is None else start.encoder.twin()
    )
    n_rows = 0 if start is None else start.n_rows
    for columns, labels in tables:
        encoder.learn(columns, labels)
        n_rows += len(labels)
    return Seen(encoder, n_rows)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=5), st.integers(1, 99))
def test_means_and_deviations_are_those_of_all_values(sizes, seed):
    first = table(seed, 40)
    start = learned([first])
    others = [table(seed + 1 + k, n) for k, n in enumerate(sizes)]
    pooled = pooled_encoder([learned([other], start) for other in others], start)
    for place, column in enumerate((0, 2)):
        parts = [columns[column] for columns, _ in (first, *others)]
        there = [part[~np.isnan(part)] for part in parts]
        known = [0, *[len(there[0])] * len(others)]  # values that each has gone on from
        weights = np.concatenate(
            [
                np.where(n + np.arange(len(part)) < EARLY, EARLY_COUNT / EARLY, 1.0)
                for n, part in zip(known, there, strict=True)
            ]
        )
        values = np.concatenate(there)
        mean = np.average(values, weights=weights)
        assert pooled.counts[place] == settled(np.array(float(len(values))))
        np.testing.assert_allclose(pooled.means[place], mean, rtol=1e-10)
        square = np.average(np.square(values - mean), weights=weights)
        np.testing.assert_allclose(pooled.squares[place], square, rtol=1e-8)
        assert pooled.missing[column] == sum(map(len, parts)) - len(values)


def test_models_of_earlier_versions_whose_rows_all_count_alike_go_on_so():
    rng = np.random.default_rng(0)
    parts = [rng.uniform(2.0, 5.0, size=n) for n in (40, 25, 70)]
    start = Seen(Encoder([False]), 40)
    start.encoder.counts = np.array([40.0])
    start.encoder.means, start.encoder.squares = (
        np.array([of_all(parts[0])]) for of_all in (np.mean, np.var)
    )
    shards = []
    for part in parts[1:]:
        encoder = start.encoder.twin()
        encoder.learn([part])
        shards.append(Seen(encoder, 40 + len(part)))
    pooled = pooled_encoder(shards, start)
    values = np.concatenate(parts)
    assert pooled.counts[0] == len(values)
    assert pooled.means[0] == pytest.approx(values.mean(), rel=1e-10)
    assert pooled.squares[0] == pytest.approx(values.var(), rel=1e-8)


def test_what_was_long_ago_fades_as_in_one_stream():
    """Ten thousand rows are remembered: a value of before counts (1 − 10⁻⁴)ⁿ times that."""
    rng = np.random.default_rng(0)
    start = Seen(Encoder([False]), 12_000)
    start.encoder.learn([rng.uniform(size=12_000)])
    shards = []
    for k in (0.8, 1.2):
        encoder = start.encoder.twin()
        encoder.learn([np.full(3000, k)])
        shards.append(Seen(encoder, 15_000))
    pooled = pooled_encoder(shards, start)
    kept = (1 - 1e-4) ** 3000
    left, news = kept**2, 1 - kept
    values = np.array([start.encoder.means[0], 0.8, 1.2])
    expected = np.average(values, weights=[left, news, news])
    # A value four deviations out counts as if it were at the edge: none is here.
    assert pooled.means[0] == pytest.approx(expected, rel=1e-9)
    assert pooled.counts[0] == 10_000


def test_one_shard_is_given_back():
    start = learned([table(0, 30)])
    shard = learned([table(1, 50)], start)
    pooled = pooled_encoder([shard], start)
    np.testing.assert_allclose(pooled.means, shard.encoder.means, rtol=1e-14)
    np.testing.assert_allclose(pooled.squares, shard.encoder.squares, rtol=1e-13)
    assert pooled.categories == shard.encoder.categories
    assert np.array_equal(pooled.statistics.totals, shard.encoder.statistics.totals)


def test_new_categories_get_inputs_in_the_order_of_shards_and_only_eight():
    start = learned([table(0, 40, "ab")])
    places = start.encoder.categories[1]
    shards = [learned([table(1, 40, "abxyz")], start), learned([table(2, 40, "abvwyzuts")], start)]
    pooled = pooled_encoder(shards, start)
    known = pooled.categories[1]
    assert {c: known[c] for c in places} == places
    first, second = (list(shard.encoder.categories[1]) for shard in shards)
    assert list(known)[:5] == first
    assert set(known) < {*first, *second}
    assert len(known) == 8
    assert sorted(known.values()) == list(range(2, 10))
    # Those that got none have been seen all the same.
    assert pooled.count_unseen([np.zeros(8), [*"stuvwxyz"], np.zeros(8)])[1] == 0
    assert pooled.count_unseen([np.zeros(1), ["new"], np.zeros(1)])[1] == 1


def test_target_statistics_count_every_row_once():
    many = "abcdefghijklm"
    tables = [table(seed, 300, many) for seed in range(3)]
    start = learned(tables[:1])
    shards = [learned([each], start) for each in tables[1:]]
    pooled, whole = pooled_encoder(shards, start), learned(tables).encoder
    assert np.array_equal(pooled.statistics.totals, whole.statistics.totals)
    assert np.array_equal(pooled.statistics.counts[1], whole.statistics.counts[1])
    assert np.array_equal(pooled.statistics.classes, whole.statistics.classes)
    rows = table(9, 50, many)[0]
    np.testing.assert_allclose(pooled.scale(rows), whole.scale(rows), rtol=1e-9, atol=1e-12)


def test_classes_that_came_to_one_shard_only_are_counted():
    columns, _ = table(0, 400, "abcdefghijklm")
    start = Seen(Encoder(NOTHING, most_statistics=3), 0)
    labels = [np.array(["u", "v"] * 200), np.array(["w", "u"] * 200)]
    shards = []
    for some in labels:
        encoder = start.encoder.twin()
        encoder.learn(columns, some)
        shards.append(Seen(encoder, 400))
    pooled = pooled_encoder(shards, start)
    assert pooled.statistics.classes.tolist() == ["u", "v", "w"]
    assert pooled.statistics.totals.tolist() == [800.0, 200.0, 200.0]
    assert np.all(pooled.statistics.counts[1].sum(axis=0) <= pooled.statistics.totals)
