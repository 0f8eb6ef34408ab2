"""Weights of classes, and posteriors that weighted rows led to, in model files."""

import numpy as np
import pytest

import virtualvector
from tests.learners.learner_examples import problem
from virtualvector import (
    ADFClassifier,
    AutoVVMClassifier,
    EPClassifier,
    Expert,
    VVMClassifier,
    WindowEPClassifier,
)

MODELS = [
    VVMClassifier(6),
    ADFClassifier(),
    WindowEPClassifier(6),
    EPClassifier(),
    AutoVVMClassifier(experts=[Expert(None, 1.0, buffer_size=3), Expert(0.5, 0.1)]),
]
CLASS_WEIGHTS = [None, "balanced", {0: 2, 1: 0.5}, {True: 2.5, False: 0.5}, {"0": 3.0, "1": 1}]


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS, ids=repr)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_weights_of_classes_come_back_in_their_types(tmp_path, model, class_weight):
    X, y = problem(60)
    labels = y
    if isinstance(class_weight, dict):
        labels = np.array(sorted(class_weight))[y]
    model.set_params(class_weight=class_weight).fit(X, labels, sample_weight=y + 1.0)
    model.save(tmp_path / "m.vvm")
    again = virtualvector.load(tmp_path / "m.vvm")
    assert again.class_weight == class_weight
    if isinstance(class_weight, dict):
        assert list(map(type, again.class_weight)) == list(map(type, class_weight))
    again.save(tmp_path / "n.vvm")
    assert (tmp_path / "m.vvm").read_bytes() == (tmp_path / "n.vvm").read_bytes()
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    if class_weight != "balanced":
        again.partial_fit(X, labels)
        np.testing.assert_array_equal(
            again.predict_proba(X), model.partial_fit(X, labels).predict_proba(X)
        )


def test_weights_of_numpy_become_plain_ones(tmp_path):
    X, y = problem(30)
    model = ADFClassifier(class_weight={np.int64(0): np.float64(2.0), np.int64(1): 1}).fit(X, y)
    model.save(tmp_path / "m.vvm")
    assert virtualvector.load(tmp_path / "m.vvm").class_weight == {0: 2.0, 1: 1}


@pytest.mark.parametrize(("margin_noise", "label_noise"), [(0.0, 0.1), (0.5, 0.02), (0.5, 0.0)])
def test_what_parts_of_rows_led_to_is_saved(tmp_path, margin_noise, label_noise):
    X, y = problem(80)
    w = np.random.default_rng(0).uniform(0, 2, 80)
    for kind in (VVMClassifier, ADFClassifier, WindowEPClassifier, EPClassifier):
        model = kind(margin_noise=margin_noise, label_noise=label_noise)
        model.fit(X, y, sample_weight=w)
        model.save(tmp_path / "m.vvm")
        again = virtualvector.load(tmp_path / "m.vvm")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
