"""Adaptive regularization of weight vectors (Crammer, Kulesza and Dredze 2009)."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from virtualvector.baselines.gaussian_weights import (
    GaussianWeightsClassifier,
    Update,
    kalman_update,
)


class AROWClassifier(GaussianWeightsClassifier):
    """AROW: confidence-weighted learning that forgives noise.

    In place of a constraint each row x with label y adds two penalties [1]_: the new Gaussian
    N(μ', Σ') minimises

        KL(N(μ', Σ') ‖ N(μ, Σ)) + (1/2r) max(0, 1 − yμ'ᵀx)² + (1/2r) xᵀΣ'x.

    With v = xᵀΣx the solution is

        μ' = μ + αyΣx,    Σ' = Σ − βΣxxᵀΣ,    β = 1/(v + r),    α = max(0, 1 − yμᵀx) β,

    applied, as published, only to rows with yμᵀx < 1. It is the update of a Kalman filter with
    noise variance r, starting from unit variances.

    Parameters
    ----------
    r : float, default=1.0
        How little a row counts.
    fit_intercept : bool, default=True
        Whether to learn a bias, which has the same prior as a weight.

    Attributes
    ----------
    coef_, intercept_, covariance_ : ndarray
        Mean of the weights, mean of the bias, covariance of both with the bias last.
    classes_ : ndarray
        The classes; the second one has positive scores.

    References
    ----------
    .. [1] Crammer, K., Kulesza, A. and Dredze, M. (2009). Adaptive regularization of weight
           vectors. NIPS 22, 414-422.

    Examples
    --------
    >>> from virtualvector.datasets import load_ionosphere
    >>> from virtualvector.baselines.arow import AROWClassifier
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = AROWClassifier().fit(X[:250], y[:250])
    >>> round(model.score(X[250:], y[250:]), 3)
    0.851
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "r": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    def __init__(self, *, r: float = 1.0, fit_intercept: bool = True) -> None:
        self.r = r
        self.fit_intercept = fit_intercept

    def _prior_variance(self) -> float:
        return 1.0

    def _update(self, margin: float, deviation: float) -> Update | None:
        return kalman_update(margin, deviation, self.r) if margin * deviation < 1.0 else None
