"""A million rows: nothing drifts, nothing grows."""

import json
import os

import numpy as np
import pytest

from tests import forking
from virtualvector.posterior import Settings, empty_state, learn
from virtualvector.posterior.reduction.reduce import WAS_EVICTED

D, ROWS, BATCH = 20, 1_000_000, 100_000
FEW = 500  # whose sum is as good as exact


def batch(number):
    """Noisy labels of a linear rule; the same rows whenever they are asked for."""
    rng = np.random.default_rng(number)
    rows = rng.normal(size=(BATCH, D))
    rule = np.random.default_rng(7).normal(size=D)
    return rows, np.where(rows @ rule + rng.normal(size=BATCH) > 0, 1.0, -1.0)


@pytest.mark.parametrize("buffer_size", [0, 10])
def test_a_million_rows_keep_the_covariance_of_the_sum_of_what_was_absorbed(buffer_size):
    how = Settings(buffer_size=buffer_size, margin_noise=0.5, merge_pairs=0, tolerance=1e-3)
    state = empty_state(D, how)
    precision = np.eye(D, dtype=np.longdouble)
    shift = np.zeros(D, dtype=np.longdouble)
    earlier = np.zeros((0, D))
    for number in range(ROWS // BATCH):
        rows, signs = batch(number)
        state, events = learn(state, rows, signs, how)
        # The rebuilt residual: I plus every absorbed site, summed in extended precision.
        points = rows * (signs / np.linalg.norm(rows, axis=1))[:, None]
        recent = np.vstack([earlier, points])
        first = number * BATCH - len(earlier)
        lost = events.event == WAS_EVICTED
        absorbed = recent[events.lost_row[lost] - first]
        sites = np.column_stack([events.precision, events.shift])[lost]
        for k in range(0, len(absorbed), FEW):
            b, (precisions, shifts) = absorbed[k : k + FEW], sites[k : k + FEW].T
            precision += (b.T * precisions) @ b
            shift += shifts @ b
        earlier = recent[min(state.row_numbers[: state.counts[0]], default=len(recent)) - first :]
    assert state.counts[1] == ROWS

    covariance = np.linalg.inv(precision.astype(float)).astype(np.longdouble)
    for _ in range(3):  # Newton's iteration takes the inverse to extended precision
        covariance = covariance @ (2 * np.eye(D) - precision @ covariance)
    found = state.factor.T @ state.factor
    assert np.abs(found / covariance - 1)[np.diag_indices(D)].max() < 1e-6
    assert np.abs(found - covariance).max() < 1e-6 * np.abs(covariance).max()
    assert np.abs(state.mean - covariance @ shift).max() < 1e-6 * np.abs(state.mean).max()


SCRIPT = """
import json
import numpy as np
from virtualvector import VVMClassifier

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

rng = np.random.default_rng(0)
rows = rng.normal(size=(10_000, 20))
labels = (rows[:, 0] + rng.normal(size=10_000) > 0).astype(int)
model = VVMClassifier(buffer_size=10, margin_noise=0.5, tol=1e-3)
sizes = []
for call in range(30):
    model.partial_fit(rows, labels, classes=[0, 1])
    model.predict_proba(rows[:100])
    sizes.append(resident())
print(json.dumps({"after 50,000": sizes[4], "after 300,000": sizes[-1], "seen": model.n_seen_}))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux' /proc")
def test_the_memory_of_the_process_does_not_grow_with_the_stream():
    done = forking.run(SCRIPT)
    assert done.code == 0, done.err
    measured = json.loads(done.out)
    assert measured["seen"] == 300_000
    assert measured["after 300,000"] - measured["after 50,000"] < 2_000_000


@pytest.mark.parametrize("merge_pairs", [0, 5])
@pytest.mark.parametrize("d", [5, 40])
def test_what_is_updated_stays_what_its_definition_says(d, merge_pairs):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, d))[rng.integers(40, size=5000)]  # with repeated rows
    rows += 1e-3 * rng.normal(size=rows.shape)
    signs = np.where(rows[:, 0] + 0.3 * rng.normal(size=5000) > 0, 1.0, -1.0)
    how = Settings(buffer_size=15, margin_noise=1e-3, label_noise=0.1, merge_pairs=merge_pairs)
    state, _ = learn(empty_state(d, how), rows, signs, how)
    n = state.counts[0]
    points, covariance = state.points[:n], state.factor.T @ state.factor
    sites = state.site_precisions[:n], state.site_shifts[:n]
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, rtol=1e-12)
    if merge_pairs:
        assert state.counts[3] > 0
        squared = np.sum((points[:, None] - points) ** 2, axis=2)
        np.testing.assert_allclose(state.distances[:n, :n], squared, atol=1e-14)
    precision = np.linalg.inv(covariance) + (points.T * sites[0]) @ points
    mean = np.linalg.solve(precision, np.linalg.solve(covariance, state.mean) + points.T @ sites[1])
    if state.gram.size:
        np.testing.assert_allclose(state.products[:, :n], state.factor @ points.T, atol=1e-11)
        np.testing.assert_allclose(state.gram[:n, :n], points @ covariance @ points.T, atol=1e-11)
        under = points @ np.linalg.solve(precision, points.T)
        np.testing.assert_allclose(state.covariances[:n, :n], under, atol=1e-10)
        np.testing.assert_allclose(state.margins[:n], points @ mean, atol=1e-9)
    else:
        found = state.weight_factor.T @ state.weight_factor
        np.testing.assert_allclose(found, np.linalg.inv(precision), atol=1e-11)
        np.testing.assert_allclose(state.weight_mean, mean, atol=1e-9)
