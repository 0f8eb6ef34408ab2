"""Predictions of low rank beside the dense precision matrix that a state stands for.

    python benchmarks/low_rank.py [--rows 100000]

After every thousand rows, margins of twenty others at two noises, from which their means and
variances follow, are compared with those of the matrix, inverted. Prints the worst difference.
"""

from __future__ import annotations

import argparse

import numpy as np

from virtualvector.posterior import (
    Settings,
    empty_low_rank_state,
    learn,
    mean_of,
    precision_of,
    predicted_margins,
)

AT_ONCE, ASKED = 1000, 20
SHARES = {24: 0.3, 1200: 0.004}  # of non-zeros, by columns; of so many, cuts write few weights each
NOISES = (1.0, 3.0)


def main() -> None:
    """Print a line for each rank, with and without points."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    for rank in (0, 1, 3, 7):
        for buffer_size in (0, 4):
            for columns in SHARES:
                worst = worst_difference(rank, buffer_size, rows, columns)
                print(f"{columns} columns, rank {rank}, {buffer_size} points, ", end="")
                print(f"{rows:,} rows: {worst:.1e}", flush=True)


def worst_difference(rank: int, buffer_size: int, n_rows: int, columns: int) -> float:
    """Return the largest difference of margins along a stream."""
    rng = np.random.default_rng(rank)
    settings = Settings(
        rank=rank,
        buffer_size=buffer_size,
        merge_pairs=buffer_size // 2,
        margin_noise=1.0,
        max_sweeps=30 if buffer_size else 1,
    )
    state, weights = empty_low_rank_state(columns + 1, settings), rng.normal(size=columns)
    worst = 0.0
    for _ in range(n_rows // AT_ONCE):
        there = rng.random((AT_ONCE, columns)) < SHARES[columns]
        rows = rng.normal(size=(AT_ONCE, columns)) * there
        signs = np.where(rows @ weights + rng.normal(size=AT_ONCE) > 0, 1.0, -1.0)
        state, _ = learn(state, rows, signs, settings)
        asked = rng.normal(size=(ASKED, columns))
        biased = np.column_stack([asked, np.ones(ASKED)])
        covariance = np.linalg.inv(precision_of(state).astype(np.float64))
        variances = np.einsum("ij,jk,ik->i", biased, covariance, biased)
        for noise in NOISES:
            expected = biased @ mean_of(state) / np.sqrt(variances + noise)
            found = predicted_margins(state, asked, noise)
            worst = max(worst, float(np.abs(found - expected).max()))
    return worst


if __name__ == "__main__":
    main()
