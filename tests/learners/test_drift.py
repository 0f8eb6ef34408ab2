"""A half-life, as the learners take it."""

from functools import partial

import numpy as np
import pytest

from tests.learners.learner_examples import assert_same_model, in_pieces, problem
from virtualvector import ADFClassifier, EPClassifier, VVMClassifier, WindowEPClassifier

every_forgetting_learner = pytest.mark.parametrize(
    "learner", [partial(VVMClassifier, 6), ADFClassifier, partial(WindowEPClassifier, 6)]
)


@every_forgetting_learner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_cut_and_classes_that_come_late_give_the_same_model(learner, n_classes):
    X, y = problem(rows=120, n_classes=n_classes)
    order = np.argsort(y == n_classes - 1, kind="stable")  # the last class comes late
    X, y = X[order], y[order]
    model = learner(margin_noise=0.3, half_life=50.0)
    whole = model.set_params(shuffle=False).fit(X, y)
    pieces = in_pieces(learner(margin_noise=0.3, half_life=50.0), X, y, [1, 7, 50, 51, 110])
    assert_same_model(whole, pieces, X)


@every_forgetting_learner
def test_by_default_nothing_is_forgotten(learner):
    X, y = problem(rows=120)
    never, default = learner(half_life=None).fit(X, y), learner().fit(X, y)
    assert_same_model(never, default, X)
    forgetting = learner(half_life=50.0).fit(X, y)
    wider = np.linalg.eigvalsh(forgetting.covariance_ - default.covariance_)
    assert wider.sum() > 0


@every_forgetting_learner
@pytest.mark.parametrize("half_life", [0.0, -1.0, np.nan, np.inf, "long"])
def test_a_half_life_is_a_positive_number(learner, half_life):
    X, y = problem()
    with pytest.raises(ValueError, match="'half_life' parameter of"):
        learner(half_life=half_life).fit(X, y)


def test_the_reference_does_not_forget():
    assert "half_life" not in EPClassifier().get_params()


def test_forgotten_weights_return_to_the_prior_variance_whatever_it_is():
    X, y = problem(rows=120)
    model = VVMClassifier(6, margin_noise=0.3, prior_variance=4.0, half_life=0.05).fit(X, y)
    np.testing.assert_allclose(model.covariance_, 4.0 * np.eye(5), atol=1e-4)
