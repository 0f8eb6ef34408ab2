"""Weights are Bayes' rule with a fixed share, whatever the experts say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtualvector.kernels.mixing import mix
from virtualvector.posterior import WHOLE


def mixed_by_hand(predictions, observed, powers, weights, share):
    """Bayes' rule and the share, in plain numpy."""
    mixed = []
    for t, label in enumerate(observed):
        mixed.append(weights @ predictions[:, t])
        weights = weights * predictions[:, t, label] ** powers[t]
        weights = (1 - share) * weights / weights.sum() + share / len(weights)
    return np.array(mixed), weights


def random_case(seed, n_experts=4, n_rows=30, n_classes=3):
    rng = np.random.default_rng(seed)
    predictions = rng.dirichlet(np.ones(n_classes), size=(n_experts, n_rows))
    observed = rng.integers(n_classes, size=n_rows)
    return predictions, observed, rng.dirichlet(np.ones(n_experts))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_weights_follow_bayes_rule_with_a_share(seed, share, whole):
    predictions, observed, weights = random_case(seed)
    powers = np.ones(30) if whole else np.random.default_rng(seed).uniform(0.01, 1.0, 30)
    expected_mix, expected_weights = mixed_by_hand(predictions, observed, powers, weights, share)
    mixed, evidence = np.empty(predictions.shape[1:]), np.zeros(len(weights))
    tally = np.array([1.0, 2.0])
    mix(predictions, observed, WHOLE if whole else powers, weights, evidence, share, tally, mixed)
    np.testing.assert_allclose(mixed, expected_mix, rtol=1e-12)
    np.testing.assert_allclose(weights, expected_weights, rtol=1e-10)
    rows = np.arange(len(observed))
    np.testing.assert_allclose(evidence, np.log(predictions[:, rows, observed]) @ powers)
    losses = -np.log(expected_mix)
    expected = np.sum(expected_mix * losses, axis=1)
    variance = np.sum(expected_mix * losses**2, axis=1) - expected**2
    assert tally[0] == pytest.approx(1.0 + np.sum(powers * (losses[rows, observed] - expected)))
    assert tally[1] == pytest.approx(2.0 + np.sum(powers**2 * variance))


@pytest.mark.parametrize("seed", range(5))
def test_the_mix_loses_little_more_than_the_best_expert(seed):
    predictions, observed, _ = random_case(seed, n_experts=6, n_rows=200)
    weights, evidence = np.full(6, 1 / 6), np.zeros(6)
    share = 1e-4
    mixed = np.empty(predictions.shape[1:])
    mix(predictions, observed, WHOLE, weights, evidence, share, np.zeros(2), mixed)
    loss = -np.log(mixed[np.arange(200), observed]).sum()
    assert loss <= -evidence.max() + np.log(6) - 200 * np.log(1 - share)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-300, 1.0]))
def test_experts_that_were_sure_and_wrong_leave_weights_finite(seed, least):
    predictions, observed, weights = random_case(seed, n_experts=3, n_rows=10, n_classes=2)
    predictions = np.clip(np.round(predictions), least, 1.0)
    mix(predictions, observed, WHOLE, weights, np.zeros(3), 1e-4, np.zeros(2), np.empty((10, 2)))
    assert np.all(np.isfinite(weights))
    assert weights.sum() == pytest.approx(1)
