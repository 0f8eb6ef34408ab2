"""Fourier features: fewer with all covariances beside more with precisions of low rank.

    python benchmarks/fourier_ranks.py [--rows N]

One expert of bandwidth 0.5 and margin noise 0.1 alone, each row predicted and then learned: the
log-loss of a row and microseconds of processor, on 3,000 rows of Spambase, two drawn problems of
4,000, and the digits, odd or even.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits

from virtualvector import AutoVVMClassifier, Expert
from virtualvector.datasets import load_spambase
from virtualvector.types import Array, Labels

# Frequencies, how many times as many, and the rank.
SIZES = ((240, 1, None), (500, 1, None), (240, 2, 20), (240, 4, 20), (240, 2, 50))


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


def main() -> None:
    """Print log-losses and times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, help="take no more of each problem")
    n_rows = parser.parse_args().rows
    sizes = [f"{n * times}, {'all' if rank is None else rank}" for n, times, rank in SIZES]
    print("problem", *sizes, sep="\t")
    for name, *table in problems():
        rows, labels = (each[:n_rows] for each in table)
        told = []
        for n, times, rank in SIZES:
            expert = Expert(0.5, 0.1, detail=times, rank=rank)
            model = AutoVVMClassifier(experts=[expert], n_frequencies=n, budget=1e9)
            start = time.process_time()
            said = model.predict_then_learn(rows, labels, classes=[0, 1]).probabilities
            taken = 1e6 * (time.process_time() - start) / len(labels)
            assert said is not None
            loss = -np.log(np.maximum(said[np.arange(len(labels)), labels], 1e-6)).mean()
            told.append(f"{loss:.4f} ({taken:.0f} µs)")
        print(name, *told, sep="\t", flush=True)


if __name__ == "__main__":
    main()
