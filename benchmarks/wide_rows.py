"""Rows of two thousand columns without zeros: covariances, a sketch, and precisions of low rank.

    python benchmarks/wide_rows.py [--seeds 3] [--rows N]

Five problems of 1,000 rows (Spambase's have 1,500), each row predicted and then learned: log-loss
per row and microseconds of processor. Beside the committee as usual, whose experts are of low rank
there, are one linear expert with all covariances, and three that see a count sketch of the inputs
in as many places as the usual budget pays for covariances of, as the committee did before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits

from virtualvector import AutoVVMClassifier, Expert
from virtualvector.auto.experts import DEFAULT
from virtualvector.auto.sketch import sketch_of
from virtualvector.datasets import load_spambase
from virtualvector.features.encoder import Encoder
from virtualvector.types import Array, Labels

PLACES = 1412  # that the usual budget pays for three covariances of
Problem = tuple[Array, Labels]


def independent(rng: np.random.Generator) -> Problem:
    """Twenty of 2,000 independent columns count."""
    rows = rng.normal(size=(1000, 2000))
    margins = rows[:, :20] @ rng.normal(size=20) + 0.5 * rng.normal(size=1000)
    return rows, (margins > 0).astype(int)


def factors(rng: np.random.Generator) -> Problem:
    """Fifty factors are behind 2,000 columns, and five of them count."""
    hidden = rng.normal(size=(1000, 50))
    rows = hidden @ rng.normal(size=(50, 2000)) / 7.0 + rng.normal(size=(1000, 2000))
    margins = hidden[:, :5] @ rng.normal(size=5) + 0.5 * rng.normal(size=1000)
    return rows, (margins > 0).astype(int)


def spam(rng: np.random.Generator) -> Problem:
    """Spambase's columns and their products."""
    rows, labels = load_spambase(return_X_y=True)
    some = rng.permutation(len(rows))[:1500]
    return with_products(np.log1p(rows[some])), labels[some]


def digits(rng: np.random.Generator) -> Problem:
    """The pixels of digits, odd or even, and their products."""
    rows, labels = load_digits(return_X_y=True)
    some = rng.permutation(len(rows))[:1000]
    return with_products(rows[some][:, rows.any(axis=0)] / 16.0), labels[some] % 2


def counts(rng: np.random.Generator) -> Problem:
    """Sixty words of 2,000, of which some come more often in one class."""
    rates = 1.0 / np.arange(1, 2001)
    tilts, labels = 0.6 * rng.normal(size=2000), rng.integers(0, 2, 1000)
    each = rates * np.exp(tilts * (labels[:, np.newaxis] - 0.5))
    return rng.multinomial(60, each / each.sum(axis=1, keepdims=True)).astype(float), labels


def with_products(rows: Array) -> Array:
    """Return columns, their squares, and the products of each two."""
    first, second = np.triu_indices(rows.shape[1])
    return np.column_stack([rows, rows[:, first] * rows[:, second]])


def as_usual(rows: Array, labels: Labels) -> Array:
    """Experts of low rank, as the budget says."""
    return said_by(AutoVVMClassifier(), rows, labels)


def one_full(rows: Array, labels: Labels) -> Array:
    """One linear expert that knows all covariances."""
    return said_by(AutoVVMClassifier(experts=[Expert(None, 1.0)], budget=1e9), rows, labels)


def sketched(rows: Array, labels: Labels) -> Array:
    """Three linear experts that see inputs added up in fewer places."""
    encoder = Encoder([False] * rows.shape[1])
    inputs = encoder.learn([np.ascontiguousarray(column) for column in rows.T], labels)
    narrow = sketch_of(inputs.shape[1], min(PLACES, inputs.shape[1]), 0).narrowed(inputs)
    linear = [expert for expert in DEFAULT if expert.bandwidth is None and not expert.squares]
    model = AutoVVMClassifier(experts=[e._replace(reach=1.0) for e in linear], scale=False)
    return said_by(model, narrow, labels)


def said_by(model: AutoVVMClassifier, rows: Array, labels: Labels) -> Array:
    """Return what a model says of rows before it learns them."""
    said = model.predict_then_learn(rows, labels, classes=[0, 1]).probabilities
    assert said is not None
    return said


PROBLEMS: tuple[Callable[[np.random.Generator], Problem], ...] = (
    independent, factors, spam, digits, counts,
)  # fmt: skip
LEARNERS = (as_usual, sketched, one_full)


def main() -> None:
    """Print log-losses, means over seeds, and times."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="take no more of each problem")
    options = parser.parse_args()
    seeds = options.seeds
    print("problem", "columns", *(each.__name__ for each in LEARNERS), sep="\t")
    for problem in PROBLEMS:
        losses, times = np.zeros((2, len(LEARNERS)))
        for seed in range(seeds):
            drawn = problem(np.random.default_rng(seed))
            rows, labels = (each[: options.rows] for each in drawn)
            for k, learner in enumerate(LEARNERS):
                start = time.process_time()
                said = learner(rows, labels)[np.arange(len(labels)), labels]
                times[k] += 1e6 * (time.process_time() - start) / len(labels) / seeds
                losses[k] -= np.log(np.maximum(said, 1e-6)).mean() / seeds
        told = (f"{loss:.4f} ({us:.0f} µs)" for loss, us in zip(losses, times, strict=True))
        print(problem.__name__, rows.shape[1], *told, sep="\t", flush=True)


if __name__ == "__main__":
    main()
