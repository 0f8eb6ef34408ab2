"""Topmoumoute online natural gradient: steps scaled by the covariance of recent gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from virtualvector.baselines.base import OnlineProbabilisticClassifier
from virtualvector.types import Array

_LARGEST = 1e100  # the products of larger inputs could overflow


@dataclass
class Descent:
    """The weights, bias last, and the factor X of the covariance XXᵀ of gradients.

    The columns of X are the eigenvectors kept at the end of the last block, scaled, then the
    gradients since.
    """

    weights: Array
    X: Array
    since: int = 0  # rows since the end of the last block


class NaturalGradientClassifier(OnlineProbabilisticClassifier):
    """Logistic regression by Topmoumoute online natural gradient (TONGA).

    Each row has a gradient g of its logistic loss. The uncentred covariance of gradients is the
    discounted sum C ← decay·C + ggᵀ, and the weights move by −learning_rate (C + λI)⁻¹g. At the end
    of each block of rows C is cut down to its leading eigenvectors. In between it has rank + block
    columns at most, C = XXᵀ, so that (C + λI)⁻¹g = X(XᵀX + λI)⁻¹y, y picking the last column, and
    the eigenvectors come from those of the small Gram matrix XᵀX as well.

    Because C is a sum and not a mean, steps shrink as 1/t at first, and stay at about 1 − decay
    times the step of a mean in the long run.

    Parameters
    ----------
    learning_rate : float, default=1.0
        The length of a step.
    decay : float, default=0.995
        The weight of the past after one more row.
    rank : int, default=5
        The number of eigenvectors kept at the end of a block.
    block : int, default=50
        The number of rows in a block.
    regularisation : float, default=1.0
        λ, the variance in every direction that the gradients have not shown.
    fit_intercept : bool, default=True
        Whether to learn a bias.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The classes.
    coef_ : array of shape (1, n_features)
        The weights.
    intercept_ : array of shape (1,)
        The bias.

    References
    ----------
    N. Le Roux, P.-A. Manzagol and Y. Bengio (2007). Topmoumoute online natural gradient algorithm.
    Advances in Neural Information Processing Systems 20, section 3.

    Examples
    --------
    >>> from virtualvector.datasets import load_ionosphere
    >>> from virtualvector.baselines.natural_gradient import NaturalGradientClassifier
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = NaturalGradientClassifier().fit(X[:250], y[:250])
    >>> round(model.score(X[250:], y[250:]), 3)
    0.881
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "decay": [Interval(Real, 0, 1, closed="right")],
        "rank": [Interval(Integral, 0, None, closed="left")],
        "block": [Interval(Integral, 1, None, closed="left")],
        "regularisation": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        *,
        learning_rate: float = 1.0,
        decay: float = 0.995,
        rank: int = 5,
        block: int = 50,
        regularisation: float = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        self.learning_rate = learning_rate
        self.decay = decay
        self.rank = rank
        self.block = block
        self.regularisation = regularisation
        self.fit_intercept = fit_intercept

    def _probability(self, scores: Array) -> Array:
        return np.asarray(expit(scores))

    @property
    def coef_(self) -> Array:
        """The weights."""
        check_is_fitted(self)
        coefficients: Array = self.state_.weights[None, :-1].copy()
        return coefficients

    @property
    def intercept_(self) -> Array:
        """The bias."""
        check_is_fitted(self)
        bias: Array = self.state_.weights[-1:].copy()
        return bias

    def _start(self, n_features: int) -> Descent:
        return Descent(np.zeros(n_features + 1), np.zeros((n_features + 1, 0)))

    def _score(self, state: Descent, rows: Array) -> Array:
        scores: Array = np.clip(rows, -_LARGEST, _LARGEST) @ state.weights[:-1] + state.weights[-1]
        return scores

    def _learn_row(self, state: Descent, row: Array, sign: float) -> None:
        inputs = np.append(np.clip(row, -_LARGEST, _LARGEST), float(self.fit_intercept))
        gradient = -sign * expit(-sign * float(inputs @ state.weights)) * inputs
        X = np.column_stack([math.sqrt(self.decay) * state.X, gradient])
        gram = X.T @ X
        state.weights -= self.learning_rate * (X @ self._coordinates(gram))
        state.since += 1
        if state.since >= self.block:
            X = X @ self._leading(gram, most=len(X))
            state.since = 0
        state.X = X

    def _coordinates(self, gram: Array) -> Array:
        """(XᵀX + λI)⁻¹y, y = (0, …, 0, 1): the last column times (XXᵀ + λI)⁻¹, in terms of X."""
        n = len(gram)
        # A λ far below the largest eigenvalue is lost in rounding, which may leave this singular.
        damping = max(self.regularisation, 1e-14 * n * float(np.trace(gram)))
        y = np.zeros(n)
        y[-1] = 1.0
        coordinates: Any = np.linalg.solve(gram + damping * np.eye(n), y)
        return np.asarray(coordinates, np.float64)

    def _leading(self, gram: Array, most: int) -> Array:
        """Eigenvectors of XᵀX: times X, those of XXᵀ, as long as the roots of their eigenvalues."""
        ascending: Any = np.linalg.eigh(gram).eigenvectors
        dropped = max(len(gram) - min(self.rank, most), 0)
        return np.asarray(ascending[:, dropped:], np.float64)
