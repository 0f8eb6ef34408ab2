"""Sparse tables: if the first table is one, experts of low rank learn, as in `WideVVMClassifier`.

What learns is decided by the first table. No row is ever written out, and all that a committee can
be asked is then asked of who learned.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from copy import copy
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from virtualvector.types import ClassWeight, Labels
from virtualvector.wide.classifier import WideVVMClassifier

BYTES = 12  # of memory for each multiplication of a budget
_SHARED = ("n_classes", "scale", "class_weight", "shuffle", "random_state")

Estimator = TypeVar("Estimator", bound="LearnsSparseTables")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def asked_of_either(
    read: Callable[Concatenate[Estimator, Arguments], Result],
) -> Callable[Concatenate[Estimator, Arguments], Result]:
    """Let who has learned sparse tables answer under the same name, if somebody has."""

    @functools.wraps(read)
    def asking(
        estimator: Estimator, /, *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        if estimator._wide is None:
            return read(estimator, *arguments, **named)
        answer: Any = getattr(estimator._wide, read.__name__)
        found: Result = answer(*arguments, **named) if callable(answer) else answer
        return found

    return asking


class LearnsSparseTables(BaseEstimator):
    """What `AutoVVMClassifier` does if the first table is sparse."""

    budget: float | None
    experts: Any
    categorical_features: Any
    n_classes: int | None
    scale: bool
    class_weight: ClassWeight
    shuffle: bool
    random_state: int
    _wide: WideVVMClassifier | None = None  # who learns sparse tables
    _route: Any
    classes_: Labels
    n_features_in_: int

    def _takes_as_sparse(self, X: Any) -> bool:
        """Whether a table is for who learns sparse ones: the first one decides."""
        return self._wide is not None or (self._route is None and issparse(X))

    def _let_wide(self, method: str, *arguments: Any) -> Any:
        """Let who learns sparse tables do something; what it was before is kept."""
        if self._wide is None:
            self._validate_params()
            wide = self._made_for_sparse()
            self.__dict__.pop("feature_names_in_", None)
        else:
            wide = copy(self._wide)
        done = getattr(wide, method)(*arguments)
        self._take_wide(wide)
        return done

    def _take_wide(self, wide: WideVVMClassifier) -> None:
        self._wide, self.classes_, self.n_features_in_ = wide, wide.classes_, wide.n_features_in_

    def _made_for_sparse(self) -> WideVVMClassifier:
        """Return who learns sparse tables, as the parameters say."""
        for name in ("experts", "categorical_features"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name}: found some, and a sparse table; expected None, because such a table "
                    "is learned as numbers by linear experts of low rank, or a dense table."
                )
        wide = WideVVMClassifier(**{name: getattr(self, name) for name in _SHARED})
        if self.budget is not None:
            wide._memory = int(BYTES * self.budget)
        return wide

    def _with_sparse(self, learned: dict[str, Any]) -> None:
        """Take what was learned of sparse tables from a file."""
        wide = self._made_for_sparse()
        wide.n_features_in_ = self.n_features_in_
        wide._take({"posterior": learned["committee"], "encoder": learned["encoder"]})
        wide.classes_ = wide._posterior.classes
        self._take_wide(wide)

    def _check_sparse(self, wide: WideVVMClassifier) -> Labels:
        """Return the classes; raise ValueError if this cannot have been learned."""
        again = copy(wide)
        again.set_params(**self._made_for_sparse().get_params())
        if list(again._encoder.kinds) != ["sparse"]:
            raise ValueError("found columns of a table; expected sparse rows alone")
        return again._check_learned()

    def _points_of_sparse(self, wide: WideVVMClassifier) -> list[Any]:
        """Return the points of each posterior of the first expert, which by itself has none."""
        return [np.asarray(points)[:, :-1] for points in wide._posterior.points()]
