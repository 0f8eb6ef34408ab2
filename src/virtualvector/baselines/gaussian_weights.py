"""A Gaussian over the weights, which several baselines keep."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from virtualvector.baselines.base import OnlineBinaryClassifier
from virtualvector.kernels.triangular import add_precision, multiply
from virtualvector.types import Array

# Products of two lengths up to this one, about 1e100, are finite, and their inverses too.
_LARGEST_EXPONENT = 330
_LARGEST_INFORMATION = 1e100


@dataclass
class GaussianWeights:
    """A Gaussian over the weights; its covariance is UᵀU for the triangular U in ``factor``."""

    mean: Array
    factor: Array


class Update(NamedTuple):
    """How one row x with variance v = xᵀΣx of its margin changes a Gaussian N(μ, Σ).

    The mean moves by ``step`` along yΣx/√v, and ``information`` / v is added to the precision
    along x. In these units neither depends on the length of x.
    """

    step: float
    information: float


class GaussianWeightsClassifier(OnlineBinaryClassifier):
    """A linear classifier with a Gaussian over its weights.

    A row with label y moves the mean μ along Σx and adds to the precision Σ⁻¹ along x; subclasses
    say how far and how much. The covariance is kept as a triangular factor, which cannot lose its
    sign by rounding. A row longer than about 1e100 or shorter than 1e−100 counts as if it had that
    length.
    """

    fit_intercept: bool

    @abstractmethod
    def _prior_variance(self) -> float:
        """Return the variance of each weight before the first row."""

    @abstractmethod
    def _update(self, margin: float, deviation: float) -> Update | None:
        """Say what a row changes, if anything.

        Here ``deviation`` is √(xᵀΣx) and ``margin`` is yμᵀx divided by it.
        """

    def _start(self, n_features: int) -> GaussianWeights:
        size = n_features + bool(self.fit_intercept)
        return GaussianWeights(
            np.zeros(size), np.eye(size) * float(np.sqrt(self._prior_variance()))
        )

    def _learn_row(self, state: GaussianWeights, row: Array, sign: float) -> None:
        scaled, scale = self._scaled(row[None])
        x = scaled[0]
        image = np.empty_like(x)
        direction = np.empty_like(x)
        length = float(np.sqrt(multiply(state.factor, x, direction)))
        if length == 0.0:  # a row of zeros, or one whose margin is known without doubt
            return
        direction /= length
        update = self._update(sign * float(state.mean @ x) / length, float(scale[0]) * length)
        if update is None:
            return
        information = min(update.information, _LARGEST_INFORMATION)
        add_precision(state.factor, direction, information, image)
        state.mean += sign * update.step * image

    def _score(self, state: GaussianWeights, rows: Array) -> Array:
        scaled, scale = self._scaled(rows)
        scores: Array = (scaled @ state.mean) * scale
        return scores

    def _scaled(self, rows: Array) -> tuple[Array, Array]:
        """Return rows with the bias, divided by powers of two near their largest entries."""
        if self.fit_intercept:
            rows = np.column_stack([rows, np.ones(len(rows))])
        exponents = np.frexp(np.abs(rows).max(axis=1))[1]
        scale: Array = np.ldexp(1.0, np.clip(exponents, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))
        return np.ldexp(rows, -exponents[:, None]), scale

    @property
    def coef_(self) -> Array:
        """The mean of the weights, of shape (1, n_features)."""
        check_is_fitted(self)
        mean: Array = self.state_.mean
        return mean[None, : self.n_features_in_].copy()

    @property
    def intercept_(self) -> Array:
        """The mean of the bias, of shape (1,)."""
        check_is_fitted(self)
        mean: Array = self.state_.mean
        return mean[-1:].copy() if self.fit_intercept else np.zeros(1)

    @property
    def covariance_(self) -> Array:
        """The covariance of the weights, bias last."""
        check_is_fitted(self)
        factor: Array = self.state_.factor
        covariance: Array = factor.T @ factor
        return covariance


def kalman_update(margin: float, deviation: float, noise_variance: float) -> Update:
    """Return the update for observing that the margin is 1, with noise of variance s².

    With v = xᵀΣx the mean moves by Σx (y − μᵀx) / (v + s²), and 1/s² is added to the precision
    along x.
    """
    information = min(deviation * deviation / noise_variance, _LARGEST_INFORMATION)
    return Update((1.0 / deviation - margin) * information / (1.0 + information), information)
