"""Eviction and merging keep what the paper says they keep."""

import itertools

import mpmath
import numpy as np
import pytest

from tests.posterior.reducing import count_underrated, merge_closest, reduce_by_one, table_of
from tests.posterior.test_identities import NOISES, problem
from virtualvector.kernels.likelihood import matched_site, weight_divergence
from virtualvector.posterior import Settings, Strategy, copy_state, empty_state, gaussian, learn
from virtualvector.posterior.reduction.merging import most_divergence
from virtualvector.posterior.reduction.reduce import WAS_MERGED
from virtualvector.posterior.state import DIVERGENCE_LOST, EVICTED


def full_buffer(d, n, margin_noise, label_noise, **more):
    """A state whose buffer has one point too many, as right before a reduction."""
    X, y = problem(d, 3 * n, label_noise, seed=d)
    settings = Settings(
        buffer_size=n - 1,
        margin_noise=margin_noise,
        label_noise=label_noise,
        tolerance=1e-12,
        max_sweeps=5000,
        **more,
    )
    # Points are lost until only the last row is left to come, which is then kept.
    state, _ = learn(empty_state(d + 1, settings, capacity=n), X[:-1], y[:-1], settings)
    roomy = settings._replace(buffer_size=n)
    state, _ = learn(state, X[-1:], y[-1:], roomy)
    assert state.counts[0] == n
    return state, settings


