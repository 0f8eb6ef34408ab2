"""What committees have learned apart, as one.

All went on from a common committee. Of each expert, posteriors are multiplied as those of any
learner are (`learners/pooling.py`); evidence and counts of rows add up. How much experts and
corrections are trusted is put together in one of two ways.

After a round, in which all had the same experts, by evidence: with L_k the likelihood of what came
in shard k, w ∝ w ∏ L_k, shard by shard, and after each the share is given away that is given
at a row. The exponents of the logarithmic pool have a normal posterior that drifts: with C₀ the
common covariance, n_k rows of shard k and δ what each row adds, its precision is

    P = (C₀ + δ Σn_k I)⁻¹ + Σₖ [C_k⁻¹ − (C₀ + δ n_k I)⁻¹],

and the same for linear terms: what a shard has learned is never less than nothing. So it is with
what recalibrates (`kernels/recalibration.py`), which does not drift; leads add up.

Of models that come from elsewhere, in which others are awake, it is the mean, by the rows that each
has learned: of exponents that is the geometric mean of what their pools say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from virtualvector.auto.committee import Committee
from virtualvector.auto.drift import DriftDetector
from virtualvector.auto.history import LONGEST, History, HistoryEntry, thinned
from virtualvector.kernels import calibration
from virtualvector.kernels.log_pool import DRIFT
from virtualvector.kernels.mixing import SHARE
from virtualvector.kernels.recalibration import MOST_LEAD, Recalibration
from virtualvector.learners.log_pool import PRECISION, Pool
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.learners.pooling import known_together, of_all_classes
from virtualvector.posterior.state import ROWS
from virtualvector.types import Array, Labels


class Trust(NamedTuple):
    """How much each expert and each correction is trusted."""

    weights: Array
    pool: Pool
    corrections: Array
    recalibration: Recalibration


def multiplied(shards: Sequence[Committee], start: Committee, trust: Trust) -> Committee:
    """Return what committees of the same experts, which went on from a start, know together.

    Whoever is awake in one of them is awake. First rows are not kept any more. Those of a start
    that had not yet replayed them for the last time, shards have learned again on scales of their
    own, by which quotients are off.
    """
    classes = _classes((start, *shards))
    posteriors = tuple(
        _posterior([shard.posteriors[e] for shard in shards], start.posteriors[e], classes)
        for e in range(len(start.experts))
    )
    evidence = [shard.evidence - start.evidence for shard in shards]
    return replace(
        start,
        posteriors=posteriors,
        **trust._asdict(),
        awake=np.any([shard.awake for shard in shards], axis=0),
        evidence=start.evidence + np.sum(evidence, axis=0),
        counts=_counts(start, classes)
        + np.sum([_counts(shard, classes) - _counts(start, classes) for shard in shards], axis=0),
        drift=_drift(shards, start),
        history=_history(shards, start),
        n_rows=start.n_rows + sum(_n_new(shards, start)),
        grown_at=max(shard.grown_at for shard in shards),
        first_rows=None,
    )


def trust_by_evidence(
    shards: Sequence[Committee], start: Committee, gains: Sequence[Array]
) -> Trust:
    """Return the trust after a round, given the log-likelihood of each correction in each shard."""
    if start.alone:
        return Trust(start.weights, start.pool, start.corrections, _recalibrated(shards, start))
    evidence = [shard.evidence - start.evidence for shard in shards]
    n = len(start.weights)
    weights = _moved(start.weights, evidence, SHARE, np.full(n, 1.0 / n))
    n_calm = start.n_rows - start.calm_since
    share = max(calibration.SHARE, calibration.RESTLESS / (n_calm + 10.0))
    corrections = _moved(start.corrections, gains, share, calibration.first_weights())
    return Trust(weights, _exponents(shards, start), corrections, _recalibrated(shards, start))


def mean_trust(shards: Sequence[Committee], start: Committee) -> Trust:
    """Return the mean of the trust of several, by the rows that each has learned."""
    n_new = _n_new(shards, start)
    shares = np.array(n_new) / sum(n_new) if any(n_new) else np.full(len(n_new), 1.0 / len(n_new))

    def mean(each: Sequence[Array]) -> Array:
        total: Array = np.tensordot(shares, np.array(each), axes=1)
        return total

    awake = np.any([shard.awake for shard in shards], axis=0)
    weights = np.where(awake, mean([shard.weights for shard in shards]), 0.0)
    floor = 0.0 if start.alone else SHARE
    weights = np.where(awake, (1.0 - floor) * weights / weights.sum() + floor / awake.sum(), 0.0)
    exponents, covariances = zip(*(shard.pool for shard in shards), strict=True)
    variances = mean(covariances)
    unknown = awake & (np.diagonal(variances) == 0.0)  # of who is awake where nothing was learned
    variances[unknown, unknown] = 1.0 / PRECISION
    corrections = mean([shard.corrections for shard in shards])
    return Trust(
        weights,
        Pool(mean(exponents), variances),
        corrections / corrections.sum(),
        Recalibration(*map(mean, zip(*_of_all_classes(shards), strict=True))),
    )


def _n_new(shards: Sequence[Committee], start: Committee) -> list[int]:
    return [shard.n_rows - start.n_rows for shard in shards]


def _moved(weights: Array, gains: Sequence[Array], share: float, first: Array) -> Array:
    """Return weights that log-likelihoods have moved, one after the other.

    Of what is given away after each, everyone has a part as at the start.
    """
    for gain in gains:
        logs = np.log(weights) + gain
        weights = np.exp(logs - logs.max())
        weights = (1.0 - share) * weights / weights.sum() + share * first
    return weights


def of_classes(committee: Committee, classes: Labels) -> Committee:
    """Return a committee that knows classes of which some have not come to it."""
    posteriors = (of_all_classes(each, classes) for each in committee.posteriors)
    return replace(
        committee,
        posteriors=tuple(replace(each, classes=classes) for each in posteriors),
        counts=_counts(committee, classes),
        recalibration=_recalibration(committee, classes),
    )


def _counts(committee: Committee, classes: Labels) -> Array:
    """Return the rows of each class since the last alarm, also of those that have not come."""
    counts = np.zeros(len(classes))
    counts[np.searchsorted(classes, committee.classes)] = committee.counts
    return counts


def _recalibration(committee: Committee, classes: Labels) -> Recalibration:
    """Return what recalibrates; of classes that have not come nothing is known."""
    places = np.searchsorted(classes, committee.classes)
    return committee.recalibration.of_classes(places, len(classes))


def _of_all_classes(committees: Sequence[Committee]) -> list[Recalibration]:
    classes = _classes(committees)
    return [_recalibration(each, classes) for each in committees]


def _recalibrated(shards: Sequence[Committee], start: Committee) -> Recalibration:
    """Return what shards have learned of it together."""
    before, *after = _of_all_classes((start, *shards))
    of_classes = _product(
        [(each.by_class, each.class_covariances) for each in after],
        (before.by_class, before.class_covariances),
    )
    of_likeliest = _product(
        [(each.of_likeliest, each.likeliest_covariance) for each in after],
        (before.of_likeliest, before.likeliest_covariance),
    )
    leads = before.leads + np.sum([each.leads - before.leads for each in after], axis=0)
    return Recalibration(*of_classes, *of_likeliest, np.clip(leads, -MOST_LEAD, MOST_LEAD))


def _product(after: Sequence[tuple[Array, Array]], before: tuple[Array, Array]) -> tuple[Any, Any]:
    """Return the mean and covariance of normal posteriors multiplied, each over the one before."""
    precision = precision_before = _inverse(before[1])
    linear = linear_before = _times(precision, before[0])
    for mean, covariance in after:
        own = _inverse(covariance)
        precision = precision + own - precision_before
        linear = linear + _times(own, mean) - linear_before
    covariance = _inverse(precision)
    return _times(covariance, linear), covariance


def _times(matrices: Array, vectors: Array) -> Array:
    product: Array = np.einsum("...ij,...j->...i", matrices, vectors)
    return product


def _classes(committees: Sequence[Committee]) -> Labels:
    known = [each.classes for each in committees if len(each.classes)]
    return np.unique(np.concatenate(known)) if known else committees[0].classes


def _posterior(shards: Sequence[OneVsRest], start: OneVsRest, classes: Labels) -> OneVsRest:
    """Return what shards know together; those that slept have nothing to tell."""
    n_before = _n_learned(start)
    news = [shard for shard in shards if _n_learned(shard) > n_before]
    if len(start.classes) == 0:
        start = of_all_classes(start, classes)
    known = known_together(news, start) if news else start
    return replace(of_all_classes(known, classes), classes=classes)


def _n_learned(posterior: OneVsRest) -> int:
    return int(posterior.states[0].counts[ROWS])


def _exponents(shards: Sequence[Committee], start: Committee) -> Pool:
    mean, covariance = start.pool
    n_new = _n_new(shards, start)

    def faded(n_rows: int) -> Array:
        return _inverse(covariance + DRIFT * n_rows * np.eye(len(mean)))

    precision = faded(sum(n_new))
    linear = precision @ mean
    for shard, n_rows in zip(shards, n_new, strict=True):
        after, without = _inverse(shard.pool.covariance), faded(n_rows)
        precision = precision + after - without
        linear = linear + after @ shard.pool.mean - without @ mean
    pooled = _inverse(precision)
    return Pool(pooled @ linear, pooled)


def _inverse(matrix: Array) -> Array:
    inverse = np.linalg.inv(matrix)
    symmetric: Array = 0.5 * (inverse + inverse.swapaxes(-1, -2))
    return symmetric


def _drift(shards: Sequence[Committee], start: Committee) -> DriftDetector:
    """Return what losses were usual, and those of the blocks under way together."""
    before, each = start.drift, [shard.drift for shard in shards]
    counts = [drift.n_blocks - before.n_blocks for drift in each]
    # The block that was under way at the start counts once, or not at all if it has ended.
    again = sum(n == 0 for n in counts) - all(n == 0 for n in counts)
    usual = sum(n * drift.usual for n, drift in zip(counts, each, strict=True))
    return DriftDetector(
        excess=sum(drift.excess for drift in each) - again * before.excess,
        variance=max(sum(drift.variance for drift in each) - again * before.variance, 0.0),
        n_blocks=before.n_blocks + sum(counts),
        usual=usual / sum(counts) if any(counts) else before.usual,
    )


def _history(shards: Sequence[Committee], start: Committee) -> History:
    before = start.history
    n_blocks = before.n_blocks + sum(s.history.n_blocks - before.n_blocks for s in shards)
    return before._replace(n_blocks=n_blocks)


def with_moment(committee: Committee) -> Committee:
    """Return a committee whose history says who is trusted now."""
    history = committee.history
    weights = dict.fromkeys(committee.experts, 0.0)
    for expert, weight in zip(committee.experts, committee.weights.tolist(), strict=True):
        weights[expert] += weight
    entries = [entry for entry in history.entries if entry.n_rows < committee.n_rows]
    kept, every = thinned(
        (*entries, HistoryEntry(committee.n_rows, weights)), history.every, LONGEST
    )
    every = min(every, max(1, history.n_blocks))
    return replace(committee, history=History(tuple(kept), every, history.n_blocks))
