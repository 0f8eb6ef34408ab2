"""What a row costs a committee, predicted and learned by itself and in batches."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from time import perf_counter

from speed.figures import Figure
from speed.packages import adaptive_random_forest, by_river
from speed.plan import Plan
from speed.problem import NOISY, Rows
from speed.timing import Job, Portion, side_by_side
from virtualvector import AutoVVMClassifier

BATCHES, ONE_ROW, PREDICTED = "AutoVVM, batches", "AutoVVM, one row", "AutoVVM, predicts one row"
THREADS, FOREST = "AutoVVM, two threads", "river, ARFClassifier"
TIMES_BATCHES = "× batches, less 10 µs"  # what calling Python takes may be added
PREDICTED_TIMES = "× batches, less 5 µs"
PER_FOREST, PER_THREAD = "× forest", "× faster"
_KNOWN, _BATCH, _MOST = 2048, 512, 1536  # rows
# The same rows for all: along the stream fewer experts are awake, and the later ones cost less.
_PORTION = Portion(0.05, _MOST, _MOST)
_OF_FOREST = Portion(0.2, 20, 200)


def _in_batches(model: AutoVVMClassifier, rows: Rows) -> None:
    for start in range(0, len(rows.signs), _BATCH):
        some = slice(start, start + _BATCH)
        model.predict_then_learn(rows.X[some], rows.signs[some])


def _one_by_one(model: AutoVVMClassifier, rows: Rows) -> None:
    for x, y in zip(rows.X, rows.signs.tolist(), strict=True):
        model.predict_proba_one(x)
        model.learn_one(x, y)


def _predicted(model: AutoVVMClassifier, rows: Rows) -> None:
    for x in rows.X:
        model.predict_proba_one(x)


WAYS: dict[str, Callable[[AutoVVMClassifier, Rows], None]] = {
    BATCHES: _in_batches,
    ONE_ROW: _one_by_one,
    PREDICTED: _predicted,
}


def measure_committee(d: int, plan: Plan) -> Iterator[Figure]:
    """Time rows in batches, one by one, and predicted only, beside a forest of river's."""
    rows = NOISY.draw(_KNOWN + _MOST, d)
    known = rows.part(0, _KNOWN)
    model = AutoVVMClassifier().partial_fit(known.X, known.signs, classes=[-1.0, 1.0])

    def job(way: Callable[[AutoVVMClassifier, Rows], None]) -> Job:
        def prepare(n_rows: int) -> Callable[[], object]:
            other, late = copy.copy(model), rows.part(_KNOWN, _KNOWN + n_rows)
            other.predict_proba_one(rows.X[0])  # makes the memory that it learns in
            return lambda: way(other, late)

        return prepare

    jobs = {name: job(way) for name, way in WAYS.items()}
    yardsticks = {"× batches": jobs[BATCHES]}
    taken = side_by_side(yardsticks, jobs, plan.rounds, _PORTION, _PORTION)
    batches = taken[BATCHES]["µs"]
    taken[ONE_ROW][TIMES_BATCHES] = (taken[ONE_ROW]["µs"] - 10.0) / batches
    taken[PREDICTED][PREDICTED_TIMES] = (taken[PREDICTED]["µs"] - 5.0) / batches
    if find_spec("river") is not None:
        forest = by_river(adaptive_random_forest(), known)

        def grow(n_rows: int) -> Callable[[], object]:
            late = rows.part(_KNOWN, _KNOWN + n_rows)
            return lambda: by_river(forest, late)

        found = side_by_side({PER_FOREST: grow}, jobs, plan.rounds, _OF_FOREST, _PORTION)
        taken[ONE_ROW][PER_FOREST] = found[ONE_ROW][PER_FOREST]
        cost = found[BATCHES]["µs"] / found[BATCHES][PER_FOREST]
        yield Figure("committee", FOREST, {"d": d}, {"µs": cost})
    taken[BATCHES].pop("× batches")
    for name, values in taken.items():
        yield Figure("committee", name, {"d": d}, values)
    yield Figure("committee", THREADS, {"d": d}, {PER_THREAD: _speedup(model, rows, plan.rounds)})


def _speedup(model: AutoVVMClassifier, rows: Rows, rounds: int) -> float:
    """Return how much less time, by the clock, batches take with two threads; best of some."""
    best = {1: float("inf"), 2: float("inf")}
    late = rows.part(_KNOWN, _KNOWN + _MOST)
    for _ in range(max(rounds, 3)):
        for n_jobs in best:
            other = copy.copy(model).set_params(n_jobs=n_jobs)
            start = perf_counter()
            _in_batches(other, late)
            best[n_jobs] = min(best[n_jobs], perf_counter() - start)
    return best[1] / best[2]
