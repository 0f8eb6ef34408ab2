"""The report of a committee that has learned a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.auto.history import in_words
from virtualvector.evaluation.tally import Tally
from virtualvector.learners.expert import described
from virtualvector.posterior.reduction.score import divergence_score
from virtualvector.report.contents import Points, Report, Weight
from virtualvector.wide.classifier import WideVVMClassifier


def of_model(
    model: AutoVVMClassifier | WideVVMClassifier, tally: Tally, title: str, about: Mapping[str, str]
) -> Report:
    """Return what there is to report about a stream that a committee has learned.

    Parameters
    ----------
    model : AutoVVMClassifier or WideVVMClassifier
        What was learned.
    tally : Tally
        What it predicted, against what was observed.
    title : str
        What the stream is called.
    about : dict of str
        What else a reader should know of the stream, in words.

    Returns
    -------
    Report
        Plain data, for `render`.
    """
    two = len(tally.classes) == 2
    weights = [
        Weight(str(w["column"]), "" if two else str(w["class"]), w["mean"], w["deviation"])
        for w in model.weight_table_
    ]
    experts = [
        {
            "expert": described(expert),
            "weight": expert["weight"],
            "awake": expert["awake"],
        }
        for expert in model.experts_
    ]
    return Report(
        title=title,
        about=dict(about),
        tally=tally,
        weights=sorted(weights, key=lambda weight: -weight.certainty),
        points=None if isinstance(model, WideVVMClassifier) else _points(model, weights),
        buffer=model.counters_ | _divergence_kept(model),
        experts=sorted(experts, key=lambda expert: -expert["weight"]),
        history=in_words(model.history_),
        parameters=_parameters(model),
    )


def _points(model: AutoVVMClassifier, weights: list[Weight]) -> Points | None:
    """Return the points of the most trusted expert, those of all classes one after the other."""
    trusted = max(model.experts_, key=lambda expert: expert["weight"])
    if trusted["buffer_size"] == 0 or not weights:
        return None
    found = model.virtual_points_
    of_classes = found if isinstance(found, list) else [found]
    array = np.vstack(of_classes)
    n_columns = array.shape[1]
    classes = [weight.class_ for weight in weights[::n_columns]]
    of_each = np.repeat(classes, [len(points) for points in of_classes])
    return Points([weight.column for weight in weights[:n_columns]], array, of_each.tolist())


def _divergence_kept(model: AutoVVMClassifier | WideVVMClassifier) -> dict[str, float]:
    """Return what the points kept by all experts tell beyond a Gaussian, as counters are."""
    if isinstance(model, WideVVMClassifier):  # a Gaussian of so many weights is not written out
        return {}
    kept = sum(
        divergence_score(state)
        for posterior in model._committee.posteriors
        for state in posterior.states
        if posterior.settings.rank < 0  # of low rank a Gaussian is not written out
    )
    return {"divergence_score": kept}


def _parameters(model: AutoVVMClassifier | WideVVMClassifier) -> dict[str, str]:
    def words(value: Any) -> str:
        if value is None:
            return "as usual"
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:,}" if isinstance(value, int | float) else str(value)

    parameters = model.get_params()
    if parameters.get("experts") is not None:
        parameters["experts"] = len(parameters["experts"])
    return {name: words(value) for name, value in parameters.items()}
