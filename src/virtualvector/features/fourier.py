"""Random Fourier features: nonlinear classification with a linear learner (section 3.3)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from virtualvector.concurrency import TakesTurns, learned_whole, of_one_moment
from virtualvector.dataframes import validated
from virtualvector.persistence.unsavable import Unsavable

_ROWS_FOR_MEDIAN = 1000
# A phase this large has long lost its digits; it only has to stay finite in a sum over inputs.
_LARGEST_INPUT = 1e300


class RandomFourierFeatures(
    Unsavable, ClassNamePrefixFeaturesOutMixin, TransformerMixin, TakesTurns, BaseEstimator
):
    """Map rows to random Fourier features, whose inner products approximate a Gaussian kernel.

    The D pairs of features of a row x,

        z(x) = [cos(ω₁ᵀx), …, cos(ω_Dᵀx), sin(ω₁ᵀx), …, sin(ω_Dᵀx)] / √D,

    have unit length, and for frequencies ω drawn as here

        z(x)ᵀz(y) ≈ k(x, y) = exp(−|x − y|² / (2 bandwidth²)),

    with a mean squared error that falls as 1/D. The paper writes this kernel as
    exp(−|x − y|² / (2σ)): its σ is the *square* of `bandwidth`.

    Parameters
    ----------
    n_frequencies : int, default=100
        The number D of frequencies, each of which gives a cosine and a sine.
    bandwidth : float or "median", default="median"
        Distance over which the kernel falls to exp(−½). "median" is the median distance between
        rows that differ, among at most 1000 rows drawn from those seen first; near √(2d) for d
        standardised inputs.
    frequencies : {"orthogonal", "independent"}, default="orthogonal"
        Whether frequencies are orthogonal to each other within blocks of as many as there are
        inputs, or drawn independently as in the paper. Each one has the same distribution either
        way; orthogonal ones spread out and approximate the kernel better.
    random_state : int, RandomState instance or None, default=None
        Seed of the frequencies and of the rows drawn for the median distance.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth in use.
    frequencies_ : ndarray of shape (n_frequencies, n_inputs)
        Frequencies in units of 1 / `bandwidth_`: the phases of x are
        ``frequencies_ @ (x / bandwidth_)``.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (n_inputs,)
        Names of the inputs, where they have names.

    References
    ----------
    .. [1] Rahimi, A. and Recht, B. (2007). Random features for large-scale kernel machines.
           NIPS 20.
    .. [2] Yu, F. X. et al. (2016). Orthogonal random features. NIPS 29.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> from virtualvector.features import RandomFourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> Z = RandomFourierFeatures(500, bandwidth=2.0, random_state=0).fit_transform(X)
    >>> Z.shape
    (200, 1000)
    >>> error = Z @ Z.T - rbf_kernel(X, gamma=1 / (2 * 2.0**2))
    >>> print(f"{np.sqrt(np.mean(error**2)):.3f}")
    0.020
    """

    _why_unsavable = "a seed gives its frequencies again; AutoVVMClassifier saves its own."

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_frequencies": [Interval(Integral, 1, None, closed="left")],
        "bandwidth": [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")],
        "frequencies": [StrOptions({"orthogonal", "independent"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_frequencies: int = 100,
        *,
        bandwidth: float | Literal["median"] = "median",
        frequencies: Literal["orthogonal", "independent"] = "orthogonal",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_frequencies = n_frequencies
        self.bandwidth = bandwidth
        self.frequencies = frequencies
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Draw the frequencies and settle the bandwidth.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_inputs)
            Rows. Unless `bandwidth` is "median", only the number of columns matters.
        y : None
            Ignored.

        Returns
        -------
        RandomFourierFeatures
            The fitted transformer itself.
        """
        with learned_whole(self) as twin:
            twin._fit(X)
        return self

    def _fit(self, X: ArrayLike) -> None:
        self._validate_params()
        rows: NDArray[Any] = validated(self, X, dtype=np.float64)
        random = check_random_state(self.random_state)
        draw = _orthogonal if self.frequencies == "orthogonal" else _independent
        self.frequencies_ = draw(self.n_frequencies, rows.shape[1], random)
        if self.bandwidth == "median":
            if len(rows) > _ROWS_FOR_MEDIAN:
                rows = rows[random.choice(len(rows), _ROWS_FOR_MEDIAN, replace=False)]
            self.bandwidth_ = _median_distance(rows)
        else:
            self.bandwidth_ = float(self.bandwidth)

    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit to the first rows of a stream; from then on only check that rows fit.

        A learner downstream needs features that keep their meaning, so the first call settles
        everything and later ones change nothing. With ``bandwidth="median"`` let that first call
        see some tens of rows: a single one has no distances and leaves a bandwidth of 1.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_inputs)
            The next rows of the stream.
        y : None
            Ignored.

        Returns
        -------
        RandomFourierFeatures
            The fitted transformer itself.
        """
        with learned_whole(self) as twin:
            if hasattr(twin, "frequencies_"):
                validated(twin, X, reset=False, dtype=np.float64)
            else:
                twin._fit(X)
        return self

    @of_one_moment
    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Map rows to their features.

        Computed in double precision and returned in the precision of `X`. A row's features do not
        depend, to the last bit, on the rows it comes with.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_inputs)
            Rows.

        Returns
        -------
        ndarray of shape (n_rows, 2 * n_frequencies)
            Cosines, then sines; every row has unit length.
        """
        check_is_fitted(self)
        rows: NDArray[Any] = validated(self, X, reset=False, dtype=[np.float64, np.float32])
        with np.errstate(over="ignore"):
            scaled = np.divide(rows, self.bandwidth_, dtype=np.float64, order="C")
        np.clip(scaled, -_LARGEST_INPUT, _LARGEST_INPUT, out=scaled)
        phases = phases_of(scaled, self.frequencies_)
        n_frequencies = len(self.frequencies_)
        features: NDArray[Any] = np.empty((len(rows), 2 * n_frequencies), dtype=rows.dtype)
        np.cos(phases, out=features[:, :n_frequencies])
        np.sin(phases, out=features[:, n_frequencies:])
        features /= np.sqrt(n_frequencies)
        return features

    @property
    def _n_features_out(self) -> int:
        return 2 * len(self.frequencies_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def phases_of(rows: NDArray[np.float64], frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ωᵀx for each row and each frequency."""
    # One matrix-vector product a row: a single matrix product would sum in an order that depends on
    # the number of rows.
    phases: NDArray[np.float64] = np.matmul(frequencies, rows[:, :, np.newaxis])[:, :, 0]
    return phases


def _independent(
    n_frequencies: int, n_inputs: int, random: np.random.RandomState
) -> NDArray[np.float64]:
    """Draw standard normal frequencies."""
    return random.standard_normal((n_frequencies, n_inputs))


def _orthogonal(
    n_frequencies: int, n_inputs: int, random: np.random.RandomState
) -> NDArray[np.float64]:
    """Draw frequencies that are each standard normal, and orthogonal within a block.

    A standard normal vector is a uniform direction times a length from the χ distribution. The
    directions of a block are the columns of a random rotation, all the lengths are independent.
    """
    size = min(n_inputs, n_frequencies)
    blocks = random.standard_normal((-(-n_frequencies // size), n_inputs, size))
    directions, triangles = np.linalg.qr(blocks)
    # QR fixes signs by convention; without undoing that, directions would cover half a sphere.
    directions *= np.copysign(1.0, np.diagonal(triangles, axis1=1, axis2=2))[:, np.newaxis, :]
    lengths = np.sqrt(random.chisquare(n_inputs, size=(n_frequencies, 1)))
    frequencies: NDArray[np.float64] = directions.swapaxes(1, 2).reshape(-1, n_inputs)
    return frequencies[:n_frequencies] * lengths


def _median_distance(rows: NDArray[np.float64]) -> float:
    """Median distance between the rows that differ, 1 where all are the same."""
    # Halved before subtracting, so that no difference of finite numbers overflows; then scaled,
    # so that no square does.
    halved = rows / 2
    halved -= halved.min(axis=0)
    scale = halved.max()
    if scale == 0.0:
        return 1.0
    distances = pdist(halved / scale)
    median = np.median(distances[distances > 0.0])
    limits = np.finfo(np.float64)
    with np.errstate(over="ignore"):
        return float(np.clip(scale * (2 * median), limits.tiny, limits.max))
