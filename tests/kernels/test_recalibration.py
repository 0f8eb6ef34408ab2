"""What recalibrates more than two classes, beside the same written down with precisions."""

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

from virtualvector.kernels.recalibration import (
    LEVELS,
    MOST_LEAD,
    PRECISION,
    SHARE,
    TRUST,
    Recalibration,
    recalibrate,
)

NO_POWERS = np.zeros(0)


def stream(seed, n_rows, n_classes, biases=0.0, power=1.0):
    """Return what somebody says of rows, whose logarithms are off, and what came."""
    rng = np.random.default_rng(seed)
    logs = 2.0 * rng.normal(size=(n_rows, n_classes))
    right = softmax(logs, axis=1)
    came = np.array([rng.choice(n_classes, p=each) for each in right])
    return softmax(power * logs + biases, axis=1), came


def recalibrated(said, came, powers=NO_POWERS, known=None):
    """Return what is said after all, and what was learned."""
    n_classes = said.shape[1]
    known = Recalibration.start(n_classes) if known is None else known
    after = said.copy()
    work = np.zeros((4, max(n_classes, LEVELS)))
    recalibrate(after, came, powers, known, True, work)
    return after, known


def by_precisions(said, came, powers):
    """Do the same with precisions in the place of covariances, and with other formulas."""
    n_rows, n_classes = said.shape
    slopes, precisions = np.zeros((n_classes, 2)), np.full((n_classes, 2, 2), PRECISION * np.eye(2))
    f, precision = np.zeros(LEVELS), PRECISION * np.eye(LEVELS)
    leads, after = np.full(2, logit(TRUST)), np.empty_like(said)
    levels = np.linspace(1.0 / n_classes, 1.0, LEVELS)
    for t in range(n_rows):
        features = np.column_stack([np.log(n_classes * said[t]), np.ones(n_classes)])
        scaled = softmax(np.log(said[t]) + np.sum(slopes * features, axis=1))
        mixed = expit(-leads[0]) * said[t] + expit(leads[0]) * scaled
        top = np.argmax(mixed)
        hats = np.array([np.interp(mixed[top], levels, unit) for unit in np.eye(LEVELS)])
        stated = expit(logit(mixed[top]) + hats @ f)
        moved = mixed * (1.0 - stated) / (1.0 - mixed[top])
        moved[top] = stated
        after[t] = expit(-leads[1]) * mixed + expit(leads[1]) * moved
        y, power = came[t], powers[t]
        leads[0] += power * np.log(scaled[y] / said[t, y])
        leads[1] += power * np.log(moved[y] / mixed[y])
        leads = np.clip(leads, -MOST_LEAD, MOST_LEAD)
        for k in range(n_classes):
            curvature = power * scaled[k] * (1.0 - scaled[k])
            precisions[k] += curvature * np.outer(features[k], features[k])
            error = power * ((k == y) - scaled[k])
            slopes[k] += np.linalg.solve(precisions[k], error * features[k])
        precision += power * stated * (1.0 - stated) * np.outer(hats, hats)
        f += np.linalg.solve(precision, power * ((top == y) - stated) * hats)
    return after, slopes, precisions, f, precision, leads


@pytest.mark.parametrize("n_classes", [3, 8])
def test_covariances_and_precisions_say_the_same(n_classes):
    said, came = stream(0, 300, n_classes, biases=np.linspace(-1.0, 1.0, n_classes), power=1.4)
    powers = np.random.default_rng(1).uniform(0.2, 1.0, 300)
    after, known = recalibrated(said, came, powers)
    expected, slopes, precisions, f, precision, leads = by_precisions(said, came, powers)
    np.testing.assert_allclose(after, expected, rtol=1e-8)
    np.testing.assert_allclose(known.by_class, slopes, atol=1e-9)
    np.testing.assert_allclose(known.class_covariances, np.linalg.inv(precisions), atol=1e-11)
    np.testing.assert_allclose(known.of_likeliest, f, atol=1e-9)
    np.testing.assert_allclose(known.likeliest_covariance, np.linalg.inv(precision), atol=1e-11)
    np.testing.assert_allclose(known.leads, leads, atol=1e-8)


def test_nothing_changes_before_something_is_known_however_unlikely_a_class():
    said = np.array([[0.5, 0.3, 0.2], [1.0 - 2e-12, 1e-12, 1e-12], [1.0, 0.0, 0.0]])
    after = said.copy()
    start = Recalibration.start(3)
    recalibrate(after, np.zeros(3, np.int64), NO_POWERS, start, False, np.zeros((4, LEVELS)))
    np.testing.assert_allclose(after, said, rtol=1e-15)
    assert all(map(np.array_equal, start, Recalibration.start(3)))


def log_loss(said, came):
    return -np.log(said[np.arange(len(came)), came]).sum()


@pytest.mark.parametrize("seed", range(3))
def test_who_is_right_loses_next_to_nothing(seed):
    said, came = stream(seed, 2000, 5)
    after, _ = recalibrated(said, came)
    most = -2.0 * np.log1p(-TRUST) + 2.0 * SHARE * len(came)
    assert log_loss(after, came) <= log_loss(said, came) + most


def test_who_says_some_classes_too_readily_is_corrected():
    biases = np.array([1.0, 0.0, -1.0, 0.5])
    said, came = stream(0, 3000, 4, biases)
    after, known = recalibrated(said, came)
    right, _ = stream(0, 3000, 4)
    gained = log_loss(said, came) - log_loss(after, came)
    assert gained > 0.9 * (log_loss(said, came) - log_loss(right, came))
    assert known.leads[0] > 5.0


def test_rows_and_tables_have_the_same_bits():
    said, came = stream(3, 90, 4, power=1.5)
    at_once, known = recalibrated(said, came)
    others = Recalibration.start(4)
    for t in range(len(came)):
        each, _ = recalibrated(said[t : t + 1], came[t : t + 1], known=others)
        assert np.array_equal(each[0], at_once[t])
    assert all(map(np.array_equal, known, others))
    assert np.array_equal(known.class_covariances, known.class_covariances.swapaxes(1, 2))
    assert np.array_equal(known.likeliest_covariance, known.likeliest_covariance.T)


def test_what_was_called_impossible_may_come():
    said, came = np.tile([1.0, 0.0, 0.0], (50, 1)), np.arange(50) % 3
    after, known = recalibrated(said, came)
    assert np.all((after >= 0.0) & (after <= 1.0))
    assert all(np.isfinite(array).all() for array in known)
    np.testing.assert_allclose(after.sum(axis=1), 1.0)
