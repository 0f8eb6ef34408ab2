"""The Kalman filter on labels of ±1."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from virtualvector.baselines.gaussian_weights import (
    GaussianWeightsClassifier,
    Update,
    kalman_update,
)


class KalmanClassifier(GaussianWeightsClassifier):
    """Kalman filter for constant weights, observing labels of ±1 through Gaussian noise.

    The labels are taken as y = wᵀx + noise with w ~ N(0, prior variance) and noise ~
    N(0, noise variance). With v = xᵀΣx each row changes

        μ ← μ + Σx (y − μᵀx) / (v + s²),    Σ ← Σ − Σx(Σx)ᵀ / (v + s²),

    recursive least squares, which is exact for this model [1]_: the mean is that of Bayesian ridge
    regression on all rows, in any order. The score of a row is μᵀx.

    Parameters
    ----------
    prior_variance : float, default=1.0
        Variance of each weight before the first row.
    noise_variance : float, default=1.0
        Variance s² of a label around its margin. Only its ratio to `prior_variance` matters for
        the mean.
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
    .. [1] Kalman, R. E. (1960). A new approach to linear filtering and prediction problems.
           Journal of Basic Engineering 82, 35-45.

    Examples
    --------
    >>> from virtualvector.datasets import load_ionosphere
    >>> from virtualvector.baselines.kalman import KalmanClassifier
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = KalmanClassifier().fit(X[:250], y[:250])
    >>> round(model.score(X[250:], y[250:]), 3)
    0.861
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prior_variance": [Interval(Real, 0, None, closed="neither")],
        "noise_variance": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        *,
        prior_variance: float = 1.0,
        noise_variance: float = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        self.prior_variance = prior_variance
        self.noise_variance = noise_variance
        self.fit_intercept = fit_intercept

    def _prior_variance(self) -> float:
        return self.prior_variance

    def _update(self, margin: float, deviation: float) -> Update:
        return kalman_update(margin, deviation, self.noise_variance)
