"""Models that were learned apart, as one: no row has to be where another is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from virtualvector.learners.ancestry import WentOn, check_went_on, n_rows_of
from virtualvector.learners.base import BayesianLinearClassifier
from virtualvector.learners.expert import Expert
from virtualvector.learners.hedge import Hedged
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior import pool as pool_states
from virtualvector.posterior.pooling import content_of
from virtualvector.types import Labels

Model = TypeVar("Model", bound=BayesianLinearClassifier)

# Parameters that change nothing of what is learned: any order of rows will do.
_NO_PART_OF_IT = ("shuffle", "random_state", "new_columns")
_KINDS = {"text": "OUS", "number": "iuf", "truth value": "b", "time": "M", "duration": "m"}
_LONG = "..."  # the end of a text that is shown in part


def pooled(
    models: Sequence[Model], common: Model | None, names: Sequence[str], common_name: str
) -> Model:
    """Pool models that errors call by names; `virtualvector.pool` describes it."""
    if not models:
        raise ValueError("found no models to pool; expected one at least")
    given = list(models)
    names = list(names)
    if common is not None:
        given.append(common)
        names.append(common_name)
    given = [_checked(model, name) for model, name in zip(given, names, strict=True)]
    for model, name in zip(given[1:], names[1:], strict=True):
        check_alike(_described(given[0]), _described(model), names[0], name)
    shards = [model._posterior for model in given[: len(models)]]
    start = None if common is None else given[-1]._posterior
    learned = posterior_of_all(shards, start, [*names[: len(models)], common_name])
    result: Model = type(given[0])(**parameters_of_all(given, _NO_PART_OF_IT))
    result.n_features_in_ = given[0].n_features_in_
    if hasattr(given[0], "feature_names_in_"):
        result.feature_names_in_ = given[0].feature_names_in_
    result._scale = given[0]._scale
    result._keep(learned)
    return result


def posterior_of_all(
    shards: Sequence[OneVsRest], common: OneVsRest | None, names: Sequence[str]
) -> OneVsRest:
    """Return what models know together, which errors call by names; the last is of the common one.

    Raises
    ------
    ValueError
        If one did not go on from what is common to all, or is a copy of another one.
    """
    given = [*shards, *(() if common is None else (common,))]
    posteriors = _of_same_classes(given, names[: len(given)])
    if common is not None:
        for shard, name in zip(shards, names, strict=False):
            WentOn(name, names[-1]).check_classes(shard.classes, common.classes)
    shards = posteriors[: len(shards)]
    start = posteriors[-1] if common is not None else shards[0].before_the_first_row()
    _check_news(shards, start, names)
    return multiplied(shards, start)


def known_together(shards: Sequence[OneVsRest], start: OneVsRest) -> OneVsRest:
    """Return what shards that went on from a start know together, of the classes of all."""
    names = [*(f"shard {k}" for k in range(len(shards))), "the start"]
    *shards, start = _of_same_classes([*shards, start], names)
    return multiplied(shards, start)


def multiplied(shards: Sequence[OneVsRest], start: OneVsRest) -> OneVsRest:
    """Return what shards of the same classes, which went on from a start, know together."""

    def together(of_shards: Any, of_start: Any) -> Any:
        return pool_states(of_shards, of_start, start.settings)

    each = zip(*(shard.states for shard in shards), strict=True)
    states = tuple(together(*both) for both in zip(each, start.states, strict=True))
    unseen = None
    if all(known.unseen is not None for known in (start, *shards)):
        unseen = together([shard.unseen for shard in shards], start.unseen)
    known = shards[0].with_states(states, unseen)
    if not (isinstance(known, Hedged) and isinstance(start, Hedged)):
        return known
    hedges = [shard for shard in shards if isinstance(shard, Hedged)]
    # What each has gained adds up, in no order: sums of floats would depend on it.
    lead = math.fsum([start.lead, *(gain for s in hedges for gain in (s.lead, -start.lead))])
    return replace(known, beside=multiplied([s.beside for s in hedges], start.beside), lead=lead)


def of_all_classes(known: OneVsRest, classes: Labels) -> OneVsRest:
    """Return what is known of classes of which some have not come yet."""
    for label in classes:
        if not np.any(known.classes == label):
            known = known.welcome(np.array([label], dtype=classes.dtype))
    return known


def _of_same_classes(known: Sequence[OneVsRest], names: Sequence[str]) -> list[OneVsRest]:
    """Return all with the classes of all, or raise for the first that cannot have one."""
    classes = classes_of_all(known, names)
    return [of_all_classes(each, classes).with_classes(classes) for each in known]


def classes_of_all(known: Sequence[OneVsRest], names: Sequence[str]) -> Labels:
    """Return the classes of all, or raise for the first that cannot have one."""
    kinds = [_kind(each.classes) for each in known]
    for name, kind in zip(names, kinds, strict=True):
        if kind != kinds[0]:
            raise ValueError(
                f"{names[0]} has classes of the kind {kinds[0]} and {name} of the kind {kind}; "
                "expected the same"
            )
    classes = np.unique(np.concatenate([each.classes for each in known]))
    for name, each in zip(names, known, strict=True):
        missing = classes[~np.isin(classes, each.classes)].tolist()
        if missing and each.unseen is None:
            raise ValueError(
                f"{name} was told from the start that its classes are {each.classes.tolist()!r}, "
                f"and others have {missing!r}; expected the same classes, or models that learned "
                "with partial_fit without `classes`"
            )
    return classes


def _kind(classes: Labels) -> str:
    return next((name for name, kinds in _KINDS.items() if classes.dtype.kind in kinds), "other")


def _checked(model: Model, name: str) -> Model:
    if not isinstance(model, BayesianLinearClassifier):
        raise TypeError(
            f"{name} is of type {type(model).__name__}, which cannot be pooled; expected "
            "AutoVVMClassifier, WideVVMClassifier, VVMClassifier, ADFClassifier, "
            "WindowEPClassifier or EPClassifier"
        )
    kept: Model = as_it_is(model, name)
    return kept


def as_it_is(model: Any, name: str) -> Any:
    """Return a model that stays as it is, whatever is learned meanwhile; raise if it cannot be."""
    check_is_fitted(model)
    model = copy(model)
    try:
        model._check_learned()
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return model


def _described(model: Model) -> dict[str, Any]:
    """Return all that has to be the same, by name."""
    columns = getattr(model, "feature_names_in_", None)
    parameters = model.get_params(deep=False)
    return {
        "kind": type(model).__name__,
        **{k: v for k, v in parameters.items() if k not in _NO_PART_OF_IT},
        "number of columns": model.n_features_in_,
        "names of columns": None if columns is None else columns.tolist(),
    }


def check_alike(
    expected: dict[str, Any], found: dict[str, Any], name: str, other_name: str
) -> None:
    """Raise by the name of all that differs between what two models were told."""
    if found["kind"] != expected["kind"]:
        found, expected = {"kind": found["kind"]}, {"kind": expected["kind"]}
    differing = _differing(expected, found)
    if differing:
        raise ValueError(f"{name} and {other_name} differ in {differing}. Expected the same")


def check_planned(
    expected: dict[str, Any], found: dict[str, Any], models: tuple[Any, Any], names: tuple[str, str]
) -> None:
    """Raise for what differs between two models because not as many classes were planned for."""
    differing = _differing(expected, found)
    if differing:
        one, other = (_shortly(model.classes_.tolist()) for model in models)
        raise ValueError(
            f"{names[0]} has the classes {one} and {names[1]} {other}; by how many were expected "
            f"at the start they differ in {differing}. Expected the same classes, declared to all: "
            "--classes of vvm learn; in Python, `classes` of partial_fit, or as many by `n_classes`"
        )


def _differing(expected: dict[str, Any], found: dict[str, Any]) -> str:
    """Return what differs, by name."""
    return "; ".join(
        _difference(key, expected[key], found[key])
        for key in expected
        if found[key] != expected[key]
    )


def _difference(what: str, expected: Any, found: Any) -> str:
    """Return how two values differ; of long ones, the first part that does.

    Examples
    --------
    >>> from virtualvector.learners.expert import Expert
    >>> from virtualvector.learners.pooling import _difference
    >>> _difference("experts", [Expert(None, 1.0)], [Expert(None, 1.0, buffer_size=30)])
    'buffer_size of experts[0]: 0 and 30'
    >>> _difference("experts", [Expert(None, 1.0)], [Expert(None, 1.0), Expert(None, 2.0)])
    'number of experts: 1 and 2'
    """
    short = _shortly(expected), _shortly(found)
    if isinstance(expected, list) and isinstance(found, list) and _LONG in (s[-3:] for s in short):
        if len(expected) != len(found):
            return f"number of {what}: {len(expected)} and {len(found)}"
        both = zip(expected, found, strict=True)
        place, parts = next((k, parts) for k, parts in enumerate(both) if parts[0] != parts[1])
        return _difference(f"{what}[{place}]", *parts)
    if isinstance(expected, Expert) and isinstance(found, Expert):
        field = next(f for f in expected._fields if getattr(expected, f) != getattr(found, f))
        return _difference(f"{field} of {what}", getattr(expected, field), getattr(found, field))
    return f"{what}: {short[0]} and {short[1]}"


def _shortly(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}{_LONG}"


def _check_news(shards: Sequence[OneVsRest], start: OneVsRest, names: Sequence[str]) -> None:
    """Raise for a model that did not go on from the start, or that is another one's copy."""
    contents: dict[tuple[bytes, bytes], str] = {}
    for shard, name in zip(shards, names, strict=False):
        check_went_on(shard, start, name, names[-1])
        if n_rows_of(shard) > n_rows_of(start):
            content = content_of(shard.states[0])
            if content in contents:
                raise ValueError(
                    f"{contents[content]} and {name} have learned the same rows; expected each row "
                    "in one only"
                )
            contents[content] = name


def parameters_of_all(models: Sequence[Any], no_part_of_it: Sequence[str]) -> dict[str, Any]:
    """Return those of all models; where they may differ and do, as usual."""
    parameters: dict[str, Any] = models[0].get_params(deep=False)
    usual = type(models[0])().get_params(deep=False)
    for name in no_part_of_it:
        if any(getattr(model, name) != parameters[name] for model in models):
            parameters[name] = usual[name]
    return parameters
