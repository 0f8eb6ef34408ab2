"""One row after the other: purity, splits, prediction, growth."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tests.posterior.test_identities import problem
from virtualvector.posterior import (
    Engine,
    Settings,
    Strategy,
    copy_state,
    empty_state,
    gaussian,
    learn,
    mirror,
    standardised_margins,
)
from virtualvector.posterior.low_rank_state import empty_low_rank_state
from virtualvector.posterior.prediction import log_probabilities
from virtualvector.posterior.reduction.reduce import WAS_EVICTED, WAS_IGNORED, WAS_KEPT, WAS_MERGED
from virtualvector.posterior.step import learn_rows
from virtualvector.posterior.validation import check_state

SETTINGS = [
    Settings(buffer_size=0),
    Settings(buffer_size=7),
    Settings(buffer_size=7, margin_noise=0.5, label_noise=0.01, strategy=int(Strategy.MARGIN)),
    Settings(buffer_size=40, label_noise=0.1),
    Settings(buffer_size=7, strategy=int(Strategy.OLDEST)),
    Settings(strategy=int(Strategy.NEVER)),
]


def assert_same_bits(one, other):
    for name, a, b in zip(one._fields, one, other, strict=True):
        assert a.tobytes() == b.tobytes(), name


@pytest.mark.parametrize("how", SETTINGS)
def test_learning_leaves_the_given_state_alone(how):
    X, y = problem(4, 60, 0.1)
    state, _ = learn(empty_state(5, how), X[:30], y[:30], how)
    before = copy_state(state)
    learn(state, X[30:], y[30:], how)
    assert_same_bits(state, before)


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize("how", SETTINGS)
@settings(max_examples=10, deadline=None)
@given(cuts=st.lists(st.integers(0, 130), max_size=8))
def test_any_split_of_a_stream_gives_the_same_bits(how, d, cuts):
    X, y = problem(d, 130, 0.1)
    whole, events = learn(empty_state(d + 1, how), X, y, how)
    state, pieces = empty_state(d + 1, how), []
    edges = [0, *sorted(cuts), 130]
    for start, stop in itertools.pairwise(edges):
        state, piece = learn(state, X[start:stop], y[start:stop], how)
        pieces.append(piece)
    assert_same_bits(state, whole)
    for column, together in zip(zip(*pieces, strict=True), events, strict=True):
        assert np.concatenate(column).tobytes() == together.tobytes()


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize("how", SETTINGS)
def test_row_by_row_gives_the_same_bits(how, d):
    X, y = problem(d, 130, 0.1)
    whole, _ = learn(empty_state(d + 1, how), X, y, how)
    state = empty_state(d + 1, how)
    for t in range(130):
        state, _ = learn(state, X[t : t + 1], y[t : t + 1], how)
    assert_same_bits(state, whole)


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize("how", SETTINGS)
def test_each_row_is_predicted_with_what_was_known_before_it(how, d):
    X, y = problem(d, 60, 0.0)
    state = empty_state(d + 1, how)
    for t in range(60):
        margin = y[t] * standardised_margins(gaussian(state), X[t : t + 1], how.margin_noise)
        expected = np.empty(1)
        log_probabilities(margin, how.label_noise, expected)
        state, events = learn(state, X[t : t + 1], y[t : t + 1], how)
        assert events.log_probability[0] == pytest.approx(expected[0], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("how", SETTINGS)
def test_events_tell_what_became_of_every_row(how):
    X, y = problem(4, 60, 0.1)
    X[7] = 0.0
    state, events = learn(empty_state(4, how), X, y, how)  # no bias: a zero row says nothing
    assert events.event[7] == WAS_IGNORED
    assert events.log_probability[7] == np.log(0.5)
    kinds = [
        np.count_nonzero(events.event == kind)
        for kind in (WAS_KEPT, WAS_EVICTED, WAS_MERGED, WAS_IGNORED)
    ]
    assert sum(kinds) == 60
    assert state.counts[:6].tolist() == [kinds[0], 60, *kinds[1:], events.sweeps.sum()]
    assert state.sums[0] == pytest.approx(events.log_probability.sum())
    assert state.sums[1] == pytest.approx(events.divergence_lost.sum())
    evicted = events.lost_row[events.event == WAS_EVICTED]
    alive = state.row_numbers[: state.counts[0]]
    assert not set(evicted) & set(alive)


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize("how", SETTINGS)
def test_swapping_all_labels_mirrors_the_posterior(how, d):
    X, y = problem(d, 60, 0.1)
    state, _ = learn(empty_state(d + 1, how), X, y, how)
    swapped, _ = learn(empty_state(d + 1, how), X, -y, how)
    for a, b in zip(mirror(state), swapped, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("strategy", [Strategy.DIVERGENCE, Strategy.OLDEST])
def test_memory_is_bounded_by_the_buffer(strategy):
    how = Settings(buffer_size=20, strategy=int(strategy))
    X, y = problem(4, 300, 0.0)
    state, _ = learn(empty_state(5, how), X, y, how)
    assert state.counts[0] == 20
    assert len(state.points) == 21


def test_a_large_buffer_costs_no_memory_before_it_fills():
    how = Settings(buffer_size=10**9)
    X, y = problem(4, 50, 0.0)
    state, _ = learn(empty_state(5, how), X, y, how)
    assert sum(array.nbytes for array in state) < 100_000


def test_settings_of_any_number_type_use_the_same_compiled_code():
    X, y = problem(4, 20, 0.0)
    how = Settings(buffer_size=np.int32(5), strategy=Strategy.MARGIN, tolerance=np.float32(1e-6))
    learn(empty_state(5, how), X, y, Settings(buffer_size=5))
    compiled = list(learn_rows.entry.signatures)
    learn(empty_state(5, how), X.astype(np.float32), y.astype(int), how)
    X.setflags(write=False)
    learn(empty_state(5, how), X, y, how)
    assert learn_rows.entry.signatures == compiled
    assert len({address for address, *_ in compiled}) == len(compiled)  # one for each residual


def test_lengths_of_rows_do_not_matter_without_margin_noise():
    X, y = problem(5, 80, 0.0)
    lengths = 10.0 ** np.random.default_rng(0).uniform(-100, 100, 80)
    how = Settings(buffer_size=10, label_noise=0.2, tolerance=1e-12, max_sweeps=5000)
    plain, _ = learn(empty_state(5, how), X, y, how)
    scaled, _ = learn(empty_state(5, how), X * lengths[:, None], y, how)
    one, other = gaussian(plain), gaussian(scaled)
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-9)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("how", [each for each in SETTINGS if each.label_noise == 0.0])
@pytest.mark.parametrize("margin_noise", [0.0, 0.3])
def test_without_label_noise_the_smaller_kernel_learns_the_same_bits(how, margin_noise):
    how = how._replace(margin_noise=margin_noise)
    rows, signs = problem(5, 60, 0.0, seed=11)
    signs[::9] *= -1.0
    one, other = (
        Engine(empty_state(5, how), how, rows, signs, alone=alone) for alone in (True, False)
    )
    one.learn()
    other.learn()
    assert one._kernel is not other._kernel
    assert_same_bits(one.state, other.state)
    assert_same_bits(one.events, other.events)


def test_points_with_label_noise_are_learned_on_with_as_such():
    noisy, clean = (Settings(buffer_size=6, label_noise=noise) for noise in (0.1, 0.0))
    rows, signs = problem(4, 80, 0.0)
    state, _ = learn(empty_state(4, noisy), rows[:40], signs[:40], noisy)
    engine = Engine(copy_state(state), clean, rows[40:], signs[40:])
    assert engine._kernel is learn_rows


@pytest.mark.parametrize("how", [Settings(buffer_size=0, margin_noise=0.5), SETTINGS[2]])
def test_of_negative_rows_only_those_that_are_not_sure_are_learned(how):
    """Against `learn`, which is given only the others; margins are those of the Gaussian."""
    X, y = problem(5, 200, 0.1)
    sure = 0.8
    engine = Engine(empty_state(6, how), how, X, y, sure=sure)
    engine.learn()
    state, n_ignored = empty_state(6, how), 0
    for t in range(200):
        (margin,) = standardised_margins(gaussian(state), X[t : t + 1], how.margin_noise)
        assert y[t] * engine.events.margin[t] == pytest.approx(margin, rel=1e-6, abs=1e-6)
        if y[t] < 0 and -margin > sure:
            n_ignored += 1
            assert engine.events.event[t] == WAS_IGNORED
        else:
            state, _ = learn(state, X[t : t + 1], y[t : t + 1], how)
    assert 20 < n_ignored < 100
    assert engine.state.counts[[1, 4]].tolist() == [200, n_ignored]
    check_state(engine.state, how)
    expected, found = gaussian(state), gaussian(engine.state)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("label_noise", [0.0, 0.02, 0.3])
@pytest.mark.parametrize("margin_noise", [0.0, 0.1, 3.0])
def test_a_row_moves_the_posterior_by_no_more_than_its_margin_says(label_noise, margin_noise):
    """KL(after ‖ before) of the Gaussians, by the dense formula, and −log Φ(z)."""
    how = Settings(label_noise, margin_noise, buffer_size=0)
    X, y = problem(3, 60, 0.0)
    state, largest = empty_state(4, how), 0.0
    for t in range(60):
        before = gaussian(state)
        state, events = learn(state, X[t : t + 1], y[t : t + 1], how)
        after = gaussian(state)
        ratio = np.linalg.solve(before.covariance, after.covariance)
        step = after.mean - before.mean
        moved = np.trace(ratio) - 4 - np.linalg.slogdet(ratio)[1]
        moved = 0.5 * (moved + step @ np.linalg.solve(before.covariance, step))
        bound = -norm.logcdf(events.margin[0])
        assert moved <= bound * (1 + 1e-9) + 1e-12
        largest = max(largest, moved / bound)
    assert largest > 0.05  # the bound is not idle


@pytest.mark.parametrize(
    "options",
    [
        *SETTINGS,
        Settings(buffer_size=3, margin_noise=0.5, half_life=9.0),
        Settings(buffer_size=3, margin_noise=0.5, rank=2),
    ],
)
def test_who_begins_anew_learns_as_if_nothing_had_been_learned(options):
    """Also where there is more room by now than at first, or another space."""
    X, y = problem(12, 160, 0.1)
    empty = empty_state if options.rank < 0 else empty_low_rank_state
    engine = Engine(empty(12, options), options, X.copy(), y.copy())
    engine.learn()
    engine.learn_anew(30, 100)
    fresh, _ = learn(empty(12, options), X[100:130], y[100:130], options)
    assert_same_bits(engine.state, fresh)
