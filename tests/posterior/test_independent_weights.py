"""A variance for each weight, matched after each row: AdPredictor."""

import numpy as np
import pytest

from tests.posterior.dense_low_rank import adpredictor
from tests.posterior.test_low_rank import LEARNERS, stream
from virtualvector.posterior import empty_low_rank_state, learn, mean_of, precision_of
from virtualvector.posterior.low_rank_validation import check_low_rank_state


@pytest.mark.parametrize("noise", [0.5, 0.0])
def test_independent_weights_are_those_of_adpredictor(noise):
    rows, signs = stream(60)
    settings = LEARNERS["adf"]._replace(rank=0, independent=True, margin_noise=noise)
    with_bias = np.hstack([rows, np.ones((60, 1))])
    mean, variances, evidence = adpredictor(with_bias, signs, noise)
    state, events = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    assert np.allclose(np.linalg.inv(precision_of(state)), np.diag(variances), rtol=1e-9)
    assert np.allclose(mean_of(state), mean, rtol=1e-9, atol=1e-12)
    assert np.isclose(events.log_probability.sum(), evidence, rtol=1e-9)
    check_low_rank_state(state, settings)


def test_independent_weights_with_label_noise_stay_as_certain_as_the_prior():
    rows, signs = stream(200)
    signs[::7] *= -1.0  # sites of negative precision
    settings = LEARNERS["adf"]._replace(rank=0, independent=True, label_noise=0.05)
    state, _ = learn(empty_low_rank_state(31, settings), rows, signs, settings)
    assert state.diagonal.min() >= 1.0
    check_low_rank_state(state, settings)


@pytest.mark.parametrize("change", [{"rank": 2}, {"rank": -1}, {"buffer_size": 3}])
def test_independent_weights_have_neither_rank_nor_points(change):
    settings = LEARNERS["adf"]._replace(rank=0, independent=True)._replace(**change)
    with pytest.raises(ValueError, match="found independent = True"):
        empty_low_rank_state(5, settings)
