"""Rows on their way through a committee: from cells to inputs, and to what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from virtualvector.auto.first_rows import encode
from virtualvector.auto.learning import learn, predict
from virtualvector.auto.working import WorkingCommittee
from virtualvector.concurrency import Team
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
    working : WorkingCommittee
        Learns them.
    narrowed : callable
        Makes inputs as narrow as the committee has them.
    """

    encoder: Encoder
    working: WorkingCommittee
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
        with Team(n_jobs) as team:
            for some in visits:
                predictions = self._visit(
                    [values[some.which] for values in columns], labels, some, team
                )
                if predict:
                    parts.append((some, predictions[some.first], self.working.classes))
        classes = self.working.classes
        whole = np.zeros((len(labels) if predict else 0, len(classes)))
        for some, predictions, known in parts:
            rows = np.arange(len(labels))[some.which][some.first]
            whole[rows[:, np.newaxis], np.searchsorted(classes, known)] = predictions
        return whole

    def _visit(self, cells: list[Any], labels: Labels, some: Visits, team: Team) -> Array:
        if some.learned:
            observed = labels[some.which]
            if self.working.committee.first_rows is not None:
                return self._learn_first(cells, observed, some.powers, team)
            inputs = self.narrowed(self.encoder.learn(cells, observed, team))
            return learn(self.working, inputs, observed, team, some.powers)
        if len(self.working.classes) == 0:
            return np.zeros((len(cells[0]), 0))
        return predict(self.working.known, self.narrowed(self.encoder.scale(cells)))

    def _learn_first(self, cells: list[Any], labels: Labels, powers: Array, team: Team) -> Array:
        """Learn rows of which some are among the first of all, which are replayed in between."""
        committee = self.working.committee
        before, classes = committee.first_rows, committee.classes
        assert before is not None
        if committee.takes_new_classes:
            classes = np.union1d(classes, labels) if len(classes) else np.unique(labels)
            moved = np.searchsorted(classes, committee.classes)
            before = before._replace(observed=moved[before.observed])
        observed = np.searchsorted(classes, labels)
        encoded = encode(self.encoder, before, cells, observed, powers, classes)
        predictions = learn(
            self.working, encoded.inputs, labels, team, powers, replays=encoded.replays
        )
        self.working.keep(encoded.rows)
        return predictions
