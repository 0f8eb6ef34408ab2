"""The linear learners for river: a weight for each feature."""

from __future__ import annotations

import math
from contextlib import suppress
from copy import copy
from itertools import repeat
from typing import Any

import numpy as np
from river.base.typing import ClfTarget, FeatureName
from river.utils import dataframe
from sklearn.base import BaseEstimator

from virtualvector import learners
from virtualvector.learners.columns import ADD
from virtualvector.learners.validation import checked_rows
from virtualvector.river.classifier import Columns, Parameter, RiverClassifier, Row, with_names
from virtualvector.types import Array, ClassWeight


class LinearClassifier(RiverClassifier):
    """A classifier with a weight for each feature.

    A feature that a row does not have is 0.0, as for river's linear models. One that has not been
    seen so far has a weight from then on, as if it had been 0.0 in all rows before: what is known
    of this weight is the prior, also to a prediction, which is the less certain for it.
    """

    label_noise = Parameter()
    margin_noise = Parameter()
    prior_variance = Parameter()
    fit_intercept = Parameter()
    half_life = Parameter()
    covariance = Parameter()
    rank = Parameter()

    @property
    def _mutable_attributes(self) -> set[str]:
        return {*super()._mutable_attributes, "half_life"}

    def _changed(self, **parameters: Any) -> Any:
        changed = super()._changed(**parameters)
        if self._has_learned:
            known = changed._posterior
            changed._posterior = known.with_settings(changed._settings(), changed._beside())
        return changed

    def _widened(self, columns: Columns) -> Any:
        if not self._has_learned:
            return copy(self.learner)
        return self.learner.with_more_features(_width(columns) - self.learner.n_features_in_)

    def _learn_row(self, learner: Any, x: Row, columns: Columns, y: ClfTarget, w: float) -> None:
        learner.learn_one(_numbers(x, columns), y, w)

    def _probabilities_of_row(self, learner: Any, x: Row, columns: Columns) -> Array:
        probabilities: Array = learner.predict_proba_one(_numbers(x, columns))
        return probabilities

    def _table(self, X: Any, columns: Columns) -> Array:
        frame = dataframe.into_frame(X)
        rows = np.zeros((len(frame), _width(columns)))
        if frame.columns:
            places = [columns[name] for name in frame.columns]
            table = with_names(frame).to_native()
            if hasattr(table, "sparse"):  # as counts of words are
                table = table.sparse.to_dense()
            rows[:, places] = checked_rows(BaseEstimator(), table, reset=True)
        return rows


class VVMClassifier(LinearClassifier):
    """Bayesian online classification with a Gaussian and a constant number of virtual points.

    The Virtual Vector Machine, for two classes or more. Rows should be scaled.

    Parameters
    ----------
    buffer_size, label_noise, margin_noise, merge_pairs, eviction, prior_variance, fit_intercept
    tol, max_sweeps, half_life, covariance, rank, hedge, class_weight
        As for `virtualvector.VVMClassifier`.
    new_columns : {"add", "error"}, default="add"
        What to do with a feature that no row had so far.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from virtualvector.river import VVMClassifier
    >>> model = preprocessing.StandardScaler() | VVMClassifier(margin_noise=1.0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.43%
    """

    buffer_size = Parameter()
    merge_pairs = Parameter()
    eviction = Parameter()
    tol = Parameter()
    max_sweeps = Parameter()
    hedge = Parameter()

    def __init__(
        self,
        buffer_size: int = 30,
        *,
        label_noise: float = 0.0,
        margin_noise: float = 0.0,
        merge_pairs: int = 5,
        eviction: str = "divergence",
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        max_sweeps: int = 30,
        half_life: float | None = None,
        covariance: str = "full",
        rank: int = 20,
        hedge: bool = True,
        class_weight: ClassWeight = None,
        new_columns: str = ADD,
    ) -> None:
        super().__init__(
            learners.VVMClassifier(
                buffer_size,
                label_noise=label_noise,
                margin_noise=margin_noise,
                merge_pairs=merge_pairs,
                eviction=eviction,
                prior_variance=prior_variance,
                fit_intercept=fit_intercept,
                tol=tol,
                max_sweeps=max_sweeps,
                half_life=half_life,
                covariance=covariance,
                rank=rank,
                hedge=hedge,
                class_weight=class_weight,
                new_columns=new_columns,
            )
        )


