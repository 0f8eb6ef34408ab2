"""The logarithmic pool of a committee: what is known of its exponents, and who can be spared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from virtualvector.types import Array

PRECISION = 10.0  # of an exponent, before anything is known


class Pool(NamedTuple):
    """The normal posterior of the exponents of all experts; of those asleep they are zero."""

    mean: Array
    covariance: Array

    @classmethod
    def start(cls, n_experts: int) -> Pool:
        """Return the pool of experts that count alike: their geometric mean."""
        return cls(np.full(n_experts, 1.0 / n_experts), np.eye(n_experts) / PRECISION)

    def importance(self) -> Array:
        """Return by how much evidence each exponent differs from zero: m²/C, twice its logarithm.

        Examples
        --------
        >>> import numpy as np
        >>> from virtualvector.learners.log_pool import Pool
        >>> Pool(np.array([0.3, 0.6]), np.diag([0.01, 0.09])).importance().round(1).tolist()
        [9.0, 4.0]
        """
        variances = np.diagonal(self.covariance)
        there = variances > 0.0
        return np.where(there, np.square(self.mean) / np.where(there, variances, 1.0), 0.0)

    def without(self, asleep: NDArray[np.bool_]) -> Pool:
        """Return what is known of the others, given that the exponents of some are zero.

        Whoever says much the same as one of these gets its part.

        Examples
        --------
        >>> import numpy as np
        >>> from virtualvector.learners.log_pool import Pool
        >>> alike = Pool(np.array([0.5, 0.4]), np.array([[1.0, -0.9], [-0.9, 1.0]]))
        >>> alike.without(np.array([False, True])).mean.round(2).tolist()
        [0.86, 0.0]
        """
        mean, covariance = self.mean.copy(), self.covariance.copy()
        for e in np.flatnonzero(asleep & (np.diagonal(covariance) > 0.0)):
            along = covariance[e] / covariance[e, e]
            mean -= mean[e] * along
            covariance -= covariance[e, e] * np.outer(along, along)
            mean[e], covariance[e], covariance[:, e] = 0.0, 0.0, 0.0
        return Pool(mean, covariance)

    def of(self, some: list[int]) -> Pool:
        """Return the pool of some of the experts, in memory of its own."""
        return Pool(self.mean[some], self.covariance[np.ix_(some, some)])

    def updated(self, some: list[int], pool: Pool) -> Pool:
        """Return the same, with what is known now of some."""
        mean, covariance = self.mean.copy(), self.covariance.copy()
        mean[some] = pool.mean
        places = np.array(some)
        covariance[places[:, np.newaxis], places] = pool.covariance
        return Pool(mean, covariance)

    def joined(self, n_before: int, n_after: int) -> Pool:
        """Return the pool with others before and after: their exponents are about zero."""
        mean = np.concatenate([np.zeros(n_before), self.mean, np.zeros(n_after)])
        covariance = np.eye(len(mean)) / PRECISION
        there = slice(n_before, n_before + len(self.mean))
        covariance[there, there] = self.covariance
        return Pool(mean, covariance)
