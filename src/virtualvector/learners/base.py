"""What all learners share: scikit-learn's contract around the one engine."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import check_is_fitted

from virtualvector.concurrency import learned_whole, of_one_moment
from virtualvector.kernels.likelihood import LEAST_LABEL_NOISE
from virtualvector.learners.columns import CONSTRAINT
from virtualvector.learners.hedge import hedged
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.learners.order import visiting_order
from virtualvector.learners.rows import LinearRows
from virtualvector.learners.validation import (
    as_learned,
    check_known,
    check_same_classes,
    checked_classes,
    checked_rows,
    checked_rows_and_labels,
)
from virtualvector.learners.weights import BALANCED, Repetitions
from virtualvector.persistence.mixin import SavableMixin
from virtualvector.posterior import Settings
from virtualvector.posterior.presets import Noise, rank_of
from virtualvector.posterior.state import LOG_EVIDENCE, ROWS, counters
from virtualvector.types import Array, ClassWeight, Labels, Predictions


class BayesianLinearClassifier(ClassifierMixin, LinearRows, SavableMixin):
    """A linear classifier that knows how sure it is of its weights; its subclasses are presets."""

    label_noise: float
    margin_noise: float
    prior_variance: float
    fit_intercept: bool
    half_life: float | None = None  # not every learner can forget
    covariance: str = "full"  # nor do without it
    rank: int = 0
    class_weight: ClassWeight
    shuffle: bool
    random_state: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "label_noise": [
            Options(Real, {0.0}),
            Interval(Real, LEAST_LABEL_NOISE, 0.5, closed="left"),
        ],
        "margin_noise": [Interval(Real, 0, None, closed="left")],
        "prior_variance": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "buffer_size": [Interval(Integral, 0, None, closed="left")],
        "merge_pairs": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_sweeps": [Interval(Integral, 1, None, closed="left")],
        "half_life": [None, Interval(Real, 0, None, closed="neither")],
        "covariance": [StrOptions({"full", "low-rank", "diagonal", "independent"})],
        "rank": [Interval(Integral, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({BALANCED}), None],
        "new_columns": CONSTRAINT,
        "shuffle": ["boolean"],
        "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both")],
    }

    _learned: ClassVar[dict[str, Any]] = {"posterior": OneVsRest, "scale": float}

    @abstractmethod
    def _settings(self) -> Settings:
        """Say how to learn."""

    @property
    def _noise(self) -> Noise:
        # The engine's prior variance is one; only the ratio matters.
        margin_noise = self.margin_noise / self.prior_variance
        rank = rank_of(self.covariance, self.rank)
        independent = self.covariance == "independent"
        return Noise(self.label_noise, margin_noise, self.half_life, rank, independent)

    def _settling(self) -> Settings | None:
        """Say how to run EP before the posterior is read, if learning leaves that to then."""
        return None

    def _beside(self) -> Settings | None:
        """Say how the one beside it learns, if predictions are hedged."""
        return None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn labelled rows from scratch, in one pass, in a random order; see ``shuffle``.

        Rows that have an order are a stream, for `partial_fit`.

        Parameters
        ----------
        X : array-like, data frame or sparse table of shape (n_rows, n_features)
            Finite numbers.
        y : array-like of shape (n_rows,)
            The class of each row.
        sample_weight : array-like of shape (n_rows,), optional
            The weight of each row, 0 or more; by default all are 1. One of weight 2 is a row seen
            twice, to the last bit, and one of weight 0 is left out. What a weight is beyond a whole
            number is the power that the row's likelihood is raised to: 2.5 is a row seen twice, and
            half of it once more. With margin noise, such a part leaves no virtual point; without
            any noise it is as much as the whole.

        Returns
        -------
        self
            The fitted classifier. After an error it is what it was before.
        """
        with learned_whole(self) as twin:
            twin._validate_params()
            rows, labels = checked_rows_and_labels(twin, X, y, reset=True)
            repeated = Repetitions.of(
                sample_weight, twin.class_weight, labels, np.unique(labels), balance=True
            )
            order = visiting_order(repeated.n_visits, twin.shuffle, twin.random_state)
            posterior = twin._prior(rows, np.unique(repeated.kept(labels)))
            twin._learn(posterior, rows, labels, repeated, order)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order. How a stream is cut into calls does not matter.

        Parameters
        ----------
        X : array-like, data frame or sparse table of shape (n_rows, n_features)
            Finite numbers.
        y : array-like of shape (n_rows,)
            The class of each row.
        classes : array-like, optional
            All classes that will ever come, in the first call. Without it they are taken as they
            come, as if they had been known from the start; that costs one more posterior. Only a
            hedge of three classes or more knows the difference: what was not said is no evidence.
        sample_weight : array-like of shape (n_rows,), optional
            The weight of each row, as for `fit`.

        Returns
        -------
        self
            The classifier, having learned the rows. After an error it has learned none of them.
        """
        self._validate_params()
        if sample_weight is None and self._learn_table_of_one(X, y, classes):
            return self
        with learned_whole(self) as twin:
            twin._learn(*twin._more(X, y, classes, sample_weight))
        return self

    def predict_then_learn(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Predictions:
        """Predict each row, then learn it: one pass, at no more cost than learning.

        What is learned is the same as by `partial_fit`.

        Parameters
        ----------
        X : array-like, data frame or sparse table of shape (n_rows, n_features)
            Finite numbers.
        y : array-like of shape (n_rows,)
            The class of each row.
        classes : array-like, optional
            All classes that will ever come; by default those of the first call.
        sample_weight : array-like of shape (n_rows,), optional
            The weight of each row, as for `fit`. A row of weight 0 is predicted and not learned.

        Returns
        -------
        Predictions
            What was predicted of each row before it was learned, for the first time if it is
            learned several times: labels and probabilities.

        Examples
        --------
        >>> from virtualvector import VVMClassifier
        >>> from virtualvector.datasets import load_spambase
        >>> X, y = load_spambase(return_X_y=True, random_state=0)
        >>> predicted = VVMClassifier(margin_noise=1.0).predict_then_learn(X[:500], y[:500])
        >>> round(float((predicted.labels != y[:500]).mean()), 3)
        0.118
        """
        self._validate_params()
        with learned_whole(self) as twin:
            if classes is None and twin._route is None:
                classes = y
            posterior, rows, labels, repeated = twin._more(X, y, classes, sample_weight)
            check_known(labels, posterior.classes)
            parts = []
            for some in repeated.predicted_visits():
                if some.learned:
                    posterior, predictions = posterior.predict_then_learn(
                        rows[some.which], labels[some.which], some.powers
                    )
                else:
                    predictions = posterior.predict(rows[some.which])
                predicted = predictions.labels, np.asarray(predictions.probabilities)
                parts.append([each[some.first] for each in predicted])
            twin._keep(posterior)
            return Predictions(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _more(
        self, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> tuple[OneVsRest, Array, Labels, Repetitions]:
        """Return what is known so far, and checked rows, labels and weights to go on with."""
        first = self._route is None
        declared = None if classes is None else checked_classes(classes)
        if not first:
            check_same_classes(declared, self.classes_)
            wider, X = self._with_all_columns(X, learn=True)
            self.__dict__.update(wider.__dict__)
        rows, labels = checked_rows_and_labels(self, X, y, reset=first)
        route = self._route
        posterior = self._prior(rows, declared) if route is None else route.close()
        may_be_new = posterior.unseen is not None
        labels = as_learned(labels, posterior.classes, may_be_new)
        known = None if may_be_new else posterior.classes
        repeated = Repetitions.of(sample_weight, self.class_weight, labels, known, begin=first)
        return posterior, rows, labels, repeated

    def _prior(self, rows: Array, classes: Labels | None) -> OneVsRest:
        # What is learned is read in the units it was learned in, even if parameters change later.
        self._scale = float(np.sqrt(self.prior_variance))
        n_weights = rows.shape[1] + bool(self.fit_intercept)
        known = OneVsRest.prior(n_weights, self._settings(), self._settling(), classes)
        return hedged(known, self._beside())

    def _learn(
        self,
        posterior: OneVsRest,
        rows: Array,
        labels: Labels,
        repeated: Repetitions,
        order: Any = None,
    ) -> None:
        for some in repeated.visits(order):
            posterior = posterior.learn(rows[some.which], labels[some.which], some.powers)
        self._keep(posterior)

    def _keep(self, learned: OneVsRest) -> None:
        self._posterior = learned
        self.classes_ = learned.classes

    @of_one_moment
    def predict(self, X: Any) -> Labels:
        """Return the most probable class of each row."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])[:, : len(self.classes_)]
        labels: Labels = self.classes_[np.argmax(scores, axis=1)]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class for each row, averaged over the posterior.

        With two classes it is ε + (1−2ε)Φ(mᵀx/√(xᵀVx + s²)). More classes have one such number
        p each; that it is one class and none of the others is proportional to p/(1 − p). If it is
        hedged, what is said is averaged with what ADF says, by the evidence of both.
        """
        check_is_fitted(self)
        route = self._route
        is_plain = route is not None and self._is_plain_row(X)
        probabilities = route.probabilities(X[0]) if is_plain and route is not None else None
        return self._probabilities(X) if probabilities is None else probabilities[np.newaxis]

    @of_one_moment
    def _probabilities(self, X: Any) -> Array:
        model, X = self._with_all_columns(X)
        return model._posterior.probabilities(checked_rows(model, X))

    @of_one_moment
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of `predict_proba`, finite also where a probability is too small."""
        check_is_fitted(self)
        model, X = self._with_all_columns(X)
        return model._posterior.log_probabilities(checked_rows(model, X))

    @of_one_moment
    def decision_function(self, X: Any) -> Array:
        """Return a score that orders rows as their probabilities do, without saturating.

        With two classes it is mᵀx/√(xᵀVx + s²), positive for the second class, or if predictions
        are hedged, its log-odds without label noise; with more, the log-odds of each class against
        the others, one column each.
        """
        check_is_fitted(self)
        model, X = self._with_all_columns(X)
        return model._posterior.log_odds(checked_rows(model, X))

    @property
    @of_one_moment
    def coef_(self) -> Array:
        """The posterior mean of the weights, one row per posterior."""
        return self._weights[:, : self.n_features_in_]

    @property
    @of_one_moment
    def intercept_(self) -> Array:
        """The posterior mean of the bias, one entry per posterior."""
        weights = self._weights
        has_bias = weights.shape[1] > self.n_features_in_
        return weights[:, -1] if has_bias else np.zeros(len(weights))

    @property
    def _weights(self) -> Array:
        check_is_fitted(self)
        weights: Array = np.array(self._posterior.means)
        return weights * self._scale

    @property
    @of_one_moment
    def covariance_(self) -> Array:
        """The posterior covariance of the weights, bias last; one matrix per class beyond two."""
        check_is_fitted(self)
        matrices = [each * self._scale**2 for each in self._posterior.covariances()]
        return matrices[0] if len(matrices) == 1 else np.array(matrices)

    @property
    def virtual_points_(self) -> Array | list[Array]:
        """The virtual points: unit vectors that the weights should have a positive product with.

        One array of shape (n_points, n_weights), or a list of one such array per class if there are
        more than two.
        """
        check_is_fitted(self)
        points = self._posterior.points()
        return points[0] if len(points) == 1 else points

    @property
    def n_seen_(self) -> int:
        """The number of rows learned."""
        check_is_fitted(self)
        return int(self._posterior.states[0].counts[ROWS])

    @property
    def log_evidence_(self) -> float | Array:
        """The log-probability of all labels, each predicted before it was learned.

        One number, or one per class, against the rest, when there are more than two.
        """
        check_is_fitted(self)
        evidence = np.array([s.sums[LOG_EVIDENCE] for s in self._posterior.states])
        return float(evidence[0]) if len(evidence) == 1 else evidence

    @property
    @of_one_moment
    def counters_(self) -> dict[str, float]:
        """How often points were evicted, merged or ignored, the sweeps of EP, what was lost.

        ``unsettled`` counts how often EP had no fixed point, because rows contradicted each other.
        """
        check_is_fitted(self)
        return counters(self._posterior.settled)

    def _counters(self) -> dict[str, float]:
        return {"rows": self.n_seen_} | counters(self._posterior.states)

    def _check_learned(self) -> Labels:
        known = self._posterior
        n_weights, expected = known.check(), self.n_features_in_ + self.fit_intercept
        if n_weights != expected:
            raise ValueError(f"found {n_weights} weights; expected {expected}, as parameters say")
        changed = known.differences(self._settings(), self._settling(), self._beside())
        if float(np.sqrt(self.prior_variance)) != self._scale:
            changed.append("prior_variance")
        if changed:
            raise ValueError(
                f"found parameters that give another {', '.join(changed)} than what was learned "
                "with; expected the same: set them back, or fit anew"
            )
        return checked_classes(known.classes) if len(known.classes) else known.classes
