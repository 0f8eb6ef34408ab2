"""What a committee says of the rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from virtualvector.auto.attributes import CommitteeAttributes
from virtualvector.auto.learning import Panel, predict
from virtualvector.auto.sparse import asked_of_either
from virtualvector.auto.tables import TakesTables
from virtualvector.concurrency import of_one_moment
from virtualvector.learners.one_vs_rest import against_the_rest
from virtualvector.types import Array, Labels

_LEAST = np.finfo(np.float64).tiny  # of a probability whose logarithm is taken


class PredictsTables(CommitteeAttributes, TakesTables):
    """`predict_proba` of `AutoVVMClassifier`, and what follows from it."""

    @of_one_moment
    @asked_of_either
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row: the mix of what experts say.

        A row's do not depend, to the last bit, on the rows it comes with.
        """
        if self._route is None:
            check_is_fitted(self)
        if self._is_plain_row(X) and self._route is not None:
            probabilities = self._route.probabilities(X[0])
            if probabilities is not None:
                return probabilities[np.newaxis]
        columns = self._checked_rows(X)
        if not columns.new:
            return self._predicted(columns.values)
        whole = np.empty((len(columns.values[0]), len(self.classes_)))
        for rows, some in columns.by_new():  # each as if it came alone
            model = copy(self)
            model._add_columns(some)
            whole[rows] = model._predicted(some.values)
        return whole

    def _predicted(self, columns: list[Any]) -> Array:
        """Return the probabilities of rows whose columns have been checked."""
        route = self._route
        assert route is not None
        probabilities = route.probabilities(route.row_of(columns)) if len(columns[0]) == 1 else None
        if probabilities is not None:
            return probabilities[np.newaxis]
        committee, encoder = route.known
        return np.concatenate(
            [
                predict(
                    committee,
                    route.narrowed(encoder.scale([values[rows] for values in columns])),
                )
                for rows in self._pieces(len(columns[0]))
            ]
        )

    def predicting(self, n_rows: int) -> Callable[[Array], Array] | None:
        """Return what predicts arrays of finite numbers as `predict_proba` does, time and again.

        In memory that is made once, for so many rows at a time; not for several threads at once.
        None if rows have to be looked at, because they are not all numbers.
        """
        route = self._route
        if route is None or not route.is_plain or len(self.classes_) < 2:
            return None
        committee, encoder = route.known
        panel = Panel(committee, n_rows)
        return lambda rows: panel.predict(encoder.scaled_rows(rows))

    @of_one_moment
    @asked_of_either
    def predict(self, X: Any) -> Labels:
        """Return the most probable class of each row."""
        check_is_fitted(self)
        labels: Labels = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return labels

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of `predict_proba`; never less than that of the smallest number."""
        logarithms: Array = np.log(np.maximum(self.predict_proba(X), _LEAST))
        return logarithms

    @of_one_moment
    def decision_function(self, X: Any) -> Array:
        """Return the log-odds of the second of two classes, or of each class, one column each."""
        logs = self.predict_log_proba(X)
        if logs.shape[1] == 1:  # there is no other class so far
            return np.full(len(logs), np.log(_LEAST))
        if logs.shape[1] == 2:
            return logs[:, 1] - logs[:, 0]
        return against_the_rest(logs)
