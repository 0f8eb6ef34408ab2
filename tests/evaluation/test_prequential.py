import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import BernoulliNB

from virtualvector import VVMClassifier
from virtualvector.evaluation import predict_then_learn


@pytest.fixture
def stream():
    random = np.random.default_rng(0)
    rows = random.normal(size=(250, 3))
    labels = np.array(["ham", "spam"])[(rows[:, 0] + 0.3 * random.normal(size=250) > 0).astype(int)]
    return rows, labels


def by_hand(model, rows, labels, classes):
    predictions = [(classes[0], np.full(len(classes), 1.0 / len(classes)))]
    model.partial_fit(rows[:1], labels[:1], classes=classes)
    for t in range(1, len(rows)):
        predictions.append(
            (model.predict(rows[t : t + 1])[0], model.predict_proba(rows[t : t + 1])[0])
        )
        model.partial_fit(rows[t : t + 1], labels[t : t + 1])
    return [np.array(part) for part in zip(*predictions, strict=True)]


@pytest.mark.parametrize("model", [BernoulliNB(), SGDClassifier(loss="log_loss", random_state=0)])
def test_other_classifiers_are_asked_row_by_row(model, stream):
    classes = np.unique(stream[1])
    labels, probabilities = by_hand(clone(model), *stream, classes)
    predictions = predict_then_learn(model, *stream)
    np.testing.assert_array_equal(predictions.labels, labels)
    np.testing.assert_array_equal(predictions.probabilities, probabilities)


def test_own_learners_say_what_they_would_row_by_row(stream):
    rows, labels = stream
    model = VVMClassifier(10, margin_noise=1.0)
    theirs = by_hand(clone(model), rows, labels, np.unique(labels))
    predictions = predict_then_learn(model, rows, labels)
    np.testing.assert_array_equal(predictions.labels[1:], theirs[0][1:])
    np.testing.assert_allclose(predictions.probabilities, theirs[1], atol=1e-9)


def test_without_probabilities_there_are_none(stream):
    assert predict_then_learn(SGDClassifier(), *stream).probabilities is None


def test_a_longer_class_name_is_not_cut_short():
    rows = np.array([[1.0], [1.0], [1.0]])
    labels = np.array(["a", "longer", "longer"])
    predictions = predict_then_learn(BernoulliNB(), rows, labels)
    assert set(predictions.labels) <= {"a", "longer"}


def test_progress_adds_up_to_all_rows(stream):
    steps = []
    predict_then_learn(VVMClassifier(5), *stream, advance=steps.append)
    assert sum(steps) == len(stream[0])
    assert len(steps) > 1
