"""What a committee costs beyond its experts: mixing, calibration, scaling, decisions.

    python benchmarks/overhead.py

Prints, for the first and the last rows of a stream, how many experts are awake, the microseconds
per row of all experts that are (what they see of a row included), and the ratio of the whole to
that.
"""

from __future__ import annotations

from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from virtualvector import AutoVVMClassifier
from virtualvector.auto.outlook import Outlook
from virtualvector.datasets import load_ionosphere, load_spambase
from virtualvector.learners.one_against_rest import OneAgainstRest

PIECE = 128


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
    clock = Clock()
    clock.watch(OneAgainstRest, "predict_then_learn")
    clock.watch(Outlook, "look")
    print(f"{'stream':<12}{'rows':>14}{'awake':>8}{'experts, µs':>14}{'whole / experts':>18}")
    for name, load in {"ionosphere": load_ionosphere, "spambase": load_spambase}.items():
        X, y = load(return_X_y=True, random_state=0)
        AutoVVMClassifier().partial_fit(X[:PIECE], y[:PIECE], classes=[0, 1])  # compiles
        model = AutoVVMClassifier()
        found = []
        for start in range(0, len(y) - PIECE + 1, PIECE):
            rows = slice(start, start + PIECE)
            clock.seconds, begin = 0.0, process_time()
            model.partial_fit(X[rows], y[rows], classes=[0, 1] if start == 0 else None)
            awake = sum(expert["awake"] for expert in model.weights_)
            found.append((awake, clock.seconds, process_time() - begin))
        for part in (slice(0, 2), slice(-8, None)) if len(found) > 8 else (slice(None),):
            awake, experts, whole = np.median(found[part], axis=0)
            first = range(len(found))[part][0] * PIECE
            last = (range(len(found))[part][-1] + 1) * PIECE
            print(
                f"{name:<12}{f'{first} to {last}':>14}{awake:>8.0f}"
                f"{1e6 * experts / PIECE:>14.0f}{whole / experts:>18.2f}"
            )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
