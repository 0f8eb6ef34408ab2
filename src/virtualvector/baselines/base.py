"""What the baselines share: scikit-learn's contract around a rule that learns one row at a time."""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from virtualvector.concurrency import TakesTurns, learned_whole, of_one_moment
from virtualvector.learners.validation import (
    check_known,
    checked_classes,
    checked_rows,
    checked_rows_and_labels,
)
from virtualvector.persistence.unsavable import Unsavable
from virtualvector.types import Array, Labels, Predictions


class OnlineBinaryClassifier(Unsavable, ClassifierMixin, TakesTurns, BaseEstimator):
    """A two-class learner: subclasses say how they start, learn a row, and score rows.

    What has been learned lives in ``state_``, any object that can be copied. Rows are handed over
    with labels of +1 for the second class and −1 for the first.
    """

    _why_unsavable = "it is a baseline to compare with; pickle it, or learn with VVMClassifier."

    state_: Any

    @abstractmethod
    def _start(self, n_features: int) -> Any:
        """Return what is known before the first row."""

    @abstractmethod
    def _learn_row(self, state: Any, row: Array, sign: float) -> None:
        """Learn one row, changing the state in place."""

    @abstractmethod
    def _score(self, state: Any, rows: Array) -> Array:
        """Return a score for each row, positive for the second class."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn labelled rows from scratch, in one pass, in the order given.

        Baselines are compared along a stream, whose order is for whoever compares to choose.
        """
        with learned_whole(self) as twin:
            twin._validate_params()
            rows, labels = checked_rows_and_labels(twin, X, y, reset=True)
            twin._learn(twin._start(rows.shape[1]), np.unique(labels), rows, labels)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows; the first call needs ``classes`` unless its rows have both."""
        with learned_whole(self) as twin:
            twin._validate_params()
            twin._learn(*twin._more(X, y, classes))
        return self

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> Predictions:
        """Predict each row, then learn it; what is learned is the same as by `partial_fit`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Finite numbers.
        y : array-like of shape (n_rows,)
            The class of each row.
        classes : array-like, optional
            Both classes; by default those of the first call.

        Returns
        -------
        Predictions
            What was predicted of each row before it was learned.
        """
        with learned_whole(self) as twin:
            twin._validate_params()
            state, twin.classes_, rows, labels = twin._more(X, y, classes)
            scores = np.empty(len(rows))
            for t, sign in enumerate(twin._signs(twin.classes_, labels)):
                scores[t] = twin._score(state, rows[t : t + 1])[0]
                twin._learn_row(state, rows[t], sign)
            twin.state_ = state
            return twin._predictions(scores)

    def _more(self, X: Any, y: Any, classes: Any) -> tuple[Any, Labels, Array, Labels]:
        """Return a copy of what is known, the classes, and checked rows and labels to learn."""
        first = not hasattr(self, "state_")
        rows, labels = checked_rows_and_labels(self, X, y, reset=first)
        if not first:
            return deepcopy(self.state_), self.classes_, rows, labels
        known = np.unique(labels) if classes is None else checked_classes(classes)
        return self._start(rows.shape[1]), known, rows, labels

    def _predictions(self, scores: Array) -> Predictions:
        return Predictions(self._labels(scores), None)

    @staticmethod
    def _signs(classes: Labels, labels: Labels) -> Array:
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. Input y has {len(classes)} classes: "
                f"{classes.tolist()!r}; expected two."
            )
        check_known(labels, classes)
        return np.where(labels == classes[-1], 1.0, -1.0)

    def _learn(self, state: Any, classes: Labels, rows: Array, labels: Labels) -> None:
        for row, sign in zip(rows, self._signs(classes, labels), strict=True):
            self._learn_row(state, row, sign)
        self.state_ = state
        self.classes_ = classes

    @of_one_moment
    def decision_function(self, X: Any) -> Array:
        """Return a score for each row, positive for the second class."""
        check_is_fitted(self)
        return self._score(self.state_, checked_rows(self, X))

    @of_one_moment
    def predict(self, X: Any) -> Labels:
        """Return the class of each row."""
        return self._labels(self.decision_function(X))

    def _labels(self, scores: Array) -> Labels:
        labels: Labels = self.classes_[np.where(scores > 0, len(self.classes_) - 1, 0)]
        return labels

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class OnlineProbabilisticClassifier(OnlineBinaryClassifier):
    """A two-class learner whose scores stand for probabilities."""

    @abstractmethod
    def _probability(self, scores: Array) -> Array:
        """Return the probability of the second class that each score stands for; odd about ½."""

    @of_one_moment
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row."""
        return self._probabilities(self.decision_function(X))

    def _probabilities(self, scores: Array) -> Array:
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return np.column_stack([self._probability(-scores), self._probability(scores)])

    def _predictions(self, scores: Array) -> Predictions:
        return Predictions(self._labels(scores), self._probabilities(scores))
