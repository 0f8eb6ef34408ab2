"""Confidence-weighted learning (Crammer, Dredze and Pereira 2008)."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar

from scipy.special import ndtri
from sklearn.utils._param_validation import Interval

from virtualvector.baselines.gaussian_weights import GaussianWeightsClassifier, Update

# The information in a margin grows as its square, which has to stay finite.
_LOWEST_MARGIN = -1e45


class ConfidenceWeightedClassifier(GaussianWeightsClassifier):
    """Confidence-weighted learning, the exact convex form ("CW-Stdev").

    Each row x with label y moves the Gaussian over the weights as little as it takes to be right
    with probability η [1]_:

        min KL(N(μ', Σ') ‖ N(μ, Σ))   such that   Pr[y w'ᵀx ≥ 0] ≥ η,

    that is yμ'ᵀx ≥ φ√(xᵀΣ'x) with φ = Φ⁻¹(η). With m = yμᵀx, v = xᵀΣx, ψ = 1 + φ²/2 and
    ζ = 1 + φ² the solution is

        μ' = μ + αyΣx,    Σ'⁻¹ = Σ⁻¹ + (αφ/√u) xxᵀ,
        α = max{0, [−mψ + √(m²φ⁴/4 + vφ²ζ)] / (vζ)},    √u = [−αvφ + √(α²v²φ² + 4v)] / 2,

    where u = xᵀΣ'x. The earlier "variance" form of Dredze, Crammer and Pereira [2]_ constrains the
    variance instead of the standard deviation, which is not convex.

    Parameters
    ----------
    confidence : float, default=0.9
        The probability η of being right about a row just learned, between one half and one.
    prior_variance : float, default=1.0
        Variance of each weight before the first row.
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
    .. [1] Crammer, K., Dredze, M. and Pereira, F. (2008). Exact convex confidence-weighted
           learning. NIPS 21, 345-352.
    .. [2] Dredze, M., Crammer, K. and Pereira, F. (2008). Confidence-weighted linear
           classification. ICML 25, 264-271.

    Examples
    --------
    >>> from virtualvector.datasets import load_ionosphere
    >>> from virtualvector.baselines.confidence_weighted import ConfidenceWeightedClassifier
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = ConfidenceWeightedClassifier(confidence=0.7).fit(X[:250], y[:250])
    >>> round(model.score(X[250:], y[250:]), 3)
    0.822
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "confidence": [Interval(Real, 0.5, 1, closed="neither")],
        "prior_variance": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        *,
        confidence: float = 0.9,
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        self.confidence = confidence
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept

    def _prior_variance(self) -> float:
        return self.prior_variance

    def _update(self, margin: float, deviation: float) -> Update | None:
        quantile = float(ndtri(self.confidence))  # φ
        if margin >= quantile:
            return None
        # The closed form divided by √v, so that m becomes m/√v and α becomes α√v.
        m = max(margin, _LOWEST_MARGIN)
        square = quantile * quantile
        root = math.sqrt(m * m * square * square / 4.0 + square * (1.0 + square))
        step = max(0.0, (root - m * (1.0 + square / 2.0)) / (1.0 + square))
        drop = step * quantile
        inverse = (drop + math.sqrt(drop * drop + 4.0)) / 2.0  # √(v/u), without cancellation
        return Update(step, drop * inverse)
