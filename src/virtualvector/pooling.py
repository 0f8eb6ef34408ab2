"""Models that were learned apart, as one: no row has to be where another is."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sklearn.base import BaseEstimator

from virtualvector.auto import apart
from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.learners import pooling as linear
from virtualvector.wide import pooling as wide
from virtualvector.wide.classifier import WideVVMClassifier

_MOST_SHOWN = 6  # classes


def pool(models: Iterable[Any], common: Any = None) -> Any:
    """Return one model of what several have learned apart, from rows of their own.

    Hospitals, branches or phones each learn a model and share that, but no row. What each has
    learned since ``common`` is multiplied with it, as if all rows had been learned by one.

    Exact are the product of the Gaussians, and with `EPClassifier`, or a buffer that holds all
    rows, the result: it is what EP makes of all rows together. Approximate is what each model did
    before: it has replaced rows by Gaussians that fit what it knew then, not what all know
    together. The more each has learned on its own since ``common``, the more that shows; pooling
    often, and going on from there, is what helps (docs/scaling.md has numbers).

    Of `AutoVVMClassifier` all experts are pooled in this way, and so is the trust in them; the
    means and deviations of columns add up. But each has scaled its rows by what it had seen: where
    columns differ between the models, their weights do not mean the same, which is warned of. So
    it is with the numbers of `WideVVMClassifier`; words are at the same place in all models.

    Parameters
    ----------
    models : iterable of estimators
        All of one kind, with the same parameters and columns, without a half-life; ``shuffle`` and,
        except for `AutoVVMClassifier`, ``random_state`` may differ. Classes that were not declared
        may have come to some only: the others know them as classes that did not come. No row may
        have been learned by two of them, which cannot be seen here.
    common : estimator of the same kind, optional
        The model that all of them went on from with `partial_fit`, or copies of it. By default each
        has begun with the prior. Who has learned less than it, of rows, of a class or of a column,
        or as many rows but others, is refused; of others it cannot be seen that they did not go on
        from it.

    Returns
    -------
    estimator
        A new model, the same to the last bit in whatever order the models come. It can go on
        learning. A single model gives a copy of itself.

    Raises
    ------
    ValueError
        If the models do not fit together; the message says what differs.
    TypeError
        If something else than models, in a list or the like, was given.

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
    given = _listed(models)
    return pooled(given, common, [f"model {k}" for k in range(len(given))], "common")


def _listed(models: Any) -> list[Any]:
    """Return models as a list, from whatever they are in."""
    if isinstance(models, BaseEstimator):
        raise TypeError(
            f"found a single {type(models).__name__}; expected a list of models, as in pool([a, b])"
        )
    if not isinstance(models, Iterable) or isinstance(models, str | bytes | Mapping):
        raise TypeError(
            f"found {type(models).__name__} in place of models; expected a list of them, as in "
            "pool([a, b])"
        )
    return list(models)


def pooled(models: Sequence[Any], common: Any, names: Sequence[str], common_name: str) -> Any:
    """Pool models, of whatever kind, that errors call by names."""
    kind = _kind((*models, common))
    result = kind.pooled(models, common, names, common_name)
    _warn_of_classes(models, names)
    return result


def _kind(given: Sequence[Any]) -> Any:
    """Return the module for the most general model of all."""
    if any(isinstance(model, AutoVVMClassifier) for model in given):
        return apart
    return wide if any(isinstance(model, WideVVMClassifier) for model in given) else linear


def _warn_of_classes(models: Sequence[Any], names: Sequence[str]) -> None:
    """Warn of a model that has no class in common with any other one."""
    classes = [{*model.classes_.tolist()} for model in models]
    for k, (own, name) in enumerate(zip(classes, names, strict=True)):
        others = set().union(*classes[:k], *classes[k + 1 :])
        if others and not own & others:
            warnings.warn(
                f"{name} has no class in common with the others: {_in_words(own)} and "
                f"{_in_words(others)}. All of them are classes of the pooled model, which takes "
                "them for different ones.",
                UserWarning,
                stacklevel=4,
            )
            return


def _in_words(labels: set[Any]) -> str:
    """Return some labels, sorted."""
    shown = [repr(label) for label in sorted(labels)[:_MOST_SHOWN]]
    more = len(labels) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
