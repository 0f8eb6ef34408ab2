"""Committees that were learned apart, as one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from typing import Any

from sklearn.utils.validation import check_is_fitted

from virtualvector.auto.alignment import (
    aligned,
    heirs,
    reordered,
    sees_by_place,
    without_forgetful,
)
from virtualvector.auto.ancestry import check_news, content_of
from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.auto.committee import Committee
from virtualvector.auto.online import Known
from virtualvector.auto.pooling import mean_trust, multiplied, of_classes, with_moment
from virtualvector.features.categories import SLOTS
from virtualvector.features.encoder import Encoder
from virtualvector.features.pooling import (
    Seen,
    begins_like,
    check_columns,
    other_scale,
    places_among,
    pooled_encoder,
)
from virtualvector.learners.pooling import (
    check_alike,
    check_planned,
    classes_of_all,
    parameters_of_all,
)
from virtualvector.wide import pooling as wide

# Parameters that change nothing of what is learned.
_NO_PART_OF_IT = ("shuffle", "n_jobs", "new_columns")


def pooled(models: Sequence[Any], common: Any, names: Sequence[str], common_name: str) -> Any:
    """Pool models that errors call by names; `virtualvector.pool` describes it."""
    given = [*models, *(() if common is None else (common,))]
    called = [*names, common_name]
    for model, name in zip(given, called, strict=False):
        if not isinstance(model, AutoVVMClassifier):
            raise ValueError(
                f"{name} is of type {type(model).__name__} and others are of type "
                "AutoVVMClassifier; expected models of one kind"
            )
        check_is_fitted(model)
    is_sparse = [model._wide is not None for model in given]
    if all(is_sparse):
        return _of_sparse_tables(given, len(models), called)
    if any(is_sparse):
        one, other = called[is_sparse.index(True)], called[is_sparse.index(False)]
        raise ValueError(
            f"{one} has learned sparse tables and {other} dense ones; expected tables of one kind"
        )
    given = [copy(model) for model in given]  # which stay as they are, whatever is learned
    if common is None and len(given) == 1:
        return given[0]
    for model, name in zip(given, called, strict=False):
        _check(model, name)
    for model, name in zip(given[1:], called[1:], strict=False):
        check_alike(_described(given[0]), _described(model), called[0], name)
        planned = _planned(given[0]), _planned(model)
        check_planned(*planned, (given[0], model), (called[0], name))
    known = [model._known for model in given[: len(models)]]
    start = _start(known) if common is None else given[-1]._known
    check_news(known, start, names, common_name, _columns(given[0]))
    if given[0]._sketch is not None:  # inputs share weights by their places
        _check_inputs([each.encoder for each in known], names, given[0])
    result = type(given[0])(**parameters_of_all(given, _NO_PART_OF_IT))
    result.n_features_in_, result._categorical = given[0].n_features_in_, given[0]._categorical
    if hasattr(given[0], "feature_names_in_"):
        result.feature_names_in_ = given[0].feature_names_in_
    result._known = _together(known, start, names, given[0])
    result.classes_ = result._committee.classes
    _warn_of_scales(known, result._known.encoder, names, given[0])
    return result


def _of_sparse_tables(given: Sequence[Any], n_models: int, called: Sequence[str]) -> Any:
    """Pool those that have learned sparse tables: who learns these is another learner."""
    common = given[-1]._wide if len(given) > n_models else None
    shards = [model._wide for model in given[:n_models]]
    together = wide.pooled(shards, common, called[:n_models], called[-1])
    result = type(given[0])(**parameters_of_all(given, _NO_PART_OF_IT))
    result._take_wide(together)
    return result


def _together(
    known: Sequence[Known], start: Known, names: Sequence[str], model: AutoVVMClassifier
) -> Known:
    """Return what several know together, of the classes of all."""
    order = sorted(range(len(known)), key=lambda k: content_of(known[k]))
    order.sort(key=lambda k: -_n_alike(known, known[k]))  # inputs are those of the first one
    known, names = [known[k] for k in order], [names[k] for k in order]
    all_ = [start.committee, *(each.committee for each in known)]
    classes = classes_of_all([each.posteriors[0] for each in all_[1:]], names)
    all_ = [of_classes(without_forgetful(each), classes) for each in all_]
    if any(not each.takes_new_classes for each in all_):
        all_ = [each.closed() for each in all_]
    seen = [Seen(each.encoder, each.committee.n_rows) for each in known]
    before = Seen(start.encoder, start.committee.n_rows)
    encoder = pooled_encoder(seen, before, like=known[0].encoder)
    n_inputs = max(each.feature_space.n_inputs for each in all_)
    if model._sketch is None:
        n_inputs = (
            all_[0].feature_space._replace(n_inputs=n_inputs).wider(encoder.n_inputs).n_inputs
        )
    experts = heirs(all_)
    first, *shards = (aligned(each, experts, n_inputs) for each in all_)
    for k, each in enumerate(known):
        places = _places(each.encoder, encoder, names[k], model)
        if places != list(range(len(places))):
            _warn_of_places(shards[k], names[k], names[0])
            shards[k] = reordered(shards[k], first, places)
    learned = multiplied(shards, first, mean_trust(shards, first))
    return Known(with_moment(learned), encoder)


def _n_alike(known: Sequence[Known], one: Known) -> int:
    """Return how many rows were learned with inputs at the same places as those of one."""
    alike = (each for each in known if begins_like(each.encoder, one.encoder))
    return sum(each.committee.n_rows for each in alike)


def _places(encoder: Encoder, pooled: Encoder, name: str, model: AutoVVMClassifier) -> list[int]:
    """Return where the inputs of a model are among those of all, or raise for one that is not."""
    places = places_among(encoder, pooled)
    if -1 in places:
        label = model._labels(encoder)[places.index(-1)]
        raise ValueError(
            f"{name} has an input for {label!r}, and there is no room for it beside those of the "
            f"others: a column has {SLOTS}, and odds of the first class have none; expected models "
            "that went on from a common one which knew the categories"
        )
    return places


def _warn_of_places(committee: Committee, name: str, other_name: str) -> None:
    """Tell who cannot be pooled: features of categories go by the places of these."""
    both = zip(committee.posteriors, committee.experts, strict=True)
    n_lost = sum(sees_by_place(posterior, expert) for posterior, expert in both)
    if n_lost:
        warnings.warn(
            f"categories came to {name} in another order than to {other_name}: what {n_lost} of "
            f"its {len(committee.experts)} experts have learned is left out, as they see "
            "categories by frequencies that go by this order; the others are pooled. Models that "
            "go on from a common one which knows the categories have the same.",
            UserWarning,
            stacklevel=5,
        )


def _start(known: Sequence[Known]) -> Known:
    """Return what such models knew before the first row."""
    committee, encoder = known[0]
    declared = None if committee.takes_new_classes else committee.classes
    space = committee.feature_space
    given = (encoder.categorical, encoder.scaling, encoder.times, encoder.most_statistics)
    return Known(Committee.start(committee.at_start, space, declared), Encoder(*given))


def _check(model: AutoVVMClassifier, name: str) -> None:
    try:
        model._check_learned()
        without_forgetful(model._committee)
        check_columns(model._encoder)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _described(model: AutoVVMClassifier) -> dict[str, Any]:
    """Return all that has to be the same, by name."""
    columns = getattr(model, "feature_names_in_", None)
    committee, encoder = model._known
    left_out = (*_NO_PART_OF_IT, "categorical_features", "experts", "n_classes")
    parameters = model.get_params(deep=False)
    return {
        "kind": type(model).__name__,
        **{k: v for k, v in parameters.items() if k not in left_out},
        "number of columns": model.n_features_in_,
        "names of columns": None if columns is None else columns.tolist(),
        "kinds of columns": encoder.kinds,
        "experts": list(committee.at_start),
    }


def _planned(model: AutoVVMClassifier) -> dict[str, Any]:
    """Return what depends on how many classes were expected, by name."""
    space = model._committee.feature_space
    return {
        "budget": space.budget,
        "number of frequencies": space.n_frequencies,
        "most statistics of a column": model._encoder.most_statistics,
    }


def _columns(model: Any) -> list[str]:
    """Return what columns are called, if only by their places."""
    places = [f"x{k}" for k in range(model.n_features_in_)]
    return list(getattr(model, "feature_names_in_", places))


def _check_inputs(encoders: Sequence[Encoder], names: Sequence[str], model: Any) -> None:
    """Raise if an input is one category in one model and another one elsewhere."""
    columns = _columns(model)
    most = max(range(len(encoders)), key=lambda k: encoders[k].n_inputs)
    for encoder, name in zip(encoders, names, strict=False):
        if begins_like(encoder, encoders[most]):
            continue
        first = len(encoder.counts)
        own, others = (each.labels(columns)[first:] for each in (encoder, encoders[most]))
        place = next(k for k, label in enumerate(own) if label != others[k])
        raise ValueError(
            f"{name} and {names[most]} differ in the order in which categories came: their input "
            f"{place + 1} of categories is {own[place]!r} and {others[place]!r}; expected the "
            "same, as of models that went on from a common one which knew all categories"
        )


def _warn_of_scales(
    known: Sequence[Known], together: Encoder, names: Sequence[str], model: Any
) -> None:
    """Warn if a column is on quite another scale in one model than in all together."""
    labels = together.labels(_columns(model))
    for each, name in zip(known, names, strict=True):
        note = other_scale(each.encoder, together, labels)
        if note is not None:
            warnings.warn(f"{name} has {note}", UserWarning, stacklevel=4)
            return
