"""What a committee says of rows: opinions of its experts, mixed, pooled and corrected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from virtualvector.jit.compiled import compiled
from virtualvector.jit.struct_table import reader
from virtualvector.kernels import calibration
from virtualvector.kernels.calibration import correct
from virtualvector.kernels.log_pool import DRIFT, log_pool
from virtualvector.kernels.mixing import mix, mix_only
from virtualvector.kernels.recalibration import LEVELS, NONE, Recalibration, recalibrate
from virtualvector.types import Array, IntArray


class Opinions(NamedTuple):
    """What experts say of rows, how much each is trusted, and what is said in the end."""

    of_experts: Array  # (E, T, K)
    observed: IntArray  # (T,)  the number of the class that came
    powers: Array  # (T,)  how much each row counts
    weights: Array  # (E,)
    evidence: Array  # (E,)
    share: float  # of its weight that an expert gives away; none: there is no other
    tally: Array  # (2,)  for the drift detector
    counts: Array  # (K,)  rows of each class since the last alarm
    exponents: Array  # (E,)  of the pool: their mean
    covariance: Array  # (E, E)  of the exponents
    logs: Array  # (E, K + 2)  scratch memory of the pool
    stated: Array  # (2, T, K)  by the mix and by the pool
    corrections: Array  # (W,)
    work: Array  # (W, K)
    recalibration: Recalibration
    recalibrated: Array  # (4, …)  scratch memory of that
    predicted: Array  # (T, K)


def opinions_for(
    n_rows: int, n_classes: int, share: float, weights: Array, evidence: Array, exponents: Array,
    covariance: Array, corrections: Array, tally: Array, counts: Array,
    recalibration: Recalibration = NONE,
) -> Opinions:  # fmt: skip
    """Return room for the opinions of experts on so many rows."""
    return Opinions(
        of_experts=np.zeros((len(weights), n_rows, n_classes)),
        observed=np.zeros(n_rows, np.int64),
        powers=np.ones(n_rows),
        weights=weights,
        evidence=evidence,
        share=share,
        tally=tally,
        counts=counts,
        exponents=exponents,
        covariance=covariance,
        logs=np.zeros((len(weights), n_classes + 2)),
        stated=np.zeros((2, n_rows, n_classes)),
        corrections=corrections,
        work=np.zeros((len(corrections), n_classes)),
        recalibration=recalibration,
        recalibrated=np.zeros((4, max(n_classes, LEVELS))),
        predicted=np.zeros((n_rows, n_classes)),
    )


_ONE = np.ones(1)
NO_OPINIONS = opinions_for(0, 0, 0.0, _ONE, _ONE, _ONE, np.ones((1, 1)), _ONE, np.zeros(2), _ONE)
opinions_at = reader(NO_OPINIONS)

_SOURCES, _POWERS, _SHARES = calibration.SOURCES, calibration.POWERS, calibration.SHARES
_FIRST, _SHARE, _RESTLESS = calibration.first_weights(), calibration.SHARE, calibration.RESTLESS


@compiled
def conclude(opinions: Opinions, n_rows: int, learn: bool) -> None:
    """Write what is said of the first rows; then, if ``learn``, move trust by what came."""
    of_experts, stated = opinions.of_experts[:, :n_rows], opinions.stated[:, :n_rows]
    observed, powers = opinions.observed[:n_rows], opinions.powers[:n_rows]
    predicted, counts = opinions.predicted[:n_rows], opinions.counts
    n_before = counts.sum()
    if learn:
        for t in range(n_rows):
            counts[observed[t]] += 1.0
        mix(
            of_experts, observed, powers, opinions.weights, opinions.evidence, opinions.share,
            opinions.tally, stated[0],
        )  # fmt: skip
    else:
        mix_only(of_experts, opinions.weights, stated[0])
    if opinions.share == 0.0:
        opinions.weights[0] = 1.0  # rounding would make something else of it
        for t in range(n_rows):
            for k in range(predicted.shape[1]):
                predicted[t, k] = of_experts[0, t, k]
    else:
        log_pool(
            of_experts, observed, powers, opinions.exponents, opinions.covariance, DRIFT, learn,
            opinions.logs, stated[1],
        )  # fmt: skip
        correct(
            stated, observed, powers, _SOURCES, _POWERS, _SHARES, opinions.corrections, _FIRST,
            _SHARE, _RESTLESS, n_before, learn, opinions.work, predicted,
        )  # fmt: skip
        if opinions.recalibration.by_class.shape[0] > 2:
            recalibrate(
                predicted, observed, powers, opinions.recalibration, learn, opinions.recalibrated
            )


@compiled
def conclude_at(address: int, n_rows: int, learn: bool) -> None:
    """Do so, given where the table is."""
    conclude(opinions_at(address), n_rows, learn)
