"""`WideVVMClassifier`: texts, sparse rows and very wide tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from virtualvector.concurrency import TakesTurns, learned_whole, of_one_moment
from virtualvector.features.hashing import N_PLACES
from virtualvector.features.wide import HASHED, WideEncoder
from virtualvector.kernels.likelihood import LEAST_LABEL_NOISE
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.learners.order import visiting_order
from virtualvector.learners.sparse_rows import SparseTable
from virtualvector.learners.validation import (
    as_learned,
    check_same_classes,
    checked_classes,
    checked_labels,
)
from virtualvector.learners.weights import BALANCED, Repetitions, Visits
from virtualvector.persistence.mixin import SavableMixin
from virtualvector.posterior import Settings, presets
from virtualvector.posterior.presets import EVICTION, Noise
from virtualvector.types import Array, ClassWeight, Labels, Predictions
from virtualvector.wide.attributes import WideAttributes
from virtualvector.wide.learning import (
    MEMORY,
    affordable_beside,
    affordable_rank,
    learn,
    numbers_beside,
    predict,
)
from virtualvector.wide.mixed import Mixed, mixed
from virtualvector.wide.tables import TakesWideTables, WideColumns
from virtualvector.wide.validation import check_same_settings, check_wide_encoder

CELLS_AT_ONCE = 2**21  # numbers that are turned into inputs
ROWS_AT_ONCE = 8192
_CLASSES = 2  # to choose a rank for, if nobody says how many there are


class WideVVMClassifier(ClassifierMixin, WideAttributes, TakesWideTables, TakesTurns, SavableMixin):
    """Bayesian online classification of texts, sparse rows and very wide tables.

    A linear learner whose precision is diagonal and of low rank: d weights take d·(rank + 3)
    numbers, and a row time in proportion to its non-zeros, but for a cut now and then. Words of
    texts and pairs of neighbouring words, and categories, are hashed to places: no vocabulary is
    kept, but of each place the first word met there, for people. Numbers and times are scaled as in
    `AutoVVMClassifier`, and sparse rows by the root mean square of each column so far, so that
    zeros stay zeros.

    Parameters
    ----------
    buffer_size : int, default=0
        Virtual points. On texts that were looked at, ten were no better than none.
    label_noise, margin_noise, merge_pairs, eviction, half_life
        As for `VVMClassifier`; margin noise has to be above 0, by default it is 1. "oldest" as an
        eviction is window-EP.
    covariance : {"low-rank", "diagonal", "independent"}, default="low-rank"
        What is kept of how uncertain weights are together.
    rank : int, optional
        The directions along which that is kept; by default 20, or as many as 256 MiB are there for.
        If they are there for none, weights are independent.
    mix : bool, default=True
        Whether predictions are mixed with those of three learners of independent weights, at once,
        a quarter and four times the margin noise, and with what the rates of places in classes say,
        as a committee mixes those of its experts: which of them is right, the rows tell. Where
        there are so many classes that memory is not there for all of them, fewer.
    text_features : array-like of str or int, optional
        The columns of texts, by their names or places; by default those of the first call that
        plainly hold texts, which is warned of, and with an empty list none. Each of the words and
        pairs of neighbouring ones counts once.
    n_places : int, optional
        The indices that sparse rows in a column of a data frame (lists of an index and a value, of
        Arrow's) may have; by default those of the first call.
    n_hashed : int, default=2**18
        The places that words and categories are hashed to.
    categorical_features, missing_values, n_classes, scale, class_weight, shuffle, random_state
        As for `AutoVVMClassifier`.
    n_jobs : int, default=1
        Taken for the sake of `vvm learn`; changes nothing.

    Attributes
    ----------
    classes_ : ndarray
        The classes seen or declared.
    n_seen_, n_missing_, counters_, n_bytes_, takes_new_classes_, weight_table_, given_up_
        As for `AutoVVMClassifier`.
    rank_ : int
        The rank.
    is_text_, is_categorical_, is_time_ : ndarray of shape (n_columns,)
        What columns hold.
    n_places_ : ndarray of shape (n_columns,)
        The places of sparse rows, where a column holds these.
    experts_, n_awake_, history_
        As a committee has them, the learner itself first; all are awake.

    Examples
    --------
    >>> from virtualvector import WideVVMClassifier
    >>> wines = {"price": [9, 30, 8, 25], "note": ["dry red", "sweet white", "a dry red", "white"]}
    >>> model = WideVVMClassifier(text_features=["note"]).fit(wines, ["red", "white"] * 2)
    >>> new = {"price": [20, 20], "note": ["dry and red", "white, not sweet"]}
    >>> model.predict(new).tolist()
    ['red', 'white']
    >>> [line["column"] for line in model.weight_table_[:2]]
    ['price', 'note: white']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "buffer_size": [Interval(Integral, 0, None, closed="left")],
        "label_noise": [
            Options(Real, {0.0}),
            Interval(Real, LEAST_LABEL_NOISE, 0.5, closed="left"),
        ],
        "margin_noise": [Interval(Real, 0, None, closed="neither")],
        "merge_pairs": [Interval(Integral, 0, None, closed="left")],
        "eviction": [StrOptions(set(EVICTION))],
        "half_life": [None, Interval(Real, 0, None, closed="neither")],
        "covariance": [StrOptions({"low-rank", "diagonal", "independent"})],
        "rank": [None, Interval(Integral, 0, None, closed="left")],
        "mix": ["boolean"],
        "text_features": [None, "array-like"],
        "n_places": [None, Interval(Integral, 1, 2**24, closed="both")],
        "n_hashed": [Interval(Integral, 1, 2**24, closed="both")],
        "categorical_features": [None, "array-like"],
        "missing_values": [None, "array-like"],
        "n_classes": [None, Interval(Integral, 2, None, closed="left")],
        "scale": ["boolean"],
        "n_jobs": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [dict, StrOptions({BALANCED}), None],
        "shuffle": ["boolean"],
        "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both")],
    }

    _learned: ClassVar[dict[str, Any]] = {
        "posterior": OneVsRest | Mixed,
        "encoder": WideEncoder,
    }

    _memory: int = MEMORY  # bytes that all posteriors may take, if nobody gives a rank

    def __init__(
        self,
        buffer_size: int = 0,
        *,
        label_noise: float = 0.0,
        margin_noise: float = 1.0,
        merge_pairs: int = 0,
        eviction: str = "divergence",
        half_life: float | None = None,
        covariance: str = "low-rank",
        rank: int | None = None,
        mix: bool = True,
        text_features: Any = None,
        n_places: int | None = None,
        n_hashed: int = N_PLACES,
        categorical_features: Any = None,
        missing_values: Sequence[str] | None = None,
        n_classes: int | None = None,
        scale: bool = True,
        n_jobs: int = 1,
        class_weight: ClassWeight = None,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.buffer_size = buffer_size
        self.label_noise = label_noise
        self.margin_noise = margin_noise
        self.merge_pairs = merge_pairs
        self.eviction = eviction
        self.half_life = half_life
        self.covariance = covariance
        self.rank = rank
        self.mix = mix
        self.text_features = text_features
        self.n_places = n_places
        self.n_hashed = n_hashed
        self.categorical_features = categorical_features
        self.missing_values = missing_values
        self.n_classes = n_classes
        self.scale = scale
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn labelled rows from scratch, in one pass, in a random order; see ``shuffle``.

        Parameters
        ----------
        X, y, sample_weight
            As for `partial_fit`.

        Returns
        -------
        self
            The fitted classifier. After an error it is what it was before.
        """
        with learned_whole(self) as twin:
            for name in ("_posterior", "_encoder", "classes_", "feature_names_in_"):
                twin.__dict__.pop(name, None)
            twin._validate_params()
            columns = twin._checked_rows(X, reset=True)
            labels = checked_labels(y, columns.n_rows)
            repeated = Repetitions.of(
                sample_weight, twin.class_weight, labels, np.unique(labels), balance=True
            )
            twin._start(columns, np.unique(repeated.kept(labels)))
            order = visiting_order(repeated.n_visits, twin.shuffle, twin.random_state)
            twin._learn(columns, labels, repeated.visits(order, twin._at_once))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order. How a stream is cut into calls does not matter.

        Parameters
        ----------
        X : data frame, dict of columns, sparse table or array of shape (n_rows, n_columns)
            Numbers, times, categories and texts, nan or None where missing.
        y : array-like of shape (n_rows,)
            The class of each row.
        classes : array-like, optional
            All classes that will ever come, in the first call; without it, or with an empty list,
            they are taken as they come.
        sample_weight : array-like of shape (n_rows,), optional
            The weight of each row, as for `VVMClassifier`.

        Returns
        -------
        self
            The classifier, having learned the rows. After an error it has learned none of them.
        """
        with learned_whole(self) as twin:
            columns, labels, repeated = twin._more(X, y, classes, sample_weight)
            twin._learn(columns, labels, repeated.visits(None, twin._at_once))
        return self

    def predict_then_learn(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Predictions:
        """Predict each row, then learn it; what is learned is as by `partial_fit`.

        Parameters
        ----------
        X, y, classes, sample_weight
            As for `AutoVVMClassifier`.

        Returns
        -------
        Predictions
            What was predicted of each row before it was learned, as for `AutoVVMClassifier`.
        """
        with learned_whole(self) as twin:
            if classes is None and not hasattr(twin, "_posterior"):
                classes = y
            columns, labels, repeated = twin._more(X, y, classes, sample_weight)
            visits = repeated.predicted_visits(twin._at_once)
            probabilities = twin._learn(columns, labels, visits, keep=True)
            likely = twin.classes_[np.argmax(probabilities, axis=1)]
            known = probabilities.any(axis=1)
            likely = likely if known.all() else np.where(known, likely, labels)
            return Predictions(likely, probabilities)

    def close_classes(self) -> Self:
        """Take no more classes than those known: from now on another one is an error."""
        with learned_whole(self) as twin:
            check_is_fitted(twin)
            if len(twin.classes_) < 2:
                raise ValueError(
                    f"Found the classes {twin.classes_.tolist()!r} so far; expected at least two "
                    "before no more may come."
                )
            twin._posterior = twin._posterior.closed()
        return self

    @of_one_moment
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row, averaged over the posterior."""
        check_is_fitted(self)
        columns = self._checked_rows(X)
        parts: list[Array] = [np.zeros((0, len(self.classes_)))]
        for start in range(0, columns.n_rows, self._at_once):
            cells = columns.rows(slice(start, start + self._at_once))
            parts.append(predict(self._posterior, SparseTable(self._encoder.scale(cells))))
        return np.concatenate(parts)

    @of_one_moment
    def predict(self, X: Any) -> Labels:
        """Return the most probable class of each row."""
        labels: Labels = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return labels

    def _settings(self, n_weights: int, n_classes: int) -> Settings:
        independent = self.covariance == "independent"
        rank = self.rank if self.covariance == "low-rank" else 0
        noise = Noise(self.label_noise, self.margin_noise, self.half_life, 0)
        if rank is None:
            beside = numbers_beside(noise, n_classes) if self.mix else 0
            rank = affordable_rank(n_weights, n_classes, self._memory, beside)
            independent = rank == self.buffer_size == 0
        noise = noise._replace(rank=int(rank), independent=independent)
        if self.buffer_size == 0:
            return presets.adf(noise)
        return presets.vvm(
            noise, self.buffer_size, merge_pairs=self.merge_pairs, eviction=self.eviction
        )

    def _more(
        self, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> tuple[WideColumns, Labels, Repetitions]:
        """Return what to go on with, checked; start, if nothing was learned yet."""
        as_they_come = classes is not None and np.size(classes) == 0
        declared = None if classes is None or as_they_come else checked_classes(classes)
        first = not hasattr(self, "_posterior")
        if first:
            self._validate_params()
        elif as_they_come and not self.takes_new_classes_:
            raise ValueError(
                "`classes=[]` lets classes come as they come; expected only those known, which "
                f"were said to be all: {self.classes_.tolist()!r}."
            )
        else:
            check_same_classes(declared, self.classes_)
        columns = self._checked_rows(X, reset=first)
        labels = checked_labels(y, columns.n_rows)
        if first:
            self._start(columns, declared)
        may_be_new = self._posterior.unseen is not None
        labels = as_learned(labels, self.classes_, may_be_new)
        known = None if may_be_new else self.classes_
        repeated = Repetitions.of(sample_weight, self.class_weight, labels, known, begin=first)
        return columns, labels, repeated

    def _start(self, columns: WideColumns, classes: Labels | None) -> None:
        n_classes = (self.n_classes or _CLASSES) if classes is None else len(classes)
        n_hashed = int(self.n_hashed) if any(kind in HASHED for kind in columns.kinds) else 0
        names = [str(name) for name in columns.names]
        kinds, scaling = list(columns.kinds), bool(self.scale)
        self._encoder = WideEncoder(kinds, names, columns.n_sparse, n_hashed, scaling)
        n_weights = self._encoder.n_inputs + 1
        settings = self._settings(n_weights, n_classes)
        self._posterior = OneVsRest.prior(n_weights, settings, None, classes)
        if self.mix:
            beside = affordable_beside(settings, n_weights, n_classes, self._memory)
            self._posterior = mixed(self._posterior, *beside)
        self.classes_ = self._posterior.classes

    def _learn(
        self, columns: WideColumns, labels: Labels, visits: Iterator[Visits], keep: bool = False
    ) -> Array:
        """Learn rows; return what was said of each before, if that is to be kept."""
        encoder, posterior, parts = self._encoder.twin(), self._posterior, []
        for some in visits:
            cells, own = columns.rows(some.which), labels[some.which]
            if some.learned:
                rows = SparseTable(encoder.learn(cells))
                posterior, said = learn(posterior, rows, own, some.powers)
            else:
                said = predict(posterior, SparseTable(encoder.scale(cells)))
            if keep:
                parts.append((some, said[some.first], posterior.classes))
        self._encoder, self._posterior, self.classes_ = encoder, posterior, posterior.classes
        whole = np.zeros((len(labels) if keep else 0, len(self.classes_)))
        for some, said, known in parts:
            rows = np.arange(len(labels))[some.which][some.first]
            whole[rows[:, np.newaxis], np.searchsorted(self.classes_, known)] = said
        return whole

    @property
    def _at_once(self) -> int:
        """How many rows become inputs at once: not so many that these fill the memory."""
        n_numbers = len(self._encoder.numbers.counts)
        return max(min(CELLS_AT_ONCE // max(n_numbers, 1), ROWS_AT_ONCE), 1)

    def _check_learned(self) -> Labels:
        n_weights = self._posterior.check()
        check_wide_encoder(self._encoder, self.n_seen_, self.scale, self.n_features_in_)
        if n_weights != self._encoder.n_inputs + 1:
            raise ValueError(
                f"found {n_weights} weights; expected {self._encoder.n_inputs + 1}, as columns say"
            )
        settings = self._settings(n_weights, 2)
        if self.rank is None and self.covariance == "low-rank":
            known = self._posterior.settings
            independent = known.independent and known.rank == self.buffer_size == 0
            settings = settings._replace(rank=known.rank, independent=independent)
        check_same_settings(self._posterior, settings, self.mix)
        classes = self._posterior.classes
        return checked_classes(classes) if len(classes) else classes
