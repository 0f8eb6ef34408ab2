import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from virtualvector.evaluation import (
    brier,
    calibration_error,
    cumulative_error,
    error,
    log_loss,
    measure,
    reliability,
)

CLASSES = np.array(["ham", "spam"])


@pytest.fixture
def binary():
    random = np.random.default_rng(0)
    second = random.uniform(size=500)
    labels = CLASSES[(random.uniform(size=500) < second**2).astype(int)]
    return labels, np.column_stack([1.0 - second, second])


@pytest.fixture
def three():
    random = np.random.default_rng(1)
    return random.integers(0, 3, size=300), random.dirichlet([1.0, 1.0, 1.0], size=300)


def test_errors_are_counted():
    outcomes, predictions = np.array([0, 0, 1, 1, 0]), np.array([1, 0, 1, 0, 0])
    assert error(outcomes, predictions) == 2 / 5
    assert cumulative_error(outcomes, predictions).tolist() == [1 / 1, 1 / 2, 1 / 3, 2 / 4, 2 / 5]


def test_log_loss_and_brier_of_two_classes_follow_their_definitions(binary):
    labels, probabilities = binary
    of_label = np.where(labels == "spam", probabilities[:, 1], probabilities[:, 0])
    assert log_loss(labels, probabilities, CLASSES) == pytest.approx(-np.log(of_label).mean())
    assert brier(labels, probabilities, CLASSES) == pytest.approx(((1.0 - of_label) ** 2).mean())


def test_log_loss_and_brier_of_three_classes_follow_their_definitions(three):
    labels, probabilities = three
    outcomes = np.eye(3)[labels]
    of_label = probabilities[np.arange(300), labels]
    assert log_loss(labels, probabilities, np.arange(3)) == pytest.approx(-np.log(of_label).mean())
    half_squares = 0.5 * ((probabilities - outcomes) ** 2).sum(axis=1)
    assert brier(labels, probabilities, np.arange(3)) == pytest.approx(half_squares.mean())


def test_a_class_that_never_came_still_has_its_column():
    labels, probabilities = np.array([0, 0]), np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])
    assert log_loss(labels, probabilities, np.arange(3)) == pytest.approx(np.log(2.0) / 2)


def test_bins_are_those_of_scikit_learn(binary):
    labels, probabilities = binary
    n_rows, predicted, observed = reliability(labels, probabilities, CLASSES)
    theirs = calibration_curve(labels, probabilities[:, 1], n_bins=15, pos_label="spam")
    assert n_rows.sum() == len(labels)
    np.testing.assert_allclose(observed, theirs[0])
    np.testing.assert_allclose(predicted, theirs[1])


def test_calibration_error_of_two_classes_by_hand():
    # 0.70 and 0.72 share a bin, 0.05 and 1.0 have the first and the last one.
    second = np.array([0.70, 0.72, 0.05, 1.0])
    labels = CLASSES[[1, 0, 0, 1]]
    by_hand = (2 * abs(0.71 - 0.5) + abs(0.05 - 0.0) + abs(1.0 - 1.0)) / 4
    stated = np.column_stack([1.0 - second, second])
    assert calibration_error(labels, stated, CLASSES) == pytest.approx(by_hand)


def test_calibration_error_of_three_classes_is_about_the_most_probable_one(three):
    labels, probabilities = three
    top = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    total = 0.0
    for k in range(15):
        inside = (top >= k / 15) & ((top < (k + 1) / 15) | (k == 14))
        if inside.any():
            total += inside.sum() * abs(top[inside].mean() - right[inside].mean())
    assert calibration_error(labels, probabilities, np.arange(3)) == pytest.approx(total / 300)


def test_without_probabilities_only_the_error_is_measured(binary):
    labels, _ = binary
    assert measure(labels, labels, None, CLASSES) == (0.0, None, None, None)
