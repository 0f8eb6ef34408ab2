"""Rows through a committee: what it says of them, and what it learns of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtualvector.auto.committee import BLOCK, LONG_BLOCK, SHARE, Committee
from virtualvector.auto.decisions import end_block
from virtualvector.auto.history import History, HistoryEntry
from virtualvector.auto.pool import DRIFT, Pool
from virtualvector.kernels import calibration
from virtualvector.kernels.log_pool import log_pool
from virtualvector.kernels.mixing import mix
from virtualvector.posterior import WHOLE
from virtualvector.types import Array, Labels


def predict(committee: Committee, inputs: Array) -> Array:
    """Return the mixed probability of each class."""
    wide = committee.wide_enough(inputs.shape[1])
    seen = wide.seen(inputs)
    awake: list[int] = np.flatnonzero(committee.awake).tolist()
    of_experts: Array = np.array(
        [wide.posteriors[e].probabilities(seen[committee.view(e)]) for e in awake]
    )
    if committee.alone:
        alone: Array = of_experts[0]
        return alone
    stated = np.zeros((2, *of_experts.shape[1:]))
    for e, probabilities in zip(awake, of_experts, strict=True):
        stated[0] += committee.weights[e] * probabilities
    nothing = np.zeros(0, np.int64)
    _pool(of_experts, nothing, WHOLE, committee.pool.of(awake), False, stated[1])
    return _corrected(stated, nothing, WHOLE, committee.corrections.copy(), learn=False)


def learn(
    committee: Committee,
    inputs: Array,
    labels: Labels,
    pool: ThreadPoolExecutor | None = None,
    powers: Array = WHOLE,
) -> tuple[Committee, Array]:
    """Learn rows; also return what was said of each before, one column per class.

    Of a row that is the first of its class, what is said is about the classes known before it:
    a class has probability 0 until it is known. Decisions fall after certain numbers of rows,
    however the stream is cut into calls. Of a row with a power, all likelihoods are raised to
    it; it is one row all the same.
    """
    classes = (
        np.union1d(committee.classes, labels) if committee.takes_new_classes else committee.classes
    )
    predicted = np.zeros((len(inputs), len(classes)))
    start, n_used = 0, _inputs_used(inputs, committee.feature_space.n_inputs)
    for stop in _stops(committee, labels, n_used):
        rows, before = slice(start, stop), committee.wide_enough(n_used[start])
        known = not committee.takes_new_classes or bool(np.isin(labels[start], before.classes))
        committee = before if known else before.welcome(labels[start : start + 1])
        committee, of_known = _learn(committee, inputs[rows], labels[rows], powers[rows], pool)
        predicted[rows, np.searchsorted(classes, committee.classes)] = of_known
        if not known:
            predicted[start] = 0.0
            if len(before.classes):
                before_it = np.searchsorted(classes, before.classes)
                predicted[start, before_it] = predict(before, inputs[start : start + 1])[0]
        start = stop
    return committee, predicted


def _stops(committee: Committee, labels: Labels, n_used: NDArray[np.int64]) -> list[int]:
    """Return where blocks end, and where a new class or more inputs than expected come next."""
    n, block = len(labels), LONG_BLOCK if committee.alone else BLOCK
    stops = set(range(block - committee.n_rows % block, n, block)) | {n}
    if committee.takes_new_classes:
        values, first = np.unique(labels, return_index=True)
        stops |= {int(f) for f in first[~np.isin(values, committee.classes)] if f > 0}
    feature_space = committee.feature_space
    for row in np.flatnonzero(np.diff(n_used)) + 1:
        if n_used[row] > feature_space.n_inputs:
            feature_space = feature_space.wider(n_used[row])
            stops.add(int(row))
    return sorted(stops)


def _learn(
    committee: Committee,
    inputs: Array,
    labels: Labels,
    powers: Array,
    pool: ThreadPoolExecutor | None,
) -> tuple[Committee, Array]:
    """Learn rows of one block."""
    seen = committee.seen(inputs)
    awake: list[int] = np.flatnonzero(committee.awake).tolist()

    def learn(e: int) -> Any:
        return committee.posteriors[e].predict_then_learn(seen[committee.view(e)], labels, powers)

    results = list(pool.map(learn, awake) if pool else map(learn, awake))
    of_experts = np.array([each.probabilities for _, each in results])
    stated = np.empty((2, *of_experts.shape[1:]))
    weights, evidence = committee.weights.copy(), committee.evidence.copy()
    of_awake, evidence_of_awake = weights[awake], evidence[awake]
    observed = np.searchsorted(committee.classes, labels)
    # Added up row by row, so that sums do not depend on how calls are cut.
    tally = np.array([committee.drift.excess, committee.drift.variance])
    share = 0.0 if committee.alone else SHARE
    mix(of_experts, observed, powers, of_awake, evidence_of_awake, share, tally, stated[0])
    corrections, pool_of_awake = committee.corrections.copy(), committee.pool.of(awake)
    evidence[awake] = evidence_of_awake
    predicted = of_experts[0]
    if not committee.alone:  # rounding would make something else of a weight of one
        weights[awake] = of_awake
        _pool(of_experts, observed, powers, pool_of_awake, True, stated[1])
        predicted = _corrected(stated, observed, powers, corrections, learn=True)
    posteriors = list(committee.posteriors)
    for e, (posterior, _) in zip(awake, results, strict=True):
        posteriors[e] = posterior
    learned = replace(
        committee,
        posteriors=tuple(posteriors),
        weights=weights,
        evidence=evidence,
        pool=committee.pool.updated(awake, pool_of_awake),
        corrections=corrections,
        drift=committee.drift._replace(excess=float(tally[0]), variance=float(tally[1])),
        n_rows=committee.n_rows + len(labels),
    )
    if committee.alone:
        certain = HistoryEntry(learned.n_rows, dict.fromkeys(committee.experts, 1.0))
        return replace(learned, history=History((certain,))), predicted
    return (end_block(learned) if learned.n_rows % BLOCK == 0 else learned), predicted


def _inputs_used(inputs: Array, room: int) -> NDArray[np.int64]:
    """Return how many inputs there are up to each row; 0 where there is room for them anyway."""
    used = np.arange(room + 1, inputs.shape[1] + 1)
    return np.maximum.accumulate(((inputs[:, room:] != 0.0) * used).max(axis=1, initial=0))


def _pool(
    of_experts: Array,
    observed: NDArray[np.int64],
    powers: Array,
    pool: Pool,
    learn: bool,
    pooled: Array,
) -> None:
    """Write the logarithmic pool of experts; learn from what came in place."""
    n_experts, _, n_classes = of_experts.shape
    work = np.empty((n_experts, n_classes + 2))
    log_pool(of_experts, observed, powers, *pool, DRIFT, learn, work, pooled)


def _corrected(
    stated: Array, observed: NDArray[np.int64], row_powers: Array, weights: Array, learn: bool
) -> Array:
    """Return what is predicted in place of mix and pool; learn from what came in place."""
    predicted = np.empty(stated.shape[1:])
    ways = (calibration.SOURCES, calibration.POWERS, calibration.SHARES)
    work = np.empty((len(weights), stated.shape[2]))
    calibration.correct(
        stated, observed, row_powers, *ways, weights, calibration.SHARE, learn, work, predicted
    )
    predicted /= predicted.sum(axis=1, keepdims=True)  # or rounding would leave more than one
    return predicted
