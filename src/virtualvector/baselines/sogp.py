"""Sparse online Gaussian processes: a kernel posterior on a bounded number of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtr
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from virtualvector.baselines.base import OnlineProbabilisticClassifier
from virtualvector.kernels.likelihood import clip_margin
from virtualvector.kernels.normal import inverse_mills
from virtualvector.types import Array

# All relative to the prior variance. A smaller variance than this may be nothing but rounding.
_ROUNDING = 1e-6
# A row may not join the basis if Q would change by more than this, or inverses become worthless.
_LARGEST = 1e7
# Beyond this, Q is computed anew: updates that cancel later would leave their rounding behind.
_LARGE = 1e4
_FIRST_CAPACITY = 16


@dataclass
class Process:
    """A Gaussian process with mean kᵀα and covariance k(x, x′) + kᵀCk′, k the kernel at the basis.

    The arrays have room to grow; only the first ``size`` entries along each axis are in use.
    """

    basis: Array
    alpha: Array
    C: Array
    Q: Array  # the inverse of the Gram matrix
    gram: Array
    size: int = 0
    pruned: int = 0

    @classmethod
    def prior(cls, n_features: int) -> Process:
        """The process with an empty basis."""
        n = _FIRST_CAPACITY
        square = np.zeros((3, n, n))
        return cls(np.zeros((n, n_features)), np.zeros(n), square[0], square[1], square[2])

    def used(self) -> tuple[Array, Array, Array]:
        """Views of α, C and Q."""
        n = self.size
        return self.alpha[:n], self.C[:n, :n], self.Q[:n, :n]

    def make_room(self) -> None:
        """Double the arrays if they are full."""
        n = self.size
        if n < len(self.alpha):
            return
        self.basis = np.pad(self.basis, ((0, n), (0, 0)))
        self.alpha = np.pad(self.alpha, (0, n))
        self.C, self.Q, self.gram = (np.pad(a, (0, n)) for a in (self.C, self.Q, self.gram))

    def move_to_end(self, i: int) -> None:
        """Exchange a basis point with the last one."""
        last = self.size - 1
        pair, swapped = [i, last], [last, i]
        self.basis[pair] = self.basis[swapped]
        self.alpha[pair] = self.alpha[swapped]
        for matrix in (self.C, self.Q, self.gram):
            matrix[pair] = matrix[swapped]
            matrix[:, pair] = matrix[:, swapped]


class SOGPClassifier(OnlineProbabilisticClassifier):
    """Sparse online Gaussian process classification.

    The label of a row is the sign of f(x) plus Gaussian noise, and f has a Gaussian process prior
    with the kernel ``amplitude² exp(−|x−x′|²/(2 bandwidth²))``. Each row updates the posterior
    once, by matching its mean and covariance, and becomes a basis point unless it is nearly a
    combination of those there are. Beyond the budget the basis point that matters least is
    projected out.

    Parameters
    ----------
    bandwidth, amplitude : float, default=1.0
        The length over which f varies, and the standard deviation of f before any row.
    noise : float, default=1.0
        The variance σ₀² of the noise: the likelihood of a label y of ±1 is Φ(y f(x)/σ₀).
    budget : int, default=100
        The largest number of basis points.
    gamma : float, default=1e-6
        The novelty that a row must have to become a basis point: its variance given the basis under
        the prior, γ = k(x, x) − kᵀQk, as a share of k(x, x). Less than 1e-6 is taken as that much,
        since the inverse Gram matrix Q of nearly dependent points is mostly rounding.
    projection : {"kl", "moments"}, default="kl"
        How a row that is not new is folded in and a basis point is pruned. "kl" takes the sparse
        process with the least divergence KL(sparse ‖ full), and prunes the point with the smallest
        αᵢ²/(Qᵢᵢ + Cᵢᵢ), the part of that divergence that is due to the mean [2]_. "moments" keeps
        mean and covariance at the points that remain, and prunes the point with the smallest
        ``|αᵢ|/Qᵢᵢ``, the change of the mean at that point [1]_.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The classes.
    basis_ : array of shape (n_points, n_features)
        The rows kept.
    state_ : Process
        The posterior.

    References
    ----------
    .. [1] L. Csató and M. Opper (2002). Sparse on-line Gaussian processes. Neural Computation
       14(3), 641–668.
    .. [2] L. Csató (2002). Gaussian processes: iterative sparse approximations. PhD thesis, Aston
       University, chapter 3.

    Examples
    --------
    >>> from virtualvector.datasets import load_ionosphere
    >>> from virtualvector.baselines.sogp import SOGPClassifier
    >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
    >>> model = SOGPClassifier(bandwidth=2, noise=0.1).fit(X[:250], y[:250])
    >>> len(model.basis_)
    100
    >>> round(model.score(X[250:], y[250:]), 3)
    0.911
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bandwidth": [Interval(Real, 0, None, closed="neither")],
        "amplitude": [Interval(Real, 0, None, closed="neither")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "budget": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, 1, closed="left")],
        "projection": [StrOptions({"kl", "moments"})],
    }

    def __init__(
        self,
        *,
        bandwidth: float = 1.0,
        amplitude: float = 1.0,
        noise: float = 1.0,
        budget: int = 100,
        gamma: float = 1e-6,
        projection: str = "kl",
    ) -> None:
        self.bandwidth = bandwidth
        self.amplitude = amplitude
        self.noise = noise
        self.budget = budget
        self.gamma = gamma
        self.projection = projection

    def _probability(self, scores: Array) -> Array:
        # A score is m/√(v + σ₀²), the mean of f in units of its uncertainty and noise.
        return np.asarray(ndtr(scores))

    @property
    def basis_(self) -> Array:
        """The rows kept."""
        check_is_fitted(self)
        rows: Array = self.state_.basis[: self.state_.size].copy()
        return rows

    def _start(self, n_features: int) -> Process:
        return Process.prior(n_features)

    def _kernel(self, rows: Array, others: Array) -> Array:
        # Distances are scaled after they are taken: rows that overflow have no distance.
        with np.errstate(over="ignore"):
            scaled = cdist(rows, others) / self.bandwidth
            kernel: Array = self.amplitude**2 * np.exp(-0.5 * scaled * scaled)
        return kernel

    def _score(self, state: Process, rows: Array) -> Array:
        alpha, C, _ = state.used()
        k = self._kernel(rows, state.basis[: state.size])
        prior_variance = self.amplitude**2
        variance = prior_variance + np.einsum("ij,ij->i", k @ C, k)
        known = np.maximum(variance, _ROUNDING * prior_variance)
        scores: Array = k @ alpha / np.sqrt(known + self.noise)
        return scores

    def _learn_row(self, state: Process, row: Array, sign: float) -> None:
        alpha, C, Q = state.used()
        prior_variance = self.amplitude**2
        k = self._kernel(row[None], state.basis[: state.size])[0]
        Ck, e = C @ k, Q @ k
        novelty = prior_variance - float(k @ e)

        variance = prior_variance + float(k @ Ck)
        if variance <= _ROUNDING * prior_variance:
            return  # f is known here as well as it can be; to learn more would amplify rounding
        # The first two derivatives of log E[Φ(y f/σ₀)] in the mean of f at this row.
        deviation = math.sqrt(variance + self.noise)
        h, excess, _ = inverse_mills(clip_margin(sign * float(k @ alpha) / deviation))
        first, second = sign * h / deviation, -h * excess / deviation**2

        if novelty <= max(self.gamma, _ROUNDING, float(e @ e) / _LARGEST) * prior_variance:
            self._fold(state, Ck + e, first, second, novelty)
            return
        self._extend(state, row, k, e, novelty)
        alpha, C, _ = state.used()
        s = np.append(Ck, 1.0)
        alpha += first * s
        C += np.multiply.outer(second * s, s)
        while state.size > self.budget:
            self._prune(state)

    def _fold(self, state: Process, s: Array, first: float, second: float, novelty: float) -> None:
        """Learn a row without keeping it: the same as adding it and pruning it at once."""
        alpha, C, _ = state.used()
        if self.projection == "kl":
            shrink = max(1.0 + max(novelty, 0.0) * second, _ROUNDING)
            first, second = first / shrink, second / shrink
        alpha += first * s
        C += np.multiply.outer(second * s, s)

    def _extend(self, state: Process, row: Array, k: Array, e: Array, novelty: float) -> None:
        """Add a basis point whose coefficients are zero."""
        state.make_room()
        n = state.size
        state.basis[n] = row
        state.alpha[n] = 0.0
        state.gram[n, :n] = state.gram[:n, n] = k
        state.gram[n, n] = self.amplitude**2
        for matrix in (state.C, state.Q):
            matrix[n, : n + 1] = matrix[: n + 1, n] = 0.0
        state.size = n + 1
        self._change_inverse(state, np.append(e, -1.0), 1.0 / novelty)

    def _prune(self, state: Process) -> None:
        """Project the least important basis point out.

        Both projections are written in terms of e = −Q*/q*, the coefficients of the point in terms
        of the others, where the published forms take differences of large numbers.
        """
        state.move_to_end(int(np.argmin(self._scores(state))))
        alpha, C, Q = state.used()
        q, c, a = float(Q[-1, -1]), float(C[-1, -1]), float(alpha[-1])
        e, column = Q[:-1, -1] / -q, C[:-1, -1].copy()
        state.size -= 1
        alpha, C, Q = state.used()
        mixed = np.multiply.outer(e, column)
        change = c * np.multiply.outer(e, e) + mixed + mixed.T
        if self.projection == "kl":
            rest = max(1.0 + c / q, _ROUNDING)
            alpha += a / rest * (e - column / q)
            C += (change - np.multiply.outer(column / q, column)) / rest
        else:
            alpha += a * e
            C += change
        state.pruned += 1
        self._change_inverse(state, e, -q)

    def _change_inverse(self, state: Process, vector: Array, scale: float) -> None:
        """Add scale·vvᵀ to Q, or start Q afresh where that is the safer way."""
        Q = state.used()[2]
        # Once per turnover of the basis an inverse adds nothing to the order of the cost.
        due = scale < 0 and state.pruned % state.size == 0
        if due or abs(scale) * float(vector @ vector) * self.amplitude**2 > _LARGE:
            inverse: Any = np.linalg.inv(state.gram[: state.size, : state.size])
            Q[...] = 0.5 * (inverse + inverse.T)
        else:
            Q += np.multiply.outer(scale * vector, vector)

    def _scores(self, state: Process) -> Array:
        """What is lost with each basis point."""
        alpha, C, Q = state.used()
        q = np.diag(Q)
        if self.projection == "moments":
            return np.abs(alpha) / q
        return alpha**2 / np.maximum(q + np.diag(C), _ROUNDING * q)
