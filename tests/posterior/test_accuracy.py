"""How close the learners come to the true posterior mean, where that is known exactly."""

import numpy as np
import pytest

from tests.posterior.cone import posterior_mean, separable_problem
from virtualvector.posterior import Settings, Strategy, empty_state, gaussian, learn, run_ep


def test_the_exact_mean_agrees_with_rejection_sampling():
    points = np.array([[1.0, 0.2, 0.1], [0.1, 1.0, 0.3], [0.2, -0.3, 1.0], [0.5, 0.5, 0.5]])
    weights = np.random.default_rng(0).normal(size=(1_000_000, 3))
    inside = weights[(weights @ points.T > 0).all(axis=1)]
    error = inside.std(axis=0) / np.sqrt(len(inside))
    assert np.all(np.abs(inside.mean(axis=0) - posterior_mean(points)) < 4 * error)


@pytest.fixture(scope="module")
def means():
    """The exact posterior mean and those of the learners, on 20 separable problems of 300 rows."""
    rng = np.random.default_rng(0)
    ep = Settings(strategy=int(Strategy.NEVER), tolerance=1e-8, max_sweeps=1000)
    learners = {
        "VVM(40)": Settings(buffer_size=40),
        "VVM(10)": Settings(buffer_size=10),
        "window-EP(40)": Settings(buffer_size=40, strategy=int(Strategy.OLDEST)),
        "ADF": Settings(buffer_size=0),
    }
    means = {name: [] for name in ("exact", "EP", *learners)}
    for _ in range(20):
        rows, signs, points = separable_problem(rng)
        means["exact"].append(posterior_mean(points))
        state, _ = learn(empty_state(3, ep), rows, signs, ep._replace(max_sweeps=0))
        means["EP"].append(gaussian(run_ep(state, ep)).mean)
        for name, how in learners.items():
            means[name].append(gaussian(learn(empty_state(3, how), rows, signs, how)[0]).mean)
    return {name: np.array(rows) for name, rows in means.items()}


@pytest.fixture(scope="module")
def errors(means):
    """The mean squared error of each learner."""
    return {name: np.mean((mean - means["exact"]) ** 2) for name, mean in means.items()}


def test_ep_is_close_to_the_exact_mean(errors):
    # The mean has a length of about 1.5; EP is off by some per cent, mostly in the length.
    assert errors["EP"] < 0.005


def test_forty_virtual_points_are_as_good_as_ep(errors):
    assert errors["VVM(40)"] < 1.15 * errors["EP"]


def test_more_memory_gives_a_better_direction(means):
    # The length of the weights is left open by rows without noise; their direction decides.
    directions = {
        name: mean / np.linalg.norm(mean, axis=1, keepdims=True) for name, mean in means.items()
    }
    error = {name: np.mean((d - directions["exact"]) ** 2) for name, d in directions.items()}
    assert error["EP"] < 1.1 * error["VVM(40)"]
    assert error["VVM(40)"] < error["VVM(10)"] < error["ADF"]


def test_a_window_and_adf_are_much_worse_than_virtual_points(errors):
    assert errors["window-EP(40)"] > 2.5 * errors["VVM(40)"]
    assert errors["ADF"] > 2.5 * errors["VVM(40)"]
