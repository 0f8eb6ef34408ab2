"""Posteriors over weights in another order."""

import numpy as np
import pytest

from virtualvector.posterior import (
    Settings,
    empty_low_rank_state,
    empty_state,
    gaussian,
    learn,
    mean_of,
    precision_of,
)
from virtualvector.posterior.low_rank_validation import check_low_rank_state
from virtualvector.posterior.permutation import permuted


@pytest.mark.parametrize("buffer_size", [0, 3, 12])  # without points, and in weight space
@pytest.mark.parametrize("label_noise", [0.0, 0.1])
def test_it_is_the_posterior_of_rows_whose_columns_are_in_that_order(buffer_size, label_noise):
    settings = Settings(buffer_size=buffer_size, margin_noise=0.3, label_noise=label_noise)
    rng = np.random.default_rng(0)
    rows, order = rng.normal(size=(60, 6)), [3, 0, 5, 1, 4, 2]
    signs = np.sign(rows[:, 0] + rng.normal(size=60))
    state, _ = learn(empty_state(6, settings), rows[:40], signs[:40], settings)
    expected, _ = learn(empty_state(6, settings), rows[:40, order], signs[:40], settings)
    found = permuted(state, order)
    for _ in range(2):  # and it goes on learning
        np.testing.assert_allclose(gaussian(found).mean, gaussian(expected).mean, atol=1e-9)
        np.testing.assert_allclose(
            gaussian(found).covariance, gaussian(expected).covariance, atol=1e-9
        )
        assert np.array_equal(np.triu(found.factor, 1), np.zeros((6, 6)))
        found, _ = learn(found, rows[40:, order], signs[40:], settings)
        expected, _ = learn(expected, rows[40:, order], signs[40:], settings)


@pytest.mark.parametrize("buffer_size", [0, 3])
@pytest.mark.parametrize("rank", [0, 2])
def test_so_it_is_of_low_rank(buffer_size, rank):
    settings = Settings(buffer_size=buffer_size, margin_noise=0.3, rank=rank)
    rng = np.random.default_rng(0)
    rows, order = rng.normal(size=(160, 6)) * (rng.random((160, 6)) < 0.5), [3, 0, 5, 1, 4, 2]
    signs = np.sign(rows[:, 0] + rng.normal(size=160))
    state, _ = learn(empty_low_rank_state(6, settings), rows[:100], signs[:100], settings)
    prior = empty_low_rank_state(6, settings)
    expected, _ = learn(prior, rows[:100, order], signs[:100], settings)
    found = permuted(state, order)
    for _ in range(2):  # and it goes on learning
        np.testing.assert_allclose(mean_of(found), mean_of(expected), atol=1e-9)
        np.testing.assert_allclose(precision_of(found), precision_of(expected), rtol=1e-9)
        check_low_rank_state(found, settings)
        found, _ = learn(found, rows[100:, order], signs[100:], settings)
        expected, _ = learn(expected, rows[100:, order], signs[100:], settings)
