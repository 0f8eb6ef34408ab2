"""What learners offer for single rows, which are learned in place."""

from __future__ import annotations

import functools
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from virtualvector.kernels.triangular import Array
from virtualvector.learners.one_against_rest import Labels, OneAgainstRest
from virtualvector.learners.one_row import OneRow
from virtualvector.turns import TakesTurns


class SingleRows(TakesTurns, BaseEstimator):
    """`learn_one` and `predict_proba_one`, and where the posterior is kept.

    Tables of one row that need no more looking at take the same way.
    """

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
        route = self._route
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
        route = self._route
        if route is None or not route.can_predict:
            probabilities: Array = self.predict_proba(np.asarray(x)[np.newaxis])[0]
            return probabilities
        return route.probabilities(x)

    @property
    def _posterior(self) -> OneAgainstRest:
        """What has been learned; it stays as it is when more is learned."""
        if self._route is None:
            raise AttributeError("nothing has been learned")
        return self._route.known

    @_posterior.setter
    def _posterior(self, posterior: OneAgainstRest) -> None:
        self._route = OneRow(posterior, self.n_features_in_)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        route = state.pop("_route", None)  # which learns in place: each copy has its own
        return state if route is None else state | {"_learned_so_far": route.known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        known = state.pop("_learned_so_far", None)
        super().__setstate__(state)
        if known is not None:
            self._posterior = known

    def _learn_one_row(self, X: Any, y: Any, classes: Any) -> bool:
        """Learn X if it is one row that needs no more looking at; return whether it is."""
        if not (self._is_plain_row(X) and type(y) in (np.ndarray, list) and len(y) == 1):
            return False
        if classes is not None and not np.array_equal(classes, self.classes_):
            return False
        route = self._route
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
