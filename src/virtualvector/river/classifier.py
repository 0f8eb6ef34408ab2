"""What all of river's classifiers here share: dicts and data frames around one learner."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Set
from copy import copy
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from river import base
from river.base.typing import ClfTarget, FeatureName
from river.utils import dataframe

from virtualvector.learners.columns import ADD
from virtualvector.types import Array

Columns = dict[FeatureName, int]
Row = Mapping[FeatureName, Any]


class Parameter:
    """A parameter of a classifier, which is kept by its learner and nowhere else.

    Parameters
    ----------
    of_learner : str, optional
        What the learner calls it, if not the same.
    """

    def __init__(self, of_learner: str | None = None) -> None:
        self._of_learner = of_learner

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._of_learner = name, self._of_learner or name

    def __get__(self, classifier: RiverClassifier | None, owner: type) -> Any:
        return self if classifier is None else getattr(classifier.learner, str(self._of_learner))

    def __set__(self, classifier: RiverClassifier, value: Any) -> None:
        if self._name not in classifier._mutable_attributes:
            raise AttributeError(
                f"{type(classifier).__name__} has {self._name} = "
                f"{getattr(classifier, self._name)!r} for good; expected another classifier, by "
                f"clone({{{self._name!r}: {value!r}}})."
            )
        classifier.learner = classifier._changed(**{str(self._of_learner): value})


class RiverClassifier(base.MiniBatchClassifier):
    """A learner as a classifier of river.

    Parameters
    ----------
    learner : estimator
        One of this package, which has learned nothing yet.

    Attributes
    ----------
    learner : estimator
        The same, with all that has been learned: to look at its attributes, or to save it. It has a
        column for each feature, in the order of ``features``.
    """

    learner: Any
    class_weight = Parameter()
    new_columns = Parameter()

    def __init__(self, learner: Any) -> None:
        learner._validate_params()
        self.learner = learner
        self._columns: Columns = {}
        self._label: str | None = None  # of the last series of classes, as river keeps it

    @property
    def features(self) -> list[FeatureName]:
        """The features seen so far, in the order in which the learner has columns for them."""
        return list(self._columns)

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"class_weight", "new_columns"}

    def learn_one(self, x: Row, y: ClfTarget, w: float = 1.0) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            The features of the row.
        y : bool, str or int
            Its class. One that has not been seen so far is a new class.
        w : float, default=1.0
            Its weight: a row of weight 2 is a row seen twice, and one of weight 0 is left out.
        """
        if w == 0.0:
            return
        columns = self._columns_of(x.keys())
        learner = self._learner_of(columns)
        self._learn_row(learner, x, columns, y, float(w))
        self._keep(learner, columns)

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[ClfTarget, float]:
        """Return the probability of each class seen so far; nothing is learned.

        Parameters
        ----------
        x : dict
            The features of the row.

        Returns
        -------
        dict
            Empty before the first row is learned.
        """
        if not self._has_learned:
            return {}
        columns = self._columns_of(x.keys())
        learner = self._learner_of(columns)
        probabilities = self._probabilities_of_row(learner, x, columns).tolist()
        return dict(zip(learner.classes_.tolist(), probabilities, strict=True))

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn rows in their order, with the same result as one by one.

        Parameters
        ----------
        X : data frame
            The features of the rows, a column each.
        y : series
            Their classes.
        w : float or series, default=1.0
            Their weights.
        """
        labels = dataframe.into_series(y)
        weights = np.broadcast_to(np.asarray(w, dtype=np.float64), len(labels))
        if not weights.any():
            return
        columns = self._columns_of(names_of(X))
        learner = self._learner_of(columns)
        table = self._table(X, columns)
        learner.partial_fit(table, y, sample_weight=None if np.all(weights == 1.0) else weights)
        self._label = labels.name
        self._keep(learner, columns)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probability of each class seen so far, a column each.

        Parameters
        ----------
        X : data frame
            The features of the rows, a column each.

        Returns
        -------
        data frame
            Of the same library, without columns before the first row is learned. The names of
            columns are the classes, or their texts where names have to be texts, as with polars.
        """
        frame = dataframe.into_frame(X)
        classes = self.learner.classes_.tolist() if self._has_learned else []
        probabilities = self._probabilities(X)
        return dataframe.to_native_frame(
            dict(zip(classes, probabilities.T, strict=True)), like=frame
        )

    def predict_many(self, X: Any) -> Any:
        """Return the most probable class of each row; None before the first row is learned.

        Parameters
        ----------
        X : data frame
            The features of the rows, a column each.

        Returns
        -------
        series
            Of the same library.
        """
        frame = dataframe.into_frame(X)
        labels = (
            self.learner.classes_[np.argmax(self._probabilities(X), axis=1)].tolist()
            if self._has_learned
            else [None] * len(frame)
        )
        return dataframe.to_native_series(labels, name=self._label, like=frame)

    def _probabilities(self, X: Any) -> Array:
        """Return the probabilities of the rows of a data frame, a column for each class."""
        frame = dataframe.into_frame(X)
        n_classes = len(self.learner.classes_) if self._has_learned else 0
        if n_classes == 0 or len(frame) == 0:
            return np.empty((len(frame), n_classes))
        columns = self._columns_of(names_of(X))
        probabilities: Array = self._learner_of(columns).predict_proba(self._table(X, columns))
        return probabilities

    @property
    def _has_learned(self) -> bool:
        return hasattr(self.learner, "classes_")

    def _changed(self, **parameters: Any) -> Any:
        """Return another learner, which has learned the same and has other parameters."""
        changed = copy(self.learner).set_params(**parameters)
        changed._validate_params()
        return changed

    def _columns_of(self, features: Set[FeatureName]) -> Columns:
        """Return the columns of rows with such features: the same object, if none is new."""
        columns = with_new(self._columns, features)
        if columns is not self._columns and self._has_learned and self.new_columns != ADD:
            new = [feature for feature in columns if feature not in self._columns]
            raise ValueError(
                f"Found the features {new!r:.200}; expected those seen so far: "
                f"{list(self._columns)!r:.200}; or new_columns='add'."
            )
        return columns

    def _learner_of(self, columns: Columns) -> Any:
        """Return the learner, or, for columns that are new, another one to take its place."""
        return self.learner if columns is self._columns else self._widened(columns)

    def _keep(self, learner: Any, columns: Columns) -> None:
        # In one step: no interrupt comes between the two.
        self.__dict__.update(learner=learner, _columns=columns)

    @abstractmethod
    def _widened(self, columns: Columns) -> Any:
        """Return another learner, which is as if it had always had these columns."""

    @abstractmethod
    def _learn_row(self, learner: Any, x: Row, columns: Columns, y: ClfTarget, w: float) -> None:
        """Let a learner that is wide enough learn a row."""

    @abstractmethod
    def _probabilities_of_row(self, learner: Any, x: Row, columns: Columns) -> Array:
        """Return what a learner that is wide enough says of a row."""

    @abstractmethod
    def _table(self, X: Any, columns: Columns) -> Any:
        """Return a data frame as the learner takes it."""


def with_new(columns: Columns, features: Set[FeatureName]) -> Columns:
    """Return the columns of features: those known, and behind them those that are new.

    The new ones are sorted: dicts that are equal give equal results, whatever their order.

    Examples
    --------
    >>> from virtualvector.river.classifier import with_new
    >>> with_new({"size": 0}, {"weight", "size", "age"})
    {'size': 0, 'age': 1, 'weight': 2}
    """
    if features <= columns.keys():
        return columns
    new: list[Any] = [name for name in features if name not in columns]
    try:
        new.sort()
    except TypeError:  # of several kinds
        new.sort(key=lambda name: (type(name).__name__, repr(name)))
    return columns | {name: place for place, name in enumerate(new, start=len(columns))}


def names_of(X: Any) -> Set[FeatureName]:
    """Return the names of the columns of a data frame."""
    return dict.fromkeys(dataframe.into_frame(X).columns).keys()


def with_names(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return a data frame whose columns have texts as names, as scikit-learn expects them."""
    names = {each: str(each) for each in frame.columns if not isinstance(each, str)}
    return frame.rename(names) if names else frame
