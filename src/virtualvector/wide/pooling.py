"""Wide models that were learned apart, as one."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from virtualvector.features.pooling import other_scale
from virtualvector.features.wide import WideEncoder
from virtualvector.features.wide_pooling import WideSeen, pooled_wide_encoder
from virtualvector.learners.ancestry import WentOn
from virtualvector.learners.log_pool import Pool
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.learners.pooling import (
    as_it_is,
    check_alike,
    check_planned,
    parameters_of_all,
    posterior_of_all,
)
from virtualvector.posterior.state import ROWS
from virtualvector.types import Array, Labels
from virtualvector.wide.classifier import WideVVMClassifier
from virtualvector.wide.mixed import Mixed, Trust
from virtualvector.wide.rates import Rates, places_among, pooled_rates

# Parameters that change nothing of what is learned.
_NO_PART_OF_IT = ("shuffle", "random_state", "n_jobs")


def pooled(models: Sequence[Any], common: Any, names: Sequence[str], common_name: str) -> Any:
    """Pool models that errors call by names; `virtualvector.pool` describes it."""
    given = [*models, *(() if common is None else (common,))]
    called = [*names[: len(models)], common_name]
    given = [_checked(model, name) for model, name in zip(given, called, strict=False)]
    if common is None and len(given) == 1:
        return given[0]
    for model, name in zip(given[1:], called[1:], strict=False):
        check_alike(_described(given[0]), _described(model), called[0], name)
        _check_planned(given[0], model, called[0], name)
    shards = given[: len(models)]
    start = None if common is None else given[-1]
    common_one = None if start is None else start._posterior
    posterior = _posterior([model._posterior for model in shards], common_one, called)
    if start is not None:
        for model, name in zip(shards, called, strict=False):
            _check_went_on(model, start, WentOn(name, common_name))
    result = type(given[0])(**parameters_of_all(given, _NO_PART_OF_IT))
    result.n_features_in_ = given[0].n_features_in_
    if hasattr(given[0], "feature_names_in_"):
        result.feature_names_in_ = given[0].feature_names_in_
    result._posterior, result.classes_ = posterior, posterior.classes
    result._encoder = _encoder(shards, start)
    _warn_of_scales(shards, result._encoder, names)
    return result


def _posterior(
    shards: Sequence[OneVsRest], common: OneVsRest | None, names: Sequence[str]
) -> OneVsRest:
    """Return what models know together, learner by learner where several are mixed."""
    mixtures = [each for each in shards if isinstance(each, Mixed)]
    if not mixtures:
        return posterior_of_all(shards, common, names)
    before = common if isinstance(common, Mixed) else None
    each = zip(*(mixture.learners for mixture in mixtures), strict=True)
    starts = [None] * len(mixtures[0].learners) if before is None else before.learners
    first, *others = (
        posterior_of_all(list(some), start, names) for some, start in zip(each, starts, strict=True)
    )
    return Mixed(
        first.settings, first.settling, first.classes, first.states, first.unseen,
        tuple(others), _rates(mixtures, before, first.classes),
        _trust(mixtures, before, first.classes),
    )  # fmt: skip


def _check_went_on(model: WideVVMClassifier, start: WideVVMClassifier, said: WentOn) -> None:
    """Raise if less was counted than at the start."""
    own, before = model._encoder, start._encoder
    missing = [f"missing values of {name!r}" for name in before.names]
    said.check_counts(own.missing.tolist(), before.missing.tolist(), missing)
    known, at_start = model._posterior, start._posterior
    if isinstance(known, Mixed) and isinstance(at_start, Mixed):
        counted = ((each.classes, each.trust.counts) for each in (known, at_start))
        said.check_rows_of_classes(*counted)


def _rates(shards: Sequence[Mixed], start: Mixed | None, classes: Labels) -> Rates | None:
    """Return the counts of all, in whatever order they come: sums of floats depend on it."""
    if any(shard.rates is None for shard in shards):
        return None
    shards = sorted(shards, key=lambda shard: [each.tobytes() for each in _arrays(shard.trust)])
    all_of_them = [*shards, *(() if start is None else (start,))]
    places = [places_among(each.classes, classes) for each in all_of_them]
    counted = [shard.rates for shard in shards if shard.rates is not None]
    return pooled_rates(counted, None if start is None else start.rates, places, len(classes))


def _trust(shards: Sequence[Mixed], start: Mixed | None, classes: Labels) -> Trust:
    """Return the mean of the trust of all, by the rows that each has learned; evidence adds up."""
    # Sums of floats depend on their order: that of the models must not show.
    shards = sorted(shards, key=lambda shard: [each.tobytes() for each in _arrays(shard.trust)])

    def counts(mixture: Mixed) -> Array:
        of_all = np.zeros(len(classes))
        of_all[np.searchsorted(classes, mixture.classes)] = mixture.trust.counts
        return of_all

    n_before = np.zeros(len(classes)) if start is None else counts(start)
    none = np.zeros_like(shards[0].trust.evidence)
    evidence = none if start is None else start.trust.evidence
    rows_before = 0 if start is None else start.states[0].counts[ROWS]
    n_new = np.array([shard.states[0].counts[ROWS] - rows_before for shard in shards])
    shares = n_new / n_new.sum() if np.any(n_new) else np.full(len(shards), 1.0 / len(shards))

    def mean(arrays: Sequence[Array]) -> Array:
        total: Array = np.tensordot(shares, np.array(arrays), axes=1)
        return total

    weights, corrections = (
        mean([getattr(shard.trust, name) for shard in shards])
        for name in ("weights", "corrections")
    )
    exponents, covariances = zip(*(shard.trust.pool for shard in shards), strict=True)
    return Trust(
        weights / weights.sum(),
        evidence + np.sum([shard.trust.evidence - evidence for shard in shards], axis=0),
        Pool(mean(exponents), mean(covariances)),
        corrections / corrections.sum(),
        n_before + np.sum([counts(shard) - n_before for shard in shards], axis=0),
    )


def _arrays(trust: Trust) -> tuple[Array, ...]:
    return (*trust[:2], *trust.pool, *trust[3:])


def _checked(model: Any, name: str) -> Any:
    if not isinstance(model, WideVVMClassifier):
        raise ValueError(
            f"{name} is of type {type(model).__name__} and others are of type WideVVMClassifier; "
            "expected models of one kind"
        )
    return as_it_is(model, name)


def _described(model: WideVVMClassifier) -> dict[str, Any]:
    """Return all that has to be the same, by name."""
    encoder = model._encoder
    left_out = (*_NO_PART_OF_IT, "rank", "n_classes", "n_places")
    parameters = model.get_params(deep=False)
    return {
        "kind": type(model).__name__,
        **{k: v for k, v in parameters.items() if k not in left_out},
        "number of columns": model.n_features_in_,
        "names of columns": list(encoder.names),
        "kinds of columns": list(encoder.kinds),
        "places of sparse rows": encoder.n_sparse,
    }


def _check_planned(
    one: WideVVMClassifier, other: WideVVMClassifier, name: str, other_name: str
) -> None:
    """Raise for models that differ in what memory was enough for, or in the rank that was said."""
    if one.rank == other.rank:
        check_planned(_planned(one), _planned(other), (one, other), (name, other_name))
    else:
        kind = {"kind": type(one).__name__}
        check_alike(kind | _planned(one), kind | _planned(other), name, other_name)


def _planned(model: WideVVMClassifier) -> dict[str, Any]:
    """Return what depends on how many classes were expected, by name."""
    return {"rank": model.rank_, "learners beside it": _beside(model._posterior)}


def _beside(known: OneVsRest) -> list[Any]:
    if not isinstance(known, Mixed):
        return []
    settings = [(how.margin_noise, how.independent) for how in (o.settings for o in known.others)]
    return [*settings, *(["rates"] if known.rates is not None else [])]


def _encoder(shards: Sequence[WideVVMClassifier], start: WideVVMClassifier | None) -> WideEncoder:
    """Return what all have seen of columns: the same in whatever order they come."""
    one = shards[0]._encoder
    nothing = WideEncoder(one.kinds, one.names, one.n_sparse, one.n_hashed, one.scaling)
    before = WideSeen(nothing, 0) if start is None else WideSeen(start._encoder, start.n_seen_)
    seen = [WideSeen(shard._encoder, shard.n_seen_) for shard in shards]
    return pooled_wide_encoder(sorted(seen, key=_content), before)


def _content(seen: WideSeen) -> bytes:
    """Return a digest of what was seen."""
    encoder = seen.encoder
    numbers = (encoder.numbers.means, encoder.numbers.squares, encoder.numbers.missing)
    digest = hashlib.sha256(repr((seen.n_rows, encoder.words)).encode())
    for array in (*numbers, encoder.counts, encoder.squares, encoder.missing):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _warn_of_scales(
    models: Sequence[WideVVMClassifier], together: WideEncoder, names: Sequence[str]
) -> None:
    labels = together.labels(np.arange(len(together.numbers.counts)))
    for model, name in zip(models, names, strict=True):
        note = other_scale(model._encoder.numbers, together.numbers, labels)
        if note is not None:
            warnings.warn(f"{name} has {note}", UserWarning, stacklevel=4)
            return
