"""`fit` takes a table, which has no order; `partial_fit` takes a stream, which has."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils import shuffle

from tests.learners.learner_examples import problem
from virtualvector import (
    ADFClassifier,
    AutoVVMClassifier,
    EPClassifier,
    VVMClassifier,
    WindowEPClassifier,
)

MODELS = [
    VVMClassifier(6, margin_noise=0.1),
    ADFClassifier(margin_noise=0.1),
    WindowEPClassifier(6, margin_noise=0.1),
    EPClassifier(margin_noise=0.1),
    AutoVVMClassifier(),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def test_a_table_sorted_by_class_is_learned_as_well_as_any_other():
    X, y = load_iris(return_X_y=True)
    assert np.all(np.diff(y) >= 0)  # sorted
    for seed in range(3):
        model = AutoVVMClassifier(random_state=seed).fit(X, y)
        assert model.score(X, y) > 0.94
    in_order = AutoVVMClassifier(shuffle=False).fit(X, y)
    assert in_order.score(X, y) < 0.8  # what it was


@every_model
def test_fit_is_learning_the_stream_of_rows_that_scikit_learn_would_shuffle_to(model):
    X, y = problem(rows=200, n_classes=3)
    fitted = clone(model).set_params(random_state=7).fit(X, y)
    stream = clone(model).set_params(random_state=7)
    stream.partial_fit(*shuffle(X, y, random_state=7), classes=[0, 1, 2])
    np.testing.assert_array_equal(fitted.predict_proba(X), stream.predict_proba(X))


@every_model
def test_without_shuffling_fit_learns_rows_in_their_order(model):
    X, y = problem(rows=200, n_classes=3)
    fitted = clone(model).set_params(shuffle=False).fit(X, y)
    stream = clone(model).partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_array_equal(fitted.predict_proba(X), stream.predict_proba(X))


@every_model
def test_the_same_seed_gives_the_same_model_and_another_seed_another(model):
    X, y = problem(rows=200)
    one, same, other = (
        clone(model).set_params(random_state=seed).fit(X, y).predict_proba(X) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    if not isinstance(model, EPClassifier):  # whose fixed point is the same for any order
        assert np.any(one != other)


@every_model
def test_parameters_are_called_as_those_of_scikit_learn(model):
    from sklearn.linear_model import SGDClassifier

    ours, theirs = (inspect.signature(type(m)).parameters for m in (model, SGDClassifier()))
    assert ours["shuffle"].default is theirs["shuffle"].default is True
    assert "random_state" in theirs
    assert ours["random_state"].default == 0


@every_model
@pytest.mark.parametrize("wrong", [{"shuffle": "yes"}, {"random_state": -1}])
def test_impossible_orders_are_named(model, wrong):
    X, y = problem()
    with pytest.raises(ValueError, match=next(iter(wrong))):
        clone(model).set_params(**wrong).fit(X, y)
