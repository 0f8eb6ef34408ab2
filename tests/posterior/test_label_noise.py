"""Label noise: more memory does no harm. The whole of it is benchmarks/label_noise.py."""

import math

import numpy as np
import pytest

from virtualvector.jit.compiled import compiled
from virtualvector.jit.struct_table import StructTable
from virtualvector.posterior import Settings, empty_state, gaussian, learn
from virtualvector.posterior.reduction.divergence import measure_divergences
from virtualvector.posterior.reduction.exact_pair import pair_of
from virtualvector.posterior.reduction.merging import (
    best_merge,
    loses_little,
    may_lose_little,
    merge_points,
    propose,
)
from virtualvector.posterior.reduction.pairs import find_closest_pairs
from virtualvector.posterior.residual.full import flush
from virtualvector.posterior.workspace import arguments_for, parts_at


@compiled
def merge_first(address):
    state, settings, work, _ = parts_at(address)
    measure_divergences(state, work)
    merge = best_merge(state, settings, np.inf, 0, work)
    if merge.first >= 0:
        merge_points(state, merge, work)
    flush(state, work)
    return merge.first


def log_posterior(state, weights):
    """log r ∏ f, up to a constant, directly from its definition."""
    n = state.counts[0]
    precision = np.linalg.inv(state.factor.T @ state.factor)
    off = weights - state.mean
    steps = weights @ state.points[:n].T > 0
    factors = np.where(steps, np.log1p(-state.label_noises[:n]), np.log(state.label_noises[:n]))
    return -0.5 * np.einsum("ij,jk,ik->i", off, precision, off) + factors.sum(axis=1)


@pytest.mark.parametrize("label_noise", [1e-6, 0.02, 0.1, 0.3, 0.45])
@pytest.mark.parametrize("d", [2, 6])
def test_merging_equal_rows_is_exact(d, label_noise):
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(4, d))
    rows[3] = rows[2]
    settings = Settings(buffer_size=8, merge_pairs=1, label_noise=label_noise)
    state, _ = learn(empty_state(d, settings), rows, np.array([1.0, -1.0, 1.0, 1.0]), settings)
    weights = rng.normal(size=(50, d))
    before = log_posterior(state, weights)
    arguments = arguments_for(state, settings)
    assert merge_first(StructTable(arguments).address) >= 0
    assert state.counts[0] == 3
    odds = 2 * (math.log(label_noise) - math.log1p(-label_noise))
    merged = state.label_noises[:3].min()
    assert math.log(merged) - math.log1p(-merged) == pytest.approx(odds, rel=1e-12)
    changed = log_posterior(state, weights) - before
    np.testing.assert_allclose(changed - changed.mean(), 0.0, atol=1e-10)


def stream(seed, d, label_noise, n_rows=300):
    rng = np.random.default_rng([seed, d])
    rows = rng.normal(size=(n_rows, d))
    signs = np.sign(rows @ rng.normal(size=d))
    turned = rng.random(n_rows) < label_noise
    return rows, np.where(turned, -signs, signs), turned


@pytest.mark.parametrize("merge_pairs", [0, 5])
@pytest.mark.parametrize(("d", "label_noise"), [(2, 0.1), (2, 0.2), (3, 0.1)])
def test_wrong_labels_do_not_pile_up(d, label_noise, merge_pairs):
    """By their divergence alone, up to 30 of the 40 points would have wrong labels."""
    how = Settings(buffer_size=40, label_noise=label_noise, merge_pairs=merge_pairs)
    adf = Settings(buffer_size=0, merge_pairs=0, max_sweeps=1, label_noise=label_noise)
    for seed in range(6):
        rows, signs, turned = stream(seed, d, label_noise)
        state, events = learn(empty_state(d, how), rows, signs, how)
        _, plain = learn(empty_state(d, adf), rows, signs, adf)
        assert turned[state.row_numbers[: state.counts[0]]].sum() <= 20
        assert events.log_probability.mean() > plain.log_probability.mean() - 0.05
        q = gaussian(state)
        assert q.mean @ q.mean + np.trace(q.covariance) == pytest.approx(d, rel=0.5)


@pytest.mark.parametrize("margin_noise", [0.0, 0.5])
def test_without_label_noise_points_leave_by_their_divergence(margin_noise):
    from virtualvector.kernels.likelihood import expected_divergence, weight_divergence

    for z in np.linspace(-9.0, 9.0, 37):
        assert expected_divergence(z, 0.7, margin_noise, 0.0) == weight_divergence(
            z, 0.7, margin_noise, 0.0
        )


@compiled
def merges_despite(state, settings, limit, work):
    """How many of the closest pairs would be merged that are passed by, and how many at all."""
    measure_divergences(state, work)
    merged = passed = 0
    for k in range(find_closest_pairs(state, settings, work)):
        i, j = work.pairs[k, 0], work.pairs[k, 1]
        pair = pair_of(state, i, j, work)
        merge = propose(pair, i, j)
        if merge.first >= 0 and loses_little(pair, merge, limit):
            merged += 1
            passed += not may_lose_little(pair, limit)
    return passed, merged


@pytest.mark.parametrize("margin_noise", [0.0, 0.1])
@pytest.mark.parametrize("label_noise", [0.01, 0.1, 0.3])
def test_margins_that_often_differ_in_sign_could_not_have_been_merged(label_noise, margin_noise):
    how = Settings(
        buffer_size=12, merge_pairs=20, label_noise=label_noise, margin_noise=margin_noise
    )
    total = 0
    for d in (2, 5):
        rows, signs, _ = stream(1, d, label_noise, n_rows=60)
        state, _ = learn(empty_state(d, how), rows, signs, how)
        work = arguments_for(state, how).work
        for limit in (1e-3, 1e-2, 0.1, 1.0):
            passed, merged = merges_despite(state, how, limit, work)
            assert passed == 0
            total += merged
    assert total > 0
