"""What two threads bring a committee, and what they could bring at most.

    python benchmarks/threads.py

For rows of 57 and 200 columns, in calls of 512: the processor's microseconds per row; how many
times faster it would be if waking took nothing, by the processor time of each task, done one after
the other and shared in thought; how often others are woken for a block; and how many times faster
two threads are by the clock, best of some, which says something on a quiet machine only.
"""

from __future__ import annotations

from time import perf_counter, process_time, thread_time

import numpy as np
from threadpoolctl import threadpool_limits

from speed.problem import NOISY
from virtualvector import AutoVVMClassifier
from virtualvector.auto.committee import BLOCK
from virtualvector.concurrency import Team

CALL, REPEATED = 512, 3


def linear(n_rows: int, n_columns: int):
    """Return rows of which a plane is right, up to noise: few experts stay awake, one is large."""
    random = np.random.default_rng(0)
    X = random.standard_normal((12_000, n_columns))
    margins = X @ random.standard_normal(n_columns) + 3.0 * random.standard_normal(len(X))
    return X[:n_rows], np.where(margins > 0.0, 1.0, -1.0)[:n_rows]


def noisy(n_rows: int, n_columns: int):
    """Return the rows of ``make bench``."""
    rows = NOISY.draw(n_rows, n_columns)
    return rows.X, rows.signs


def learned(X, y, first: int, n_jobs: int):
    """Let a committee know the first rows; return what learns the others."""
    model = AutoVVMClassifier(n_jobs=n_jobs)
    model.partial_fit(X[:first], y[:first], classes=[-1.0, 1.0])

    def learn() -> None:
        for start in range(first, len(y), CALL):
            model.predict_then_learn(X[start : start + CALL], y[start : start + CALL])

    return learn


def bound(X, y, first: int) -> tuple[float, float, float]:
    """Return what tasks leave for two threads to save, microseconds, and stages of a block."""
    saved, stages, do = 0.0, 0, Team.do

    def in_turn(team, tasks):
        nonlocal saved, stages
        taken, costs = [0.0] * team.n_threads, []
        for task in tasks:
            begin = thread_time()
            task()
            costs.append(thread_time() - begin)
            taken[taken.index(min(taken))] += costs[-1]
        saved += sum(costs) - max(taken)
        stages += team.n_threads > 1

    learn = learned(X, y, first, n_jobs=2)
    Team.do = in_turn
    try:
        begin = process_time()
        learn()
        seconds = process_time() - begin
    finally:
        Team.do = do
    n_rows = len(y) - first
    return seconds / (seconds - saved), 1e6 * seconds / n_rows, stages * BLOCK / n_rows


def by_the_clock(X, y, first: int) -> float:
    """Return how many times faster two threads are."""
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(REPEATED):
        for n_jobs in best:
            learn = learned(X, y, first, n_jobs)
            begin = perf_counter()
            learn()
            best[n_jobs] = min(best[n_jobs], perf_counter() - begin)
    return best[1] / best[2]


def main() -> None:
    print(f"{'rows':>18}{'µs':>8}{'at most':>9}{'woken':>7}{'by the clock':>14}")
    for name, draw, n_columns, first, n in (
        ("noisy, 57", noisy, 57, 2048, 1536),
        ("noisy, 200", noisy, 200, 2048, 1536),
        ("linear, 57", linear, 57, 6144, 4096),
    ):
        rows = draw(first + n, n_columns)
        found = sorted(bound(*rows, first) for _ in range(REPEATED))
        most, cost, woken = found[REPEATED // 2]
        clock = by_the_clock(*rows, first)
        print(f"{name:>18}{cost:>8.0f}{most:>9.2f}{woken:>7.2f}{clock:>14.2f}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
