"""What a row of many columns costs: sparse ones beside other packages, dense ones beside d²."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import cycle, islice
from typing import Any

import numpy as np
from scipy import sparse

from speed.figures import Figure
from speed.limit import limit
from speed.plan import Plan
from speed.timing import Job, Portion, side_by_side
from virtualvector import ADFClassifier

PLACES, NON_ZEROS = 2**18, 100
BATCH = 1024  # rows that our learners take at once
DENSE, SMALLER = 10_000, 2500  # columns; of the latter's square the limit is timed
SPARSE_MOST = 1.5  # times Vowpal Wabbit: what a sparse row of rank 0 may take
OURS = {"ADF, rank 0": 0, "ADF, rank 20": 20}
VOWPAL, RIVER, RANK_0 = "Vowpal Wabbit", "river's LogisticRegression", "× ADF, rank 0"
PER_VOWPAL, PER_RIVER, PER_FULL = f"× {VOWPAL}", f"× {RIVER}", "× faster than a full covariance"
_ROWS = Portion(0.3, BATCH, 8 * BATCH)
_DENSE_ROWS = Portion(0.3, 64, 256)
_FEW = Portion(0.1, 5, 50)


def measure_wide(plan: Plan) -> Iterator[Figure]:
    """Measure rows of 2¹⁸ places, of which a hundred are not zero; then rows of 10,000 numbers."""
    rows, labels = _sparse_rows()
    jobs = {name: ours(rows, labels, rank) for name, rank in OURS.items()}
    others = {
        VOWPAL: ("vowpalwabbit", vowpal_wabbit),
        RIVER: ("river", river),
    }
    yardsticks = {
        f"× {name}": make(rows, labels)
        for name, (needs, make) in others.items()
        if find_spec(needs)
    }
    taken = side_by_side(
        yardsticks | {RANK_0: jobs["ADF, rank 0"]}, jobs, plan.rounds, _ROWS, _ROWS
    )
    for name, values in taken.items():
        yield Figure("wide", name, {"d": PLACES}, values)
    rng = np.random.default_rng(1)
    dense = rng.normal(size=(256, DENSE))
    job = ours(dense, np.where(dense[:, 0] > 0, 1, 0), 20, batch=64)
    full = limit(SMALLER)  # of 10,000 weights it would take 800 MB
    taken = side_by_side({"limit": full}, {"dense": job}, plan.rounds, _FEW, _DENSE_ROWS)
    values = taken["dense"]
    faster = (DENSE / SMALLER) ** 2 / values.pop("limit")
    yield Figure("wide", "ADF, rank 20, dense", {"d": DENSE}, values | {PER_FULL: faster})


def _sparse_rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    n = 4 * BATCH
    # Some places come far more often than others, as words do.
    places = np.minimum((PLACES * rng.random((n, NON_ZEROS)) ** 3).astype(int), PLACES - 1)
    starts = np.arange(n + 1) * NON_ZEROS
    rows = sparse.csr_array((np.ones(n * NON_ZEROS), places.ravel(), starts), shape=(n, PLACES))
    rows.sum_duplicates()
    weights = rng.normal(size=PLACES)
    return rows, (rows @ weights + rng.normal(size=n) > 0).astype(int)


def ours(rows: Any, labels: Any, rank: int, batch: int = BATCH) -> Job:
    """Return rows predicted and then learned, in batches."""
    model = ADFClassifier(margin_noise=1.0, covariance="low-rank", rank=rank)
    model.partial_fit(rows[:1], labels[:1], classes=[0, 1])
    endless = cycle(range(0, rows.shape[0], batch))

    def job(n_rows: int) -> Callable[[], object]:
        starts = list(islice(endless, max(n_rows // batch, 1)))
        parts = [(rows[start : start + batch], labels[start : start + batch]) for start in starts]
        rest = n_rows - batch * (len(parts) - 1)
        parts[-1] = tuple(each[:rest] for each in parts[-1])

        def run() -> None:
            for some, own in parts:
                model.predict_then_learn(some, own)

        return run

    return job


def vowpal_wabbit(rows: Any, labels: Any) -> Job:
    """Return the same by Vowpal Wabbit, which predicts a row when it learns it."""
    from vowpalwabbit import Workspace

    model = Workspace("-b 18 --loss_function logistic --link logistic --quiet")
    lines = [
        f"{2 * label - 1} | " + " ".join(map(str, rows.indices[start:stop].tolist()))
        for label, start, stop in zip(
            labels.tolist(), rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True
        )
    ]
    endless = cycle(lines)

    def job(n_rows: int) -> Callable[[], object]:
        some = list(islice(endless, n_rows))

        def run() -> None:
            for line in some:
                example = model.example(line)
                model.learn(example)
                example.get_simplelabel_prediction()
                model.finish_example(example)

        return run

    return job


def river(rows: Any, labels: Any) -> Job:
    """Return the same by river, which takes dicts."""
    from river import linear_model

    model = linear_model.LogisticRegression()
    dicts = [
        (dict.fromkeys(rows.indices[start:stop].tolist(), 1.0), bool(label))
        for label, start, stop in zip(
            labels.tolist(), rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True
        )
    ]
    endless = cycle(dicts)

    def job(n_rows: int) -> Callable[[], object]:
        some = list(islice(endless, n_rows))

        def run() -> None:
            for x, y in some:
                model.predict_proba_one(x)
                model.learn_one(x, y)

        return run

    return job
