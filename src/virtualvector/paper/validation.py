"""Choosing features and noise as the paper does: by the validation error of EP."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold

from virtualvector.learners import EPClassifier
from virtualvector.paper.problems import FeatureMap, Problem

_FOLDS = 5


class Noise(NamedTuple):
    """ε and s²."""

    label_noise: float = 0.0
    margin_noise: float = 0.0


class Validation(NamedTuple):
    """How EP did on rows that it had not learned."""

    error: float  # in per cent
    log_loss: float


def validate(
    problem: Problem, features: FeatureMap, noise: Noise, seed: list[int], n_draws: int = 1
) -> Validation:
    """Return the error and the log-loss of EP by cross-validation, mean over draws of features."""
    measured = [_validate(problem, features, noise, [*seed, draw]) for draw in range(n_draws)]
    error, loss = np.mean(measured, axis=0).tolist()
    return Validation(error, loss)


def _validate(problem: Problem, features: FeatureMap, noise: Noise, seed: list[int]) -> Validation:
    rows = features(problem.rows, seed)
    predictions = np.empty((len(rows), 2))
    for learned, held_out in KFold(_FOLDS).split(rows):
        model = EPClassifier(**noise._asdict(), shuffle=False)
        model.fit(rows[learned], problem.labels[learned])
        predictions[held_out] = model.predict_proba(rows[held_out])
    wrong = (predictions[:, 1] > predictions[:, 0]) != (problem.labels == 1)
    return Validation(100.0 * float(wrong.mean()), float(log_loss(problem.labels, predictions)))


def choose(tried: dict[Any, Validation]) -> Any:
    """Return the choice with the smallest error; of equals, the one with the smallest log-loss."""
    return min(tried, key=lambda choice: tried[choice])
