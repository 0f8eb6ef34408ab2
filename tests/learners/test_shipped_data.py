"""Sense checks on the data sets that come with the package."""

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from tests.learners.learner_examples import every_learner
from virtualvector.datasets import load_ionosphere, load_spambase, load_thyroid

DATA = {
    # Loader, rows to learn; the others are for testing.
    "ionosphere": (load_ionosphere, 200),
    "spambase": (load_spambase, 3000),
    "thyroid": (load_thyroid, 150),
}


@every_learner
@pytest.mark.parametrize("name", DATA)
def test_errors_and_surprise_are_far_below_guessing(learner, name):
    load, n = DATA[name]
    X, y = load(return_X_y=True, random_state=0)
    scaler = StandardScaler().fit(X[:n])
    model = learner(margin_noise=1.0).fit(scaler.transform(X[:n]), y[:n])
    new = scaler.transform(X[n:])
    majority = np.mean(y[n:] != np.argmax(np.bincount(y[:n])))
    assert np.mean(model.predict(new) != y[n:]) < 0.7 * majority
    assert log_loss(y[n:], model.predict_proba(new)) < 0.6 * np.log(2)


@every_learner
def test_predicting_before_learning_pays_from_the_start(learner):
    X, y = load_ionosphere(return_X_y=True, random_state=0)
    model = learner(margin_noise=1.0).fit(X, y)
    assert -model.log_evidence_ / len(y) < 0.6 * np.log(2)
