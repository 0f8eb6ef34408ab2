"""Scale columns as they come: each row by what the rows up to it have shown."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from virtualvector.concurrency import TakesTurns, learned_whole, of_one_moment
from virtualvector.dataframes import validated
from virtualvector.kernels.scaling import running_deviation, running_mean
from virtualvector.persistence.unsavable import Unsavable
from virtualvector.types import Array

# Means and deviations are those of a quarter of each column: no difference of two can overflow.
_QUARTER = 0.25
_FURTHEST = 1e6


class RunningStandardScaler(
    Unsavable, OneToOneFeatureMixin, TransformerMixin, TakesTurns, BaseEstimator
):
    """Subtract the mean so far and divide by the standard deviation so far, column by column.

    `learn_then_transform` does it along a stream: each row is scaled by the mean and the deviation
    of the rows before it *and itself*. It says nothing of its label, so a prediction may use it,
    and a value far beyond all before is kept in bounds: among n rows no value can be further than
    √(n − 1) deviations from the mean. `transform` scales rows by what has been learned so far.

    A column that has not changed so far becomes zero. `transform` takes a value more than a million
    deviations away as a million away. Results do not depend on how the stream is cut into calls.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_columns,)
        Mean and standard deviation (dividing by the number of rows) of each column.
    n_seen_ : int
        The number of rows learned.

    References
    ----------
    .. [1] Welford, B. P. (1962). Note on a method for calculating corrected sums of squares and
           products. Technometrics 4, 419-420.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.features import RunningStandardScaler
    >>> X = np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 7.0]])
    >>> RunningStandardScaler().learn_then_transform(X).round(3)
    array([[0.   , 0.   ],
           [1.   , 0.   ],
           [1.225, 0.   ]])
    """

    _why_unsavable = "pickle it; AutoVVMClassifier scales columns itself, and saves how."

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the mean and deviation of rows from scratch."""
        with learned_whole(self) as twin:
            rows = validated(twin, X, dtype=np.float64)
            twin._forget(rows.shape[1])
            twin._learn(rows)
        return self

    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the mean and deviation of more rows."""
        with learned_whole(self) as twin:
            twin._learn(twin._more(X))
        return self

    def learn_then_transform(self, X: ArrayLike) -> Array:
        """Learn each row, then scale it by what is known by then.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_inputs)
            The next rows of the stream, finite numbers.

        Returns
        -------
        ndarray of shape (n_rows, n_inputs)
            The rows, scaled.
        """
        with learned_whole(self) as twin:
            rows = twin._more(X)
            scaled = np.empty_like(rows)
            twin._learn(rows, scaled)
            return scaled

    @of_one_moment
    def transform(self, X: ArrayLike) -> Array:
        """Scale rows by what has been learned so far."""
        check_is_fitted(self)
        rows: Array = validated(self, X, dtype=np.float64, reset=False)
        return _standardised(rows * _QUARTER, self._mean, self._deviation)

    @property
    def mean_(self) -> Array:
        """Mean of each column."""
        check_is_fitted(self)
        return self._mean / _QUARTER

    @property
    def scale_(self) -> Array:
        """Standard deviation of each column; zero if it has not changed."""
        check_is_fitted(self)
        return self._deviation / _QUARTER

    def _more(self, X: ArrayLike) -> Array:
        first = not hasattr(self, "n_seen_")
        rows: Array = validated(self, X, dtype=np.float64, reset=first)
        if first:
            self._forget(rows.shape[1])
        return rows

    def _forget(self, n_inputs: int) -> None:
        self.n_seen_ = 0
        self._mean: Array = np.zeros(n_inputs)
        self._deviation: Array = np.zeros(n_inputs)

    def _learn(self, rows: Array, scaled: Array | None = None) -> None:
        """Learn rows one by one; write each, as scaled by then, into ``scaled``."""
        n, mean, deviation = self.n_seen_, self._mean, self._deviation
        for t, row in enumerate(rows * _QUARTER):
            n += 1
            apart = row - mean
            mean = running_mean(mean, apart, n)
            deviation = running_deviation(deviation, apart, n)
            if scaled is not None:
                scaled[t] = _standardised(row, mean, deviation)
        self.n_seen_, self._mean, self._deviation = n, mean, deviation


def _standardised(rows: Array, mean: Array, deviation: Array) -> Array:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scaled = np.where(deviation > 0.0, (rows - mean) / deviation, 0.0)
    return np.clip(scaled, -_FURTHEST, _FURTHEST)
