"""Eight rows at once: against dense algebra, and with the bits that each row has alone."""

import math

import numpy as np
import pytest

from tests.kernels.test_triangular import random_factor
from virtualvector.jit.compiled import compiled
from virtualvector.jit.lanes import write_lanes
from virtualvector.kernels.tiles import (
    dots_of_tile,
    dots_of_tiles,
    multiply_rows_of_tile,
    multiply_tile,
    write_tile,
)
from virtualvector.kernels.triangular import dot, largest_entry, multiply, multiply_rows

SIZES = [1, 2, 3, 4, 7, 8, 9, 12, 15, 16, 21, 33, 64, 100]


@compiled
def write_dots(row, tile, other, out):
    """Write both kinds of inner products of a tile, one after the other."""
    write_lanes(dots_of_tile(row, tile, row.shape[0]), out, 0)
    write_lanes(dots_of_tiles(tile, other, row.shape[0]), out, 8)


def tiled(rows):
    tile = np.empty(8 * rows.shape[1])
    write_tile(np.ascontiguousarray(rows), tile)
    return tile


@pytest.mark.parametrize("d", SIZES)
def test_a_tile_has_entries_of_eight_rows_side_by_side(d):
    rows = np.random.default_rng(d).normal(size=(8, d))
    np.testing.assert_array_equal(tiled(rows).reshape(d, 8), rows.T)


@pytest.mark.parametrize("d", SIZES)
def test_products_with_a_factor_are_dense_ones_with_the_bits_of_each_row_alone(d):
    rng = np.random.default_rng(d)
    factor, rows = random_factor(rng, d), rng.normal(size=(8, d))
    together, alone = np.empty(8 * d), np.empty(d)
    multiply_tile(factor, tiled(rows), together)
    found = together.reshape(d, 8).T
    np.testing.assert_allclose(found, rows @ factor.T, rtol=1e-12, atol=1e-13)
    for row, expected in zip(rows, found, strict=True):
        multiply(factor, row, alone)
        np.testing.assert_array_equal(alone, expected)


@pytest.mark.parametrize("d", SIZES)
def test_inner_products_are_exact_ones_with_the_bits_of_each_row_alone(d):
    rng = np.random.default_rng(d)
    vector, (rows, others) = rng.normal(size=d), rng.normal(size=(2, 8, d))
    found = np.empty(16)
    write_dots(vector, tiled(rows), tiled(others), found)
    for t, (row, other) in enumerate(zip(rows, others, strict=True)):
        for together, x in ((found[t], vector), (found[8 + t], other)):
            size = np.abs(row * x).sum()
            assert together == pytest.approx(math.fsum(row * x), rel=0, abs=1e-15 * size)
            assert together == dot(row, x)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 31])
@pytest.mark.parametrize("width", [16, 32])
def test_products_with_columns_are_dense_ones_with_the_bits_of_each_row_alone(n, width):
    rng = np.random.default_rng(n)
    matrix, rows = rng.normal(size=(n, width)), rng.normal(size=(8, n))
    together, alone = np.empty(8 * width), np.empty(width)
    multiply_rows_of_tile(matrix, width, n, tiled(rows), together)
    found = together.reshape(width, 8).T
    np.testing.assert_allclose(found, rows @ matrix, rtol=1e-12, atol=1e-13)
    for row, expected in zip(rows, found, strict=True):
        multiply_rows(matrix, width, row, alone)
        np.testing.assert_array_equal(alone, expected)


@pytest.mark.parametrize("d", SIZES)
def test_the_largest_entry_is_found_wherever_it_is(d):
    rng = np.random.default_rng(d)
    for place in range(d):
        x = rng.uniform(-1.0, 1.0, d)
        x[place] = -2.0
        assert largest_entry(x, 1.0) == 2.0
    assert largest_entry(rng.uniform(-1.0, 1.0, d), 3.0) == 3.0


def test_sums_are_taken_in_the_order_that_is_written_down():
    rng = np.random.default_rng(0)
    x = rng.normal(size=19) * 10.0 ** rng.integers(-8, 9, size=19)
    ones = np.ones(19)  # products are exact: only sums are rounded
    lanes = x[:8] + x[8:16]
    expected = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + (
        (lanes[4] + lanes[5]) + (lanes[6] + lanes[7])
    )
    assert dot(x, ones) == ((expected + x[16]) + x[17]) + x[18]
