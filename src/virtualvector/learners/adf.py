"""Assumed-density filtering: a Gaussian and nothing else (section 2)."""

from __future__ import annotations

from virtualvector.learners.base import BayesianLinearClassifier
from virtualvector.learners.columns import ERROR
from virtualvector.posterior import Settings, presets
from virtualvector.types import ClassWeight


class ADFClassifier(BayesianLinearClassifier):
    """Bayesian online classification with a Gaussian posterior.

    Each row updates the Gaussian once and is forgotten: a `VVMClassifier` without virtual points.

    Parameters
    ----------
    label_noise, margin_noise, prior_variance, fit_intercept, half_life
    covariance, rank, class_weight, new_columns, shuffle, random_state
        As for `VVMClassifier`, which also describes the attributes.

    Examples
    --------
    >>> from virtualvector import ADFClassifier
    >>> from virtualvector.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = ADFClassifier(margin_noise=0.5).fit(X[:250], y[:250])
    >>> round(model.score(X[250:], y[250:]), 3)
    0.832
    """

    def __init__(
        self,
        *,
        label_noise: float = 0.0,
        margin_noise: float = 0.0,
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        half_life: float | None = None,
        covariance: str = "full",
        rank: int = 20,
        class_weight: ClassWeight = None,
        new_columns: str = ERROR,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.label_noise = label_noise
        self.margin_noise = margin_noise
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.half_life = half_life
        self.covariance = covariance
        self.rank = rank
        self.class_weight = class_weight
        self.new_columns = new_columns
        self.shuffle = shuffle
        self.random_state = random_state

    def _settings(self) -> Settings:
        return presets.adf(self._noise)
