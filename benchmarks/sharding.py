"""What pooling costs in accuracy: shards in rounds, and pooled once, against one machine.

    python benchmarks/sharding.py [--data a,b] [--learners ADF,committee] [--orders N] [--json FILE]

Three quarters of the rows are learned, in a random order, and the log-loss of the rest is measured;
the orders are the same for all, and numbers are means over them. Shards learn here one after the
other: on a cluster they have the same bits (`tests/dask`). Columns are standardised by the rows
that are learned. Spans are as short as they get, a row if need be: that is harder than what is
done on a cluster. The aim is to be within 1 % of one machine in rounds, 2 % for the committee.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.metrics import log_loss

from virtualvector import (
    ADFClassifier,
    AutoVVMClassifier,
    RandomFourierFeatures,
    VVMClassifier,
    pool,
)
from virtualvector.auto.shards import ended, round_start
from virtualvector.datasets import load_ionosphere, load_spambase, load_thyroid
from virtualvector.learners.rounds import ALONE, Span, rounds

SHARDS = (2, 8, 32)
AIMS = {"ADF": 0.01, "VVM(30)": 0.01, "committee": 0.02}
LEARNERS = {
    "ADF": lambda: ADFClassifier(margin_noise=1.0),
    "VVM(30)": lambda: VVMClassifier(30, margin_noise=1.0),
    "committee": AutoVVMClassifier,
}


def _spambase() -> Any:
    X, y = load_spambase(return_X_y=True, random_state=0)
    return np.log1p(10.0 * X), y


def _mixture(n_classes: int) -> Any:
    return make_classification(
        6000, 20, n_informative=8, n_clusters_per_class=3, n_classes=n_classes, flip_y=0.02,
        class_sep=1.5, random_state=7,
    )  # fmt: skip


def _curved() -> Any:
    X, y = _mixture(2)
    features = RandomFourierFeatures(n_frequencies=50, bandwidth=6.0, random_state=0)
    return 3.0 * features.fit_transform(X / X.std(axis=0)), y


DATA: dict[str, Callable[[], Any]] = {
    "spambase": _spambase,
    "ionosphere": lambda: load_ionosphere(return_X_y=True, random_state=0),
    "thyroid": lambda: load_thyroid(return_X_y=True, random_state=0),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "mixture": lambda: _mixture(2),
    "mixture of 3": lambda: _mixture(3),
    "curved mixture": _curved,
}


class Split(NamedTuple):
    """Rows to learn and rows to be asked about."""

    X: Any
    y: Any
    others: Any
    their_labels: Any


def splits(name: str, n_orders: int) -> Iterator[Split]:
    X, y = (np.asarray(each) for each in DATA[name]())
    for seed in range(n_orders):
        order = np.random.default_rng(seed).permutation(len(X))
        rows, labels, n = X[order].astype(float), y[order], 3 * len(X) // 4
        width = rows[:n].std(axis=0)
        rows = (rows - rows[:n].mean(axis=0)) / np.where(width > 0.0, width, 1.0)
        yield Split(rows[:n], labels[:n], rows[n:], labels[n:])


def learned(model: Any, split: Split, plan: Iterator[list[Span]]) -> float:
    """Return the log-loss of the other rows, once rows are learned by a plan."""
    classes = np.unique(np.concatenate([split.y, split.their_labels]))
    for spans in plan:
        first = not hasattr(model, "classes_")
        alone = first or spans[0].start < ALONE
        start = model if first else round_start(model, len(spans), alone)
        shards = [
            copy(start).partial_fit(split.X[a:b], split.y[a:b], classes if first else None)
            for a, b in spans
        ]
        model = pool(shards) if first else ended(model, shards)
    loss: float = log_loss(split.their_labels, model.predict_proba(split.others), labels=classes)
    return loss


def once(n_rows: int, n_shards: int) -> Iterator[list[Span]]:
    edges = np.linspace(0, n_rows, n_shards + 1).astype(int).tolist()
    yield [Span(*each) for each in pairwise(edges)]


def measured(name: str, learner: str, n_orders: int) -> dict[str, Any]:
    losses: dict[str, list[float]] = {}
    # Models that were learned apart have other scales, which is warned of.
    warnings.filterwarnings("ignore", "model .* has 'x")
    for split in splits(name, n_orders):
        n = len(split.X)
        plans = {"one": once(n, 1)}
        plans |= {f"{k} in rounds": rounds(0, n, k, fewest=1) for k in SHARDS}
        plans |= {f"{k} once": once(n, k) for k in SHARDS}
        for how, plan in plans.items():
            losses.setdefault(how, []).append(learned(LEARNERS[learner](), split, plan))
    means = {how: float(np.mean(each)) for how, each in losses.items()}
    shape = list(split.X.shape)
    return {"data": name, "learner": learner, "shape": shape, "log-loss": means}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=",".join(DATA))
    parser.add_argument("--learners", default=",".join(LEARNERS))
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--json")
    asked = parser.parse_args()
    results = []
    print(f"| rows learned × columns | learner | one machine | {SHARDS} in rounds | pooled once |")
    print("|---|---|---|---|---|")
    for name in asked.data.split(","):
        for learner in asked.learners.split(","):
            found = measured(name, learner, asked.orders)
            results.append(found)
            losses = found["log-loss"]
            off = {
                how: f"{100 * (loss / losses['one'] - 1):+.2f} %" for how, loss in losses.items()
            }
            kinds = [", ".join(off[f"{k} {how}"] for k in SHARDS) for how in ("in rounds", "once")]
            rows, columns = found["shape"]
            cells = [f"{name}, {rows} × {columns}", learner, f"{losses['one']:.4f}", *kinds]
            print(f"| {' | '.join(cells)} |", flush=True)
    for learner in asked.learners.split(","):
        worst = max(
            found["log-loss"][f"{k} in rounds"] / found["log-loss"]["one"] - 1
            for found in results
            for k in SHARDS
            if found["learner"] == learner
        )
        aim = 100 * AIMS[learner]
        print(f"\n{learner}: at worst {100 * worst:+.2f} % in rounds; the aim is {aim:.0f} %.")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
