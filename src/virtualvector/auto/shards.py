"""Committees in rounds: shards learn side by side from a common one.

In a round nobody falls asleep, joins or begins anew, and all make inputs of rows as the common
encoder does: its scales, categories and statistics stand still, so that weights mean the same to
all. What a shard sees of columns is counted beside that, and joins at the end of the round; then it
is decided who is awake in the next one, by all rows together. Nobody forgets: shards that do cannot
be multiplied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from virtualvector.auto.alignment import some_of, without_forgetful
from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.auto.committee import BLOCK, Committee
from virtualvector.auto.decisions import end_block
from virtualvector.auto.learning import learn, predict
from virtualvector.auto.online import Known
from virtualvector.auto.pooling import multiplied, of_classes, trust_by_evidence
from virtualvector.auto.stage import Stage
from virtualvector.auto.working import WorkingCommittee
from virtualvector.concurrency import Team
from virtualvector.features.encoder import Encoder
from virtualvector.features.pooling import Seen, check_columns, pooled_encoder
from virtualvector.kernels.calibration import POWERS, SHARES, SOURCES, add_log_likelihoods
from virtualvector.kernels.opinions import Opinions
from virtualvector.learners import rounds
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.learners.weights import Visits
from virtualvector.posterior import shard_start
from virtualvector.types import Array, Labels


@dataclass
class ShardStage(Stage):
    """A stage on which inputs are made as a common encoder makes them.

    Parameters
    ----------
    common : Encoder
        Which stays as it is.
    gains : ndarray
        The log-likelihood of each way to correct what is predicted, so far.
    """

    common: Encoder
    gains: Array

    def _visit(self, cells: list[Any], labels: Labels, some: Visits, team: Team) -> Array:
        # A category that is new has an input from the next round on.
        inputs = self.common.scale(cells)[:, : self.common.n_inputs]
        if not some.learned:
            return predict(self.working.known, self.narrowed(inputs))
        self.encoder.learn(cells, labels[some.which])
        return learn(
            self.working,
            self.narrowed(inputs),
            labels[some.which],
            team,
            some.powers,
            self._listen,
        )

    def _listen(self, opinions: Opinions, n_rows: int, powers: Array) -> None:
        if not self.working.committee.alone:
            self.gains = self.gains.copy()
            add_log_likelihoods(
                opinions.stated[:, :n_rows], opinions.observed[:n_rows], powers,
                SOURCES, POWERS, SHARES, self.gains,
            )  # fmt: skip


class CommitteeShard(AutoVVMClassifier):
    """A committee that learns a span of rows in a round; made by `begun`."""

    _common: Encoder
    _gains: Array  # the log-likelihood of each correction, of the rows of the round

    def _learn(
        self, columns: list[Any], labels: Labels, visits: Iterator[Visits], predict: bool = False
    ) -> Array:
        route = self._route
        assert route is not None
        committee, encoder = route.known
        # Nothing is decided here: that is left to who puts shards together.
        working = WorkingCommittee(committee, decides=False)
        stage = ShardStage(copy(encoder), working, route.narrowed, self._common, self._gains)
        predictions = stage.learn(columns, labels, visits, predict, self.n_jobs)
        self._known, self._gains = Known(working.known, stage.encoder), stage.gains
        self.classes_ = working.classes
        return predictions

    def _add_columns(self, columns: Any) -> None:
        super()._add_columns(columns)
        check_columns(self._encoder)

    def _learn_table_of_one(self, X: Any, y: Any, classes: Any) -> bool:
        return False


def round_start(model: Any, n_shards: int, alone: bool) -> Any:
    """Return the model that the shards of a round go on from.

    A committee may only decide by itself while there are no rounds yet: while one shard is
    ``alone``.
    """
    is_committee = isinstance(model, AutoVVMClassifier)
    return model if (alone if is_committee else n_shards == 1) else begun(model)


def begun(model: Any) -> Any:
    """Return the model that a shard goes on from in a round, whatever the learner."""
    if not isinstance(model, AutoVVMClassifier):
        return rounds.begun(model)
    committee, encoder = model._known
    check_columns(encoder)
    known = Known(_awake_only(without_forgetful(committee)), encoder)
    return _as(
        CommitteeShard, model, known, _common=encoder, _gains=np.zeros_like(committee.corrections)
    )


def ended(model: Any, shards: Sequence[Any]) -> Any:
    """Return what shards that went on from a model know together, in the order of their rows."""
    if not isinstance(shards[0], CommitteeShard):
        return rounds.ended(model, shards)
    committee, encoder = model._known
    start = without_forgetful(committee)
    awake = some_of(start, np.flatnonzero(start.awake).tolist())
    committees = [shard._committee for shard in shards]
    trust = trust_by_evidence(committees, awake, [shard._gains for shard in shards])
    learned = multiplied(committees, awake, trust)
    seen = [Seen(shard._encoder, shard.n_seen_) for shard in shards]
    pooled = pooled_encoder(seen, Seen(encoder, committee.n_rows))
    known = _put_back(learned, start)
    if model._sketch is None:
        known = known.wide_enough(pooled.n_inputs)
    n_blocks = known.n_rows // BLOCK - start.n_rows // BLOCK
    if n_blocks > 0 and not known.alone:
        known = _end_round(known, n_blocks)
    return _as(AutoVVMClassifier, model, Known(known, pooled))


def _as(kind: type[AutoVVMClassifier], model: AutoVVMClassifier, known: Known, **more: Any) -> Any:
    """Return a model of another kind, with the same parameters, that knows something else."""
    other = object.__new__(kind)
    own = ("_turn", "_route", "_common", "_gains")
    other.__dict__ = {k: v for k, v in vars(model).items() if k not in own} | more
    other._known = known
    other.classes_ = known.committee.classes
    return other


def _awake_only(committee: Committee) -> Committee:
    """Return a committee of those who are awake, without their points and their first rows."""
    some = some_of(committee, np.flatnonzero(committee.awake).tolist())
    posteriors = tuple(map(_without_points, some.posteriors))
    return replace(some, posteriors=posteriors, first_rows=None)


def _without_points(known: OneVsRest) -> OneVsRest:
    unseen = None if known.unseen is None else shard_start(known.unseen)
    return known.with_states(tuple(map(shard_start, known.states)), unseen)


def _put_back(learned: Committee, start: Committee) -> Committee:
    """Return a committee in which those who were awake have learned."""
    awake = np.flatnonzero(start.awake).tolist()
    start = of_classes(start, learned.classes)
    posteriors = list(start.posteriors)
    weights, evidence = start.weights.copy(), start.evidence.copy()
    weights[awake], evidence[awake] = learned.weights, learned.evidence
    for e, posterior in zip(awake, learned.posteriors, strict=True):
        posteriors[e] = posterior
    return replace(
        learned,
        experts=start.experts,
        posteriors=tuple(posteriors),
        weights=weights,
        awake=start.awake,
        evidence=evidence,
        pool=start.pool.updated(awake, learned.pool),
    )


def _end_round(committee: Committee, n_blocks: int) -> Committee:
    """Decide who is awake in the next round, by the mean block of this one."""
    drift = committee.drift
    mean = drift._replace(excess=drift.excess / n_blocks, variance=drift.variance / n_blocks)
    return end_block(replace(committee, drift=mean), may_forget=False)
