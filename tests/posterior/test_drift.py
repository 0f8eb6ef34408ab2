"""Weights that drift: against dense formulas, quadrature, and an exact filter on a grid."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from scipy.stats import norm

from tests.posterior.test_identities import NOISES, problem
from tests.posterior.test_robustness import assert_proper, hows, streams
from tests.posterior.test_step import assert_same_bits
from tests.posterior.textbook import folded, tilted_site
from virtualvector.jit.struct_table import StructTable
from virtualvector.posterior import (
    Settings,
    Strategy,
    copy_state,
    empty_state,
    gaussian,
    learn,
    run_ep,
)
from virtualvector.posterior.drift import drift_rows, rows_per_drift
from virtualvector.posterior.workspace import arguments_for


def drifted(state, how):
    """The state after one lump of drift, however many rows it has learned."""
    state = copy_state(state)
    table = StructTable(arguments_for(state, how))
    drift_rows(table.address)
    return state


def kept(half_life, rows):
    """a² over so many rows."""
    return 2.0 ** (-rows / half_life)


def in_order(d, rows, label_noise, **more):
    """A state full of points at a fixed point of EP, which has not forgotten anything."""
    X, y = problem(d - 1, rows, label_noise)
    how = Settings(label_noise=label_noise, tolerance=1e-12, max_sweeps=5000, **more)
    return learn(empty_state(d, how), X, y, how)[0], how


@pytest.mark.parametrize(("margin_noise", "label_noise"), NOISES)
@pytest.mark.parametrize(("d", "half_life"), [(3, 20.0), (6, 1000.0), (20, 100.0)])
def test_without_points_each_lump_is_one_dense_step(d, half_life, margin_noise, label_noise):
    X, y = problem(d - 1, 150, 0.1)
    how = Settings(
        buffer_size=0, half_life=half_life, margin_noise=margin_noise, label_noise=label_noise
    )
    state, _ = learn(empty_state(d, how), X, y, how)
    mean, covariance = np.zeros(d), np.eye(d)
    rows = rows_per_drift(d, half_life)
    assert rows < 150
    a2 = kept(half_life, rows)
    for t, x in enumerate(folded(X, y), start=1):
        image = covariance @ x
        precision, shift = tilted_site(x @ mean, x @ image, margin_noise, label_noise)
        growth = 1 + precision * (x @ image)
        mean = mean + image * (shift - precision * (x @ mean)) / growth
        covariance = covariance - np.outer(image, image) * precision / growth
        if t % rows == 0:
            mean, covariance = math.sqrt(a2) * mean, a2 * covariance + (1 - a2) * np.eye(d)
    found = gaussian(state)
    np.testing.assert_allclose(found.mean, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.covariance, covariance, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("margin_noise", "label_noise"), NOISES)
@pytest.mark.parametrize(("d", "buffer_size"), [(31, 10), (5, 15)])  # both spaces
@pytest.mark.parametrize("half_life", [10.0, 1e4])
def test_the_gaussian_drifts_by_the_formula(d, buffer_size, half_life, margin_noise, label_noise):
    state, how = in_order(d, 100, label_noise, margin_noise=margin_noise, buffer_size=buffer_size)
    how = how._replace(half_life=half_life)
    a2 = kept(half_life, rows_per_drift(d, half_life))
    before, later = gaussian(state), drifted(state, how)
    after = gaussian(later)
    np.testing.assert_allclose(after.mean, math.sqrt(a2) * before.mean, rtol=0, atol=1e-8)
    expected = a2 * before.covariance + (1 - a2) * np.eye(d)
    np.testing.assert_allclose(after.covariance, expected, rtol=0, atol=1e-8)
    # and EP, which knows the true factors, agrees
    settled = gaussian(run_ep(later, how))
    np.testing.assert_allclose(settled.mean, after.mean, rtol=0, atol=1e-7)
    np.testing.assert_allclose(settled.covariance, after.covariance, rtol=0, atol=1e-7)


@pytest.mark.parametrize("label_noise", [0.0, 0.1])
@pytest.mark.parametrize("margin_noise", [1e-3, 0.4])
@pytest.mark.parametrize("half_life", [8.0, 300.0])
def test_the_factor_of_a_point_is_averaged_over_the_drift(half_life, margin_noise, label_noise):
    how = Settings(label_noise=label_noise, margin_noise=margin_noise)
    state, _ = learn(empty_state(3, how), np.array([[1.0, 2.0, -2.0]]), np.ones(1), how)
    later = drifted(state, how._replace(half_life=half_life))
    assert later.counts[0] == 1
    np.testing.assert_array_equal(later.points[0], state.points[0])

    def factor(u, noise):
        return label_noise + (1 - 2 * label_noise) * norm.cdf(u / np.sqrt(noise))

    a2 = kept(half_life, rows_per_drift(3, half_life))
    xi = np.linspace(-9.0, 9.0, 20_001)
    for u in (-2.0, -0.1, 0.3, 1.5):
        seen = factor(np.sqrt(a2) * u + np.sqrt(1 - a2) * xi, state.margin_noises[0])
        average = np.trapezoid(seen * norm.pdf(xi), xi)
        assert factor(u, later.margin_noises[0]) == pytest.approx(average, rel=1e-9)


@pytest.mark.parametrize("how", [Settings(buffer_size=0), Settings(buffer_size=8)])
def test_an_endless_half_life_forgets_nothing(how):
    X, y = problem(5, 300, 0.1)
    how = how._replace(margin_noise=0.3)
    never = gaussian(learn(empty_state(6, how), X, y, how)[0])
    distances = []
    for half_life in (1e3, 1e6, 1e9, 1e300):
        forgetting = how._replace(half_life=half_life)
        found = gaussian(learn(empty_state(6, forgetting), X, y, forgetting)[0])
        distances.append(np.abs(found.covariance - never.covariance).max())
    assert distances[0] > distances[1] >= distances[2] >= distances[3] == 0.0
    assert distances[2] < 1e-5


@pytest.mark.parametrize("buffer_size", [0, 8])
def test_a_tiny_half_life_leaves_the_prior(buffer_size):
    X, y = problem(5, 300, 0.1)
    how = Settings(buffer_size=buffer_size, margin_noise=0.3, half_life=0.05)
    found = gaussian(learn(empty_state(6, how), X, y, how)[0])
    np.testing.assert_allclose(found.mean, 0.0, atol=1e-3)
    np.testing.assert_allclose(found.covariance, np.eye(6), atol=1e-6)


half_lives = st.sampled_from([1e-300, 0.01, 1.0, 3.0, 20.0, 300.0, 1e5, 1e12, 1e300])


@settings(max_examples=400, deadline=None)
@given(stream=streams(), how=hows, half_life=half_lives, bias=st.booleans())
def test_any_finite_stream_gives_a_proper_posterior(stream, how, half_life, bias):
    rows, signs = stream
    how = how._replace(half_life=half_life)
    state, events = learn(empty_state(rows.shape[1] + bias, how), rows, signs, how)
    assert_proper(state, rows, how)
    assert np.all(events.log_probability <= 0)
    assert np.all(np.isfinite(events.log_probability))


@settings(max_examples=200, deadline=None)
@given(stream=streams(), how=hows, half_life=half_lives)
def test_drift_takes_every_variance_towards_the_prior_and_never_beyond(stream, how, half_life):
    rows, signs = stream
    state, _ = learn(empty_state(rows.shape[1], how), rows, signs, how)
    before = gaussian(state)
    after = gaussian(drifted(state, how._replace(half_life=half_life)))
    old, new = (np.linalg.eigvalsh(g.covariance) for g in (before, after))
    assert np.all(new >= np.minimum(old, 1.0) - 1e-6 * np.maximum(old, 1.0))
    assert np.all(new <= np.maximum(old, 1.0) * (1 + 1e-6))
    assert np.linalg.norm(after.mean) <= np.linalg.norm(before.mean) * (1 + 1e-6) + 1e-6


@settings(max_examples=200, deadline=None)
@given(stream=streams(), how=hows, half_life=half_lives)
def test_without_label_noise_no_stream_makes_a_posterior_wider_than_the_prior(
    stream, how, half_life
):
    # With label noise it can be, by Bayes' rule: a surprise may widen what is known.
    rows, signs = stream
    how = how._replace(label_noise=0.0, half_life=half_life)
    state, _ = learn(empty_state(rows.shape[1], how), rows, signs, how)
    assert np.linalg.eigvalsh(gaussian(state).covariance).max() <= 1.001


SETTINGS = [
    Settings(buffer_size=0, half_life=30.0),
    Settings(buffer_size=7, half_life=100.0),
    Settings(buffer_size=7, half_life=100.0, margin_noise=0.5, strategy=int(Strategy.MARGIN)),
    Settings(buffer_size=40, label_noise=0.1, half_life=1000.0),
    Settings(buffer_size=7, strategy=int(Strategy.OLDEST), half_life=10.0),
    Settings(strategy=int(Strategy.NEVER), half_life=50.0),
]


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize("how", SETTINGS)
@settings(max_examples=10, deadline=None)
@given(cuts=st.lists(st.integers(0, 130), max_size=8))
def test_any_split_of_a_stream_gives_the_same_bits(how, d, cuts):
    X, y = problem(d, 130, 0.1)
    whole, events = learn(empty_state(d + 1, how), X, y, how)
    state, pieces = empty_state(d + 1, how), []
    for start, stop in itertools.pairwise([0, *sorted(cuts), 130]):
        state, piece = learn(state, X[start:stop], y[start:stop], how)
        pieces.append(piece)
    assert_same_bits(state, whole)
    for column, together in zip(zip(*pieces, strict=True), events, strict=True):
        assert np.concatenate(column).tobytes() == together.tobytes()


def changing(rows, d, margin_noise, seed):
    """Labels of a linear rule, and the same labels with their meaning swapped half-way."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d))
    margins = X @ rng.normal(size=d) + np.sqrt(margin_noise) * rng.normal(size=rows)
    steady = np.where(margins > 0, 1.0, -1.0)
    return X, steady, np.where(np.arange(rows) < rows // 2, steady, -steady)


def predicted(X, y, how):
    """The log-probability of each label before it was learned; beyond log ½ it was predicted."""
    return learn(empty_state(X.shape[1], how), X, y, how)[1].log_probability


@pytest.mark.parametrize("buffer_size", [0, 10])
@pytest.mark.parametrize("half_life", [300.0, 3000.0])
def test_after_labels_swap_it_learns_like_a_fresh_one(buffer_size, half_life):
    never = Settings(buffer_size=buffer_size, margin_noise=4.0)
    forgetting = never._replace(half_life=half_life)
    errors = {"fresh": [], "forgetting": [], "never": []}
    for seed in range(4):
        X, _, y = changing(4000, 5, 4.0, seed)
        fresh = predicted(X[2000:], y[2000:], never)
        for name, log_p in [
            ("fresh", fresh),
            ("forgetting", predicted(X, y, forgetting)),
            ("never", predicted(X, y, never)),
        ]:
            errors[name].append(np.mean(log_p[-1000:] < math.log(0.5)))
    means = {name: np.mean(values) for name, values in errors.items()}
    assert means["forgetting"] < 1.1 * means["fresh"]
    assert means["never"] > 1.3 * means["fresh"]


@pytest.mark.parametrize("buffer_size", [0, 10])
def test_a_steady_stream_loses_little(buffer_size):
    never = Settings(buffer_size=buffer_size, margin_noise=4.0)
    losses = {}
    for seed, half_life in itertools.product(range(4), (math.inf, 1e5, 3e3)):
        X, y, _ = changing(4000, 5, 4.0, seed)
        losses.setdefault(half_life, []).append(
            -predicted(X, y, never._replace(half_life=half_life))
        )
    reduction = {half_life: np.mean(values) for half_life, values in losses.items()}
    assert reduction[1e5] < 1.003 * reduction[math.inf]
    assert reduction[3e3] < 1.02 * reduction[math.inf]


@functools.cache
def drifting(half_life, margin_noise, label_noise):
    """Rows and labels of weights that drift, and what an exact filter knows after each row."""
    rng = np.random.default_rng(1)
    a = math.sqrt(kept(half_life, 1))
    w, X, y = rng.normal(size=2), rng.normal(size=(400, 2)), np.empty(400)
    for t in range(400):
        flip = -1.0 if rng.random() < label_noise else 1.0
        y[t] = flip * np.sign(X[t] @ w + math.sqrt(margin_noise) * rng.normal())
        w = a * w + math.sqrt(1 - a * a) * rng.normal(size=2)
    return X, y, list(grid_filter(X, y, half_life, margin_noise, label_noise))


def grid_filter(X, y, half_life, margin_noise, label_noise):
    """Exact filtering of two weights on a grid; yields mean and covariance after each row."""
    w = np.linspace(-5.0, 5.0, 141)
    a = math.sqrt(kept(half_life, 1))
    transition = norm.pdf(w[:, None], a * w, math.sqrt(1 - a * a))
    transition /= transition.sum(axis=0)
    grid = np.stack(np.meshgrid(w, w, indexing="ij"))
    p = np.multiply.outer(norm.pdf(w), norm.pdf(w))
    for x, sign in zip(X, y, strict=True):
        margin = sign * np.tensordot(x, grid, axes=1)
        p *= label_noise + (1 - 2 * label_noise) * ndtr(margin / math.sqrt(margin_noise))
        p /= p.sum()
        mean = np.array([np.sum(p * axis) for axis in grid])
        square = np.array([[np.sum(p * one * two) for one in grid] for two in grid])
        yield mean, square - np.outer(mean, mean)
        p = transition @ p @ transition.T


@pytest.mark.parametrize("buffer_size", [0, 10])
@pytest.mark.parametrize(
    ("half_life", "margin_noise", "label_noise"), [(60, 0.3, 0.0), (300, 0.1, 0.0), (150, 0.1, 0.1)]
)
def test_drifting_weights_are_followed_like_by_the_exact_filter(
    buffer_size, half_life, margin_noise, label_noise
):
    X, y, exact = drifting(half_life, margin_noise, label_noise)
    how = Settings(
        buffer_size=buffer_size,
        half_life=half_life,
        margin_noise=margin_noise,
        label_noise=label_noise,
    )
    state, off, spread = empty_state(2, how), [], []
    for t, (mean, covariance) in enumerate(exact):
        state, _ = learn(state, X[t : t + 1], y[t : t + 1], how)
        found = gaussian(state)
        off.append((found.mean - mean) ** 2)
        spread.append([np.trace(covariance), np.trace(found.covariance)])
    true, claimed = np.mean(spread, axis=0)
    # Off by less than a third of the standard deviation, of which it has the right idea.
    assert np.sqrt(2 * np.mean(off)) < 0.33 * math.sqrt(true)
    assert 0.75 < claimed / true < 1.25


def test_a_point_that_has_faded_away_leaves():
    how = Settings(buffer_size=5, half_life=2.0, strategy=int(Strategy.MARGIN))
    X, _ = problem(5, 10, 0.0)
    state, _ = learn(empty_state(5, how), np.vstack([X, np.zeros((60, 5))]), np.ones(70), how)
    assert state.counts[0] == 0
    assert state.counts[1] == 70 == state.counts[2:5].sum()
