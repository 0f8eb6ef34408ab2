"""Rare classes: how well AutoVVM ranks one row in two hundred, beside batch logistic regression.

    python benchmarks/rare.py [--draws N] [--rows N]

One pass of AutoVVM with default arguments over 12,000 rows, and logistic regression of scikit-learn
(default arguments, columns standardised) that sees the same rows at once; both then predict 40,000
others. Prints, as means over draws, average precision and log-loss per row. Logistic regression has
the right model of the first two streams, but for the shape of the noise in the first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from virtualvector import AutoVVMClassifier
from virtualvector.types import Array, IntArray

N_LEARNED, PREDICTED = 12_000, 10 / 3  # rows, and how many times as many
RARE = 2.576  # deviations that one normal number in two hundred exceeds

Table = tuple[Array, IntArray]


def plane(random: np.random.Generator, n_rows: int) -> Table:
    """Ten normal columns; positive is what is far on one side of a plane, give or take as far."""
    rows, normal = random.standard_normal((n_rows, 10)), random.standard_normal(10)
    margins = rows @ normal / np.linalg.norm(normal) + random.standard_normal(n_rows)
    return rows, (margins > RARE * np.sqrt(2.0)).astype(int)


def logistic(random: np.random.Generator, n_rows: int) -> Table:
    """Twenty normal columns, four of which count in a logistic model."""
    rows = random.standard_normal((n_rows, 20))
    odds = np.exp(1.2 * rows[:, :4].sum(axis=1) - 8.0)
    return rows, (random.random(n_rows) < odds / (1.0 + odds)).astype(int)


def lognormal(random: np.random.Generator, n_rows: int) -> Table:
    """Ten columns with long tails, whose logarithms count."""
    logs, normal = random.standard_normal((n_rows, 10)), random.standard_normal(10)
    margins = logs @ normal / np.linalg.norm(normal) + 0.5 * random.standard_normal(n_rows)
    return np.exp(logs), (margins > RARE * np.sqrt(1.25)).astype(int)


def clusters(random: np.random.Generator, n_rows: int) -> Table:
    """Two clusters of each class, in five of ten columns."""
    rows, labels = make_classification(
        n_rows, 10, n_informative=5, n_redundant=2, weights=[0.995], flip_y=0.0,
        random_state=int(random.integers(2**31)),
    )  # fmt: skip
    return rows, labels


STREAMS: dict[str, Callable[[np.random.Generator, int], Table]] = {
    "plane": plane,
    "logistic": logistic,
    "long tails": lognormal,
    "clusters": clusters,
}


def measured(rows: Array, labels: IntArray, n_learned: int) -> dict[str, float]:
    """Return average precision and log-loss of both learners."""
    online = AutoVVMClassifier().partial_fit(rows[:n_learned], labels[:n_learned], [0, 1])
    batch = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    batch.fit(rows[:n_learned], labels[:n_learned])
    found, observed = {}, labels[n_learned:]
    for name, model in {"AutoVVM": online, "LogReg": batch}.items():
        predicted = model.predict_proba(rows[n_learned:])[:, 1]
        found[f"precision, {name}"] = float(average_precision_score(observed, predicted))
        found[f"log-loss, {name}"] = float(log_loss(observed, predicted))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Measure all streams and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=5, help="streams of each kind")
    parser.add_argument("--rows", type=int, default=N_LEARNED, help="that are learned")
    options = parser.parse_args(arguments)
    found = []
    for name, draw in STREAMS.items():
        for seed in range(options.draws):
            n_rows = options.rows + round(PREDICTED * options.rows)
            table = draw(np.random.default_rng(seed), n_rows)
            found.append({"stream": name, **measured(*table, options.rows)})
            print(found[-1], file=sys.stderr, flush=True)
    table = pd.DataFrame(found).groupby("stream", sort=False).mean()
    print(table[sorted(table)[::-1]].to_string(float_format="{:.4f}".format))
    return 0


if __name__ == "__main__":
    sys.exit(main())
