"""Whether a committee and its inputs that come from outside can have been learned."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from virtualvector.auto.committee import Committee
from virtualvector.auto.feature_space import FeatureSpace
from virtualvector.auto.first_rows import REPLAYED_AT
from virtualvector.auto.history import LONGEST
from virtualvector.features.categories import SLOTS
from virtualvector.features.encoder import Encoder
from virtualvector.kernels import calibration
from virtualvector.kernels.log_pool import DRIFT
from virtualvector.kernels.mixing import SHARE
from virtualvector.kernels.recalibration import MOST_LEAD, Recalibration
from virtualvector.kernels.recalibration import PRECISION as RECALIBRATED_PRECISION
from virtualvector.learners.expert import Expert, check_expert
from virtualvector.learners.log_pool import PRECISION
from virtualvector.posterior.state import ROWS
from virtualvector.types import Labels

_ROUNDING = 1e-9  # of sums of weights, which every row makes anew
_MOST_EXPONENT = 1e6
_MOST_LOSS = 700.0  # −log of the smallest probability that counts is 691


def _check_classes(encoder: Encoder, classes: Labels) -> None:
    """Raise ValueError unless statistics are of classes that are known, each of them once."""
    counted = encoder.statistics.classes
    if counted is not None:
        known = np.isin(counted, classes).all() and len(np.unique(counted)) == len(counted)
        _expect(known, "statistics of known classes")


def check_parameters(
    committee: Committee,
    *,
    experts: Sequence[Expert] | None,
    n_frequencies: int | None,
    budget: float | None,
    random_state: int,
) -> None:
    """Raise ValueError unless a committee is one that parameters, if given, lead to."""
    feature_space = committee.feature_space
    found = {
        # Some of them, in their order, if the budget did not pay for all.
        "experts": experts is None or _is_part(committee.at_start, [Expert(*e) for e in experts]),
        "n_frequencies": n_frequencies is None or feature_space.n_frequencies == n_frequencies,
        "budget": budget is None or feature_space.budget == float(budget),
        "random_state": feature_space.seed == random_state,
    }
    for name, fits in found.items():
        if not fits:
            raise ValueError(
                f"found {name} other than what was learned with; expected the same: set it back, "
                "or fit anew"
            )


def _is_part(some: Sequence[Expert], all_: Sequence[Expert]) -> bool:
    """Whether these are some of all, in their order, maybe of a rank that was not asked for."""
    others = iter(all_)
    return all(
        any(other in (expert, expert._replace(rank=None)) for other in others) for expert in some
    )


def check_committee(committee: Committee, encoder: Encoder) -> None:
    """Raise ValueError unless a committee can have come about from rows of such encoder."""
    n = len(committee.experts)
    _expect(n >= 1 and len(committee.at_start) >= 1, "at least one expert")
    _expect(len(committee.posteriors) == n, f"posteriors of {n} experts")
    for name in ("weights", "awake", "evidence"):
        _expect(getattr(committee, name).shape == (n,), f"{name} of {n} experts")
    _check_feature_space(committee.feature_space, encoder)
    _check_classes(encoder, committee.classes)
    _check_experts(committee)
    _check_trust(committee)
    _check_posteriors(committee)
    _check_history(committee)
    _check_first_rows(committee, encoder)


def _check_feature_space(feature_space: FeatureSpace, encoder: Encoder) -> None:
    # Statistics may have been nothing so far, for which no room is needed.
    least, start = encoder.n_inputs - encoder.statistics.n_inputs, encoder.at_start
    most = start.most_inputs
    room = feature_space.n_inputs
    narrowed = start is encoder and 0 < room == feature_space.most_inputs < most
    fits = least <= room <= encoder.most_inputs and feature_space.most_inputs == most
    _expect(narrowed or fits, f"{least} to {encoder.most_inputs} inputs")
    # Frequencies are drawn for all inputs that may come.
    slots = SLOTS + encoder.most_statistics
    _expect(narrowed or most <= slots * room, "room for some categories of each column")
    n_numbers = room if narrowed else len(start.counts)
    _expect(feature_space.n_numbers == n_numbers, f"{n_numbers} numbers")
    n_scaled = len(start.counts) if encoder.scaling and not narrowed else 0
    _expect(feature_space.n_scaled in (0, n_scaled), f"{n_scaled} numbers that are scaled")
    _expect(feature_space.spread == start.spread, f"a spread of {start.spread}")
    _expect(feature_space.budget > 0.0, "a budget")
    _expect(0 <= feature_space.seed < 2**32, "a seed")


def _check_experts(committee: Committee) -> None:
    """Check that all came from those of the start: they may forget, see more, or have a rank."""
    at_start, experts = committee.at_start, committee.experts
    _expect(experts[: len(at_start)] == at_start, "the experts of the start first")
    known = {_assumed(expert) for expert in at_start}
    later = [*experts, *(e for entry in committee.history.entries for e in entry.weights)]
    of_rank = {each for each in map(_assumed, later) if each.bandwidth is not None} - known
    heirs = {_assumed(expert) for expert in later} - of_rank
    came = heirs | {expert._replace(rank=None) for expert in of_rank}
    _expect(came <= known, "heirs of those of the start")
    for expert in {*at_start, *later}:
        check_expert(expert)
        _expect(expert.bandwidth is None or committee.feature_space.n_frequencies >= 1, "features")


def _assumed(expert: Expert) -> Expert:
    return expert._replace(half_life=None, detail=1)


def _check_trust(committee: Committee) -> None:
    """Check weights, which `mix` and `correct` leave summing to one, and none of them near zero."""
    weights, awake = committee.weights, committee.awake
    _expect(awake.any() and not np.any(weights[~awake]), "trust in none but who is awake")
    if committee.alone:
        _expect(len(weights) == 1 and weights[0] == 1.0, "all trust in the only expert")
    _expect(_sums_to_one(weights, int(awake.sum()), SHARE), "weights that sum to one")
    corrections, n_ways = committee.corrections, len(calibration.POWERS)
    _expect(corrections.shape == (n_ways,), f"{n_ways} corrections")
    # Of a file of an older format there is next to no trust in some.
    _expect(_sums_to_one(corrections, n_ways, 0.0), "corrections that sum to one")
    _expect(np.all(corrections > 0.0), "some trust in each correction")
    _check_pool(committee)
    _check_recalibration(committee.recalibration, len(committee.classes))
    counts, n_calm = committee.counts, committee.n_rows - committee.calm_since
    _expect(counts.shape == committee.classes.shape and np.all(counts >= 0.0), "counts of classes")
    # Of a file of an older format they are not whole numbers.
    _expect(abs(counts.sum() - n_calm) <= _ROUNDING * n_calm, "a class of each calm row")
    # Of a log-probability for each row: rounding may make a probability more than one.
    evidence, most = committee.evidence, _MOST_LOSS * committee.n_rows
    _expect(np.all((evidence <= _ROUNDING * most) & (evidence >= -most)), "evidence of the rows")


def _check_pool(committee: Committee) -> None:
    n, awake, (mean, covariance) = len(committee.experts), committee.awake, committee.pool
    _expect(mean.shape == (n,) and covariance.shape == (n, n), f"exponents of {n} experts")
    asleep = ~awake
    _expect(not np.any(mean[asleep]) and not np.any(covariance[asleep]), "none of who is asleep")
    _expect(np.all(np.abs(mean) <= _MOST_EXPONENT), "exponents that can be learned")
    _expect(np.array_equal(covariance, covariance.T), "a symmetric covariance")
    variances, most = np.diagonal(covariance)[awake], 1.0 / PRECISION + DRIFT * committee.n_rows
    possible = (variances > 0.0) & (variances <= most + _ROUNDING)
    _expect(np.all(possible), "variances of who is awake")
    _expect(np.linalg.eigvalsh(covariance)[0] >= -_ROUNDING, "a covariance")


def _check_recalibration(found: Recalibration, n_classes: int) -> None:
    shapes = [array.shape for array in Recalibration.start(n_classes)]
    _expect([array.shape for array in found] == shapes, f"a recalibration of {n_classes} classes")
    for mean, covariances in (found[:2], found[2:4]):
        _expect(np.all(np.abs(mean) <= _MOST_EXPONENT), "corrections that can be learned")
        _expect(np.array_equal(covariances, covariances.swapaxes(-1, -2)), "symmetric covariances")
        variances, most = np.diagonal(covariances, axis1=-2, axis2=-1), 1.0 / RECALIBRATED_PRECISION
        possible = (variances > 0.0) & (variances <= most + _ROUNDING)
        _expect(np.all(possible), "variances of corrections")
        _expect(np.all(np.linalg.eigvalsh(covariances) >= -_ROUNDING), "covariances")
    _expect(np.all(np.abs(found.leads) <= MOST_LEAD), f"leads of at most {MOST_LEAD:.4g}")


def _sums_to_one(weights: Any, n: int, share: float) -> bool:
    """Whether weights sum to one, and as many as there should be have got their share."""
    shared = np.count_nonzero(weights >= 0.01 * share / n) == n
    return bool(np.all(weights >= 0.0)) and shared and abs(weights.sum() - 1.0) < _ROUNDING


def _check_posteriors(committee: Committee) -> None:
    feature_space, classes = committee.feature_space, committee.classes
    most = 0
    each = zip(committee.experts, committee.posteriors, committee.awake.tolist(), strict=True)
    for expert, posterior, awake in each:
        n_weights, expected = posterior.check(), feature_space.n_weights(expert)
        most = max(most, n_weights)
        # Who is asleep does not know of inputs that came since.
        fits = n_weights == expected if awake else n_weights <= expected
        _expect(fits, "as many weights as experts have")
        rows = int(posterior.states[0].counts[ROWS])
        _expect(rows <= committee.n_rows, "experts that learned no more rows than came")
        _expect(posterior.settings == expert.settings(), "posteriors that learn as experts do")
        _expect(posterior.settling is None, "posteriors that need no settling")
        _expect(_same(posterior.classes, classes), "the same classes for all experts")
        _expect(
            (posterior.unseen is not None) == committee.takes_new_classes,
            "something known of classes that may come, if any may",
        )
    at_start = committee.classes_at_start
    _expect(at_start is None or _same(at_start, classes), "the classes of the start")
    for expert in committee.experts:
        # A factor of so many weights is in the file: memory is bounded by what it holds. That of
        # who is asleep may lack some encoder.
        _expect(
            feature_space.n_weights(expert) <= most + feature_space.n_inputs,
            f"at most {most} weights",
        )


def _check_history(committee: Committee) -> None:
    history, drift, n_rows = committee.history, committee.drift, committee.n_rows
    since = (committee.calm_since, committee.grown_at)
    _expect(all(0 <= row <= n_rows for row in since), "rows that have been")
    _expect(0 <= drift.n_blocks <= history.n_blocks <= n_rows, "no more blocks than rows")
    _expect(1 <= history.every <= max(1, history.n_blocks), "blocks between two moments")
    _expect(len(history.entries) <= LONGEST, f"at most {LONGEST} moments")
    at = [entry.n_rows for entry in history.entries]
    _expect(at == sorted(set(at)) and all(0 < row <= n_rows for row in at), "moments in order")
    _expect(all(_is_mixed(m.weights.values()) for m in history.entries), "weights that sum to one")
    most = _MOST_LOSS * (n_rows + 1.0)
    _expect(abs(drift.excess) <= most and abs(drift.usual) <= most, "losses of the rows")
    _expect(0.0 <= drift.variance <= _MOST_LOSS * most, "a variance of losses of the rows")


def _check_first_rows(committee: Committee, encoder: Encoder) -> None:
    """Check rows that are to be replayed: all so far, and nothing has been decided yet."""
    rows, n = committee.first_rows, committee.n_rows
    if rows is None:
        return
    _expect(n < REPLAYED_AT[-1] and committee.feature_space.n_scaled > 0, "few rows, on a scale")
    _expect(committee.experts == committee.at_start and committee.awake.all(), "all awake")
    _expect(rows.observed.shape == rows.powers.shape == (n,), f"{n} first rows")
    _expect(rows.numbers.shape == rows.missing.shape and len(rows.numbers) == n, "their numbers")
    _expect(rows.others.ndim == 2 and len(rows.others) == n, "their other inputs")
    narrow = rows.numbers.shape[1] <= len(encoder.counts), rows.others.shape[1] <= encoder.n_inputs
    _expect(all(narrow), "no more inputs than there are")
    _expect(not np.any(rows.numbers[rows.missing]), "nothing where a number is missing")
    _expect(np.all((rows.powers > 0.0) & (rows.powers <= 1.0)), "powers of rows")
    n_classes = len(committee.classes)
    _expect(np.all((rows.observed >= 0) & (rows.observed < n_classes)), "known classes")
    counts = np.bincount(rows.observed, minlength=n_classes)
    _expect(np.array_equal(counts, committee.counts), "as many rows of each class as were counted")


def _is_mixed(weights: Iterable[float]) -> bool:
    weights = list(weights)
    return min(weights, default=-1.0) >= 0.0 and abs(math.fsum(weights) - 1.0) < _ROUNDING


def _same(one: Any, other: Any) -> bool:
    return one is other or (one.dtype == other.dtype and np.array_equal(one, other))


def _expect(holds: Any, expected: str) -> None:
    if not holds:
        raise ValueError(f"found what cannot have been learned; expected {expected}")
