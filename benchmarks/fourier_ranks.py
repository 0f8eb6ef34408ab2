"""Fourier features: fewer with all covariances beside more with precisions of low rank.

    python benchmarks/fourier_ranks.py [late [--budget TIMES] [--streams a,b] | rows] [--rows N]

One expert of bandwidth 0.5 and margin noise 0.1 alone, each row predicted and then learned: the
log-loss of a row and microseconds of processor, on 3,000 rows of Spambase, two drawn problems of
4,000, and the digits, odd or even.

``late``: the committee on long streams, without the expert of low rank that joins late, and with
it; with so many times the usual budget. Needs the packages of the extra ``bench``.

``rows``: rows predicted and learned by themselves, and in one table, where some are of low rank.

``--rows`` takes no more of each problem.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits

from virtualvector import AutoVVMClassifier, Expert
from virtualvector.auto import decisions
from virtualvector.datasets import load_spambase
from virtualvector.types import Array, Labels

# Frequencies, how many times as many, and the rank.
SIZES = ((240, 1, None), (500, 1, None), (240, 2, 20), (240, 4, 20), (240, 2, 50))
LONG = "nursery,magic,pen digits,spambase,phoneme,bananas,satellite,coil2000,shuttle,SEA,Agrawal"


def problems() -> Iterator[tuple[str, Array, Labels]]:
    """Yield the name, the rows and the labels of each."""
    rng = np.random.default_rng(0)
    rows, labels = load_spambase(return_X_y=True, random_state=0)
    yield "spam", rows[:3000], labels[:3000]
    rows = rng.normal(size=(4000, 6))
    margins = np.sin(2.0 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + 0.3 * rng.normal(size=4000)
    yield "curved", rows, (margins > 0).astype(int)
    centres, which = 2.0 * rng.normal(size=(30, 4)), rng.integers(0, 30, 4000)
    yield "thirty clouds", centres[which] + 0.6 * rng.normal(size=(4000, 4)), which % 2
    rows, labels = load_digits(return_X_y=True)
    yield "digits", rows, labels % 2


def compare_sizes(n_rows: int | None) -> None:
    """Print log-losses and times of one expert alone."""
    sizes = [f"{n * times}, {'all' if rank is None else rank}" for n, times, rank in SIZES]
    print("problem", *sizes, sep="\t")
    for name, *table in problems():
        rows, labels = (each[:n_rows] for each in table)
        told = []
        for n, times, rank in SIZES:
            expert = Expert(0.5, 0.1, detail=times, rank=rank)
            model = AutoVVMClassifier(experts=[expert], n_frequencies=n, budget=1e9)
            told.append(_told(model, rows, labels))
        print(name, *told, sep="\t", flush=True)


def compare_late(names: str, times: float, n_rows: int | None) -> None:
    """Print log-losses and times of the committee, without who joins late and with it."""
    from streams import load

    usual = decisions.LATE
    print("stream", "without", "with", "of low rank, and its weight at the end", sep="\t")
    for name in names.split(","):
        stream = load(name)
        rows, observed = stream.X[:n_rows], stream.y[:n_rows]
        labels = np.unique(observed, return_inverse=True)[1]
        first = AutoVVMClassifier().partial_fit(rows[:64], labels[:64], np.unique(labels))
        budget, told = times * first._committee.feature_space.budget, []
        for decisions.LATE in (math.inf, usual):
            model = AutoVVMClassifier(budget=budget if times != 1.0 else None)
            told.append(_told(model, rows, labels))
        joined = [
            (each["detail"], each["rank"], round(each["weight"], 3))
            for each in model.experts_
            if each["rank"] is not None
        ]
        print(name, *told, joined, sep="\t", flush=True)


def compare_rows(n_rows: int) -> None:
    """Print microseconds of rows by themselves and in one table, at their best of three."""
    rng = np.random.default_rng(0)
    thin, full = Expert(0.5, 0.1, detail=2, rank=20), Expert(0.5, 0.1)
    some = {"n_frequencies": 240, "budget": 1e9}
    print("committee", "by itself", "in a table", sep="\t")
    for name, model, columns in (
        ("of 2,000 columns", AutoVVMClassifier(), 2000),
        ("480 frequencies, rank 20", AutoVVMClassifier(experts=[thin], **some), 6),
        ("and 240, all covariances", AutoVVMClassifier(experts=[thin, full], **some), 6),
    ):
        rows = rng.normal(size=(2 * n_rows, columns))
        labels = (rows[:, 0] + rows[:, 1] * rows[:, 2] > 0).astype(int)
        model.partial_fit(rows[:n_rows], labels[:n_rows], classes=[0, 1])
        single, table = [], []
        for _ in range(3):
            one = copy.copy(model).learn_one(rows[0], 0)
            start = time.process_time()
            for row, label in zip(rows[n_rows:], labels[n_rows:], strict=True):
                one.predict_proba_one(row)
                one.learn_one(row, label)
            single.append(time.process_time() - start)
            other = copy.copy(model).learn_one(rows[0], 0)
            start = time.process_time()
            other.predict_then_learn(rows[n_rows:], labels[n_rows:])
            table.append(time.process_time() - start)
        print(
            name,
            *(f"{1e6 * min(each) / n_rows:.0f}" for each in (single, table)),
            sep="\t",
            flush=True,
        )


def _told(model: AutoVVMClassifier, rows: Array, labels: Labels) -> str:
    start = time.process_time()
    said = model.predict_then_learn(rows, labels, classes=np.unique(labels)).probabilities
    taken = 1e6 * (time.process_time() - start) / len(labels)
    assert said is not None
    loss = -np.log(np.maximum(said[np.arange(len(labels)), labels], 1e-6)).mean()
    return f"{loss:.4f} ({taken:.0f} µs)"


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["sizes", "late", "rows"], default="sizes")
    parser.add_argument("--streams", default=LONG)
    parser.add_argument("--budget", type=float, default=1.0)
    parser.add_argument("--rows", type=int, help="take no more of each problem")
    asked = parser.parse_args()
    if asked.what == "late":
        compare_late(asked.streams, asked.budget, asked.rows)
    elif asked.what == "rows":
        compare_rows(asked.rows or 500)
    else:
        compare_sizes(asked.rows)


if __name__ == "__main__":
    main()
