"""One pass that predicts and learns says what predicting before learning each row says."""

import numpy as np
import pytest
from sklearn.base import clone

from virtualvector import (
    ADFClassifier,
    EPClassifier,
    NaturalGradientClassifier,
    SOGPClassifier,
    VVMClassifier,
    WindowEPClassifier,
)
from virtualvector.baselines import AROWClassifier, BudgetPerceptron
from virtualvector.datasets import load_thyroid

OURS = [
    VVMClassifier(8, margin_noise=0.1),
    VVMClassifier(8, label_noise=0.05, margin_noise=0.1, prior_variance=2.0),
    ADFClassifier(label_noise=0.1),
    WindowEPClassifier(5, margin_noise=0.1),
    EPClassifier(margin_noise=0.5),
]
BASELINES = [SOGPClassifier(), NaturalGradientClassifier(), AROWClassifier(), BudgetPerceptron()]
N = 60


@pytest.fixture(scope="module")
def stream():
    rows, labels = load_thyroid(return_X_y=True, random_state=0)
    return (rows[:N] - rows.mean(axis=0)) / rows.std(axis=0), labels[:N]


def one_by_one(model, rows, labels, classes):
    """Predictions by scikit-learn's methods, and the model after the last row."""
    predicted, probabilities = [classes[0]], [np.full(len(classes), 1 / len(classes))]
    model.partial_fit(rows[:1], labels[:1], classes=classes)
    for t in range(1, N):
        row = slice(t, t + 1)
        predicted.append(model.predict(rows[row])[0])
        if hasattr(model, "predict_proba"):
            probabilities.append(model.predict_proba(rows[row])[0])
        model.partial_fit(rows[row], labels[row])
    return np.array(predicted), np.array(probabilities), model


@pytest.mark.parametrize("model", OURS + BASELINES, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("names", [np.array([0, 1]), np.array(["no", "yes"])])
def test_two_classes(model, stream, names):
    rows, labels = stream[0], names[(stream[1] > 0).astype(int)]
    predicted, probabilities, after = one_by_one(clone(model), rows, labels, names)
    one_pass = clone(model)
    stated = one_pass.predict_then_learn(rows, labels, classes=names)
    np.testing.assert_array_equal(stated.labels, predicted)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(stated.probabilities, probabilities, atol=1e-10)
    else:
        assert stated.probabilities is None
    np.testing.assert_array_equal(one_pass.decision_function(rows), after.decision_function(rows))


@pytest.mark.parametrize("model", OURS, ids=lambda model: type(model).__name__)
def test_three_classes(model, stream):
    rows, labels = stream
    predicted, probabilities, after = one_by_one(clone(model), rows, labels, [0, 1, 2])
    one_pass = clone(model)
    stated = one_pass.predict_then_learn(rows, labels, classes=[0, 1, 2])
    np.testing.assert_array_equal(stated.labels, predicted)
    np.testing.assert_allclose(stated.probabilities, probabilities, atol=1e-10)
    np.testing.assert_array_equal(one_pass.predict_proba(rows), after.predict_proba(rows))


@pytest.mark.parametrize("model", OURS + BASELINES, ids=lambda model: type(model).__name__)
def test_any_cut_of_the_stream_says_the_same(model, stream):
    rows, labels = stream[0], (stream[1] > 0).astype(int)
    whole = clone(model).predict_then_learn(rows, labels)
    pieces = clone(model)
    predictions = [
        pieces.predict_then_learn(rows[a:b], labels[a:b], classes=[0, 1] if a == 0 else None)
        for a, b in ((0, 1), (1, 20), (20, N))
    ]
    np.testing.assert_array_equal(
        np.concatenate([part.labels for part in predictions]), whole.labels
    )
    if whole.probabilities is not None:
        np.testing.assert_array_equal(
            np.concatenate([part.probabilities for part in predictions]), whole.probabilities
        )


@pytest.mark.parametrize("model", [OURS[0], BASELINES[0]], ids=lambda model: type(model).__name__)
def test_after_learning_undeclared_classes_it_goes_on(model, stream):
    rows, labels = stream[0], (stream[1] > 0).astype(int)
    learned = clone(model).partial_fit(rows[:30], labels[:30])
    expected = [learned.predict(rows[30:31])[0]]
    assert learned.predict_then_learn(rows[30:31], labels[30:31]).labels == expected


@pytest.mark.parametrize("model", [OURS[0], BASELINES[0]], ids=lambda model: type(model).__name__)
def test_a_bad_row_changes_nothing(model, stream):
    rows, labels = stream[0], (stream[1] > 0).astype(int)
    learned = clone(model).fit(rows[:30], labels[:30])
    before = learned.decision_function(rows)
    bad = rows[30:].copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3, column 2"):
        learned.predict_then_learn(bad, labels[30:])
    with pytest.raises(ValueError, match="the label 7 at row 0"):
        learned.predict_then_learn(rows[30:31], np.array([7]))
    np.testing.assert_array_equal(learned.decision_function(rows), before)
