"""All learners that can be compared, set up for inputs of unit scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier

from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.baselines import (
    AROWClassifier,
    BudgetPerceptron,
    ConfidenceWeightedClassifier,
    KalmanClassifier,
    NaturalGradientClassifier,
    SecondOrderPerceptron,
    SOGPClassifier,
)
from virtualvector.baselines.base import OnlineBinaryClassifier
from virtualvector.learners import ADFClassifier, VVMClassifier, WindowEPClassifier

_BASIS_POINTS = 100
_AGGRESSIVENESS = 2.0  # C of PA-I, as in the paper


def all_learners(
    n_inputs: int, buffer_size: int = 30, seed: int = 0, n_classes: int = 2
) -> dict[str, Any]:
    """Return learners that have learned nothing yet, by name.

    Settings are the paper's or plain numbers, the same for every stream. The noise of SOGP, the
    step of logistic regression and the confidence of CW were each picked out of a few for a low
    error on the shipped data sets, which flatters these three there. Learners for two classes only
    are put into scikit-learn's OneVsRestClassifier if there are more.

    Parameters
    ----------
    n_inputs : int
        The number of columns; kernels are as wide as the typical distance between rows.
    buffer_size : int, default=30
        The number of points of VVM, and of rows of window-EP.
    seed : int, default=0
        Seed of those learners that ask for one.
    n_classes : int, default=2
        The number of classes.

    Returns
    -------
    dict
        Estimators with `partial_fit`.

    Examples
    --------
    >>> from virtualvector.evaluation import all_learners
    >>> list(all_learners(n_inputs=4))
    ['AutoVVM', 'VVM', 'ADF', 'window-EP', 'SOGP', 'PA', 'NG', 'Perceptron', 'logistic', 'Kalman',
     'second-order perceptron', 'CW', 'AROW', 'budget perceptron']
    """
    bandwidth = float(np.sqrt(2.0 * n_inputs))
    learners = {
        "AutoVVM": AutoVVMClassifier(),
        "VVM": VVMClassifier(buffer_size, margin_noise=1.0),
        "ADF": ADFClassifier(margin_noise=1.0),
        "window-EP": WindowEPClassifier(buffer_size, margin_noise=1.0),
        "SOGP": SOGPClassifier(bandwidth=bandwidth, noise=0.1, budget=_BASIS_POINTS),
        "PA": SGDClassifier(
            loss="hinge",
            penalty=None,
            learning_rate="pa1",
            eta0=_AGGRESSIVENESS,
            random_state=seed,
        ),
        "NG": NaturalGradientClassifier(),
        "Perceptron": Perceptron(random_state=seed),
        "logistic": SGDClassifier(
            loss="log_loss",
            penalty=None,
            learning_rate="invscaling",
            eta0=0.3,
            power_t=0.5,
            random_state=seed,
        ),
        "Kalman": KalmanClassifier(),
        "second-order perceptron": SecondOrderPerceptron(),
        "CW": ConfidenceWeightedClassifier(confidence=0.75),
        "AROW": AROWClassifier(),
        "budget perceptron": BudgetPerceptron(bandwidth=bandwidth, budget=_BASIS_POINTS),
    }
    if n_classes > 2:
        return {name: _for_several_classes(model) for name, model in learners.items()}
    return learners


def _for_several_classes(model: Any) -> Any:
    return OneVsRestClassifier(model) if isinstance(model, OnlineBinaryClassifier) else model
