"""Precisions in units of a Gaussian, against dense algebra."""

import numpy as np
import pytest

from virtualvector.kernels.precision import (
    add_news,
    cholesky,
    diagonalise,
    divide_by_factor,
    leave_out_widening,
    solve,
    solve_rows,
    solve_transposed,
)


def random_factor(rng, d):
    factor = np.tril(rng.normal(size=(d, d)))
    factor[np.diag_indices(d)] = rng.uniform(0.5, 2.0, d)
    return factor


@pytest.mark.parametrize("d", [1, 2, 7, 20])
def test_triangular_systems_are_solved(d):
    rng = np.random.default_rng(d)
    factor, other, x = random_factor(rng, d), random_factor(rng, d), rng.normal(size=d)
    quotient, rows = other.copy(), other.copy()
    divide_by_factor(factor, quotient)
    np.testing.assert_allclose(quotient @ factor, other, rtol=1e-9, atol=1e-9)
    solve_rows(factor, rows)
    np.testing.assert_allclose(factor @ rows, other, rtol=1e-9, atol=1e-9)
    forward, backward = x.copy(), x.copy()
    solve(factor, forward)
    solve_transposed(factor, backward)
    np.testing.assert_allclose(factor @ forward, x, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(factor.T @ backward, x, rtol=1e-9, atol=1e-9)


def test_news_is_the_precision_beyond_the_identity():
    rng = np.random.default_rng(0)
    relative, precision = random_factor(rng, 6), np.zeros((6, 6))
    add_news(relative, precision)
    expected = np.tril(relative @ relative.T - np.eye(6))
    np.testing.assert_allclose(precision, expected, rtol=1e-12, atol=1e-12)


def test_what_is_not_wider_than_the_floor_has_a_root_and_nothing_else_has():
    rng = np.random.default_rng(1)
    matrix, out = random_factor(rng, 5), np.zeros((5, 5))
    matrix = matrix @ matrix.T
    smallest = np.linalg.eigvalsh(matrix).min()
    assert not cholesky(matrix, 1.001 * smallest, out)
    assert cholesky(matrix, 0.999 * smallest, out)
    expected = matrix - 0.999 * smallest * np.eye(5)
    np.testing.assert_allclose(np.tril(out) @ np.tril(out).T, expected, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 9, 30])
def test_rotations_find_all_eigenvalues_and_their_vectors(d):
    matrix = np.random.default_rng(d).normal(size=(d, d))
    matrix = matrix + matrix.T
    diagonal, vectors = matrix.copy(), np.eye(d)
    diagonalise(diagonal, vectors)
    found = np.sort(np.diag(diagonal))
    np.testing.assert_allclose(found, np.linalg.eigvalsh(matrix), atol=1e-11)
    np.testing.assert_allclose(vectors @ matrix @ vectors.T, diagonal, atol=1e-11)


def test_only_directions_that_are_too_wide_are_put_back():
    rng = np.random.default_rng(3)
    basis, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    values, linear = np.array([-2.0, 1e-3, 0.5, 7.0]), rng.normal(size=4)
    precision, found = np.tril((basis * values) @ basis.T), linear.copy()
    leave_out_widening(precision, found, 0.01, np.eye(4))
    expected = (basis * [1.0, 1.0, 0.5, 7.0]) @ basis.T
    np.testing.assert_allclose(precision, np.tril(expected), atol=1e-12)
    np.testing.assert_allclose(basis.T @ found, [0, 0, *(basis.T @ linear)[2:]], atol=1e-12)
