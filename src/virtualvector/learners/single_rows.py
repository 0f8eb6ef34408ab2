"""What learners offer for single rows, around the route that learns them in place."""

from __future__ import annotations

import functools
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from virtualvector.kernels.triangular import Array
from virtualvector.learners.one_against_rest import Labels, OneAgainstRest
from virtualvector.learners.one_row import OneRow


class SingleRows(BaseEstimator):
    """`learn_one` and `predict_proba_one`, and where the posterior is kept.

    Tables of one row that need no more looking at take the same way.
    """

    _learned_so_far: OneAgainstRest  # or, once single rows have come,
    _route: OneRow | None = None
    classes_: Labels
    n_features_in_: int

    @abstractmethod
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows."""

    @abstractmethod
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row."""

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one row: as `partial_fit`, at a fraction of its cost.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Finite numbers, in the order of the columns. Names of columns are not looked at.
        y : label
            The class of the row.

        Returns
        -------
        self
            The classifier, having learned the row. After an error it is what it was before.

        Examples
        --------
        >>> from virtualvector import VVMClassifier
        >>> from virtualvector.datasets import load_ionosphere
        >>> X, y = load_ionosphere(return_X_y=True, random_state=0)
        >>> model = VVMClassifier(margin_noise=0.5).partial_fit(X[:1], y[:1], classes=[0, 1])
        >>> for t in range(1, 300):
        ...     said = model.predict_proba_one(X[t])
        ...     model = model.learn_one(X[t], y[t])
        >>> model.predict_proba_one(X[300]).round(3)
        array([0.018, 0.982])
        """
        route = self._route or self._one_row()
        if route is not None and route.learn(x, y):
            return self
        return self.partial_fit(np.asarray(x)[np.newaxis], [y])

    def predict_proba_one(self, x: Any) -> Array:
        """Return the probability of each class for one row: as `predict_proba`, and much faster.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Finite numbers, in the order of the columns. Names of columns are not looked at.

        Returns
        -------
        ndarray of shape (n_classes,)
        """
        route = self._route or self._one_row()
        if route is None or not route.can_predict:
            probabilities: Array = self.predict_proba(np.asarray(x)[np.newaxis])[0]
            return probabilities
        return route.probabilities(x)

    def _one_row(self) -> OneRow | None:
        """Open the way for single rows; there is none before there are two classes."""
        known = getattr(self, "_posterior", None)
        if known is None or len(known.classes) < 2:
            return None
        # If several threads come here at once, all take the way that was opened first.
        route: OneRow = self.__dict__.setdefault("_route", OneRow(known, self.n_features_in_))
        self.__dict__.pop("_learned_so_far", None)
        return route

    @property
    def _posterior(self) -> OneAgainstRest:
        """What has been learned; it stays as it is when more is learned."""
        posterior: OneAgainstRest | None = self.__dict__.get("_learned_so_far")
        if posterior is not None:
            return posterior
        if self._route is None:
            raise AttributeError("nothing has been learned")
        return self._route.known

    @_posterior.setter
    def _posterior(self, posterior: OneAgainstRest) -> None:
        self._learned_so_far = posterior
        self.__dict__.pop("_route", None)

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_posterior"):
            self._posterior = self._posterior  # addresses of memory mean nothing elsewhere
        state: dict[str, Any] = super().__getstate__()
        return state

    def _learn_one_row(self, X: Any, y: Any, classes: Any) -> bool:
        """Learn X if it is one row that needs no more looking at; return whether it is."""
        if not (self._is_plain_row(X) and type(y) in (np.ndarray, list) and len(y) == 1):
            return False
        if classes is not None and not np.array_equal(classes, self.classes_):
            return False
        route = self._route or self._one_row()
        return route is not None and route.learn(X[0], y[0])

    def _is_plain_row(self, X: Any) -> bool:
        return (
            type(X) is np.ndarray
            and X.shape == (1, self.__dict__.get("n_features_in_"))
            and X.dtype == np.float64
            and "feature_names_in_" not in self.__dict__
            and bool(np.isfinite(X).all())
        )

    def _validate_params(self) -> None:
        kind: Any = type(self)
        parameters = [self.__dict__[name] for name in _names_of_parameters(kind)]
        route = self._route
        if route is None or route.parameters != parameters:
            super()._validate_params()
            if route is not None:
                route.parameters = parameters


@functools.cache
def _names_of_parameters(kind: Any) -> list[str]:
    names: list[str] = kind._get_param_names()
    return names
