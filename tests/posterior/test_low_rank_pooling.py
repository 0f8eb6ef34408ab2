"""Posteriors of low rank that were learned apart, multiplied."""

import numpy as np
import pytest

from tests.posterior.test_low_rank import stream
from virtualvector.posterior import (
    Settings,
    empty_low_rank_state,
    empty_state,
    gaussian,
    learn,
    mean_of,
    pool,
    precision_of,
    shard_start,
)
from virtualvector.posterior.low_rank_validation import check_low_rank_state
from virtualvector.posterior.state import POINTS, ROWS

ADF = Settings(margin_noise=0.5, buffer_size=0, merge_pairs=0, max_sweeps=1, rank=90)
VVM = Settings(margin_noise=0.5, buffer_size=9, merge_pairs=0, rank=90)
N_WEIGHTS = 31


def learned_apart(how, n_shards=3, start=None, prior=empty_low_rank_state, n_rows=90):
    """Return a common posterior, and shards that went on from it, or from what is made of it."""
    rows, signs = stream()
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    first = n_rows // 3
    common, _ = learn(prior(N_WEIGHTS, how), rows[:first], signs[:first], how)
    begun = common if start is None else start(common)
    parts = np.array_split(np.arange(first, n_rows), n_shards)
    return common, [learn(begun, rows[part], signs[part], how)[0] for part in parts]


def summed(shards, common):
    """Return precision and mean of the product of Gaussians, as textbooks have it."""
    precisions, means = zip(
        *((precision_of(s), mean_of(s)) for s in (common, *shards)), strict=True
    )
    linear = [p @ m for p, m in zip(precisions, means, strict=True)]
    precision = precisions[0] + sum(p - precisions[0] for p in precisions[1:])
    return precision, np.linalg.solve(precision, linear[0] + sum(x - linear[0] for x in linear[1:]))


@pytest.mark.parametrize("n_shards", [2, 5])
def test_gaussians_are_multiplied_exactly_where_the_rank_suffices(n_shards):
    common, shards = learned_apart(ADF, n_shards)
    pooled = pool(shards, common, ADF)
    precision, mean = summed(shards, common)
    np.testing.assert_allclose(precision_of(pooled), precision, rtol=0, atol=1e-9)
    np.testing.assert_allclose(mean_of(pooled), mean, rtol=0, atol=1e-9)
    assert pooled.counts[ROWS] == 90
    check_low_rank_state(pooled, ADF)


@pytest.mark.parametrize(
    ("start", "buffer_size", "n_rows", "within"),
    [(None, 30, 24, 1e-6), (shard_start, 30, 24, 1e-6), (shard_start, 9, 90, 1e-3)],
)
def test_with_points_it_is_what_full_covariances_are_pooled_to(start, buffer_size, n_rows, within):
    """Closely if all points are kept; else EP is coarse until some have gone.

    Where shards have lost points so that a residual would be wide, both leave out news, in other
    directions.
    """
    how = VVM._replace(buffer_size=buffer_size)
    common, shards = learned_apart(how, 2, start, n_rows=n_rows)
    found = pool(shards, common, how)
    full = how._replace(rank=Settings().rank)
    common, shards = learned_apart(full, 2, start, empty_state, n_rows)
    expected = gaussian(pool(shards, common, full))
    assert found.counts[POINTS] == min(buffer_size, n_rows)
    check_low_rank_state(found, how)
    np.testing.assert_allclose(mean_of(found), expected.mean, rtol=0, atol=within)
    covariance = np.linalg.inv(precision_of(found))
    np.testing.assert_allclose(covariance, expected.covariance, rtol=0, atol=within)


def test_a_cut_to_the_rank_keeps_the_mean_and_the_precision_of_each_weight():
    how = ADF._replace(rank=4)
    common, shards = learned_apart(how)
    pooled = pool(shards, common, how)
    precision, mean = summed(shards, common)
    if np.linalg.eigvalsh(precision)[0] > 0.5:
        np.testing.assert_allclose(mean_of(pooled), mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.diag(precision_of(pooled)), np.diag(precision), rtol=1e-9)
    check_low_rank_state(pooled, how)


@pytest.mark.parametrize("rank", [0, 3, 90])
@pytest.mark.parametrize("label_noise", [0.0, 0.05])
def test_any_posteriors_are_pooled_to_a_proper_one_in_any_order(rank, label_noise):
    how = VVM._replace(rank=rank, buffer_size=5, merge_pairs=2, label_noise=label_noise)
    common, shards = learned_apart(how, 4)
    pooled = pool(shards, common, how)
    check_low_rank_state(pooled, how)
    assert pooled.counts[POINTS] <= 5
    assert np.linalg.eigvalsh(precision_of(pooled))[0] > 0.0
    again = pool(shards[::-1], common, how)
    for name, one, other in zip(pooled._fields, pooled, again, strict=True):
        assert np.array_equal(one, other), name
    rows, signs = stream(seed=1)
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    check_low_rank_state(learn(pooled, rows, signs, how)[0], how)
