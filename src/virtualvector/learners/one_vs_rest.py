"""One posterior per class, against all others, while classes appear over time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from joblib import effective_n_jobs
from scipy.special import log_softmax, logsumexp

from virtualvector.concurrency import computed_once
from virtualvector.learners.sparse_rows import learned, margins_under
from virtualvector.posterior import (
    WHOLE,
    AnyState,
    Events,
    Gaussian,
    LowRankState,
    Predictor,
    Settings,
    empty_low_rank_state,
    empty_state,
    gaussian,
    log_probabilities,
    mean_of,
    mirror,
    points_of,
    precision_of,
    run_ep,
    with_more_weights,
    write_each_probabilities,
)
from virtualvector.posterior.low_rank import deviations_of
from virtualvector.posterior.low_rank_state import sparse_rows
from virtualvector.posterior.low_rank_validation import check_low_rank_state
from virtualvector.posterior.settings import check_settings
from virtualvector.posterior.state import POINTS, ROWS
from virtualvector.posterior.validation import check_state, check_work
from virtualvector.types import Array, Labels, Predictions


@dataclass(frozen=True)
class OneVsRest:
    """What has been learned about a set of classes; learning returns a new one.

    Up to two classes need one posterior, for the second against the first: the other is its mirror
    image. More classes have one each. While new classes may still come, one more posterior learns
    every row as "not it": that is all there is to know about a class before its first row. When the
    class comes, it starts from there, exactly as if it had been known all along.
    """

    settings: Settings
    settling: Settings | None  # how to run EP before the Gaussian is read, if not at every row
    classes: Labels
    states: tuple[AnyState, ...]
    unseen: AnyState | None

    @classmethod
    def prior(
        cls, n_weights: int, settings: Settings, settling: Settings | None, classes: Labels | None
    ) -> OneVsRest:
        """Return what is known before the first row; classes not given here come with the rows."""
        empty = (empty_state if settings.rank < 0 else empty_low_rank_state)(n_weights, settings)
        check_work(empty, settings)
        if classes is None:
            return cls(settings, settling, np.array([]), (empty,), empty)
        n_states = len(classes) if len(classes) > 2 else 1
        return cls(settings, settling, classes, (empty,) * n_states, None)

    def check(self) -> int:
        """Return the number of weights; raise ValueError if this cannot have been learned."""
        n_classes = len(self.classes)
        n_states = n_classes if n_classes > 2 else 1
        n_weights = len(self.states[0].mean) if self.states else 0
        if not np.array_equal(np.unique(self.classes), self.classes):
            raise ValueError(f"found classes {self.classes!r:.60}; expected them sorted")
        if len(self.states) != n_states or n_classes == 0:
            raise ValueError(f"found {len(self.states)} posteriors for {n_classes} classes")
        all_settings = [s for s in (self.settings, self.settling) if s is not None]
        for settings in all_settings:
            check_settings(settings)
        states = [*self.states, *(() if self.unseen is None else (self.unseen,))]
        for state in {id(state): state for state in states}.values():  # many may be the same
            if isinstance(state, LowRankState):
                check_low_rank_state(state, self.settings)
            else:
                check_state(state, self.settings)
            for settings in all_settings:
                check_work(state, settings)
            if len(state.mean) != n_weights or state.counts[ROWS] != states[0].counts[ROWS]:
                raise ValueError("found posteriors of different weights or rows; expected the same")
        return n_weights

    def differences(
        self, settings: Settings, settling: Settings | None, beside: Settings | None = None
    ) -> list[str]:
        """Return the names of settings that are others than what was learned with."""
        known = self.settings._asdict()
        found = [name for name, value in settings._asdict().items() if value != known[name]]
        return found + ["settling"] * (settling != self.settling) + ["hedge"] * (beside is not None)

    def learn(self, rows: Array, labels: Labels, powers: Array = WHOLE) -> Self:
        """Learn labelled rows in their order, or the likelihoods of rows to powers up to one."""
        known = self
        start = 0
        if self.unseen is not None:
            values, first = np.unique(labels, return_index=True)
            for place in np.argsort(first):
                if not np.any(known.classes == values[place]):
                    stop = first[place]
                    known = known._learn(rows[start:stop], labels[start:stop], powers[start:stop])
                    known = known.welcome(values[place : place + 1])
                    start = stop
        return known._learn(rows[start:], labels[start:], powers[start:])

    def _learn(self, rows: Array, labels: Labels, powers: Array) -> Self:
        return self if len(rows) == 0 else self.learn_known(rows, labels, powers)[0]

    def learn_known(self, rows: Array, labels: Labels, powers: Array = WHOLE) -> tuple[Self, Array]:
        """Learn labelled rows of known classes; also return the margins that they had before."""
        if len(self.classes) < 2:  # whatever they are, they are not of the class that comes next
            (state,) = self.states
            state, events = learned(state, rows, np.full(len(rows), -1.0), self.settings, powers)
            after = self.with_states((state,), None if self.unseen is None else state)
            return after, -events.margin[:, np.newaxis]
        unseen = self.unseen
        if unseen is not None:
            unseen, _ = learned(unseen, rows, np.full(len(rows), -1.0), self.settings, powers)
        signs = self._signs(labels)
        each = self._learn_each(rows, signs, powers)
        margins = signs * [events.margin for _, events in each]
        after = self.with_states(tuple(state for state, _ in each), unseen)
        return after, np.ascontiguousarray(margins.T)

    def _learn_each(
        self, rows: Array, signs: Array, powers: Array
    ) -> list[tuple[AnyState, Events]]:
        """Let each posterior learn; side by side if joblib is told so: kernels need no GIL."""

        def work(state: AnyState, its_signs: Array) -> tuple[AnyState, Events]:
            return learned(state, rows, its_signs, self.settings, powers)

        n_threads = min(len(self.states), effective_n_jobs()) if len(self.states) > 1 else 1
        if n_threads < 2:
            return list(map(work, self.states, signs))
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(work, self.states, signs))

    def _signs(self, labels: Labels) -> Array:
        """Return for each posterior whether labels are of its class, as +1 and −1."""
        observed = np.searchsorted(self.classes, labels)
        first = 1 if len(self.classes) <= 2 else 0  # of two classes only the second has a posterior
        return np.where(observed == np.arange(first, len(self.classes))[:, np.newaxis], 1.0, -1.0)

    def predict(self, rows: Array) -> Predictions:
        """Return what is said of rows that are not learned."""
        if len(self.classes) < 2:
            return Predictions(np.repeat(self.classes, len(rows)), np.ones((len(rows), 1)))
        probabilities = self.probabilities(rows)
        return Predictions(self.classes[np.argmax(probabilities, axis=1)], probabilities)

    def predict_then_learn(
        self, rows: Array, labels: Labels, powers: Array = WHOLE
    ) -> tuple[Self, Predictions]:
        """Learn labelled rows of known classes; also return what was said of each before."""
        if self.settling is not None and len(self.classes) > 1:
            return self._row_by_row(rows, labels, powers)
        after, margins = self.learn_known(rows, labels, powers)
        if len(self.classes) < 2:
            return after, self.predict(rows)
        likely = np.argmax(self._class_scores(margins), axis=1)
        return after, Predictions(self.classes[likely], self.probabilities_of(margins))

    def _row_by_row(self, rows: Array, labels: Labels, powers: Array) -> tuple[Self, Predictions]:
        """As `predict_then_learn`, where EP has to run before each prediction."""
        known = self
        predicted = np.empty((len(rows), len(self.classes)))
        for t in range(len(rows)):
            row = slice(t, t + 1)
            predicted[t] = known.probabilities(rows[row])[0]
            known = known.learn(rows[row], labels[row], powers[row])
        return known, Predictions(self.classes[np.argmax(predicted, axis=1)], predicted)

    @property
    def positives(self) -> Labels:
        """The class that each posterior is about."""
        return self.classes[1:] if len(self.classes) <= 2 else self.classes

    def welcome(self, label: Labels) -> Self:
        """Add a class that has not been seen so far."""
        assert self.unseen is not None
        classes = np.unique(np.concatenate([self.classes, label])) if len(self.classes) else label
        place = int(np.searchsorted(classes, label[0]))
        states = list(self.states)
        if len(classes) == 2:
            states = [self.unseen if place == 1 else mirror(self.unseen)]
        elif len(classes) > 2:
            if len(classes) == 3:
                states = [mirror(states[0]), states[0]]
            states.insert(place, self.unseen)
        return replace(self, classes=classes, states=tuple(states))

    def with_states(self, states: tuple[AnyState, ...], unseen: AnyState | None) -> Self:
        """Return the same classes with posteriors that have learned more."""
        return replace(self, states=states, unseen=unseen)

    def with_settings(self, settings: Settings, beside: Settings | None = None) -> Self:
        """Return the same, which learns in another way from now on."""
        return replace(self, settings=settings)

    def closed(self) -> Self:
        """Return the same, which takes no other class."""
        return replace(self, unseen=None)

    def with_classes(self, classes: Labels) -> Self:
        """Return the same for equal classes of maybe another type."""
        return replace(self, classes=classes)

    def each(self, change: Callable[[AnyState], AnyState]) -> Self:
        """Return the same with every posterior changed."""
        unseen = None if self.unseen is None else change(self.unseen)
        return self.with_states(tuple(map(change, self.states)), unseen)

    def with_more_weights(self, at: int, n_more: int) -> Self:
        """Return the same for rows with more columns at a place, of which nothing is known."""

        def wider(state: AnyState) -> AnyState:
            return with_more_weights(state, at, n_more, self.settings)

        unseen = None if self.unseen is None else wider(self.unseen)
        return self.with_states(tuple(wider(state) for state in self.states), unseen)

    def before_the_first_row(self) -> Self:
        """Return what was known of the same classes at first."""
        n_weights = len(self.states[0].mean)
        prior = OneVsRest.prior(n_weights, self.settings, self.settling, self.classes)
        return self.with_states(prior.states, None if self.unseen is None else prior.states[0])

    @computed_once
    def settled(self) -> tuple[AnyState, ...]:
        """The posteriors as they are read."""
        if self.settling is None:
            return self.states
        return tuple(run_ep(state, self.settling) for state in self.states)

    @computed_once
    def gaussians(self) -> tuple[Gaussian, ...]:
        """The Gaussian of each posterior."""
        return tuple(gaussian(state) for state in self.settled)

    @computed_once
    def means(self) -> tuple[Array, ...]:
        """The mean of the weights under each posterior."""
        if self.settings.rank < 0:
            return tuple(known.mean for known in self.gaussians)
        return tuple(mean_of(state) for state in self.settled)

    def deviations(self, k: int, part: slice) -> Array:
        """Return the standard deviations of some weights under posterior k."""
        if self.settings.rank < 0:
            deviations: Array = np.linalg.norm(self.gaussians[k].factor[:, part], axis=0)
            return deviations
        state = self.settled[k]
        return deviations_of(state, np.arange(len(state.mean))[part])

    def points(self) -> list[Array]:
        """Return the virtual points of each posterior."""
        return [
            points_of(s) if isinstance(s, LowRankState) else s.points[: s.counts[POINTS]].copy()
            for s in self.states
        ]

    def covariances(self) -> tuple[Array, ...]:
        """Return the covariance of the weights under each posterior."""
        if self.settings.rank < 0:
            return tuple(known.covariance for known in self.gaussians)
        return tuple(np.linalg.inv(precision_of(s)).astype(np.float64) for s in self.settled)

    def margins(self, rows: Array) -> Array:
        """Return the standardised margin of each row under each posterior, one column each."""
        noise = self.settings.margin_noise
        return np.column_stack([margins_under(state, rows, noise) for state in self.settled])

    def log_odds(self, rows: Array) -> Array:
        """Return what decides: higher means more probable.

        For two classes the standardised margin of the second; for more, a column for each with the
        log-odds of the class against all others.
        """
        margins = self.margins(rows)
        if len(self.classes) <= 2:
            return margins[:, 0]
        scores = self._log_scores(margins) - self._log_scores(-margins)
        return against_the_rest(scores)

    def probabilities(self, rows: Array) -> Array:
        """Return the probability of each class, one column each; they sum to one."""
        return self.probabilities_of(self.margins(rows))

    def probabilities_of(self, margins: Array) -> Array:
        """Return the same, given the standardised margins."""
        probabilities = np.empty((len(margins), len(self.classes)))
        write_each_probabilities(margins, self.settings.label_noise, probabilities)
        return probabilities

    def predictors(self, rows: Array) -> list[Predictor]:
        """Return what predicts dense rows, which are always written to the same place."""
        noise = self.settings.margin_noise
        # All classes share the places of their numbers.
        is_sparse = self.settings.rank >= 0 and rows.flags.carray
        shared = sparse_rows(rows) if is_sparse else rows
        return [Predictor(state, noise, shared) for state in self.settled]

    def log_probabilities(self, rows: Array) -> Array:
        """Return the logarithm of each probability, also of those too small for a number."""
        return self.log_probabilities_of(self.margins(rows))

    def log_probabilities_of(self, margins: Array) -> Array:
        """Return the same, given the standardised margins."""
        logarithms: Array = log_softmax(self._class_scores(margins), axis=1)
        return logarithms

    def _class_scores(self, margins: Array) -> Array:
        """Return the logarithms of what `write_probabilities` makes probabilities of."""
        if len(self.classes) == 2:
            return self._log_scores(np.column_stack([-margins[:, 0], margins[:, 0]]))
        return self._log_scores(margins) - self._log_scores(-margins)

    def _log_scores(self, margins: Array) -> Array:
        scores = np.empty_like(margins)
        log_probabilities(margins.ravel(), self.settings.label_noise, scores.ravel())
        return scores


def against_the_rest(logarithms: Array) -> Array:
    """Return the log-odds of each column against all others together.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.learners.one_vs_rest import against_the_rest
    >>> against_the_rest(np.log([[0.5, 0.25, 0.25]])).round(2)
    array([[ 0. , -1.1, -1.1]])
    """
    columns = range(logarithms.shape[1])
    rest = [logsumexp(np.delete(logarithms, k, axis=1), axis=1) for k in columns]
    odds: Array = logarithms - np.column_stack(rest)
    return odds
