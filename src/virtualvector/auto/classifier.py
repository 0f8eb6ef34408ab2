"""`AutoVVMClassifier`: probabilities that are right by default."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from virtualvector.auto.committee import Committee
from virtualvector.auto.experts import (
    DEFAULT,
    Expert,
    Outlook,
    affordable_waves,
    usual_budget,
)
from virtualvector.features.columns import Columns, columns_of, is_table
from virtualvector.features.inputs import RunningInputs
from virtualvector.kernels.triangular import Array
from virtualvector.learners.checking import (
    check_known,
    check_same_kind,
    checked_classes,
    checked_labels,
    unchanged_by_errors,
)
from virtualvector.learners.one_against_rest import Labels, Stated

_CLASSES_TO_PAY_FOR = 2  # posteriors that the budget is for, if classes are not known at the start


class AutoVVMClassifier(ClassifierMixin, BaseEstimator):
    """Bayesian online classification that needs no tuning.

    A committee of virtual vector machines and ADF learners that differ in what they assume: how
    noisy labels and margins are, whether classes are divided by planes or by curves, how fast the
    world changes. Each one's evidence, the probability it gave to all labels before it knew them,
    is its weight in the mix. Those that have become negligible sleep and cost nothing, until the
    stream changes.

    Rows may have columns of numbers, in any units, and columns of names (text, categories, truth
    values), and gaps in both. Nothing about a row is used before it is predicted.

    Parameters
    ----------
    budget : float, optional
        About how many multiplications all experts together may take for a row; by default 300,000
        and 5,000 more for each column, which takes about 0.1 ms, and in proportion more for more
        than five classes. The more, the more random waves
        they look at rows through, and the better curved boundaries are met.
    experts : sequence of Expert, optional
        What experts assume, if not the default.
    n_waves : int, optional
        The number of random waves, by default as many as the budget allows.
    scale : bool, default=True
        Whether to scale columns. If not, rows are taken as they are and have to be numbers.
    n_jobs : int, default=1
        Threads for experts to learn in. Does not change any result.
    random_state : int, default=0
        Seed of the waves.

    Attributes
    ----------
    classes_ : ndarray
        The classes seen or declared.
    weights_ : list of dict
        The experts: what each assumes, its evidence, its weight and whether it is awake.
    history_ : list of dict
        The weights of all experts at moments along the stream.
    n_seen_ : int
        The number of rows learned.
    gaps_ : ndarray of shape (n_columns,)
        The missing values seen in each column.

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
        "n_waves": [None, Interval(Integral, 1, None, closed="left")],
        "scale": ["boolean"],
        "n_jobs": [Interval(Integral, 1, None, closed="left")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        budget: float | None = None,
        experts: Sequence[Expert] | None = None,
        n_waves: int | None = None,
        scale: bool = True,
        n_jobs: int = 1,
        random_state: int = 0,
    ) -> None:
        self.budget = budget
        self.experts = experts
        self.n_waves = n_waves
        self.scale = scale
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn labelled rows from scratch, in one pass, in the order given."""
        self._validate_params()
        with unchanged_by_errors(self):
            self._forget()
            columns, labels = self._checked(X, y)
            self._start(columns, np.unique(labels))
            self._learn(columns, labels)
            return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows. Any way to cut a stream into calls gives the same result.

        Parameters
        ----------
        X : data frame or array-like of shape (n_rows, n_columns)
            Numbers and names, nan or None where missing.
        y : array-like of shape (n_rows,)
            The class of each row.
        classes : array-like, optional
            All classes that will ever come, in the first call; otherwise they are taken as they
            come.

        Returns
        -------
        self
            The classifier, having learned the rows. After an error it has learned none of them.
        """
        self._validate_params()
        with unchanged_by_errors(self):
            columns, labels = self._more(X, y, classes)
            self._learn(columns, labels)
            return self

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> Stated:
        """Predict each row, then learn it, in one pass; what is learned is as by `partial_fit`.

        Parameters
        ----------
        X, y, classes
            As for `partial_fit`, but classes are by default those of the first call.

        Returns
        -------
        Stated
            What was said about each row before it was learned: labels and probabilities.
        """
        self._validate_params()
        if classes is None and not hasattr(self, "_committee"):
            classes = y
        with unchanged_by_errors(self):
            columns, labels = self._more(X, y, classes)
            check_known(labels, self.classes_)
            probabilities = self._learn(columns, labels)
            return Stated(self.classes_[np.argmax(probabilities, axis=1)], probabilities)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row: the mix of what experts say."""
        check_is_fitted(self)
        columns = self._checked_rows(X)
        return self._committee.predict(self._inputs.scale(columns.values))

    def predict(self, X: Any) -> Labels:
        """Return the most probable class of each row."""
        check_is_fitted(self)
        labels: Labels = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return labels

    @property
    def weights_(self) -> list[dict[str, Any]]:
        """The experts: what each assumes, its evidence, its weight and whether it is awake."""
        check_is_fitted(self)
        committee = self._committee
        return [
            expert._asdict()
            | {"evidence": float(evidence), "weight": float(weight), "awake": bool(awake)}
            for expert, evidence, weight, awake in zip(
                committee.experts,
                committee.evidence,
                committee.weights,
                committee.awake,
                strict=True,
            )
        ]

    @property
    def history_(self) -> list[dict[str, Any]]:
        """Who was trusted when: the weights of all experts at moments along the stream."""
        check_is_fitted(self)
        return [
            {"n_rows": moment.n_rows, "weights": moment.weights}
            for moment in self._committee.record.moments
        ]

    @property
    def n_seen_(self) -> int:
        """The number of rows learned."""
        check_is_fitted(self)
        return self._committee.n_rows

    @property
    def gaps_(self) -> Any:
        """The missing values seen in each column."""
        check_is_fitted(self)
        return self._inputs.gaps.copy()

    def _forget(self) -> None:
        for name in ("_committee", "_inputs", "_named", "classes_"):
            self.__dict__.pop(name, None)

    def _more(self, X: Any, y: Any, classes: Any) -> tuple[Columns, Labels]:
        """Return checked columns and labels to go on with; start, if nothing was learned yet."""
        declared = None if classes is None else checked_classes(classes)
        first = not hasattr(self, "_committee")
        if not first and declared is not None and not np.array_equal(declared, self.classes_):
            raise ValueError(
                f"`classes={declared.tolist()!r}` is not the same as on last call to partial_fit, "
                f"was: {self.classes_.tolist()!r}."
            )
        columns, labels = self._checked(X, y)
        if first:
            self._start(columns, declared)
        if self._committee.takes_new_classes:
            check_same_kind(labels, self.classes_)
        else:
            check_known(labels, self.classes_)
        return columns, labels

    def _start(self, columns: Columns, classes: Labels | None) -> None:
        self._inputs = RunningInputs(columns.named, scaling=bool(self.scale))
        self._named = columns.named
        experts = DEFAULT if self.experts is None else tuple(Expert(*e) for e in self.experts)
        n_inputs = self._inputs.n_inputs
        n_classes = _CLASSES_TO_PAY_FOR if classes is None else len(classes)
        usual = usual_budget(len(columns.named), n_classes)
        budget = float(usual if self.budget is None else self.budget)
        n_waves = self.n_waves
        if n_waves is None:
            n_waves = affordable_waves(experts, n_inputs, n_classes, budget)
        outlook = Outlook(
            n_inputs, self._inputs.spread, int(n_waves), budget, int(self.random_state)
        )
        self._committee = Committee.start(experts, outlook, classes)
        self.classes_ = self._committee.classes

    def _learn(self, columns: Columns, labels: Labels) -> Array:
        """Learn rows; return what was said of them before."""
        inputs = deepcopy(self._inputs)
        scaled = inputs.learn(columns.values)
        with ThreadPoolExecutor(self.n_jobs) if self.n_jobs > 1 else nullcontext() as pool:
            self._committee, said = self._committee.learn(scaled, labels, pool)
        self._inputs = inputs
        self.classes_ = self._committee.classes
        return said

    def _checked(self, X: Any, y: Any) -> tuple[Columns, Labels]:
        first = not hasattr(self, "_committee")
        columns = self._checked_rows(X, reset=first)
        labels = checked_labels(y, len(columns.values[0]))
        return columns, labels

    def _checked_rows(self, X: Any, reset: bool = False) -> Columns:
        if is_table(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) == 0:
                raise ValueError("Found array with 0 sample(s); expected at least one row.")
        else:
            kind = None if getattr(X, "dtype", None) == np.dtype(object) else np.float64
            X = validate_data(self, X, reset=reset, dtype=kind, ensure_all_finite="allow-nan")
        return columns_of(X, None if reset else self._named)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that values may be missing, and columns may hold names."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
