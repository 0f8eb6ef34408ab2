"""What the rivals share: scikit-learn's contract around a rule that learns one row at a time."""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from virtualvector.kernels.triangular import Array
from virtualvector.learners.checking import (
    check_known,
    checked_classes,
    checked_rows,
    checked_rows_and_labels,
    unchanged_by_errors,
)
from virtualvector.learners.one_against_rest import Labels


class OnlineBinaryClassifier(ClassifierMixin, BaseEstimator):
    """A two-class learner: subclasses say how they start, learn a row, and score rows.

    What has been learned lives in ``state_``, any object that can be copied. Rows are handed over
    with labels of +1 for the second class and −1 for the first.
    """

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
        """Learn labelled rows from scratch, in one pass, in the order given."""
        self._validate_params()
        with unchanged_by_errors(self):
            rows, labels = checked_rows_and_labels(self, X, y, reset=True)
            classes = np.unique(labels)
            return self._learn(self._start(rows.shape[1]), classes, rows, labels)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows; the first call needs ``classes`` unless its rows have both."""
        self._validate_params()
        with unchanged_by_errors(self):
            first = not hasattr(self, "state_")
            rows, labels = checked_rows_and_labels(self, X, y, reset=first)
            if first:
                known = np.unique(labels) if classes is None else checked_classes(classes)
                return self._learn(self._start(rows.shape[1]), known, rows, labels)
            return self._learn(deepcopy(self.state_), self.classes_, rows, labels)

    def _learn(self, state: Any, classes: Labels, rows: Array, labels: Labels) -> Self:
        if len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. Input y has {len(classes)} classes: "
                f"{classes.tolist()!r}; expected two."
            )
        check_known(labels, classes)
        signs = np.where(labels == classes[-1], 1.0, -1.0)
        for row, sign in zip(rows, signs, strict=True):
            self._learn_row(state, row, sign)
        self.state_ = state
        self.classes_ = classes
        return self

    def decision_function(self, X: Any) -> Array:
        """Return a score for each row, positive for the second class."""
        check_is_fitted(self)
        return self._score(self.state_, checked_rows(self, X))

    def predict(self, X: Any) -> Labels:
        """Return the class of each row."""
        second = self.decision_function(X) > 0
        labels: Labels = self.classes_[np.where(second, len(self.classes_) - 1, 0)]
        return labels

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
