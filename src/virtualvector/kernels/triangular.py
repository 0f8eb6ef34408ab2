"""Covariance matrices as triangular factors.

A covariance V is kept as a lower triangular U with V = UᵀU. Every variance xᵀVx = |Ux|² is then
positive whatever the rounding, V never loses its symmetry, and a direction can become 10¹⁰ times
narrower than another before digits run out.

Rows of U are gone through four at a time, which saves most of the reading and writing of what they
are multiplied with. Above its diagonal U has zeros, so that the four may be taken for equally long.
A product Ux is added up by the same function wherever it is needed, in one order: no bit of it
depends on what else is done on the way, or on how many rows of a table are multiplied at once.
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
def dot_of_row(row: Array, x: Array, size: int) -> float:
    """The inner product of the first ``size`` entries."""
    total = 0.0
    for i in range(size):
        total += row[i] * x[i]
    return total


@noalias
def dots_of_four(
    a: Array, b: Array, c: Array, d: Array, x: Array, size: int, out: Array, j: int
) -> None:
    """Write the inner products of four rows with x to ``out``, from place j on."""
    of_a, of_b, of_c, of_d = 0.0, 0.0, 0.0, 0.0
    for i in range(size):
        entry = x[i]
        of_a += a[i] * entry
        of_b += b[i] * entry
        of_c += c[i] * entry
        of_d += d[i] * entry
    out[j], out[j + 1], out[j + 2], out[j + 3] = of_a, of_b, of_c, of_d


@compiled
def multiply_four(factor: Array, j: int, x: Array, out: Array) -> None:
    """Write entries j to j + 3 of Ux."""
    dots_of_four(factor[j], factor[j + 1], factor[j + 2], factor[j + 3], x, j + 4, out, j)


@noalias
def multiply(factor: Array, x: Array, out: Array) -> float:
    """Write Ux into ``out`` and return |Ux|² = xᵀVx."""
    whole = x.shape[0] // 4 * 4
    for j in range(0, whole, 4):
        multiply_four(factor, j, x, out)
    for j in range(whole, x.shape[0]):
        out[j] = dot_of_row(factor[j], x, j + 1)
    return dot(out, out)


@noalias
def multiply_each(factor: Array, vectors: Array, out: Array) -> None:
    """Write Ux into a row of ``out`` for each row x of ``vectors``, as `multiply` does.

    Every four rows of U are read once for all of them.
    """
    d = vectors.shape[1]
    whole = d // 4 * 4
    for j in range(0, whole, 4):
        for t in range(vectors.shape[0]):
            multiply_four(factor, j, vectors[t], out[t])
    for j in range(whole, d):
        for t in range(vectors.shape[0]):
            out[t, j] = dot_of_row(factor[j], vectors[t], j + 1)


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
def rotate_four(
    a: Array, b: Array, c: Array, d: Array, image: Array, rotation: Array, j: int
) -> None:
    """`rotate_row` for rows j to j + 3, one after the other, in one pass over the image."""
    keep_a, take_a, add_a = rotation[KEEP, j], rotation[TAKE, j], rotation[ADD, j]
    keep_b, take_b, add_b = rotation[KEEP, j + 1], rotation[TAKE, j + 1], rotation[ADD, j + 1]
    keep_c, take_c, add_c = rotation[KEEP, j + 2], rotation[TAKE, j + 2], rotation[ADD, j + 2]
    keep_d, take_d, add_d = rotation[KEEP, j + 3], rotation[TAKE, j + 3], rotation[ADD, j + 3]
    for i in range(j + 4):
        gathered = image[i]
        entry = a[i]
        a[i] = keep_a * entry - take_a * gathered
        gathered += add_a * entry
        entry = b[i]
        b[i] = keep_b * entry - take_b * gathered
        gathered += add_b * entry
        entry = c[i]
        c[i] = keep_c * entry - take_c * gathered
        gathered += add_c * entry
        entry = d[i]
        d[i] = keep_d * entry - take_d * gathered
        image[i] = gathered + add_d * entry


@noalias
def rotate_and_multiply(
    factor: Array, rotation: Array, image: Array, x: Array, out: Array
) -> float:
    """Rotate U, write the new Ux into ``out`` and return xᵀVx, in one pass.

    Leaves the image of what the rotation is about under the old V.
    """
    d = x.shape[0]
    whole = d // 4 * 4
    for j in range(d):
        image[j] = 0.0
    for j in range(0, whole, 4):
        rotate_four(
            factor[j], factor[j + 1], factor[j + 2], factor[j + 3], image, rotation, j
        )  # fmt: skip
        multiply_four(factor, j, x, out)
    for j in range(whole, d):
        keep, take, add = rotation[KEEP, j], rotation[TAKE, j], rotation[ADD, j]
        rotate_row(factor[j], image, j + 1, keep, take, add)
        out[j] = dot_of_row(factor[j], x, j + 1)
    return dot(out, out)


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
