"""What two threads bring a committee, and what they could bring at most.

    python benchmarks/threads.py [--rounds N] [--only PROBLEM]

For rows of 57 and 200 columns, in calls of 512: the processor's microseconds per row; how many
times faster it would be if waking took nothing, by the processor time of each task, done one after
the other and shared in thought; how often others are woken for a block; how many times faster if
each time takes what waking took here at best; how many times faster two
threads are by the clock, every piece of the work, a block of rows or what is between two, at its
best of some, each thread on a core of its own: who else is at work delays most pieces, but hardly
all times the same; and how many times faster two processes are that learn the same rows at once,
alone, than one after the other, by their processor time: what the machine gives.
"""

from __future__ import annotations

import argparse
import os
import threading
from copy import copy
from functools import partial
from hashlib import sha256
from multiprocessing import get_context
from time import perf_counter, process_time, thread_time

import numpy as np
from threadpoolctl import threadpool_limits

from speed.problem import NOISY
from virtualvector import AutoVVMClassifier
from virtualvector.auto.committee import BLOCK
from virtualvector.auto.working import WorkingCommittee
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


PROBLEMS = (  # columns, rows that are known before, and rows
    ("noisy, 57", noisy, 57, 2048, 1536),
    ("noisy, 200", noisy, 200, 2048, 1536),
    ("linear, 57", linear, 57, 6144, 4096),
)


def known(X, y, first: int) -> AutoVVMClassifier:
    """Return a committee that knows the first rows, but for the last call of these."""
    n = first - CALL
    return AutoVVMClassifier().partial_fit(X[:n], y[:n], classes=[-1.0, 1.0])


def learned(before: AutoVVMClassifier, X, y, first: int, n_jobs: int):
    """Let a copy of a committee learn the last of the first rows; return what learns the others."""
    model = copy(before).set_params(n_jobs=n_jobs)
    model.partial_fit(X[first - CALL : first], y[first - CALL : first])

    def learn() -> None:
        for start in range(first, len(y), CALL):
            model.predict_then_learn(X[start : start + CALL], y[start : start + CALL])

    return learn


def bound(X, y, first: int) -> tuple[float, float, float]:
    """Return what tasks leave for two threads to save, microseconds, and stages of a block."""
    saved, stages, do = 0.0, 0, Team.do

    def in_turn(team, tasks, behind=()):
        nonlocal saved, stages
        taken, costs = [0.0] * team.n_threads, []
        for task in (*tasks, *behind):
            begin = thread_time()
            task()
            costs.append(thread_time() - begin)
            taken[taken.index(min(taken))] += costs[-1]
        saved += sum(costs) - max(taken)
        stages += team.n_threads > 1

    learn = learned(known(X, y, first), X, y, first, n_jobs=2)
    Team.do = in_turn
    try:
        begin = process_time()
        learn()
        seconds = process_time() - begin
    finally:
        Team.do = do
    n_rows = len(y) - first
    return seconds / (seconds - saved), 1e6 * seconds / n_rows, stages * BLOCK / n_rows


def waking(tries: int = 1000) -> float:
    """Return the seconds that it takes at best to wake a thread and to hear of it."""
    task, alone, both = partial(sha256, bytes(500_000)), [], []
    with Team(2) as team:
        for _ in range(tries):
            times = [perf_counter()]
            task()
            times.append(perf_counter())
            team.do([task, task])
            times.append(perf_counter())
            alone.append(times[1] - times[0])
            both.append(times[2] - times[1])
    return min(both) - min(alone)


def by_the_clock(X, y, first: int, rounds: int) -> float:
    """Return how many times faster two threads are, each piece of the work at its best."""
    best: dict[int, np.ndarray] = {}
    learn_block, stamps, before = WorkingCommittee.learn, [], known(X, y, first)

    def learn_and_note(*arguments):
        stamps.append(perf_counter())
        said = learn_block(*arguments)
        stamps.append(perf_counter())
        return said

    WorkingCommittee.learn = learn_and_note
    try:
        for n_jobs in (1, 2) * rounds:
            learn = learned(before, X, y, first, n_jobs)
            stamps[:] = [perf_counter()]
            learn()
            taken = np.diff([*stamps, perf_counter()])
            best[n_jobs] = np.minimum(best.get(n_jobs, np.inf), taken)
    finally:
        WorkingCommittee.learn = learn_block
    return float(best[1].sum() / best[2].sum())


def learn_alone(core: int, draw, n_columns: int, first: int, n: int, barrier, out) -> None:
    """Learn rows on a core, several times, and say how long that took at best."""
    _stay_on(core)
    with threadpool_limits(1):
        rows = draw(first + n, n_columns)
        before = known(*rows, first)
        jobs = [learned(before, *rows, first, n_jobs=1) for _ in range(REPEATED)]
        barrier.wait()
        taken = []
        for learn in jobs:
            begin = process_time()
            learn()
            taken.append(process_time() - begin)
    out.put(float(np.median(taken)))


def of_processes(*problem) -> float:
    """Return how many times faster two processes are that have nothing in common."""
    spawn, seconds = get_context("spawn"), {}
    for cores in ((0,), (0, 1)):
        barrier, out = spawn.Barrier(len(cores)), spawn.Queue()
        each = [
            spawn.Process(target=learn_alone, args=(core, *problem, barrier, out)) for core in cores
        ]
        for process in each:
            process.start()
        seconds[len(cores)] = max(out.get() for _ in each)
        for process in each:
            process.join()
    return 2.0 * seconds[1] / seconds[2]


def _stay_on(core: int) -> None:
    """Keep this thread on a core; nothing where there are none to choose from."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(os.getpid()))
        os.sched_setaffinity(0, {cores[core % len(cores)]})


def pinned() -> None:
    """Keep this thread on one core, and all that are begun from now on to another."""
    begin = threading.Thread.run

    def run(thread):
        os.sched_setaffinity(0, {others[0]})
        begin(thread)

    if hasattr(os, "sched_setaffinity"):
        first, *others = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {first})
        if others:
            threading.Thread.run = run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=REPEATED, help="of those by the clock")
    parser.add_argument("--only", choices=[name for name, *_ in PROBLEMS], help="one problem")
    options = parser.parse_args()
    problems = [each for each in PROBLEMS if options.only in (None, each[0])]
    given = [of_processes(*problem) for _, *problem in problems]
    pinned()
    cost_of_waking = waking()
    print(f"To wake a thread and to hear of it takes {1e6 * cost_of_waking:.0f} µs at best.")
    columns = ("µs", "at most", "woken", "with waking", "by the clock", "processes")
    print(f"{'rows':>12}", *(f"{name:>13}" for name in columns))
    for (name, draw, n_columns, first, n), machine in zip(problems, given, strict=True):
        rows = draw(first + n, n_columns)
        found = sorted(bound(*rows, first) for _ in range(REPEATED))
        most, cost, woken = found[REPEATED // 2]
        clock = by_the_clock(*rows, first, options.rounds)
        left = cost / most + 1e6 * cost_of_waking * woken / BLOCK
        values = (cost, most, woken, cost / left, clock, machine)
        print(f"{name:>12}", *(f"{value:>13.2f}" for value in values), flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
