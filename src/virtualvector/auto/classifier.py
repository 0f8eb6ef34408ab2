"""`AutoVVMClassifier`: probabilities that are right by default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from virtualvector.auto.committee import Committee
from virtualvector.auto.experts import usual_budget
from virtualvector.auto.online import Known
from virtualvector.auto.plan import plan
from virtualvector.auto.predictions import PredictsTables
from virtualvector.auto.saving import SavesCommittee
from virtualvector.auto.stage import Stage
from virtualvector.concurrency import learned_whole
from virtualvector.features.encoder import Encoder
from virtualvector.features.statistics import statistics_for
from virtualvector.features.tables import Columns
from virtualvector.learners.columns import CONSTRAINT, ERROR
from virtualvector.learners.expert import Expert
from virtualvector.learners.order import visiting_order
from virtualvector.learners.validation import (
    as_learned,
    check_same_classes,
    checked_classes,
    checked_labels,
)
from virtualvector.learners.weights import BALANCED, Repetitions, Visits
from virtualvector.types import Array, ClassWeight, Labels, Predictions

_CLASSES_TO_PAY_FOR = 2  # if nobody says how many there are


class AutoVVMClassifier(ClassifierMixin, PredictsTables, SavesCommittee):
    """Bayesian online classification that needs no tuning.

    A committee of virtual vector machines and ADF learners that differ in what they assume: how
    noisy labels and margins are, whether classes are divided by planes or by curves, how fast the
    world changes. Each one's evidence, the probability it gave to all labels before it knew them,
    is its weight in the mix. Those that have become negligible sleep and cost nothing, until the
    stream changes.

    Rows may have columns of numbers, in any units, dates and times, and categorical columns (text,
    categories, truth values), and missing values in all of them; a value is the same in whatever
    type it comes. Nothing about a row is used before it is predicted.

    Parameters
    ----------
    budget : float, optional
        About how many multiplications all experts together may take for a row, three times as many
        at the start; by default 1.5 million and 15,000 more for each column, which takes about 0.15
        ms, but no more than 4 million, and in proportion more for more than three classes. The
        more, the better curved boundaries are met. Memory is about 12 bytes for each. Experts that
        do not fit are not made; where not even three do, there are some with precisions of low rank
        instead of covariances: `given_up_` says so.
    experts : sequence of Expert, optional
        What experts assume, if not the default.
    n_frequencies : int, optional
        The number of frequencies of Fourier features, by default as many as the budget allows.
    categorical_features : array-like of str, int or bool, optional
        The categorical columns: their labels, their places, or a mask, as for scikit-learn's
        `HistGradientBoostingClassifier`. All others are numeric, or times. By default columns of
        which most values in the first call are texts, categories or truth values are categorical.
    missing_values : array-like of str, optional
        What stands for a missing value, in any case, beside None, nan and the usual NA, null, ?
        and so on.
    n_classes : int, optional
        How many classes to plan the budget for if they are not declared; by default two.
    scale : bool, default=True
        Whether to scale columns. If not, rows are taken as they are and have to be numbers.
    n_jobs : int, default=1
        Threads for experts to learn in. Does not change any result.
    class_weight : dict or "balanced", optional
        As for `VVMClassifier`: probabilities are then not at the rate at which classes come.
    new_columns : {"error", "add"}, default="error"
        What to do with a column that a dict or a data frame has and rows so far had not. "add": it
        is a column from its first value on, as if it had been missing in all rows before; nothing
        is known of its weights. What it holds is decided by the call it comes in, and columns are
        known by their names, in any order: one that is not there is missing. Experts see it
        linearly, and in Fourier features of all columns, but not in squares or in features of one
        or two columns each, which are those of the first call. The budget bounds how many may come.
    shuffle : bool, default=True
        Whether `fit` visits rows in a random order: tables are often sorted. `partial_fit` and
        `predict_then_learn` always take them as they come.
    random_state : int, default=0
        Seed of the frequencies, and of that order.

    Attributes
    ----------
    classes_ : ndarray
        The classes seen or declared.
    experts_ : list of dict
        The experts: what each assumes, its evidence, its weight and whether it is awake.
    history_ : list of dict
        The weights of all experts at moments along the stream.
    n_seen_ : int
        The number of rows learned.
    n_missing_ : ndarray of shape (n_columns,)
        The missing values seen in each column.
    is_categorical_, is_time_ : ndarray of shape (n_columns,)
        Which columns are categorical, and which hold dates or times.
    takes_new_classes_ : bool
        Whether classes may still come that have not been seen.
    n_awake_ : int
        How many experts are awake.
    given_up_ : list of str
        What the budget did not pay for, because rows are very wide: experts, or the width of rows.
    n_bytes_ : int
        The memory that everything learned takes.
    counters_ : dict
        How many points were evicted and merged, and the divergence lost.
    weight_table_ : list of dict
        The weights of the columns for the most trusted expert.
    virtual_points_ : ndarray, or a list of them
        The virtual points of the most trusted expert.

    Examples
    --------
    >>> from virtualvector import AutoVVMClassifier
    >>> from virtualvector.datasets import load_spambase
    >>> X, y = load_spambase(return_X_y=True, random_state=0)
    >>> model = AutoVVMClassifier().partial_fit(X[:1000], y[:1000], classes=[0, 1])
    >>> model.score(X[1000:], y[1000:]) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "budget": [None, Interval(Real, 0, None, closed="neither")],
        "experts": [None, "array-like"],
        "n_frequencies": [None, Interval(Integral, 1, None, closed="left")],
        "categorical_features": [None, "array-like"],
        "missing_values": [None, "array-like"],
        "n_classes": [None, Interval(Integral, 2, None, closed="left")],
        "scale": ["boolean"],
        "n_jobs": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [dict, StrOptions({BALANCED}), None],
        "new_columns": CONSTRAINT,
        "shuffle": ["boolean"],
        "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both")],
    }

    def __init__(
        self,
        *,
        budget: float | None = None,
        experts: Sequence[Expert] | None = None,
        n_frequencies: int | None = None,
        categorical_features: Any = None,
        missing_values: Sequence[str] | None = None,
        n_classes: int | None = None,
        scale: bool = True,
        n_jobs: int = 1,
        class_weight: ClassWeight = None,
        new_columns: str = ERROR,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.budget = budget
        self.experts = experts
        self.n_frequencies = n_frequencies
        self.categorical_features = categorical_features
        self.missing_values = missing_values
        self.n_classes = n_classes
        self.scale = scale
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.new_columns = new_columns
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn labelled rows from scratch, in one pass, in a random order; see ``shuffle``.

        Parameters
        ----------
        X, y
            As for `partial_fit`.
        sample_weight : array-like of shape (n_rows,), optional
            The weight of each row, as for `VVMClassifier`: one of weight 2 is a row seen twice, to
            the last bit. The power of a part holds for all experts and for what weighs and corrects
            them; to the scales of columns a part is a row.

        Returns
        -------
        self
            The fitted classifier. After an error it is what it was before.
        """
        with learned_whole(self) as twin:
            twin._forget()
            twin._validate_params()
            if issparse(X):
                twin._let_wide("fit", X, y, sample_weight)
                return self
            columns, labels = twin._checked(X, y)
            repeated = Repetitions.of(
                sample_weight, twin.class_weight, labels, np.unique(labels), balance=True
            )
            twin._start(columns, np.unique(repeated.kept(labels)))
            order = visiting_order(repeated.n_visits, twin.shuffle, twin.random_state)
            twin._learn(columns.values, labels, repeated.visits(order, twin._at_once))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order. How a stream is cut into calls does not matter.

        Parameters
        ----------
        X : data frame, dict of columns, sparse table or array-like of shape (n_rows, n_columns)
            Numbers, times and categories, nan or None where missing. If the first table is a sparse
            one of `scipy.sparse`, of any width, linear experts of low rank learn as in
            `WideVVMClassifier`, and no row is ever written out; later ones may be arrays, too.
        y : array-like of shape (n_rows,)
            The class of each row.
        classes : array-like, optional
            All classes that will ever come, in the first call; without it, or with an empty list,
            they are taken as they come.
        sample_weight : array-like of shape (n_rows,), optional
            The weight of each row, as for `fit`.

        Returns
        -------
        self
            The classifier, having learned the rows. After an error it has learned none of them.
        """
        if sample_weight is None and self._learn_table_of_one(X, y, classes):
            return self
        with learned_whole(self) as twin:
            if twin._takes_as_sparse(X):
                twin._let_wide("partial_fit", X, y, classes, sample_weight)
                return self
            columns, labels, repeated = twin._more(X, y, classes, sample_weight)
            twin._learn(columns.values, labels, repeated.visits(None, twin._at_once))
        return self

    def predict_then_learn(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Predictions:
        """Predict each row, then learn it, in one pass; what is learned is as by `partial_fit`.

        Parameters
        ----------
        X, y
            As for `partial_fit`.
        classes : array-like, optional
            All classes that will ever come, in the first call; by default those of that call. With
            an empty list they are taken as they come, in this call and later ones.
        sample_weight : array-like of shape (n_rows,), optional
            The weight of each row, as for `fit`. A row of weight 0 is predicted and not learned.

        Returns
        -------
        Predictions
            What was predicted of each row before it was learned, for the first time if it is
            learned several times: labels and probabilities. There is a column for each class known
            at the end of the call, 0 where it was not known yet. Of the first row of all, while no
            class is known, there is nothing to say: all its probabilities are 0, and its label is
            its own, which does not depend on other rows.

        Examples
        --------
        >>> from virtualvector import AutoVVMClassifier
        >>> from virtualvector.datasets import load_thyroid
        >>> X, y = load_thyroid(return_X_y=True, random_state=0)
        >>> predicted = AutoVVMClassifier().predict_then_learn(X[:20], y[:20], classes=[])
        >>> y[:4].tolist(), predicted.labels[:4].tolist()
        ([2, 0, 0, 1], [2, 2, 0, 0])
        >>> predicted.probabilities[:4].round(1).tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.0, 0.4], [0.6, 0.0, 0.4]]
        """
        with learned_whole(self) as twin:
            if twin._takes_as_sparse(X):
                predicted: Predictions = twin._let_wide(
                    "predict_then_learn", X, y, classes, sample_weight
                )
                return predicted
            if classes is None and twin._route is None:
                classes = y
            columns, labels, repeated = twin._more(X, y, classes, sample_weight)
            visits = repeated.predicted_visits(twin._at_once)
            probabilities = twin._learn(columns.values, labels, visits, predict=True)
            likely = twin.classes_[np.argmax(probabilities, axis=1)]
            known = probabilities.any(axis=1)
            likely = likely if known.all() else np.where(known, likely, labels)
            return Predictions(likely, probabilities)

    def close_classes(self) -> Self:
        """Take no more classes than those known: from now on another one is an error.

        What was kept for classes that might still come is dropped. Nothing else changes.

        Returns
        -------
        self
            The classifier.
        """
        with learned_whole(self) as twin:
            check_is_fitted(twin)
            if twin._wide is not None:
                twin._let_wide("close_classes")
                return self
            twin._go_on()
            if len(twin.classes_) < 2:
                raise ValueError(
                    f"Found the classes {twin.classes_.tolist()!r} so far; expected at least two "
                    "before no more may come."
                )
            committee, encoder = twin._known
            twin._known = Known(committee.closed(), encoder)
        return self

    def _forget(self) -> None:
        for name in ("_route", "_wide", "_categorical", "classes_"):
            self.__dict__.pop(name, None)

    def _more(
        self, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> tuple[Columns, Labels, Repetitions]:
        """Return what to go on with, checked; start, if nothing was learned yet."""
        as_they_come = classes is not None and np.size(classes) == 0
        declared = None if classes is None or as_they_come else checked_classes(classes)
        first = self._route is None
        self._go_on()
        if not first and as_they_come and not self._takes_new_classes:
            raise ValueError(
                "`classes=[]` lets classes come as they come; expected only those known, which "
                f"were said to be all: {self.classes_.tolist()!r}."
            )
        if first:
            self._validate_params()
        else:
            check_same_classes(declared, self.classes_)
        columns, labels = self._checked(X, y)
        if first:
            self._start(columns, declared)
        self._add_columns(columns)
        may_be_new = self._takes_new_classes
        labels = as_learned(labels, self.classes_, may_be_new)
        known = None if may_be_new else self.classes_
        repeated = Repetitions.of(sample_weight, self.class_weight, labels, known, begin=first)
        return columns, labels, repeated

    @property
    def _takes_new_classes(self) -> bool:
        """Whether classes may come that were not known from the start."""
        return self._route is not None and self._route.takes_new_classes

    def _start(self, columns: Columns, classes: Labels | None) -> None:
        n_classes = (self.n_classes or _CLASSES_TO_PAY_FOR) if classes is None else len(classes)
        most = statistics_for(n_classes)
        encoder = Encoder(columns.categorical, bool(self.scale), columns.times, most)
        self._categorical = columns.categorical
        common = usual_budget(len(columns.categorical), n_classes)
        budget = float(common if self.budget is None else self.budget)
        usual, seed = self.experts is None, int(self.random_state)
        wanted = self._wanted(encoder)
        planned = plan(wanted, encoder, n_classes, budget, self.n_frequencies, seed, usual)
        self._known = Known(Committee.start(*planned, classes), encoder)
        self.classes_ = self._committee.classes

    def _learn(
        self, columns: list[Any], labels: Labels, visits: Iterator[Visits], predict: bool = False
    ) -> Array:
        """Learn rows; return what was said of each before, if that is asked for."""
        route = self._route
        assert route is not None
        working, encoder = route.lend(self.n_jobs)
        stage = Stage(encoder, working, route.narrowed)
        predictions = stage.learn(columns, labels, visits, predict, self.n_jobs)
        self._begin_route(Known(working.committee, encoder)).take_over(working)
        self.classes_ = working.classes
        return predictions

    def _checked(self, X: Any, y: Any) -> tuple[Columns, Labels]:
        columns = self._checked_rows(X, reset=self._route is None)
        return columns, checked_labels(y, len(columns.values[0]))
