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
from virtualvector.kernels import calibration
from virtualvector.kernels.mixing import mix
from virtualvector.posterior import WHOLE
from virtualvector.types import Array, Labels


def predict(committee: Committee, inputs: Array) -> Array:
    """Return the mixed probability of each class."""
    wide = committee.wide_enough(inputs.shape[1])
    seen = wide.seen(inputs)
    mixed = np.zeros((len(inputs), len(committee.classes)))
    for e in np.flatnonzero(committee.awake):
        mixed += committee.weights[e] * wide.posteriors[e].probabilities(seen[committee.view(e)])
    if committee.alone:
        return mixed
    nothing = np.zeros(0, np.int64)
    return _corrected(mixed, nothing, WHOLE, committee.corrections.copy(), learn=False)


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
    mixed = np.empty(of_experts.shape[1:])
    weights, evidence = committee.weights.copy(), committee.evidence.copy()
    of_awake, evidence_of_awake = weights[awake], evidence[awake]
    observed = np.searchsorted(committee.classes, labels)
    # Added up row by row, so that sums do not depend on how calls are cut.
    tally = np.array([committee.drift.excess, committee.drift.variance])
    share = 0.0 if committee.alone else SHARE
    mix(of_experts, observed, powers, of_awake, evidence_of_awake, share, tally, mixed)
    corrections = committee.corrections.copy()
    predicted = (
        of_experts[0]
        if committee.alone
        else _corrected(mixed, observed, powers, corrections, learn=True)
    )
    evidence[awake] = evidence_of_awake
    if not committee.alone:  # rounding would make something else of a weight of one
        weights[awake] = of_awake
    posteriors = list(committee.posteriors)
    for e, (posterior, _) in zip(awake, results, strict=True):
        posteriors[e] = posterior
    learned = replace(
        committee,
        posteriors=tuple(posteriors),
        weights=weights,
        evidence=evidence,
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


def _corrected(
    mixed: Array, observed: NDArray[np.int64], row_powers: Array, weights: Array, learn: bool
) -> Array:
    """Return what is stated in place of a mix; learn from what came in place."""
    predicted = np.empty_like(mixed)
    powers, shares = calibration.POWERS, calibration.SHARES
    work = np.empty((len(powers) + 1, mixed.shape[1]))
    calibration.correct(
        mixed, observed, row_powers, powers, shares, weights, calibration.SHARE, learn, work,
        predicted,
    )  # fmt: skip
    predicted /= predicted.sum(axis=1, keepdims=True)  # or rounding would leave more than one
    return predicted