@pytest.mark.parametrize(("margin_noise", "label_noise"), NOISES)
@pytest.mark.parametrize(("d", "n"), [(20, 8), (4, 15)])
@pytest.mark.parametrize("strategy", [Strategy.DIVERGENCE, Strategy.MARGIN, Strategy.OLDEST])
def test_eviction_leaves_the_gaussian_unchanged(strategy, d, n, margin_noise, label_noise):
    state, settings = full_buffer(
        d, n, margin_noise, label_noise, strategy=int(strategy), merge_pairs=0
    )
    before, evicted = gaussian(state), state.counts[EVICTED]
    assert not reduce_by_one(state, settings)
    after = gaussian(state)
    assert state.counts[EVICTED] == evicted + 1
    assert state.counts[0] == n - 1
    np.testing.assert_allclose(after.mean, before.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(after.covariance, before.covariance, rtol=0, atol=1e-10)


def by_definition(state, label_noise):
    """The divergence and the margin of each point, with dense inverses."""
    posterior = gaussian(state)
    rows = []
    for b, noise, t, n, row_numbers in zip(
        state.points,
        state.margin_noises,
        state.site_precisions,
        state.site_shifts,
        state.row_numbers,
        strict=True,
    ):
        mean, variance = b @ posterior.mean, b @ posterior.covariance @ b
        cavity_variance = 1 / (1 / variance - t)
        z = cavity_variance * (mean / variance - n) / np.sqrt(cavity_variance + noise)
        kept = weight_divergence(z, cavity_variance, noise, label_noise)
        rows.append((kept, abs(mean) / np.sqrt(variance), row_numbers))
    return np.array(rows).T


@pytest.mark.parametrize(("d", "n"), [(20, 8), (4, 15)])
def test_each_strategy_evicts_its_point(d, n):
    for strategy in (Strategy.DIVERGENCE, Strategy.MARGIN, Strategy.OLDEST):
        state, settings = full_buffer(d, n, 0.2, 0.0, strategy=int(strategy), merge_pairs=0)
        divergences, margins, row_numbers = by_definition(state, 0.0)
        expected = {
            Strategy.DIVERGENCE: np.argmin(divergences),
            Strategy.MARGIN: np.argmax(margins),
            Strategy.OLDEST: np.argmin(row_numbers),
        }[strategy]
        row = state.row_numbers[expected]
        before, lost = set(row_numbers), state.sums[DIVERGENCE_LOST]
        reduce_by_one(state, settings)
        assert before - set(state.row_numbers[: n - 1]) == {row}
        lost = state.sums[DIVERGENCE_LOST] - lost
        assert lost == pytest.approx(divergences[expected], rel=1e-6)


def pair_problem(angle, lengths=(1.0, 1.0), **settings):
    """Two points in the plane, between which the weights are known to lie."""
    settings = Settings(buffer_size=1, merge_pairs=1, tolerance=1e-13, max_sweeps=1000, **settings)
    rows = np.array([[1.0, 0.3], [np.cos(angle), 0.3 + np.sin(angle)]]) * np.array(lengths)[:, None]
    roomy = settings._replace(buffer_size=2)
    state = empty_state(2, settings, capacity=2, margin_space=True)
    state, _ = learn(state, rows, np.ones(2), roomy)
    return state, settings, rows


def exact_moments(rows, margin_noise, label_noise):
    """Mean and covariance of N(0, I)·f₁·f₂ in the plane, in polar coordinates or by the grid.

    Without margin noise the factors depend on the angle of w alone.
    """
    with mpmath.workdps(20):
        if margin_noise == 0:
            cuts = sorted(
                float(a) % (2 * np.pi)
                for x in rows
                for a in (np.arctan2(x[1], x[0]) + np.pi / 2, np.arctan2(x[1], x[0]) - np.pi / 2)
            )
            edges = [cuts[-1] - 2 * np.pi, *cuts]
            moments = np.zeros(6)
            for low, high in itertools.pairwise(edges):
                middle = (low + high) / 2
                direction = np.array([np.cos(middle), np.sin(middle)])
                f = np.prod([1 - label_noise if x @ direction > 0 else label_noise for x in rows])
                s, c = np.sin, np.cos
                first, second = np.sqrt(np.pi / 2), 2.0  # E-integrals of r·r·e^{−r²/2}, r²·r·e^{…}
                moments += f * np.array([
                    high - low,
                    first * (s(high) - s(low)),
                    first * (c(low) - c(high)),
                    second * ((high - low) / 2 + (s(2 * high) - s(2 * low)) / 4),
                    second * (s(high) ** 2 - s(low) ** 2) / 2,
                    second * ((high - low) / 2 - (s(2 * high) - s(2 * low)) / 4),
                ])  # fmt: skip
        else:
            nodes, weights = np.polynomial.hermite_e.hermegauss(160)
            from scipy.stats import norm

            w1, w2 = np.meshgrid(nodes, nodes, indexing="ij")
            f = np.outer(weights, weights)
            for x in rows:
                u = (x[0] * w1 + x[1] * w2) / np.sqrt(margin_noise)
                f = f * (label_noise + (1 - 2 * label_noise) * norm.cdf(u))
            moments = np.array([(f * g).sum() for g in (1, w1, w2, w1 * w1, w1 * w2, w2 * w2)])
    moments = moments / moments[0]
    mean = moments[1:3]
    covariance = np.array([[moments[3], moments[4]], [moments[4], moments[5]]])
    return mean, covariance - np.outer(mean, mean)


@pytest.mark.parametrize("angle", [0.0, 1e-7, 1e-3, 0.1, 0.5])
@pytest.mark.parametrize(
    ("margin_noise", "label_noise"), [(0.0, 0.0), (0.0, 0.1), (2.0, 0.0), (1.0, 0.05)]
)
def test_a_merge_has_the_exact_moments_of_the_pair(angle, margin_noise, label_noise):
    """Eq. 17, with a wide residual so that the two points are all there is to know."""
    noise = {"margin_noise": margin_noise, "label_noise": label_noise}
    state, settings, rows = pair_problem(angle, **noise)
    assert merge_closest(state, settings)
    assert state.counts[0] == 1
    merged = gaussian(state)
    mean, covariance = exact_moments(rows, **noise)
    np.testing.assert_allclose(merged.mean, mean, rtol=0, atol=1e-7)
    np.testing.assert_allclose(merged.covariance, covariance, rtol=0, atol=1e-7)


def test_the_merged_point_is_the_bisector_whatever_the_lengths():
    state, settings, _ = pair_problem(0.5, lengths=(1.0, 100.0), margin_noise=0.5)
    one, two = state.points.copy()
    noises = state.margin_noises.copy()
    assert merge_closest(state, settings)
    bisector = (one + two) / np.linalg.norm(one + two)
    np.testing.assert_allclose(state.points[0], bisector, atol=1e-14)
    noise = np.sqrt(noises).sum() / np.linalg.norm(one + two)
    assert state.margin_noises[0] == pytest.approx(noise**2)


def test_equal_points_merge_without_loss_of_anything_but_one_divergence():
    # Without noise two equal steps are one step: the merge is exact and free.
    state, settings, rows = pair_problem(0.0)
    assert merge_closest(state, settings)
    once, _ = learn(empty_state(2, settings), rows[:1], np.ones(1), settings)
    merged, single = gaussian(state), gaussian(once)
    np.testing.assert_allclose(merged.mean, single.mean, atol=1e-9)
    np.testing.assert_allclose(merged.covariance, single.covariance, atol=1e-9)


def test_merging_wins_where_points_repeat():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 5)), 3, axis=0)[rng.permutation(60)]
    y = np.sign(X @ rng.normal(size=5))
    settings = Settings(buffer_size=10)
    state, events = learn(empty_state(6, settings), X, y, settings)
    assert np.count_nonzero(events.event == WAS_MERGED) > 10
    # and what is kept is closer to EP, which knows all rows, than by eviction alone
    everything = settings._replace(strategy=int(Strategy.NEVER))
    exact = gaussian(learn(empty_state(6, everything), X, y, everything)[0])
    evicting = settings._replace(merge_pairs=0)
    other = gaussian(learn(empty_state(6, evicting), X, y, evicting)[0])

    def distance(g):
        return np.linalg.norm(g.mean - exact.mean)

    assert distance(gaussian(state)) < distance(other)