class ADFClassifier(LinearClassifier):
    """Bayesian online classification with a Gaussian posterior: assumed-density filtering.

    For two classes or more. Rows should be scaled.

    Parameters
    ----------
    label_noise, margin_noise, prior_variance, fit_intercept, half_life, covariance, rank
    class_weight
        As for `virtualvector.VVMClassifier`.
    new_columns : {"add", "error"}, default="add"
        What to do with a feature that no row had so far.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from virtualvector.river import ADFClassifier
    >>> model = preprocessing.StandardScaler() | ADFClassifier(margin_noise=1.0)
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy())
    Accuracy: 88.65%
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
        new_columns: str = ADD,
    ) -> None:
        super().__init__(
            learners.ADFClassifier(
                label_noise=label_noise,
                margin_noise=margin_noise,
                prior_variance=prior_variance,
                fit_intercept=fit_intercept,
                half_life=half_life,
                covariance=covariance,
                rank=rank,
                class_weight=class_weight,
                new_columns=new_columns,
            )
        )


class WindowEPClassifier(LinearClassifier):
    """Bayesian online classification with a Gaussian and the last rows of the stream.

    For two classes or more. Rows should be scaled.

    Parameters
    ----------
    buffer_size : int, default=30
        Rows kept between rows.
    label_noise, margin_noise, prior_variance, fit_intercept, tol, max_sweeps, half_life
    covariance, rank, class_weight
        As for `virtualvector.VVMClassifier`.
    new_columns : {"add", "error"}, default="add"
        What to do with a feature that no row had so far.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from virtualvector.river import WindowEPClassifier
    >>> model = preprocessing.StandardScaler() | WindowEPClassifier(10, margin_noise=1.0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.51%
    """

    buffer_size = Parameter()
    tol = Parameter()
    max_sweeps = Parameter()

    def __init__(
        self,
        buffer_size: int = 30,
        *,
        label_noise: float = 0.0,
        margin_noise: float = 0.0,
        prior_variance: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        max_sweeps: int = 30,
        half_life: float | None = None,
        covariance: str = "full",
        rank: int = 20,
        class_weight: ClassWeight = None,
        new_columns: str = ADD,
    ) -> None:
        super().__init__(
            learners.WindowEPClassifier(
                buffer_size,
                label_noise=label_noise,
                margin_noise=margin_noise,
                prior_variance=prior_variance,
                fit_intercept=fit_intercept,
                tol=tol,
                max_sweeps=max_sweeps,
                half_life=half_life,
                covariance=covariance,
                rank=rank,
                class_weight=class_weight,
                new_columns=new_columns,
            )
        )


def _width(columns: Columns) -> int:
    """How many columns the learner has: one of zeros, if rows have had no features so far."""
    return max(1, len(columns))


def _numbers(x: Row, columns: Columns) -> Array:
    """Return a row as numbers, 0.0 where it has no feature."""
    values = [*map(x.get, columns, repeat(0.0))] or [0.0]
    with suppress(ValueError):  # as for lists of different lengths
        row = np.array(values)
        if row.ndim == 1 and row.dtype.kind in "fiub" and np.isfinite(row).all():
            return row.astype(np.float64, copy=False)
    return np.array([*map(_number, values, columns)])


def _number(value: Any, name: FeatureName) -> float:
    """Return a value that needs a closer look as a number."""
    if not isinstance(value, np.datetime64 | np.timedelta64):  # numbers to numpy
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value)
            if math.isfinite(number):
                return number
    raise ValueError(
        f"Input x has {value!r:.60} for the feature {name!r}; expected a finite number. Leave the "
        "feature out where it is 0.0; river's preprocessing.StatImputer and "
        "preprocessing.OneHotEncoder make numbers of others, and AutoVVMClassifier takes them as "
        "they are."
    )
