"""Welford's recursion against NumPy on all values at once."""

import numpy as np
import pytest

from virtualvector.kernels.scaling import running_deviation, running_mean, running_square


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_both_forms_give_the_mean_and_the_deviation_of_all_values(offset):
    values = np.random.default_rng(0).normal(offset, 3.0, size=(500, 2))
    mean, deviation, square = np.zeros(2), np.zeros(2), 0.0
    for count, value in enumerate(values, start=1):
        apart = value - mean
        mean = running_mean(mean, apart, count)
        deviation = running_deviation(deviation, apart, count)
        square = running_square(square, apart[0], count)
        np.testing.assert_allclose(mean, values[:count].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(deviation, values[:count].std(axis=0), rtol=1e-9, atol=1e-9)
        assert square == pytest.approx(values[:count, 0].var(), rel=1e-9, abs=1e-9)


def test_deviations_whose_squares_are_no_numbers_are_found():
    values = np.array([1e300, -1e300, 3e300])
    mean, deviation = np.zeros(1), np.zeros(1)
    for count, value in enumerate(values, start=1):
        apart = value - mean
        mean, deviation = (
            running_mean(mean, apart, count),
            running_deviation(deviation, apart, count),
        )
    assert deviation[0] == pytest.approx(1e300 * np.std([1.0, -1.0, 3.0]))
