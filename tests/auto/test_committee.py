"""Who is awake, who grows, and what a change of the stream does."""

import numpy as np
import pytest

from virtualvector import AutoVVMClassifier
from virtualvector.auto import decisions, learning
from virtualvector.auto.committee import BLOCK, Committee
from virtualvector.auto.decisions import FEWEST
from virtualvector.auto.drift import DriftDetector
from virtualvector.auto.experts import DEFAULT, affordable_frequencies, usual_budget
from virtualvector.auto.feature_space import FeatureSpace
from virtualvector.auto.working import WorkingCommittee
from virtualvector.concurrency import Team
from virtualvector.kernels import calibration
from virtualvector.learners.expert import Expert
from virtualvector.posterior import WHOLE, Settings, empty_state, gaussian, learn, with_more_weights

TWO = np.array([0, 1])


def linear_stream(n_rows, seed=0, swap=None, noise=0.3, n_inputs=4):
    """A plane with noise; from row ``swap`` on, labels mean the opposite."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_inputs))
    margins = rows @ np.linspace(1.0, -1.0, n_inputs) + noise * rng.normal(size=n_rows)
    labels = (margins > 0).astype(int)
    if swap is not None:
        labels[swap:] = 1 - labels[swap:]
    return rows, labels


def committee(experts=DEFAULT, n_inputs=4, n_frequencies=20, budget=4e5, classes=TWO):
    return Committee.start(
        experts, FeatureSpace(n_inputs, n_inputs, n_frequencies, budget), classes
    )


def learn_rows(before, rows, labels):
    """Return what a committee has become, and what it said of rows before it learned them."""
    working = WorkingCommittee(before)
    with Team(1) as team:
        predictions = learning.learn(working, rows, labels, team)
    return working.known, predictions


def error(predictions, labels, part=slice(None)):
    return np.mean(predictions[part].argmax(axis=1) != labels[part])


def test_few_are_awake_after_five_thousand_rows_of_a_steady_stream():
    rows, labels = linear_stream(5120)
    learned, _ = learn_rows(committee(), rows, labels)
    assert learned.awake.sum() <= FEWEST * len(learned.experts)
    assert learned.calm_since == 0
    assert learned.weights[learned.awake].sum() == pytest.approx(1)
    assert not learned.weights[~learned.awake].any()


def test_those_asleep_learn_nothing():
    rows, labels = linear_stream(2000)
    learned, _ = learn_rows(committee(), rows[:1500], labels[:1500])
    later, _ = learn_rows(learned, rows[1500:], labels[1500:])
    for e in np.flatnonzero(~learned.awake):
        assert later.posteriors[e] is learned.posteriors[e]
        assert later.evidence[e] == learned.evidence[e]


def test_after_labels_swap_it_does_as_well_as_one_that_begins_there():
    rows, labels = linear_stream(4000, swap=2000)
    learned, predictions = learn_rows(committee(), rows, labels)
    assert 2000 < learned.calm_since <= 2000 + 2 * BLOCK
    _, fresh = learn_rows(committee(), rows[2000:], labels[2000:])
    quarter = error(predictions, labels, slice(3000, None))
    assert quarter <= 1.2 * error(fresh, labels[2000:], slice(1000, None))


def test_the_option_to_forget_costs_little_on_a_steady_stream(monkeypatch):
    rows, labels = linear_stream(4000)
    _, predictions = learn_rows(committee(), rows, labels)
    monkeypatch.setattr(decisions, "HALF_LIVES", (1e15,))  # nobody forgets
    _, without = learn_rows(committee(), rows, labels)
    t = np.arange(4000)
    loss, loss_without = (-np.log(p[t, labels]).mean() for p in (predictions, without))
    assert loss < 1.01 * loss_without


def test_the_best_grows_within_the_budget_and_keeps_what_it_knows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 2))
    labels = (np.sum(rows**2, axis=1) > 1.4).astype(int)
    start = committee(n_inputs=2)
    learned, _ = learn_rows(start, rows, labels)
    best = learned.experts[int(np.argmax(learned.weights))]
    assert best.bandwidth is not None
    assert best.detail > 1
    assert learned.operations <= start.feature_space.budget


def test_more_weights_are_as_if_rows_had_had_zeros_there():
    rng = np.random.default_rng(1)
    rows, signs = rng.normal(size=(30, 3)), rng.choice([-1.0, 1.0], 30)
    settings = Settings(buffer_size=4, margin_noise=0.5)
    narrow, _ = learn(empty_state(4, settings), rows, signs, settings)
    wide_rows = np.hstack([rows, np.zeros((30, 2))])
    wide, _ = learn(empty_state(6, settings), wide_rows, signs, settings)
    widened = gaussian(with_more_weights(narrow, 3, 2))
    np.testing.assert_allclose(widened.mean, gaussian(wide).mean, atol=1e-9)
    np.testing.assert_allclose(widened.covariance, gaussian(wide).covariance, atol=1e-9)


def test_inputs_that_come_later_are_as_if_there_had_always_been_room_for_them():
    rows, labels = linear_stream(400, n_inputs=9)
    rows[:60, 3:] = 0.0
    rows[:200, 5:] = 0.0
    experts = (Expert(None, 1.0, buffer_size=4), Expert(1.0, 0.1), Expert(0.5, 0.1, detail=2))
    narrow = Committee.start(experts, FeatureSpace(3, 9.0, 10, 4e5, most_inputs=9), TWO)
    wide = Committee.start(experts, FeatureSpace(9, 9.0, 10, 4e5), TWO)
    later, predictions = learn_rows(narrow, rows, labels)
    _, expected = learn_rows(wide, rows, labels)
    assert later.feature_space.n_inputs == 9
    np.testing.assert_allclose(predictions, expected, atol=1e-9)


def test_what_more_detail_sees_comes_behind_what_was_seen_before():
    feature_space = FeatureSpace(3, 3.0, 10, 1e6)
    expert = Expert(1.0, 0.1)
    inputs = np.random.default_rng(2).normal(size=(5, 3))
    sights = feature_space.view(expert), feature_space.view(expert._replace(detail=3))
    less, more = (
        feature_space.look(sights[:1], inputs)[sights[0]],
        feature_space.look(sights, inputs)[sights[1]],
    )
    assert more.shape[1] + 1 == feature_space.n_weights(expert._replace(detail=3))
    np.testing.assert_array_equal(more[:, : less.shape[1]], less)


@pytest.mark.parametrize("n_inputs", [2, 60])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_waves_fit_the_budget(n_inputs, n_classes):
    budget = 10 * usual_budget(n_inputs, n_classes)
    n_frequencies = affordable_frequencies(DEFAULT, n_inputs, n_classes, budget)
    feature_space = FeatureSpace(n_inputs, n_inputs, n_frequencies, budget)
    assert sum(feature_space.operations(expert, n_classes) for expert in DEFAULT) <= budget


def test_no_block_costs_more_than_the_budget_once_all_have_shown_what_they_can():
    rows, labels = linear_stream(1000)
    tight = committee(n_frequencies=60, budget=1e5)
    assert tight.operations > 1e5
    learned, _ = learn_rows(tight, rows, labels)
    assert learned.operations <= 1e5


def test_surprises_that_were_to_be_expected_are_no_alarm():
    rng = np.random.default_rng(3)
    detector, alarms = DriftDetector(), 0
    for _ in range(1000):
        p = rng.uniform(0.5, 1.0, BLOCK)
        observed = rng.random(BLOCK) < p
        losses = -np.log(np.where(observed, p, 1 - p))
        expected = -p * np.log(p) - (1 - p) * np.log(1 - p)
        square = p * np.log(p) ** 2 + (1 - p) * np.log(1 - p) ** 2
        detector, alarm = detector._replace(
            excess=np.sum(losses - expected), variance=np.sum(square - expected**2)
        ).end_block()
        alarms += alarm
    assert alarms == 0


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_a_mix_that_is_too_bold_or_too_shy_is_corrected(power):
    rng = np.random.default_rng(4)
    true = rng.uniform(0.02, 0.98, 4000)
    observed = (rng.random(4000) < true).astype(np.int64)
    odds = (true / (1 - true)) ** power
    mixed = np.column_stack([1 / (1 + odds), odds / (1 + odds)])
    stated = np.empty_like(mixed)
    weights = calibration.first_weights()
    ways = (calibration.SOURCES, calibration.POWERS, calibration.SHARES)
    calibration.correct(
        np.array([mixed, mixed]), observed, WHOLE, *ways, weights, weights.copy(),
        calibration.SHARE, calibration.RESTLESS, 0.0, True, np.empty((len(weights), 2)), stated,
    )  # fmt: skip
    late, t = slice(2000, None), np.arange(2000, 4000)
    best = -np.log(np.where(observed == 1, true, 1 - true)[late]).mean()
    assert -np.log(stated[t, observed[late]]).mean() < 1.01 * best
    assert -np.log(mixed[t, observed[late]]).mean() > 1.03 * best
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(stated.sum(axis=1), 1)


def test_corrections_cost_next_to_nothing_where_none_are_needed():
    rng = np.random.default_rng(5)
    p = rng.uniform(0.02, 0.98, 3000)
    observed = (rng.random(3000) < p).astype(np.int64)
    mixed, stated = np.column_stack([1 - p, p]), np.empty((3000, 2))
    weights = calibration.first_weights()
    ways = (calibration.SOURCES, calibration.POWERS, calibration.SHARES)
    calibration.correct(
        np.array([mixed, mixed]), observed, WHOLE, *ways, weights, weights.copy(),
        calibration.SHARE, calibration.RESTLESS, 0.0, True, np.empty((len(weights), 2)), stated,
    )  # fmt: skip
    t = np.arange(3000)
    extra = np.log(mixed[t, observed]).sum() - np.log(stated[t, observed]).sum()
    # Bayes' rule: no more than the trust that was not put into leaving it as it is, and the share.
    trust = calibration.TRUST_IN_MIX + calibration.TRUST_IN_POOL  # which say the same here
    given = np.maximum(calibration.SHARE, calibration.RESTLESS / (t + 10))
    assert extra < -np.log(trust) - np.log(1 - given * (1 - trust)).sum()


def test_probabilities_are_at_most_one_and_sum_to_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    for n_classes in (1, 2, 3, 10):
        y = rng.integers(n_classes, size=400)
        model = AutoVVMClassifier()
        predictions = model.predict_then_learn(X, y).probabilities
        for probabilities in (predictions, model.predict_proba(X)):
            assert probabilities.max() <= 1.0
            np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=0, atol=4e-16)
