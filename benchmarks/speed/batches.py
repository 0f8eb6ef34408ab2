"""What `predict_proba` costs on many rows, beside the two matrix products that it needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from speed.contestants import baseline, fitted, vvm
from speed.figures import Figure
from speed.plan import Plan
from speed.problem import NOISY
from speed.timing import Job, Portion, side_by_side
from virtualvector import AutoVVMClassifier

PRODUCTS = "× products"
_KNOWN = 500  # rows
_AT_ONCE = Portion(0.1, 1, 50)  # batches
MODELS: dict[str, Callable[[Any, int], Any]] = {
    "VVM 30, merging": partial(vvm, 30, True),
    "AutoVVM": lambda problem, d: AutoVVMClassifier(),
    "SGD": partial(baseline, "logistic"),
}


def repeated(call: Callable[[], object]) -> Job:
    def job(n_times: int) -> Callable[[], object]:
        def run() -> None:
            for _ in range(n_times):
                call()

        return run

    return job


def measure_batches(d: int, plan: Plan) -> list[Figure]:
    """Time X m and X Uᵀ, and the probabilities of the same rows."""
    rows, X = NOISY.draw(_KNOWN, d), NOISY.draw(plan.batch_rows, d, seed=1).X
    learners = {name: fitted(model)(NOISY, rows) for name, model in MODELS.items()}
    gaussian = learners["VVM 30, merging"]._posterior.gaussians[0]
    mean, factor = gaussian.mean[:d].copy(), gaussian.factor[:d, :d].copy()
    products = repeated(lambda: (X @ mean, X @ factor.T))
    jobs = {name: repeated(partial(model.predict_proba, X)) for name, model in learners.items()}
    taken = side_by_side({PRODUCTS: products}, jobs, plan.rounds, _AT_ONCE, _AT_ONCE)
    return [
        Figure("batches", name, {"d": d}, {"rows/s": 1e6 * len(X) / cost.pop("µs")} | cost)
        for name, cost in taken.items()
    ]
