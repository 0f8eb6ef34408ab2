"""Covariance matrices as triangular factors.

A covariance V is kept as a lower triangular U with V = UᵀU. Every variance xᵀVx = |Ux|² is then
positive whatever the rounding, V never loses its symmetry, and a direction can become 10¹⁰ times
narrower than another before digits run out.

Rows of U are gone through four at a time, which saves most of the reading and writing of what they
are multiplied with. Above its diagonal U has zeros, so that the four may be taken for equally long.
Sums are taken in an order that is written down (`jit/lanes.py`): no bit of a product Ux depends on
what else is done on the way, or on how many rows of a table are multiplied at once (`tiles.py`).
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, jitable, noalias, ordered
from virtualvector.jit.lanes import (
    LANES,
    Lanes,
    entry_in_all,
    lanes,
    larger,
    largest,
    multiply_add,
    multiply_add_one,
    no_lanes,
    plus,
    repeated,
    times,
    total,
    write_lanes,
    write_totals,
)
from virtualvector.types import Array

_AT_ONCE = 2 * LANES
_SMALLEST, _LARGEST = 1e-150, 1e150  # whose squares are numbers of all digits


@compiled
def dot(x: Array, y: Array) -> float:
    """The inner product."""
    return dot_of_row(x, y, x.shape[0])


@compiled
def largest_entry(x: Array, least: float) -> float:
    """The largest |x_i|, or ``least`` if that is larger."""
    whole, result = x.shape[0] // LANES * LANES, least
    if whole > 0:
        most = no_lanes()
        for i in range(0, whole, LANES):
            most = larger(lanes(x, i), most)
        result = max(largest(most), least)
    for i in range(whole, x.shape[0]):
        result = max(result, abs(x[i]))
    return result


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


@compiled
def apply_sign(target: Array, sign: float) -> None:
    """Multiply a vector by ±1; a zero stays without a sign, as sums of products that vanish are."""
    for i in range(target.shape[0]):
        target[i] = sign * target[i] + 0.0


@ordered
def dot_of_row(row: Array, x: Array, size: int) -> float:
    """The inner product of the first ``size`` entries."""
    whole, result = size // LANES * LANES, 0.0
    if whole > 0:
        sums = no_lanes()
        for i in range(0, whole, LANES):
            sums = multiply_add(lanes(row, i), lanes(x, i), sums)
        result = total(sums)
    for i in range(whole, size):
        result = multiply_add_one(row[i], x[i], result)
    return result


@ordered
def dots_of_four(
    a: Array, b: Array, c: Array, d: Array, x: Array, size: int, out: Array, j: int
) -> None:
    """Write the inner products of four rows with x to ``out``, from place j on."""
    of_a, of_b, of_c, of_d = no_lanes(), no_lanes(), no_lanes(), no_lanes()
    whole = size // LANES * LANES
    for i in range(0, whole, LANES):
        entries = lanes(x, i)
        of_a = multiply_add(lanes(a, i), entries, of_a)
        of_b = multiply_add(lanes(b, i), entries, of_b)
        of_c = multiply_add(lanes(c, i), entries, of_c)
        of_d = multiply_add(lanes(d, i), entries, of_d)
    if whole > 0:
        write_totals(of_a, of_b, of_c, of_d, out, j)
    else:
        out[j], out[j + 1], out[j + 2], out[j + 3] = 0.0, 0.0, 0.0, 0.0
    if whole < size:
        p, q, r, s = out[j], out[j + 1], out[j + 2], out[j + 3]
        for i in range(whole, size):
            p, q = multiply_add_one(a[i], x[i], p), multiply_add_one(b[i], x[i], q)
            r, s = multiply_add_one(c[i], x[i], r), multiply_add_one(d[i], x[i], s)
        out[j], out[j + 1], out[j + 2], out[j + 3] = p, q, r, s


@jitable
def four_rows(j: int, d: int) -> int:
    """How many entries of rows j to j + 3 of U to take: whole vectors, as far as there are any."""
    return min((j + 4 + LANES - 1) // LANES * LANES, d)


@compiled
def multiply_four(factor: Array, j: int, x: Array, out: Array) -> None:
    """Write entries j to j + 3 of Ux."""
    size = four_rows(j, x.shape[0])
    dots_of_four(factor[j], factor[j + 1], factor[j + 2], factor[j + 3], x, size, out, j)


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


@ordered
def rotate_four(
    a: Array, b: Array, c: Array, d: Array, image: Array, rotation: Array, j: int
) -> None:
    """`rotate_row` for rows j to j + 3, one after the other, in one pass over the image."""
    keep_a, take_a, add_a = rotation[KEEP, j], rotation[TAKE, j], rotation[ADD, j]
    keep_b, take_b, add_b = rotation[KEEP, j + 1], rotation[TAKE, j + 1], rotation[ADD, j + 1]
    keep_c, take_c, add_c = rotation[KEEP, j + 2], rotation[TAKE, j + 2], rotation[ADD, j + 2]
    keep_d, take_d, add_d = rotation[KEEP, j + 3], rotation[TAKE, j + 3], rotation[ADD, j + 3]
    size = four_rows(j, image.shape[0])
    whole = size // LANES * LANES
    # Vectors are written as wide as `dots_of_four` reads them right after: else it waits for them.
    for i in range(0, whole, LANES):
        gathered = rotate_lanes(a, i, lanes(image, i), keep_a, take_a, add_a)
        gathered = rotate_lanes(b, i, gathered, keep_b, take_b, add_b)
        gathered = rotate_lanes(c, i, gathered, keep_c, take_c, add_c)
        write_lanes(rotate_lanes(d, i, gathered, keep_d, take_d, add_d), image, i)
    for i in range(whole, size):
        left = rotate_entry(a, i, image[i], keep_a, take_a, add_a)
        left = rotate_entry(b, i, left, keep_b, take_b, add_b)
        left = rotate_entry(c, i, left, keep_c, take_c, add_c)
        image[i] = rotate_entry(d, i, left, keep_d, take_d, add_d)


@ordered
def rotate_entry(
    row: Array, i: int, gathered: float, keep: float, take: float, add: float
) -> float:
    """`rotate_row` for one entry; return what the image has become."""
    entry = row[i]
    row[i] = multiply_add_one(keep, entry, -take * gathered)
    return multiply_add_one(add, entry, gathered)


@ordered
def rotate_lanes(
    row: Array, i: int, gathered: Lanes, keep: float, take: float, add: float
) -> Lanes:
    """`rotate_row` for eight entries; return what the image has become."""
    entries = lanes(row, i)
    taken = times(repeated(-take), gathered)
    write_lanes(multiply_add(repeated(keep), entries, taken), row, i)
    return multiply_add(repeated(add), entries, gathered)


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


@ordered
def multiply_rows(products: Array, size: int, x: Array, out: Array) -> None:
    """Write xᵀP into ``out`` for the first ``size`` columns of P: as many as `whole_vectors` says.

    Even and odd entries of x are summed apart: one sum alone would wait for itself.
    """
    n = x.shape[0]
    for i in range(0, size, 2 * LANES):
        even, more_even, odd, more_odd = no_lanes(), no_lanes(), no_lanes(), no_lanes()
        for j in range(0, n - 1, 2):
            row, next_row, entry, next_entry = (
                products[j], products[j + 1], entry_in_all(x, j), entry_in_all(x, j + 1)
            )  # fmt: skip
            even = multiply_add(entry, lanes(row, i), even)
            more_even = multiply_add(entry, lanes(row, i + LANES), more_even)
            odd = multiply_add(next_entry, lanes(next_row, i), odd)
            more_odd = multiply_add(next_entry, lanes(next_row, i + LANES), more_odd)
        if n % 2 == 1:
            entry = entry_in_all(x, n - 1)
            even = multiply_add(entry, lanes(products[n - 1], i), even)
            more_even = multiply_add(entry, lanes(products[n - 1], i + LANES), more_even)
        write_lanes(plus(even, odd), out, i)
        write_lanes(plus(more_even, more_odd), out, i + LANES)


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
        radius = math.sqrt(factor[j, j] * factor[j, j] + x[j] * x[j])
        if not _SMALLEST < radius < _LARGEST:  # else hypot would take as long as a rotation
            radius = math.hypot(factor[j, j], x[j])
        givens(factor[j], x, j, factor[j, j] / radius, x[j] / radius)


@jitable
def whole_vectors(size: int) -> int:
    """Round up to so many numbers as a loop deals with at once: what is left over is slow."""
    return -(-size // _AT_ONCE) * _AT_ONCE
