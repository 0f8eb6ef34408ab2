"""Triangular factors against dense algebra."""

import numpy as np
import pytest

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.symmetric import rank_one
from virtualvector.kernels.triangular import (
    add_precision,
    add_variance,
    apply_sign,
    multiply,
    multiply_rows,
    rotate_and_multiply,
    rotate_columns,
    write_rotation,
)


@compiled
def follow(products, size, product, precision, rotation, column):
    """Let products follow the factor; before that, multiply them by the new one."""
    multiply_rows(products, size, product, column)
    before = column[0]
    write_rotation(product, precision, rotation)
    rotate_columns(products, size, rotation, column)
    return before


def random_factor(rng, d):
    factor = np.tril(rng.normal(size=(d, d)))
    factor[np.diag_indices(d)] = rng.uniform(0.5, 2.0, d)
    return factor


@pytest.mark.parametrize("d", [1, 2, 7, 40])
def test_products_are_those_of_the_dense_matrix(d):
    rng = np.random.default_rng(d)
    factor, x = random_factor(rng, d), rng.normal(size=d)
    product = np.empty(d)
    variance = multiply(factor, x, product)
    covariance = factor.T @ factor
    np.testing.assert_allclose(product, factor @ x, rtol=1e-12, atol=1e-13)
    assert variance == pytest.approx(x @ covariance @ x)


@pytest.mark.parametrize("d", [1, 3, 4, 7, 40, 57])
def test_a_product_has_the_same_bits_alone_and_after_a_rotation(d):
    rng = np.random.default_rng(d)
    factor, x = random_factor(rng, d), rng.normal(size=d)
    alone, rotated, still = np.empty(d), np.empty(d), np.zeros((3, d))
    still[0] = 1.0  # each row of the factor is kept as it is
    variance = multiply(factor, x, alone)
    assert rotate_and_multiply(factor, still, np.empty(d), x, rotated) == variance
    np.testing.assert_array_equal(rotated, alone)


@pytest.mark.parametrize("d", [1, 2, 7, 40])
@pytest.mark.parametrize("strength", [-0.999, -0.5, 0.0, 1.0, 1e6])
def test_conditioning_adds_a_precision_along_one_direction(d, strength):
    rng = np.random.default_rng(d)
    factor, x = random_factor(rng, d), rng.normal(size=d)
    covariance = factor.T @ factor
    variance = x @ covariance @ x
    precision = strength / variance  # 1 + τxᵀVx = 1 + strength
    product, image = np.empty(d), np.empty(d)
    multiply(factor, x, product)
    add_precision(factor, product, precision, image)
    old_image = covariance @ x
    expected = covariance - np.outer(old_image, old_image) * precision / (1 + strength)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(factor.T @ factor, expected, rtol=1e-9, atol=1e-11 * scale)
    np.testing.assert_allclose(image, old_image, rtol=1e-12, atol=1e-12)
    assert np.array_equal(factor, np.tril(factor))
    assert np.all(np.diag(factor) > 0)


@pytest.mark.parametrize("d", [1, 2, 7, 40])
@pytest.mark.parametrize("strength", [-0.9, 0.0, 1.0, 1e6])
def test_products_of_other_vectors_follow_the_factor(d, strength):
    rng = np.random.default_rng(d)
    factor, x, others = random_factor(rng, d), rng.normal(size=d), rng.normal(size=(d, 3))
    covariance = factor.T @ factor
    products, alone = np.zeros((d, 16)), factor.copy()
    products[:, :3] = factor @ others
    product, image, column = np.empty(d), np.empty(d), np.empty(16)
    precision = strength / multiply(factor, x, product)
    rotation = np.empty((3, d))
    first = follow(products, 16, product, precision, rotation, column)
    expected = others.T @ covariance @ x
    assert first == pytest.approx(expected[0])
    np.testing.assert_allclose(column, [*expected, *[0.0] * 13], rtol=1e-10, atol=1e-10)
    # Rotated and multiplied in one pass, the factor is what it would be otherwise.
    found, old_image = np.empty(d), np.empty(d)
    variance = rotate_and_multiply(factor, rotation, old_image, others[:, 0].copy(), found)
    add_precision(alone, product, precision, image)
    for one, two in ((factor, alone), (old_image, image), (found, alone @ others[:, 0])):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-13 * np.abs(two).max())
    assert variance == pytest.approx(found @ found)
    scale = np.abs(products).max()
    np.testing.assert_allclose(products[:, :3], factor @ others, rtol=1e-9, atol=1e-11 * scale)


@pytest.mark.parametrize("d", [1, 2, 7, 40])
@pytest.mark.parametrize("scale", [0.0, 1e-8, 1.0, 1e8])
def test_widening_adds_a_variance_along_one_direction(d, scale):
    rng = np.random.default_rng(d)
    for last in {0, d // 2, d - 1}:
        factor, x = random_factor(rng, d), scale * rng.normal(size=d)
        x[last + 1 :] = 0.0
        expected = factor.T @ factor + np.outer(x, x)
        add_variance(factor, x, last)
        largest = np.abs(expected).max()
        np.testing.assert_allclose(factor.T @ factor, expected, rtol=0, atol=1e-14 * d * largest)
        assert np.array_equal(factor, np.tril(factor))
        assert np.all(np.diag(factor) > 0)


@pytest.mark.parametrize("scale", [1e-170, 1e-300, 1e170, 1e300])
def test_widening_needs_no_squares_that_are_numbers(scale):
    factor, x = random_factor(np.random.default_rng(0), 5), np.arange(1.0, 6.0)
    scaled, other = scale * factor, scale * x
    add_variance(factor, x, 4)
    add_variance(scaled, other, 4)
    np.testing.assert_allclose(scaled / scale, factor, rtol=1e-13, atol=1e-13)


def test_a_variance_stays_positive_where_the_dense_update_fails():
    d = 5
    x = np.random.default_rng(0).normal(size=d)
    factor, dense = np.eye(d), np.eye(d)
    product, image = np.empty(d), np.empty(d)
    smallest = np.inf
    for _ in range(10):  # an almost exact measurement, again and again
        variance = multiply(factor, x, product)
        add_precision(factor, product, 1e20, image)
        smallest = min(smallest, x @ dense @ x)
        dense -= np.outer(dense @ x, dense @ x) * 1e20 / (1 + 1e20 * (x @ dense @ x))
    assert smallest < 0
    assert variance > 0
    assert np.all(np.diag(factor) > 0)


def test_rank_one_touches_the_leading_block_only():
    matrix, column = np.zeros((4, 4)), np.arange(1.0, 5.0)
    rank_one(matrix, 3, 3, column, 2.0)
    expected = np.zeros((4, 4))
    expected[:3, :3] = 2 * np.outer(column[:3], column[:3])
    np.testing.assert_array_equal(matrix, expected)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_product_times_a_sign_is_that_of_the_row_times_the_sign_to_the_last_bit(sign):
    """Where a weight has no part in a row, both are zero, which may have a sign, too."""
    factor, row, product, other = (
        np.tril(np.ones((3, 3))),
        np.array([0.0, 0.0, 2.0]),
        *np.zeros((2, 3)),
    )
    multiply(factor, row, product)
    apply_sign(product, sign)
    multiply(factor, sign * row, other)
    assert product.tobytes() == other.tobytes()
