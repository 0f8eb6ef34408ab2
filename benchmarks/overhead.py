"""What a committee costs beyond its experts: mixing, calibration, scaling, decisions.

    python benchmarks/overhead.py [--rows N]

Prints, for the first and the last rows of Spambase, in calls of some rows, how many experts are
awake, the microseconds per row of all experts that are (what they see of a row included), and the
ratio of the whole to that; copies of experts, which every call makes, are not theirs.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from virtualvector import AutoVVMClassifier
from virtualvector.auto import workplace
from virtualvector.datasets import load_spambase
from virtualvector.posterior import Engine

PIECES = (128, 512)


class Clock:
    """Add up the time that is spent in some functions."""

    def __init__(self):
        self.seconds = 0.0

    def watch(self, owner, name):
        """Put a function that is timed in the place of one."""
        function = getattr(owner, name)

        def timed(*arguments):
            start = process_time()
            result = function(*arguments)
            self.seconds += process_time() - start
            return result

        setattr(owner, name, timed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, help="take no more of Spambase")
    n_rows = parser.parse_args().rows
    clock = Clock()
    clock.watch(Engine, "learn")
    clock.watch(workplace, "look_at_rows")
    X, y = (each[:n_rows] for each in load_spambase(return_X_y=True, random_state=0))
    AutoVVMClassifier().partial_fit(X[:128], y[:128], classes=[0, 1])  # compiles
    print(f"{'rows':>14}{'a call':>8}{'awake':>8}{'experts, µs':>14}{'whole / experts':>18}")
    for piece in PIECES:
        model = AutoVVMClassifier()
        found = []
        for start in range(0, len(y) - piece + 1, piece):
            rows = slice(start, start + piece)
            clock.seconds, begin = 0.0, process_time()
            model.partial_fit(X[rows], y[rows], classes=[0, 1] if start == 0 else None)
            seconds = process_time() - begin
            # To read `n_awake_` would make the copy that the next call has to make.
            awake = model._route._working.committee.awake.sum()
            found.append((awake, clock.seconds, seconds))
        for calls in (range(256 // piece or 1), range(len(found))[-1024 // piece :]):
            awake, experts, whole = np.median([found[call] for call in calls], axis=0)
            print(
                f"{f'{calls[0] * piece} to {(calls[-1] + 1) * piece}':>14}{piece:>8}{awake:>8.0f}"
                f"{1e6 * experts / piece:>14.0f}{whole / experts:>18.2f}"
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
