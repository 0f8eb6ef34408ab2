"""The bits of a result do not depend on where its arrays lie in memory."""

import numpy as np
import pytest

from tests.kernels.test_triangular import follow
from virtualvector.kernels.symmetric import rank_one
from virtualvector.kernels.triangular import (
    add_precision,
    add_scaled,
    dot,
    multiply,
    rotate_and_multiply,
)
from virtualvector.posterior.point import write_points


def place(arrays, gap):
    """Copies of the arrays, one after the other in one block, so many doubles apart."""
    block = np.zeros(sum(array.size for array in arrays) + gap * len(arrays))
    placed, at = [], 0
    for array in arrays:
        view = block[at : at + array.size].reshape(array.shape)
        view[...] = array
        placed.append(view)
        at += array.size + gap
    return placed


def store(value, out):
    out[0] = value


def triangular(rng, d):
    return np.tril(rng.normal(size=(d, d)))


CASES = {
    "write_points": (
        lambda a: write_points(a[0], 0.3, a[1], a[2]),
        lambda rng, d: [rng.normal(size=(1, d)), np.zeros((1, d + 1)), np.zeros(1)],
    ),
    "multiply": (
        lambda a: store(multiply(a[0], a[1], a[2]), a[3]),
        lambda rng, d: [triangular(rng, d), rng.normal(size=d), np.zeros(d), np.zeros(1)],
    ),
    "follow": (
        lambda a: follow(a[0], 16, a[1], 0.7, a[2], a[3]),
        lambda rng, d: [
            rng.normal(size=(d, 16)),
            rng.normal(size=d),
            np.zeros((3, d)),
            np.zeros(16),
        ],
    ),
    "rotate_and_multiply": (
        lambda a: store(rotate_and_multiply(a[0], a[1], a[2], a[3], a[4]), a[5]),
        lambda rng, d: [
            triangular(rng, d),
            rng.uniform(size=(3, d)),
            np.zeros(d),
            rng.normal(size=d),
            np.zeros(d),
            np.zeros(1),
        ],
    ),
    "add_precision": (
        lambda a: add_precision(a[0], a[1], 0.7, a[2]),
        lambda rng, d: [triangular(rng, d), rng.normal(size=d), np.zeros(d)],
    ),
    "add_scaled": (
        lambda a: add_scaled(a[0], 0.37, a[1]),
        lambda rng, d: [rng.normal(size=d), rng.normal(size=d)],
    ),
    "rank_one": (
        lambda a: rank_one(a[0], a[1].size, a[1].size, a[1], -0.3),
        lambda rng, d: [rng.normal(size=(d, d)), rng.normal(size=d)],
    ),
    "dot": (
        lambda a: store(dot(a[0], a[1]), a[2]),
        lambda rng, d: [rng.normal(size=d), rng.normal(size=d), np.zeros(1)],
    ),
}


@pytest.mark.parametrize("d", [5, 8, 20])
@pytest.mark.parametrize("kernel", CASES)
def test_neighbours_in_memory_do_not_change_bits(kernel, d):
    run, make = CASES[kernel]
    rng = np.random.default_rng(d)
    for _ in range(20):
        arrays = make(rng, d)
        far = place(arrays, 1000)
        run(far)
        for gap in (0, 1, 2, 3, 5, 8, 15, 30):
            near = place(arrays, gap)
            run(near)
            for a, b in zip(far, near, strict=True):
                assert np.array_equal(a, b), gap
