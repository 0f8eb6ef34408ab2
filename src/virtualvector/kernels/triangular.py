"""Covariance matrices as triangular factors.

A covariance V is kept as a lower triangular U with V = UᵀU. Every variance xᵀVx = |Ux|² is then
positive whatever the rounding, V never loses its symmetry, and a direction can become 10¹⁰ times
narrower than another before digits run out.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, jitable, noalias
from virtualvector.types import Array

_AT_ONCE = 16


@compiled
def dot(x: Array, y: Array) -> float:
    """The inner product."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@noalias
def copy(source: Array, target: Array) -> None:
    """Copy a vector (slice assignment would allocate, and compiles slowly)."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@noalias
def add_scaled(target: Array, scale: float, x: Array) -> None:
    """Add ``scale * x`` to the target."""
    for i in range(x.shape[0]):
        target[i] += scale * x[i]


@compiled
def scale(target: Array, by: float) -> None:
    """Multiply a vector by a number."""
    for i in range(target.shape[0]):
        target[i] *= by


@noalias
def multiply(factor: Array, x: Array, out: Array) -> float:
    """Write Ux into ``out`` and return |Ux|² = xᵀVx."""
    total = 0.0
    for j in range(x.shape[0]):
        entry = 0.0
        for i in range(j + 1):
            entry += factor[j, i] * x[i]
        out[j] = entry
        total += entry * entry
    return total


@noalias
def rotate_row(row: Array, image: Array, size: int, keep: float, take: float, add: float) -> None:
    """One row of `add_precision`: row ← keep·row − take·image while image ← image + add·row."""
    for i in range(size):
        entry = row[i]
        row[i] = keep * entry - take * image[i]
        image[i] += add * entry


@compiled
def rotation_of_row(
    alpha: float, before: float, entry: float, precision: float
) -> tuple[float, float, float, float]:
    """One step of `add_precision`, from α_{j−1} and 1/√α_{j−1} to the next: both, what to do."""
    keep = math.sqrt(alpha)
    alpha += precision * entry * entry
    after = 1.0 / math.sqrt(alpha)
    return alpha, after, keep * after, precision * entry * before * after


@compiled
def add_precision(factor: Array, product: Array, precision: float, image: Array) -> None:
    """Add a precision τ along x: V ← (V⁻¹ + τxxᵀ)⁻¹ = V − Vx(Vx)ᵀτ/(1 + τxᵀVx).

    Needs ``product`` = Ux and leaves the *old* Vx in ``image``. Carlson's recursion (1973): with
    α_j = 1 + τ∑_{i≤j}(Ux)_i² row j is scaled by √(α_{j−1}/α_j) and corrected by what the rows above
    have gathered of Vx. A negative τ widens V and is valid while 1 + τxᵀVx > 0.
    """
    alpha, before = 1.0, 1.0
    for j in range(product.shape[0]):
        image[j] = 0.0
        alpha, before, keep, take = rotation_of_row(alpha, before, product[j], precision)
        rotate_row(factor[j], image, j + 1, keep, take, product[j])


# `add_precision` in two steps: what to do to the rows of U; doing it, to U and to what follows it.
KEEP, TAKE, ADD = range(3)


@compiled
def write_rotation(product: Array, precision: float, rotation: Array) -> None:
    """Write what `add_precision` would do to each row, given Ux and τ."""
    alpha, before = 1.0, 1.0
    for j in range(product.shape[0]):
        alpha, before, keep, take = rotation_of_row(alpha, before, product[j], precision)
        rotation[KEEP, j], rotation[TAKE, j], rotation[ADD, j] = keep, take, product[j]


@compiled
def rotate_columns(products: Array, size: int, rotation: Array, column: Array) -> None:
    """Let the first ``size`` columns of ``products``, Uyᵢ each, follow U; write the old yᵢᵀVx."""
    for i in range(size):
        column[i] = 0.0
    for j in range(products.shape[0]):
        keep, take, add = rotation[KEEP, j], rotation[TAKE, j], rotation[ADD, j]
        rotate_row(products[j], column, size, keep, take, add)


@noalias
def rotate_and_multiply_row(
    row: Array, image: Array, x: Array, size: int, keep: float, take: float, add: float
) -> float:
    """`rotate_row`, and return what the new row makes of x."""
    total = 0.0
    for i in range(size):
        entry = row[i]
        rotated = keep * entry - take * image[i]
        row[i] = rotated
        image[i] += add * entry
        total += rotated * x[i]
    return total


@noalias
def rotate_and_multiply(
    factor: Array, rotation: Array, image: Array, x: Array, out: Array
) -> float:
    """Rotate U, write the new Ux into ``out`` and return xᵀVx, in one pass.

    Leaves the image of what the rotation is about under the old V.
    """
    total = 0.0
    for j in range(x.shape[0]):
        image[j] = 0.0
        keep, take, add = rotation[KEEP, j], rotation[TAKE, j], rotation[ADD, j]
        entry = rotate_and_multiply_row(factor[j], image, x, j + 1, keep, take, add)
        out[j] = entry
        total += entry * entry
    return total


@noalias
def multiply_rows(products: Array, size: int, x: Array, out: Array) -> None:
    """Write xᵀP into ``out`` for the first ``size`` columns of P."""
    for i in range(size):
        out[i] = 0.0
    whole = x.shape[0] // 4 * 4
    for j in range(0, whole, 4):  # four at once: reading and writing ``out`` is what takes time
        a, b, c, d = x[j], x[j + 1], x[j + 2], x[j + 3]
        for i in range(size):
            out[i] += (a * products[j, i] + b * products[j + 1, i]) + (
                c * products[j + 2, i] + d * products[j + 3, i]
            )
    for j in range(whole, x.shape[0]):
        for i in range(size):
            out[i] += x[j] * products[j, i]


@noalias
def givens(row: Array, other: Array, last: int, cosine: float, sine: float) -> None:
    """A Givens rotation: row ← cosine·row + sine·other, other ← cosine·other − sine·row."""
    for i in range(last + 1):
        entry = row[i]
        row[i] = cosine * entry + sine * other[i]
        other[i] = cosine * other[i] - sine * entry


@compiled
def add_variance(factor: Array, x: Array, last: int) -> None:
    """Add a variance along x: V ← V + xxᵀ. Entries of x beyond ``last`` are zero; x is used up.

    U with one more row xᵀ is a factor of UᵀU + xxᵀ; rotating that row against those of U, last one
    first, turns it to zero. The diagonal only grows: the result is proper whatever the rounding.
    """
    for j in range(last, -1, -1):
        radius = math.hypot(factor[j, j], x[j])
        givens(factor[j], x, j, factor[j, j] / radius, x[j] / radius)


@jitable
def whole_vectors(size: int) -> int:
    """Round up to so many numbers as a loop deals with at once: what is left over is slow."""
    return -(-size // _AT_ONCE) * _AT_ONCE
