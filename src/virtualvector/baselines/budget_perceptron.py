"""The tighter-budget kernel perceptron (Weston, Bordes and Bottou 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from virtualvector.baselines.base import OnlineBinaryClassifier
from virtualvector.types import Array


@dataclass
class Support:
    """The support vectors, their labels of ±1, and their kernel matrix; ``size`` are in use."""

    rows: Array
    signs: Array
    kernel: Array
    size: int


class BudgetPerceptron(OnlineBinaryClassifier):
    """A kernel perceptron that makes room by losing the support vector it can best do without.

    The score of a row is f(x) = ∑ᵢ yᵢ k(xᵢ, x) over the support vectors, with the Gaussian kernel
    ``k(x, x') = exp(−|x − x'|² / (2 bandwidth²))``. A row with yf(x) ≤ `margin` becomes a support
    vector. If there are then more than `budget` of them, of the others that one is removed whose
    loss leaves the fewest errors [1]_:

        argminᵢ ∑_{k∈Q} 1[yₖ (f(xₖ) − yᵢ k(xᵢ, xₖ)) ≤ 0].

    The errors are counted on a subset Q of the rows seen; here it is the support vectors
    themselves, i and the new one among them, which needs no further memory. Among equals the one
    with the largest margin without itself leaves, by the rule of Crammer, Kandola and Singer [2]_;
    then the one in the earliest place. Like theirs, f has the new support vector in it already when
    errors are counted: the errors are those of the function that will be used.

    Parameters
    ----------
    budget : int, default=50
        Most support vectors.
    bandwidth : float, default=None
        Distance over which the kernel falls to exp(−½); None is √(2d), the typical distance between
        rows of d standardised inputs.
    margin : float, default=0.0
        A row is learned unless its margin is larger.
    fit_intercept : bool, default=True
        Whether to learn a bias, which adds one to the kernel.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_support, n_features)
        The support vectors.
    classes_ : ndarray
        The classes; the second one has positive scores.

    References
    ----------
    .. [1] Weston, J., Bordes, A. and Bottou, L. (2005). Online (and offline) on an even tighter
           budget. AISTATS 10, 413-420.
    .. [2] Crammer, K., Kandola, J. and Singer, Y. (2004). Online classification on a budget.
           NIPS 16.

    Examples
    --------
    >>> from virtualvector.datasets import load_ionosphere
    >>> from virtualvector.baselines.budget_perceptron import BudgetPerceptron
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = BudgetPerceptron(budget=30, bandwidth=3.0).fit(X[:250], y[:250])
    >>> model.support_vectors_.shape
    (30, 34)
    >>> round(model.score(X[250:], y[250:]), 3)
    0.812
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "budget": [Interval(Integral, 1, None, closed="left")],
        "bandwidth": [Interval(Real, 0, None, closed="neither"), None],
        "margin": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        *,
        budget: int = 50,
        bandwidth: float | None = None,
        margin: float = 0.0,
        fit_intercept: bool = True,
    ) -> None:
        self.budget = budget
        self.bandwidth = bandwidth
        self.margin = margin
        self.fit_intercept = fit_intercept

    def _start(self, n_features: int) -> Support:
        budget = int(self.budget)
        return Support(
            np.zeros((budget, n_features)), np.zeros(budget), np.zeros((budget, budget)), 0
        )

    def _learn_row(self, state: Support, row: Array, sign: float) -> None:
        size = state.size
        similar = self._kernel(state.rows[:size], row)
        if sign * float(similar @ state.signs[:size]) > self.margin:
            return
        itself = 1.0 + bool(self.fit_intercept)
        if size < len(state.signs):
            place = size
            state.size += 1
        else:
            place = _most_dispensable(state, np.append(similar, itself), sign)
        state.rows[place] = row
        state.signs[place] = sign
        state.kernel[place, :size] = similar
        state.kernel[:size, place] = similar
        state.kernel[place, place] = itself

    def _score(self, state: Support, rows: Array) -> Array:
        support, signs = state.rows[: state.size], state.signs[: state.size]
        return np.array([self._kernel(support, row) @ signs for row in rows])

    def _kernel(self, support: Array, row: Array) -> Array:
        """Return the kernel between each support vector and a row, and one more for a bias."""
        bandwidth = self.bandwidth
        width = np.sqrt(2.0 * len(row)) if bandwidth is None else float(bandwidth)
        with np.errstate(over="ignore", under="ignore"):  # rows too far apart are not similar
            square = np.sum(((support - row) / width) ** 2, axis=1)
            kernel: Array = np.exp(-0.5 * square) + bool(self.fit_intercept)
        return kernel

    @property
    def support_vectors_(self) -> Array:
        """The support vectors, one in each row."""
        state: Support = self.state_
        return state.rows[: state.size].copy()


def _most_dispensable(state: Support, similar: Array, sign: float) -> int:
    """Return the place of the support vector whose removal leaves the fewest errors.

    ``similar`` has the kernel between the new row and every support vector, itself last.
    """
    kernel = np.vstack([state.kernel, similar[:-1]])
    signs = np.append(state.signs, sign)
    scores = kernel @ state.signs + similar * sign
    # Column i has the margin of every support vector, the new one last, once the i-th one is gone.
    margins = signs[:, None] * (scores[:, None] - kernel * state.signs)
    errors = np.sum(margins <= 0.0, axis=0)
    return int(np.lexsort((-np.diag(margins), errors))[0])
