"""The second-order perceptron (Cesa-Bianchi, Conconi and Gentile 2005)."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from virtualvector.baselines.gaussian_weights import (
    GaussianWeights,
    GaussianWeightsClassifier,
    Update,
    kalman_update,
)
from virtualvector.types import Array


class SecondOrderPerceptron(GaussianWeightsClassifier):
    """A perceptron that whitens its rows by those it erred on.

    With the rows of all past mistakes in the columns of X, and v the sum of them times their
    labels, a row x has the score [1]_

        wᵀx,    w = (aI + XXᵀ + xxᵀ)⁻¹v.

    If its sign is wrong, or it is zero, x joins the columns of X and v ← v + yx.

    With A = aI + XXᵀ the score is vᵀA⁻¹x / (1 + xᵀA⁻¹x), and A⁻¹v changes as the mean of a Kalman
    filter with unit noise that observes the mistakes only; that is how it is computed here.

    Parameters
    ----------
    regularization : float, default=1.0
        The number a > 0: how much correlation counts as none.
    fit_intercept : bool, default=True
        Whether to learn a bias, the weight of a further input that is always one.

    Attributes
    ----------
    coef_, intercept_ : ndarray
        A⁻¹v, and its last entry for the bias: scores have the sign of these weights' product with
        the row.
    covariance_ : ndarray
        A⁻¹.
    classes_ : ndarray
        The classes; the second one has positive scores.

    References
    ----------
    .. [1] Cesa-Bianchi, N., Conconi, A. and Gentile, C. (2005). A second-order perceptron
           algorithm. SIAM Journal on Computing 34, 640-668. The algorithm with a constant a of
           its section 3.

    Examples
    --------
    >>> from virtualvector.datasets import load_ionosphere
    >>> from virtualvector.baselines.second_order_perceptron import SecondOrderPerceptron
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = SecondOrderPerceptron().fit(X[:250], y[:250])
    >>> round(model.score(X[250:], y[250:]), 3)
    0.802
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "regularization": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, *, regularization: float = 1.0, fit_intercept: bool = True) -> None:
        self.regularization = regularization
        self.fit_intercept = fit_intercept

    def _prior_variance(self) -> float:
        return 1.0 / self.regularization

    def _update(self, margin: float, deviation: float) -> Update | None:
        return None if margin > 0.0 else kalman_update(margin, deviation, 1.0)

    def _score(self, state: GaussianWeights, rows: Array) -> Array:
        scaled, scale = self._scaled(rows)
        deviations = scale * np.sqrt(np.sum((scaled @ state.factor.T) ** 2, axis=1))
        scores: Array = (scaled @ state.mean) * scale / (1.0 + deviations**2)
        return scores
