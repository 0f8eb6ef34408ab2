"""Posteriors that were learned apart, multiplied."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.posterior.test_robustness import assert_proper, hows, streams
from tests.posterior.textbook import Textbook, ep, folded
from virtualvector.posterior import (
    Settings,
    Strategy,
    empty_state,
    gaussian,
    learn,
    pool,
    pooling,
    shard_start,
)
from virtualvector.posterior.state import LOG_EVIDENCE, POINTS, ROWS
from virtualvector.posterior.validation import check_state

ADF = Settings(buffer_size=0, merge_pairs=0, margin_noise=0.5)
EP = Settings(strategy=int(Strategy.NEVER), merge_pairs=0, margin_noise=0.5, max_sweeps=0)


def rows_and_signs(seed, n, d, noise=0.7):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    signs = np.where(rows[:, 0] - 0.5 * rows[:, 1] + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    return rows, signs


def learned_apart(start, rows, signs, how, n_shards):
    parts = np.array_split(np.arange(len(rows)), n_shards)
    return [learn(start, rows[part], signs[part], how)[0] for part in parts]


def assert_same_gaussian(found, expected, tolerance):
    found, expected = gaussian(found), gaussian(expected)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=0, atol=tolerance)


def assert_same_bits(one, other):
    for name, found, expected in zip(one._fields, one, other, strict=True):
        assert np.array_equal(found, expected), name


@pytest.mark.parametrize("how", [ADF, EP, Settings(buffer_size=6, margin_noise=0.5)])
def test_one_posterior_is_given_back(how):
    prior = empty_state(4, how)
    state, _ = learn(prior, *rows_and_signs(0, 50, 4), how)
    assert_same_bits(pool([state], prior, how), state)
    assert_same_bits(pool([], state, how), state)


@pytest.mark.parametrize("how", [ADF, Settings(buffer_size=6, margin_noise=0.5)])
def test_no_bit_depends_on_the_order_of_shards(how):
    common, _ = learn(empty_state(4, how), *rows_and_signs(0, 30, 4), how)
    shards = learned_apart(common, *rows_and_signs(1, 90, 4), how, 3)
    pooled = pool(shards, common, how)
    assert_same_bits(pool(shards[::-1], common, how), pooled)
    assert_same_bits(pool([shards[1], shards[2], shards[0]], common, how), pooled)


@pytest.mark.parametrize("start", [shard_start, lambda state: state])
@pytest.mark.parametrize("how", [ADF, EP, Settings(buffer_size=100, margin_noise=0.5)])
def test_shards_may_be_pooled_two_at_a_time(how, start):
    common, _ = learn(empty_state(4, how), *rows_and_signs(0, 20, 4), how)
    a, b, c = learned_apart(start(common), *rows_and_signs(1, 60, 4), how, 3)
    together = pool([a, b, c], common, how)
    assert_same_gaussian(pool([pool([a, b], common, how), c], common, how), together, 1e-8)
    assert_same_gaussian(pool([a, pool([b, c], common, how)], common, how), together, 1e-8)


@pytest.mark.parametrize("n_before", [0, 40])
def test_gaussians_are_multiplied_as_in_fifty_digits(n_before):
    common, _ = learn(empty_state(5, ADF), *rows_and_signs(0, n_before, 5), ADF)
    shards = learned_apart(common, *rows_and_signs(1, 300, 5), ADF, 4)
    with mpmath.workdps(50):

        def natural(state):
            factor = mpmath.matrix(state.factor.tolist())
            precision = mpmath.inverse(factor.T * factor)
            return precision, precision * mpmath.matrix(state.mean.tolist())

        precision, linear = (-3 * each for each in natural(common))
        for shard in shards:
            more, further = natural(shard)
            precision, linear = precision + more, linear + further
        covariance = mpmath.inverse(precision)
        mean = np.array((covariance * linear).tolist(), float)[:, 0]
        covariance = np.array(covariance.tolist(), float)
    found = gaussian(pool(shards, common, ADF))
    np.testing.assert_allclose(found.mean, mean, rtol=0, atol=1e-9 * np.abs(mean).max())
    np.testing.assert_allclose(
        found.covariance, covariance, rtol=0, atol=1e-9 * np.abs(covariance).max()
    )


@pytest.mark.parametrize(
    ("noise", "label_noise"), [(0.5, 0.0), (0.0, 0.0), (0.5, 0.02)], ids=["margin", "none", "both"]
)
@pytest.mark.parametrize("d", [3, 60])
@pytest.mark.parametrize("strategy", [Strategy.NEVER, Strategy.DIVERGENCE])
def test_two_shards_that_keep_all_points_are_one_ep_over_all_rows(d, noise, label_noise, strategy):
    how = Settings(
        buffer_size=80, merge_pairs=0, margin_noise=noise, label_noise=label_noise,
        strategy=int(strategy), max_sweeps=1000,
    )  # fmt: skip
    rows, signs = rows_and_signs(2, 40, d, noise)
    prior = empty_state(d, how)
    found = gaussian(pool(learned_apart(prior, rows, signs, how, 2), prior, how))
    mean, covariance = ep(folded(rows, signs, bias=False), noise, label_noise)
    np.testing.assert_allclose(found.mean, mean, atol=1e-6)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-6)


@pytest.mark.parametrize("start", [shard_start, lambda state: state])
def test_points_that_shards_have_lost_are_divided_out_as_the_sites_that_they_had(start):
    how = Settings(buffer_size=6, merge_pairs=0, margin_noise=0.5)
    common, _ = learn(empty_state(4, how), *rows_and_signs(0, 30, 4), how)
    shards = learned_apart(start(common), *rows_and_signs(1, 12, 4), how, 3)

    def points_of(state):
        n = state.counts[POINTS]
        names = ("row_numbers", "points", "margin_noises", "site_precisions", "site_shifts")
        return list(zip(*(getattr(state, name)[:n].tolist() for name in names), strict=True))

    def natural(state):
        precision = np.linalg.inv(state.factor.T @ state.factor)
        return precision, precision @ state.mean

    book = Textbook(4, 0.5)
    book.precision, book.shift = natural(common)
    factors = [(np.array(b), noise) for _, b, noise, *_ in points_of(common)]
    for shard in shards:
        own = points_of(shard)
        for sign, state in ((1, shard), (-1, common)):
            precision, shift = natural(state)
            book.precision, book.shift = (
                book.precision + sign * precision,
                book.shift + sign * shift,
            )
        for number, b, _, t, n in points_of(common):
            if number not in [o[0] for o in own]:
                book.precision = book.precision - t * np.outer(b, b)
                book.shift = book.shift - n * np.array(b)
        factors += [(np.array(b), noise) for number, b, noise, *_ in own if number >= 30]
    for b, noise in factors:  # of unit length, with noise of their own
        book.add(b * np.sqrt(0.5 / noise))
    book.converge()
    mean, covariance = book.gaussian()
    pooled = pool(shards, common, how._replace(buffer_size=50))
    assert pooled.counts[POINTS] == len(factors)
    found = gaussian(pooled)
    np.testing.assert_allclose(found.mean, mean, atol=1e-8)
    np.testing.assert_allclose(found.covariance, covariance, atol=1e-8)


def test_a_shard_without_rows_changes_nothing():
    how = Settings(buffer_size=6, margin_noise=0.5)
    common, _ = learn(empty_state(4, how), *rows_and_signs(0, 30, 4), how)
    state, _ = learn(common, *rows_and_signs(1, 3, 4), how)
    roomy = how._replace(buffer_size=20)
    without = pool([state, common], common, roomy)
    assert_same_gaussian(without, pool([state, common, common], common, roomy), 1e-9)
    assert_same_gaussian(pool([common, common], common, how), common, 2e-3)  # as far as EP had gone


def test_a_start_without_points_says_what_the_points_said():
    how = Settings(buffer_size=6, margin_noise=0.5)
    state, _ = learn(empty_state(9, how), *rows_and_signs(0, 30, 9), how)
    start = shard_start(state)
    check_state(start, how)
    assert start.counts[POINTS] == 0
    assert start.counts[ROWS] == 30
    assert_same_gaussian(start, state, 1e-12)
    rows, signs = rows_and_signs(1, 5, 9)
    probabilities = [
        learn(each, rows[:1], signs[:1], how)[1].log_probability for each in (start, state)
    ]
    np.testing.assert_allclose(*probabilities, atol=1e-9)


@pytest.mark.parametrize("merge_pairs", [0, 5])
@pytest.mark.parametrize("strategy", [Strategy.DIVERGENCE, Strategy.MARGIN, Strategy.OLDEST])
def test_points_beyond_the_buffer_go_and_all_rows_are_counted(strategy, merge_pairs):
    how = Settings(buffer_size=8, margin_noise=0.3, strategy=int(strategy), merge_pairs=merge_pairs)
    common, _ = learn(empty_state(5, how), *rows_and_signs(0, 30, 5), how)
    shards = learned_apart(common, *rows_and_signs(1, 200, 5), how, 4)
    pooled = pool(shards, common, how)
    check_state(pooled, how)
    assert pooled.counts[POINTS] == 8
    assert pooled.counts[ROWS] == 230
    news = sum(shard.sums[LOG_EVIDENCE] - common.sums[LOG_EVIDENCE] for shard in shards)
    assert pooled.sums[LOG_EVIDENCE] == pytest.approx(common.sums[LOG_EVIDENCE] + news, rel=1e-12)
    check_state(learn(pooled, *rows_and_signs(2, 50, 5), how)[0], how)


def test_many_shards_are_pooled_in_groups(monkeypatch):
    monkeypatch.setattr(pooling, "_MOST_POINTS", 24)
    how = Settings(buffer_size=8, margin_noise=0.3)
    common, _ = learn(empty_state(5, how), *rows_and_signs(0, 30, 5), how)
    shards = learned_apart(shard_start(common), *rows_and_signs(1, 200, 5), how, 11)
    in_groups = pool(shards, common, how)
    check_state(in_groups, how)
    assert in_groups.counts[ROWS] == 230
    assert_same_bits(pool(shards[::-1], common, how), in_groups)
    monkeypatch.undo()
    at_once = pool(shards, common, how)
    assert_same_gaussian(in_groups, at_once, 0.02)  # groups lose points earlier
    roomy = how._replace(buffer_size=300)
    assert_same_gaussian(pool(shards, common, roomy), at_once, 0.02)


def test_window_ep_keeps_the_last_rows_of_each_shard():
    how = Settings(buffer_size=6, margin_noise=0.3, strategy=int(Strategy.OLDEST), merge_pairs=0)
    prior = empty_state(5, how)
    rows, signs = rows_and_signs(1, 60, 5)
    pooled = pool(learned_apart(prior, rows, signs, how, 2), prior, how)
    last = rows[[27, 28, 29, 57, 58, 59]] * signs[[27, 28, 29, 57, 58, 59], np.newaxis]
    expected = last / np.linalg.norm(last, axis=1, keepdims=True)
    order = [np.lexsort(each.T) for each in (pooled.points[:6], expected)]
    np.testing.assert_allclose(pooled.points[:6][order[0]], expected[order[1]], atol=1e-12)


def test_contradicting_shards_leave_a_proper_posterior():
    how = Settings(buffer_size=10)
    prior = empty_state(2, how)
    rows = np.array([[1.0, 0.1], [1.0, -0.1], [1.0, 0.0]])
    shards = [learn(prior, rows, sign * np.ones(3), how)[0] for sign in (1.0, -1.0)]
    pooled = pool(shards, prior, how)
    assert_proper(pooled, rows, how)
    check_state(pooled, how)


def test_a_direction_that_would_be_improper_is_as_it_was_in_common():
    how = Settings(buffer_size=0, merge_pairs=0, label_noise=0.1)
    common = empty_state(2, how)
    common.factor[:] = np.diag([1.0, 0.5])
    common.mean[:] = 0.3, 0.2
    shards = [empty_state(2, how) for _ in range(2)]
    for shard, moved in zip(shards, (0.1, -0.3), strict=True):
        shard.factor[:] = np.diag([1.5, 0.25])  # precisions 1/2.25 beside 1, and 16 beside 4
        shard.mean[:] = common.mean + moved
    found = gaussian(pool(shards, common, how))
    np.testing.assert_allclose(found.covariance, np.diag([1.0, 1 / 28]), atol=1e-12)
    np.testing.assert_allclose(found.mean, [0.3, 0.2 + 16 * (0.1 - 0.3) / 28], atol=1e-12)


def test_posteriors_that_drift_are_refused():
    how = Settings(half_life=100.0)
    with pytest.raises(ValueError, match="found half_life = 100; expected none"):
        pool([empty_state(2, how)] * 2, empty_state(2, how), how)


@settings(max_examples=120, deadline=None)
@given(
    stream=streams(), how=hows, cuts=st.lists(st.integers(0, 40), max_size=3), plain=st.booleans()
)
def test_whatever_shards_have_learned_they_are_a_proper_posterior_together(
    stream, how, cuts, plain
):
    rows, signs = stream
    how = how._replace(max_sweeps=min(how.max_sweeps, 5))
    first, *others = np.split(np.arange(len(rows)), sorted(min(c, len(rows)) for c in [0, *cuts]))
    common, _ = learn(empty_state(rows.shape[1], how), rows[first], signs[first], how)
    start = common if plain else shard_start(common)
    shards = [learn(start, rows[other], signs[other], how)[0] for other in others]
    pooled = pool(shards, common, how)
    assert_proper(pooled, rows, how)
    assert pooled.counts[ROWS] == len(rows)
    check_state(pooled, how)
    assert_proper(learn(pooled, rows, signs, how)[0], rows, how)