def test_a_loss_does_not_touch_a_copy():
    state, settings = full_buffer(4, 15, 0.0, 0.0)
    kept = copy_state(state)
    reduce_by_one(state, settings)
    assert kept.counts[0] == 15
    assert not np.array_equal(kept.factor, state.factor)


@pytest.mark.parametrize("margin_noise", [0.0, 0.5])
@pytest.mark.parametrize("spread", [1e-3, 0.1, 1.0])
def test_a_pair_that_is_passed_over_could_not_have_won_without_label_noise(spread, margin_noise):
    rng = np.random.default_rng(0)
    how = Settings(buffer_size=30, margin_noise=margin_noise)
    centres = rng.normal(size=(6, 5))
    total = 0
    for d in (5, 40):  # points as close as the spread, in either space
        rows = np.zeros((60, d))
        rows[:, :5] = centres[rng.integers(6, size=60)]
        rows += spread * rng.normal(size=rows.shape)
        signs = np.where(rows[:, 0] > 0.0, 1.0, -1.0)
        state, _ = learn(empty_state(d, how), rows, signs, how)
        table = table_of(state, how)
        pairs, underrated = count_underrated(table.address)
        total += pairs
        assert underrated == 0
    assert total > 0


@pytest.mark.parametrize("noise", [0.0, 1e-6, 0.01, 0.1, 0.3, 0.5, 0.6, 0.8, 1.0, 2.0, 5.0, 30.0])
def test_no_divergence_is_larger_than_the_bound_from_moments_after_the_factor(noise):
    closest, loosest = np.inf, 0.0
    for z in np.concatenate([-np.logspace(5, 1, 30), np.linspace(-10.0, 3.9, 140)]):
        for variance in np.logspace(-3, 3, 13):
            mean = z * np.sqrt(variance + noise)
            _, precision, shift = matched_site(mean, variance, noise, 0.0)
            room = 1.0 + precision * variance
            after = (mean + shift * variance) / room, variance / room
            most = most_divergence(*after, noise, 0.0)
            ratio = most / weight_divergence(z, variance, noise, 0.0)
            closest = min(closest, ratio)
            if 1.0 <= after[0] / np.sqrt(after[1] + noise) <= 4.0:
                loosest = max(loosest, ratio)
    # Rounding of moments that nearly vanish may take a little.
    assert 1.0 - 1e-6 < closest < 3.0
    assert 1.0 < loosest < 1.5
