"""What is said of many rows: by the formula, and with the bits that each row has alone."""

import numpy as np
import pytest

from virtualvector.posterior import (
    Engine,
    Predictor,
    Settings,
    empty_state,
    gaussian,
    learn,
    predicted_margins,
    standardised_margins,
)

NOISE = 0.1
MOST = 33  # rows: four tiles and one row


def learned(d, buffer_size):
    rng = np.random.default_rng(d)
    settings = Settings(buffer_size=buffer_size, margin_noise=NOISE)
    X = rng.normal(size=(60, d))
    signs = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0.0, 1.0, -1.0)
    state, _ = learn(empty_state(d, settings), X, signs, settings)
    return state, settings, rng.normal(size=(MOST, d)) * 10.0 ** rng.integers(-3, 4, (MOST, 1))


@pytest.mark.parametrize("d", [1, 2, 7, 64, 200])
@pytest.mark.parametrize("buffer_size", [0, 5, 40])  # ADF, margin space, and weight space if d < 20
def test_a_row_has_the_same_bits_alone_and_in_tables_of_any_length(d, buffer_size):
    state, settings, rows = learned(d, buffer_size)
    row = np.zeros((1, d))
    engine = Engine(state, settings, row, np.ones(1))
    alone = np.empty(MOST)
    for t in range(MOST):
        row[0] = rows[t]
        alone[t] = engine.predict()
    predictor = Predictor(engine.state, NOISE)
    for n_rows in range(1, MOST + 1):
        np.testing.assert_array_equal(predictor.margins(rows[:n_rows]), alone[:n_rows])
        found = predicted_margins(engine.state, rows[:n_rows], NOISE)
        np.testing.assert_array_equal(found, alone[:n_rows])
        found = predicted_margins(engine.state, rows[-n_rows:], NOISE)
        np.testing.assert_array_equal(found, alone[-n_rows:])


@pytest.mark.parametrize("d", [1, 2, 7, 64, 200])
@pytest.mark.parametrize("buffer_size", [0, 5, 40])
def test_margins_of_a_table_are_means_over_standard_deviations(d, buffer_size):
    state, _, rows = learned(d, buffer_size)
    known = gaussian(state)
    variances = np.einsum("ti,ij,tj->t", rows, known.covariance, rows)
    expected = rows @ known.mean / np.sqrt(variances + NOISE)
    for found in (
        predicted_margins(state, rows, NOISE),
        standardised_margins(known, rows, NOISE),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)
