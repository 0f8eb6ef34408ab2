"""Learners of this package and of scikit-learn, and by which calls they predict and learn."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from speed.problem import Problem, Rows
from virtualvector import (
    ADFClassifier,
    AutoVVMClassifier,
    VVMClassifier,
    WindowEPClassifier,
)
from virtualvector.evaluation import all_learners
from virtualvector.posterior import (
    Events,
    Settings,
    State,
    copy_state,
    empty_state,
    learn_in_place,
)
from virtualvector.posterior.reduction.reduce import WAS_MERGED

CLASSES = (-1.0, 1.0)
BUFFERS = (10, 30, 100)
BASELINES = ("SOGP", "NG", "Kalman", "second-order perceptron", "CW", "AROW", "budget perceptron")
VVM_LEARNS, SGD_LEARNS = "VVM 30, merging, partial_fit", "SGD, partial_fit"
MANY, ONE = "many rows in a call", "one row in a call"


@dataclass(frozen=True)
class Contestant:
    """A learner, and how it is called."""

    name: str
    group: str
    start: Callable[[Problem, Rows], Any]  # a learner that knows these rows
    run: Callable[[Any, Rows], Any]  # predicts and learns rows; returns the learner
    copy: Callable[[Any], Any] = deepcopy
    details: Callable[[Any], dict[str, float]] | None = None  # what happened to the last rows
    warm_up_rows: int = 200  # by then every buffer is full
    needs: str = "virtualvector"

    @property
    def missing(self) -> bool:
        """Whether its package is not installed."""
        return find_spec(self.needs) is None


# The engine itself: rows in, state and what happened out


class Engine(NamedTuple):
    """The engine's state, and what happened to the last rows."""

    settings: Settings
    state: State
    events: Events | None = None


def engine(name: str, settings: Settings) -> Contestant:
    def start(problem: Problem, rows: Rows) -> Engine:
        told = settings._replace(margin_noise=problem.margin_noise)
        return run(Engine(told, empty_state(rows.X.shape[1], told)), rows)

    def run(learner: Engine, rows: Rows) -> Engine:
        found = learn_in_place(learner.state, rows.X, rows.signs, learner.settings)
        return Engine(learner.settings, *found)

    def copy(learner: Engine) -> Engine:
        return learner._replace(state=copy_state(learner.state))

    group = f"virtualvector, {MANY}"
    return Contestant(name, group, start, run, copy, _what_happened)


def _what_happened(learner: Engine) -> dict[str, float]:
    assert learner.events is not None
    return {
        "sweeps": float(learner.events.sweeps.mean()),
        "merged": float(np.mean(learner.events.event == WAS_MERGED)),
    }


def vvm_settings(buffer_size: int, merging: bool) -> Settings:
    pairs = VVMClassifier().merge_pairs if merging else 0
    return VVMClassifier(buffer_size, merge_pairs=pairs)._settings()


def vvm_names() -> dict[str, tuple[int, bool]]:
    """Return VVM's variants: the number of points, and whether they merge."""
    names = {"VVM 0 (ADF)": (0, False)}
    for buffer_size in BUFFERS:
        names[f"VVM {buffer_size}, evicting"] = (buffer_size, False)
        names[f"VVM {buffer_size}, merging"] = (buffer_size, True)
    return names


def engines() -> list[Contestant]:
    found = [engine(name, vvm_settings(*variant)) for name, variant in vvm_names().items()]
    return [*found, engine("window-EP 30", WindowEPClassifier(30)._settings())]


# Estimators, through one contract or another


def fitted(model: Callable[[Problem, int], Any]) -> Callable[[Problem, Rows], Any]:
    def start(problem: Problem, rows: Rows) -> Any:
        learner = model(problem, rows.X.shape[1])
        return learner.partial_fit(rows.X, rows.signs, classes=CLASSES)

    return start


def copy_with_first_row(model: Any) -> Any:
    """Copy a learner that has been asked about single rows before, as others have."""
    model = deepcopy(model)
    model.predict_proba_one(np.zeros(model.n_features_in_))
    return model


def by_one_row(model: Any, rows: Rows) -> Any:
    for x, y in zip(rows.X, rows.signs.tolist(), strict=True):
        model.predict_proba_one(x)
        model.learn_one(x, y)
    return model


def by_predict_then_learn(model: Any, rows: Rows) -> Any:
    model.predict_then_learn(rows.X, rows.signs)
    return model


def by_partial_fit(model: Any, rows: Rows, predict: bool = True, rows_at_once: int = 1) -> Any:
    for start in range(0, len(rows.X), rows_at_once):
        X, y = rows.part(start, start + rows_at_once)
        if predict:
            model.predict_proba(X)
        model.partial_fit(X, y)
    return model


def vvm(buffer_size: int, merging: bool, problem: Problem, d: int) -> Any:
    noise = problem.margin_noise
    if buffer_size == 0:
        return ADFClassifier(margin_noise=noise)
    settings = vvm_settings(buffer_size, merging)
    return VVMClassifier(buffer_size, margin_noise=noise, merge_pairs=settings.merge_pairs)


def baseline(name: str, problem: Problem, d: int) -> Any:
    return all_learners(d)[name]


def estimators() -> list[Contestant]:
    many, one = f"virtualvector, {MANY}", f"virtualvector, {ONE}"
    learning = "learning alone: partial_fit on one row"
    baselines = f"virtualvector.baselines, {MANY}"
    by_learning = partial(by_partial_fit, predict=False)
    by_batches = partial(by_partial_fit, rows_at_once=100)
    auto = fitted(lambda problem, d: AutoVVMClassifier())
    return [
        Contestant("AutoVVM", many, auto, by_predict_then_learn, warm_up_rows=2000),
        *(
            Contestant(
                f"{name}, one row",
                one,
                fitted(partial(vvm, *variant)),
                by_one_row,
                copy_with_first_row,
            )
            for name, variant in vvm_names().items()
        ),
        Contestant(VVM_LEARNS, learning, fitted(partial(vvm, 30, True)), by_learning),
        Contestant(SGD_LEARNS, learning, fitted(partial(baseline, "logistic")), by_learning),
        Contestant(
            "SGD, one row", "scikit-learn", fitted(partial(baseline, "logistic")), by_partial_fit
        ),
        Contestant(
            "SGD, 100 rows", "scikit-learn", fitted(partial(baseline, "logistic")), by_batches
        ),
        *(
            Contestant(name, baselines, fitted(partial(baseline, name)), by_predict_then_learn)
            for name in BASELINES
        ),
    ]
