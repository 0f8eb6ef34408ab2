"""Real models of all kinds, as files, and rows for whatever model a file turns out to hold."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np

from virtualvector import (
    ADFClassifier,
    AutoVVMClassifier,
    EPClassifier,
    VVMClassifier,
    WindowEPClassifier,
)
from virtualvector.learners.expert import Expert
from virtualvector.persistence.mixin import contents_of

_FEW = (Expert(None, 1.0, buffer_size=3, merge_pairs=2), Expert(0.5, 0.1, label_noise=0.02))
_LEARNERS: dict[str, Any] = {
    "vvm": partial(VVMClassifier, 6),
    "vvm, many points": partial(VVMClassifier, 30, margin_noise=0.1),
    "vvm by margin": partial(VVMClassifier, 6, eviction="margin", label_noise=0.1),
    "vvm that forgets": partial(VVMClassifier, 5, margin_noise=0.5, half_life=30.0),
    "adf": partial(ADFClassifier, prior_variance=4.0, fit_intercept=False),
    "window-ep": partial(WindowEPClassifier, 5, margin_noise=0.2),
    "ep": partial(EPClassifier, margin_noise=0.2),
    "auto": partial(AutoVVMClassifier, experts=_FEW, n_frequencies=3),
    "auto by default": partial(AutoVVMClassifier, n_frequencies=2),
    "auto, one expert": partial(AutoVVMClassifier, experts=_FEW[:1], scale=False),
}
_SIZES = [0.0, 1.0, -1.0, 1e-300, 1e-150, 1e-9, 1e9, 1e150, -1e150, 1.7e308, -1.7e308]


def _stream(n_rows: int, n_classes: int, n_columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, n_columns))
    scores = rows[:, :n_classes] + rng.normal(size=(n_rows, n_classes))
    return rows, np.argmax(scores, axis=1)


def examples() -> dict[str, bytes]:
    """Return the files of small models, two and three classes each, some with names and notes."""
    found = {}
    for name, learner in _LEARNERS.items():
        n_rows = 700 if name == "auto by default" else 140
        for n_classes in (2, 3):
            rows, labels = _stream(n_rows, n_classes, 3 + 5 * (name == "vvm"))
            closed = list(range(n_classes)) if n_classes == 2 else None
            model = learner().partial_fit(rows, labels, closed)
            found[f"{name}, {n_classes} classes"] = contents_of(model)
    rows, labels = _stream(150, 2, 4)
    table = rows.astype(object)
    table[:, 1] = np.array(["Rome", "Oslo", "Łódź", None], object)[np.arange(150) % 4]
    table[::9, 0] = None
    categorical = AutoVVMClassifier(experts=_FEW, n_frequencies=2, categorical_features=[1])
    categorical.partial_fit(table, np.array(["no", "yes"])[labels])
    about = {"label": "outcome", "rows": 150, "columns": [["a", False]]}
    found["auto, categories and missing values"] = contents_of(categorical, about)
    return found


def rows_for(model: Any, draw: random.Random, n_rows: int = 4) -> Any:
    """Return rows of finite numbers of any size, and names, that fit a model."""
    categorical = getattr(model, "is_categorical_", [False] * model.n_features_in_)
    sizes = draw.choice([[1.0], _SIZES])
    rows = np.empty((n_rows, model.n_features_in_), object if any(categorical) else float)
    for t in range(n_rows):
        for k in range(model.n_features_in_):
            number = draw.choice(sizes) * draw.uniform(-1.0, 1.0)
            rows[t, k] = draw.choice(["Rome", "new", None]) if categorical[k] else number
    return rows


def labels_for(model: Any, draw: random.Random, n_rows: int = 4) -> Any:
    """Return classes that a model knows, for so many rows."""
    return model.classes_[[draw.randrange(len(model.classes_)) for _ in range(n_rows)]]
