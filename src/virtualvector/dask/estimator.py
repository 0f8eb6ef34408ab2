"""What estimators that learn Dask collections have in common."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar, Self

import dask
import dask.array
import numpy as np
from distributed import Client
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.concurrency import TakesTurns, learned_whole
from virtualvector.dask.cluster import client_for
from virtualvector.dask.pieces import are_in_blocks, is_collection, lazily, pieces_of
from virtualvector.dask.rounds import Outcome, Rounds
from virtualvector.learners.validation import checked_classes
from virtualvector.learners.weights import BALANCED
from virtualvector.types import ClassWeight, Labels, Predictions

_HERE = ("client", "shards")  # parameters that only these estimators have


class DaskMixin(TakesTurns, BaseEstimator):
    """What learns and predicts where the rows are, whatever the learner."""

    shards: int
    client: Client | None
    class_weight: ClassWeight
    classes_: Labels
    new_columns = "error"
    shuffle, random_state = False, 0  # rows are learned in their order
    _route: Any
    _of: ClassVar[type[Any]]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn labelled rows from scratch, in one pass, in their order.

        They are not shuffled, which would move them between machines: if they are sorted, by class
        or otherwise, shuffle them before. Labels that come in blocks are warned of.

        Parameters
        ----------
        X : Dask array or data frame of shape (n_rows, n_features), or list of delayed tables
            Finite numbers; for `DaskAutoVVMClassifier` anything that `AutoVVMClassifier` takes.
        y : the same of shape (n_rows,)
            The class of each row, in as many pieces as ``X``.
        sample_weight : the same, optional
            The weight of each row, as for `VVMClassifier.fit`.

        Returns
        -------
        self
            The fitted classifier. After an error it is what it was before.
        """
        with learned_whole(self) as twin:
            plan = twin._plan(X, y, sample_weight)
            found = plan.runs()
            classes = checked_classes(np.concatenate([runs.classes for runs in found]))
            if are_in_blocks(found):
                warnings.warn(
                    "found labels in blocks; expected rows in a random order, which are not "
                    "shuffled here: what is learned depends on their order. partial_fit is for "
                    "streams.",
                    UserWarning,
                    stacklevel=2,
                )
            _hand_over(plan.learn(twin._unfitted(), False, classes).model, twin)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order. Rounds end where a call does.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, optional
            All classes that will ever come, in the first call; without it they are taken as they
            come.

        Returns
        -------
        self
            The classifier, having learned the rows. After an error it has learned none of them.
        """
        self._learn_more(X, y, classes, sample_weight, False)
        return self

    def predict_then_learn(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Predictions:
        """Predict each row, then learn it.

        A row is predicted by what its shard knows then: all rows of the rounds before, and those of
        its own span before it.

        Parameters
        ----------
        X, y, classes, sample_weight
            As for `partial_fit`; without ``classes``, those of the first call.

        Returns
        -------
        Predictions
            Dask arrays of what was predicted of each row: labels and probabilities. They are on the
            workers for as long as they are referred to.
        """
        done = self._learn_more(X, y, classes, sample_weight, True)
        predicted = [dask.delayed(future) for future in done.predicted]

        def array(pieces: Any, columns: tuple[int, ...], dtype: Any) -> Any:
            arrays = [
                dask.array.from_delayed(each, (length, *columns), dtype=dtype)
                for each, length in zip(pieces, done.lengths, strict=True)
            ]
            return dask.array.concatenate(arrays)

        labels = array((each.labels for each in predicted), (), self.classes_.dtype)
        of_all = (each.of_classes(self.classes_) for each in predicted)
        return Predictions(labels, array(of_all, (len(self.classes_),), np.float64))

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, for a collection as a lazy Dask array."""
        check_is_fitted(self)
        return self._say("predict", X, self.classes_.dtype, ())

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, for a collection as a lazy Dask array."""
        check_is_fitted(self)
        return self._say("predict_proba", X, np.float64, (len(self.classes_),))

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithm of `predict_proba`, for a collection as a lazy Dask array."""
        check_is_fitted(self)
        return self._say("predict_log_proba", X, np.float64, (len(self.classes_),))

    def decision_function(self, X: Any) -> Any:
        """Return a score that orders rows, for a collection as a lazy Dask array."""
        check_is_fitted(self)
        columns = (len(self.classes_),) if len(self.classes_) > 2 else ()
        return self._say("decision_function", X, np.float64, columns)

    def to_local(self) -> Any:
        """Return the ordinary estimator, which knows the same and has the ordinary files."""
        check_is_fitted(self)
        local = self._unfitted()
        _hand_over(self, local)
        return local

    def save(self, path: Any) -> None:
        """Write the model of `to_local` to a file, which `virtualvector.load` reads."""
        self.to_local().save(path)

    def _say(self, method: str, X: Any, dtype: Any, columns: tuple[int, ...]) -> Any:
        local = self.to_local()
        if not is_collection(X):
            return getattr(local, method)(X)
        return lazily(partial(_asked, method=method, columns=columns), local, X, dtype, columns)

    def _learn_more(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, predict: bool
    ) -> Outcome:
        with learned_whole(self) as twin:
            plan = twin._plan(X, y, sample_weight)
            model = twin._unfitted() if twin._route is None else twin.to_local()
            if predict and classes is None and twin._route is None:
                classes = checked_classes(np.concatenate([each.classes for each in plan.runs()]))
            done = plan.learn(model, predict, classes)
            _hand_over(done.model, twin)
        return done

    def _plan(self, X: Any, y: Any, sample_weight: Any) -> Rounds:
        self._validate_params()
        if isinstance(self.class_weight, str) and self.class_weight == BALANCED:
            raise ValueError(
                "class_weight='balanced' is not supported on Dask; expected the weights as a dict."
            )
        pieces = pieces_of(X, y, sample_weight)
        return Rounds(client_for(self.client), pieces, self.shards)

    def _unfitted(self) -> Any:
        own = self.get_params(deep=False)
        return self._of(**{name: value for name, value in own.items() if name not in _HERE})

    def __sklearn_clone__(self) -> Self:
        return type(self)(**self.get_params(deep=False))  # on the same cluster

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return state | {"client": None}  # which stays with who opened it


def _asked(model: Any, rows: Any, method: str, columns: tuple[int, ...]) -> Any:
    """Return what a model says of rows, of which there may be none."""
    if len(rows) > 0:
        return getattr(model, method)(rows)
    return model.classes_[:0] if method == "predict" else np.empty((0, *columns))


def _hand_over(one: Any, other: Any) -> None:
    """Let another estimator know what one has learned."""
    for name in ("n_features_in_", "feature_names_in_", "_scale", "_categorical", "classes_"):
        if name in vars(one):
            setattr(other, name, getattr(one, name))
        else:
            vars(other).pop(name, None)
    if isinstance(one, AutoVVMClassifier):
        other._known = one._known
    else:
        other._keep(one._posterior)
