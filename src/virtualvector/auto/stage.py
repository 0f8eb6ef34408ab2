"""Rows on their way through a committee: from cells to inputs, and to what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from virtualvector.auto.committee import Committee
from virtualvector.auto.first_rows import encode
from virtualvector.auto.learning import learn, predict
from virtualvector.features.encoder import Encoder
from virtualvector.learners.weights import Visits
from virtualvector.types import Array, Labels


@dataclass
class Stage:
    """An encoder and a committee, both of which learn.

    Parameters
    ----------
    encoder : Encoder
        Makes inputs of cells; it is changed.
    committee : Committee
        Learns them; it is replaced.
    narrowed : callable
        Makes inputs as narrow as the committee has them.
    """

    encoder: Encoder
    committee: Committee
    narrowed: Callable[[Array], Array]

    def learn(
        self,
        columns: list[Any],
        labels: Labels,
        visits: Iterable[Visits],
        predict: bool,
        n_jobs: int,
    ) -> Array:
        """Learn rows as they are visited.

        Returns what was predicted of each before its first visit, one column per class known at the
        end, if ``predict``; otherwise nothing.
        """
        parts = []
        with ThreadPoolExecutor(n_jobs) if n_jobs > 1 else nullcontext() as pool:
            for some in visits:
                predictions = self._visit(
                    [values[some.which] for values in columns], labels, some, pool
                )
                if predict:
                    parts.append((some, predictions[some.first], self.committee.classes))
        classes = self.committee.classes
        whole = np.zeros((len(labels) if predict else 0, len(classes)))
        for some, predictions, known in parts:
            rows = np.arange(len(labels))[some.which][some.first]
            whole[rows[:, np.newaxis], np.searchsorted(classes, known)] = predictions
        return whole

    def _visit(
        self, cells: list[Any], labels: Labels, some: Visits, pool: ThreadPoolExecutor | None
    ) -> Array:
        if some.learned:
            observed = labels[some.which]
            if self.committee.first_rows is not None:
                return self._learn_first(cells, observed, some.powers, pool)
            inputs = self.narrowed(self.encoder.learn(cells, observed))
            self.committee, predictions = learn(self.committee, inputs, observed, pool, some.powers)
            return predictions
        if len(self.committee.classes) == 0:
            return np.zeros((len(cells[0]), 0))
        return predict(self.committee, self.narrowed(self.encoder.scale(cells)))

    def _learn_first(
        self, cells: list[Any], labels: Labels, powers: Array, pool: ThreadPoolExecutor | None
    ) -> Array:
        """Learn rows of which some are among the first of all, which are replayed in between."""
        committee = self.committee
        before, classes = committee.first_rows, committee.classes
        assert before is not None
        if committee.takes_new_classes:
            classes = np.union1d(classes, labels) if len(classes) else np.unique(labels)
            moved = np.searchsorted(classes, committee.classes)
            before = before._replace(observed=moved[before.observed])
        observed = np.searchsorted(classes, labels)
        encoded = encode(self.encoder, before, cells, observed, powers, classes)
        committee, predictions = learn(
            committee, encoded.inputs, labels, pool, powers, replays=encoded.replays
        )
        self.committee = replace(committee, first_rows=encoded.rows)
        return predictions
