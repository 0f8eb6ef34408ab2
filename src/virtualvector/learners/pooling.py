"""Models that were learned apart, as one: no row has to be where another is."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from virtualvector.learners.base import BayesianLinearClassifier
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior import pool as pool_states
from virtualvector.posterior.pooling import content_of
from virtualvector.posterior.state import LOG_EVIDENCE, ROWS
from virtualvector.types import Labels

Model = TypeVar("Model", bound=BayesianLinearClassifier)

_NO_PART_OF_IT = ("shuffle", "random_state")  # parameters: any order of rows will do
_KINDS = {"text": "OUS", "number": "iuf", "truth value": "b", "time": "M", "duration": "m"}


def pool(models: Sequence[Model], common: Model | None = None) -> Model:
    """Return one model of what several have learned apart, from rows of their own.

    Hospitals, branches or phones each learn a model and share that, but no row. What each has
    learned since ``common`` is multiplied with it, as if all rows had been learned by one.

    Exact are the product of the Gaussians, and with `EPClassifier`, or a buffer that holds all
    rows, the result: it is what EP makes of all rows together. Approximate is what each model did
    before: it has replaced rows by Gaussians that fit what it knew then, not what all know
    together. The more each has learned on its own since ``common``, the more that shows; pooling
    often, and going on from there, is what helps (docs/scaling.md has numbers).

    Parameters
    ----------
    models : sequence of VVMClassifier, ADFClassifier, WindowEPClassifier or EPClassifier
        All of one kind, with the same parameters and columns, without a half-life; ``shuffle`` and
        ``random_state`` may differ. Classes that were not declared may have come to some only: the
        others know them as classes that did not come. No row may have been learned by two of them,
        which cannot be seen here.
    common : estimator of the same kind, optional
        The model that all of them went on from with `partial_fit`, or copies of it. By default each
        has begun with the prior.

    Returns
    -------
    estimator
        A new model, the same to the last bit in whatever order the models come. It can go on
        learning. A single model gives a copy of itself.

    Raises
    ------
    ValueError
        If the models do not fit together; the message says what differs.

    Examples
    --------
    >>> from virtualvector import VVMClassifier, pool
    >>> from virtualvector.datasets import load_spambase
    >>> X, y = load_spambase(return_X_y=True, random_state=0)
    >>> here = VVMClassifier(margin_noise=1.0).partial_fit(X[:1500], y[:1500], classes=[0, 1])
    >>> there = VVMClassifier(margin_noise=1.0).partial_fit(X[1500:3000], y[1500:3000], [0, 1])
    >>> both = pool([here, there])
    >>> both.n_seen_
    3000
    >>> [round(model.score(X[3000:], y[3000:]), 3) for model in (here, there, both)]
    [0.923, 0.926, 0.93]
    """
    names = [f"model {k}" for k in range(len(models))]
    return pooled(models, common, names, "common")


def pooled(
    models: Sequence[Model], common: Model | None, names: Sequence[str], common_name: str
) -> Model:
    """Pool models that errors call by names."""
    if not models:
        raise ValueError("found no models to pool; expected one at least")
    given = list(models)
    names = list(names)
    if common is not None:
        given.append(common)
        names.append(common_name)
    given = [_checked(model, name) for model, name in zip(given, names, strict=True)]
    for model, name in zip(given[1:], names[1:], strict=True):
        _check_alike(given[0], model, names[0], name)
    posteriors = _of_same_classes([model._posterior for model in given], names)
    shards = posteriors[: len(models)]
    start = posteriors[-1] if common is not None else _prior_of(shards[0])
    _check_news(shards, start, names, common_name)
    result: Model = type(given[0])(**_parameters(given))
    result.n_features_in_ = given[0].n_features_in_
    if hasattr(given[0], "feature_names_in_"):
        result.feature_names_in_ = given[0].feature_names_in_
    result._scale = given[0]._scale
    result._keep(multiplied(shards, start))
    return result


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
    return shards[0].with_states(states, unseen)


def of_all_classes(known: OneVsRest, classes: Labels) -> OneVsRest:
    """Return what is known of classes of which some have not come yet."""
    for label in classes:
        if not np.any(known.classes == label):
            known = known.welcome(np.array([label], dtype=classes.dtype))
    return known


def _of_same_classes(known: Sequence[OneVsRest], names: Sequence[str]) -> list[OneVsRest]:
    """Return all with the classes of all, or raise for the first that cannot have one."""
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
    return [replace(of_all_classes(each, classes), classes=classes) for each in known]


def _kind(classes: Labels) -> str:
    return next((name for name, kinds in _KINDS.items() if classes.dtype.kind in kinds), "other")


def _prior_of(known: OneVsRest) -> OneVsRest:
    """Return what was known of the same classes before the first row."""
    n_weights = len(known.states[0].mean)
    prior = OneVsRest.prior(n_weights, known.settings, known.settling, known.classes)
    return prior if known.unseen is None else prior.with_states(prior.states, prior.states[0])


def _checked(model: Model, name: str) -> Model:
    if not isinstance(model, BayesianLinearClassifier):
        raise TypeError(
            f"{name} is of type {type(model).__name__}, which cannot be pooled yet; expected "
            "VVMClassifier, ADFClassifier, WindowEPClassifier or EPClassifier"
        )
    check_is_fitted(model)
    model = copy(model)  # which stays as it is, whatever is learned meanwhile
    try:
        model._check_learned()
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    return model


def _check_alike(one: Model, other: Model, name: str, other_name: str) -> None:
    """Raise by the name of all that differs."""

    def described(model: Model) -> dict[str, Any]:
        columns = getattr(model, "feature_names_in_", None)
        parameters = model.get_params(deep=False)
        return {
            "kind": type(model).__name__,
            **{k: v for k, v in parameters.items() if k not in _NO_PART_OF_IT},
            "number of columns": model.n_features_in_,
            "names of columns": None if columns is None else columns.tolist(),
        }

    found, expected = described(other), described(one)
    if found["kind"] != expected["kind"]:
        found, expected = {"kind": found["kind"]}, {"kind": expected["kind"]}
    differing = [
        f"{key}: {_shortly(expected[key])} and {_shortly(found[key])}"
        for key in expected
        if found[key] != expected[key]
    ]
    if differing:
        raise ValueError(
            f"{name} and {other_name} differ in {'; '.join(differing)}. Expected the same"
        )


def _shortly(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_news(
    shards: Sequence[OneVsRest], start: OneVsRest, names: Sequence[str], common_name: str
) -> None:
    """Raise for a model that did not go on from the start, or that is another one's copy."""
    before = start.states[0]
    contents: dict[tuple[bytes, bytes], str] = {}
    for shard, name in zip(shards, names, strict=False):
        state = shard.states[0]
        rows, rows_before = int(state.counts[ROWS]), int(before.counts[ROWS])
        if rows < rows_before or state.sums[LOG_EVIDENCE] > before.sums[LOG_EVIDENCE]:
            raise ValueError(
                f"{name} has learned {rows} rows and {common_name} {rows_before}, which {name} did "
                f"not go on from; expected models that did"
            )
        if rows > rows_before:
            content = content_of(state)
            if content in contents:
                raise ValueError(
                    f"{contents[content]} and {name} have learned the same rows; expected each row "
                    "in one only"
                )
            contents[content] = name


def _parameters(models: Sequence[Model]) -> dict[str, Any]:
    """Return those of all models; where they may differ and do, as usual."""
    parameters: dict[str, Any] = models[0].get_params(deep=False)
    usual = type(models[0])().get_params(deep=False)
    for name in _NO_PART_OF_IT:
        if any(getattr(model, name) != parameters[name] for model in models):
            parameters[name] = usual[name]
    return parameters
