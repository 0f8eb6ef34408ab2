"""Learners of packages that need not be installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from speed.contestants import ONE, Contestant
from speed.problem import Problem, Rows

RIVER = "river, LogisticRegression"


@cache
def _names(n_columns: int) -> list[str]:
    """The same objects whenever they are needed, as in a stream: they are found faster."""
    return [f"x{k}" for k in range(n_columns)]


def by_river(model: Any, rows: Rows) -> Any:
    """Predict and learn; that a row has to become a dictionary is part of the cost."""
    names = _names(rows.X.shape[1])
    for x, y in zip(rows.X, (rows.signs > 0.0).tolist(), strict=True):
        row = dict(zip(names, x.tolist(), strict=True))
        model.predict_proba_one(row)
        model.learn_one(row, y)
    return model


def river(name: str, model: Callable[[], Any]) -> Contestant:
    def start(problem: Problem, rows: Rows) -> Any:
        return by_river(model(), rows)

    return Contestant(name, f"river, {ONE}", start, by_river, needs="river")


def logistic_regression() -> Any:
    from river.linear_model import LogisticRegression

    return LogisticRegression()


def passive_aggressive() -> Any:
    from river.linear_model import PAClassifier

    return PAClassifier()


def adaptive_random_forest() -> Any:
    from river.forest import ARFClassifier

    return ARFClassifier(seed=0)


def by_vowpal_wabbit(workspace: Any, rows: Rows) -> Any:
    """Predict and learn; pairs of an index and a number are the fastest of the ways in."""
    for x, y in zip(rows.X, rows.signs.astype(int).tolist(), strict=True):
        example = workspace.example({"x": list(enumerate(x.tolist()))})
        example.set_label_string(str(y))
        workspace.predict(example)
        workspace.learn(example)
        workspace.finish_example(example)
    return workspace


def vowpal_wabbit(problem: Problem, rows: Rows) -> Any:
    from vowpalwabbit import Workspace

    workspace = Workspace("--loss_function logistic --link logistic --quiet")
    return by_vowpal_wabbit(workspace, rows)


def other_packages() -> list[Contestant]:
    return [
        river(RIVER, logistic_regression),
        river("river, PAClassifier", passive_aggressive),
        river("river, ARFClassifier", adaptive_random_forest),
        Contestant(
            "Vowpal Wabbit",
            f"Vowpal Wabbit, {ONE}",
            vowpal_wabbit,
            by_vowpal_wabbit,
            copy=lambda workspace: workspace,  # it cannot be copied, and goes on learning
            needs="vowpalwabbit",
        ),
    ]
