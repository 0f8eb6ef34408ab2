"""Precision matrices diag(η) + WSWᵀ: a few columns W, S = diag(±1), and vectors of few non-zeros.

By Woodbury's identity V = (D + WSWᵀ)⁻¹ = D⁻¹ − D⁻¹W M⁻¹ WᵀD⁻¹ with M = S + WᵀD⁻¹W, which is as
large as there are columns. M = CSCᵀ is kept as its lower triangular factor C. With y = C⁻¹WᵀD⁻¹x
for each vector, a covariance is xᵀVx′ = xᵀD⁻¹x′ − yᵀSy′, and a new column √|τ|·x adds one row to C,
which is √|τ|·Sy and on the diagonal √(1 + τxᵀVx): nothing is solved for again.

The first columns are those that a cut has left, as the rows of a matrix over all weights; the
others are vectors of few non-zeros, one behind the other.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, noalias
from virtualvector.kernels.directions import write_turned
from virtualvector.kernels.triangular import dot, dot_of_row
from virtualvector.types import Array, IntArray

_SMALLEST_REST = 1e-14  # of the largest column; what is below is rounding
_SWEEPS = 1  # of orthogonal iteration after pivoting: as good as eigenvectors, see docs/engine.md


@noalias
def gathered_dot(places: IntArray, values: Array, dense: Array) -> float:
    """The inner product of a vector of few non-zeros and a dense one."""
    total = 0.0
    for k in range(places.shape[0]):
        total += values[k] * dense[places[k]]
    return total


@noalias
def scatter_scaled(places: IntArray, values: Array, diagonal: Array, dense: Array) -> None:
    """Write D⁻¹x to its places in a dense vector."""
    for k in range(places.shape[0]):
        dense[places[k]] = values[k] / diagonal[places[k]]


@noalias
def write_scaled(places: IntArray, values: Array, diagonal: Array, out: Array) -> None:
    """Write D⁻¹x, its non-zeros one behind the other."""
    for k in range(places.shape[0]):
        out[k] = values[k] / diagonal[places[k]]


@noalias
def clear_places(places: IntArray, dense: Array) -> None:
    """Write zeros there."""
    for k in range(places.shape[0]):
        dense[places[k]] = 0.0


@noalias
def scaled_square(places: IntArray, values: Array, diagonal: Array) -> float:
    """The square xᵀD⁻¹x."""
    total = 0.0
    for k in range(places.shape[0]):
        total += values[k] * values[k] / diagonal[places[k]]
    return total


@noalias
def add_entries(
    places: IntArray, scaled: Array, latest: IntArray, earlier: IntArray, owners: IntArray,
    values: Array, first: int, out: Array,
) -> None:  # fmt: skip
    """Add Nᵀu, from ``first`` on, for columns N whose entries are found by place."""
    for k in range(places.shape[0]):
        entry, at = scaled[k], latest[places[k]]
        while at > 0:
            out[first + owners[at - 1]] += entry * values[at - 1]
            at = earlier[at - 1]


@compiled
def divide_by_lower(factor: Array, n: int, x: Array) -> None:
    """Let x ← C⁻¹x, by the first n rows of a lower triangular C, of which four are read at once."""
    in_fours = n - n % 4
    for i in range(0, in_fours, 4):
        a, b, c, d = four_dots(x, factor, i, i)
        two, three, four = factor[i + 1], factor[i + 2], factor[i + 3]
        first = (x[i] - a) / factor[i, i]
        second = (x[i + 1] - b - two[i] * first) / two[i + 1]
        third = (x[i + 2] - c - three[i] * first - three[i + 1] * second) / three[i + 2]
        rest = x[i + 3] - d - four[i] * first - four[i + 1] * second - four[i + 2] * third
        x[i], x[i + 1], x[i + 2], x[i + 3] = first, second, third, rest / four[i + 3]
    for i in range(in_fours, n):
        x[i] = (x[i] - dot_of_row(factor[i], x, i)) / factor[i, i]


@noalias
def divide_by_upper(factor: Array, n: int, x: Array) -> None:
    """Let x ← C⁻ᵀx."""
    for i in range(n - 1, -1, -1):
        x[i] /= factor[i, i]
        entry, row = x[i], factor[i]
        for j in range(i):
            x[j] -= entry * row[j]


@compiled
def signed_square(signs: Array, y: Array, n: int) -> float:
    """The square yᵀSy."""
    total = 0.0
    for j in range(n):
        total += signs[j] * y[j] * y[j]
    return total


@noalias
def four_dots(row: Array, others: Array, first: int, n: int) -> tuple[float, float, float, float]:
    """The inner products of a vector and four rows from ``first`` on: it is read once for all."""
    one, two, three, four = others[first], others[first + 1], others[first + 2], others[first + 3]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        entry = row[k]
        a += entry * one[k]
        b += entry * two[k]
        c += entry * three[k]
        d += entry * four[k]
    return a, b, c, d


@compiled
def write_gram(factor: Array, signs: Array, n: int, gram: Array, scaled: Array) -> None:
    """Write WᵀD⁻¹W = CSCᵀ − S over the columns of positive sign; zeros for the others.

    Four rows at once, which are in ``scaled``, of shape (4, m).
    """
    for first in range(0, n, 4):
        last = min(first + 4, n)
        for i in range(first, first + 4):
            for k in range(first + 4 if first + 4 <= n else n):
                scaled[i - first, k] = signs[k] * factor[i, k] if i < last and k <= i else 0.0
        for j in range(last):
            dots = four_dots(factor[j], scaled, 0, j + 1)
            for i in range(max(first, j), last):
                is_one = signs[i] > 0.0 and signs[j] > 0.0
                total = dots[i - first] if is_one else 0.0
                gram[i, j] = total
                gram[j, i] = total
    for i in range(n):
        if signs[i] > 0.0:
            gram[i, i] = max(gram[i, i] - 1.0, 0.0)


@compiled
def write_leading(gram: Array, n: int, basis: Array, other: Array, rest: Array) -> None:
    """Write an orthonormal basis, in rows, of about the leading eigenvectors of a Gram matrix.

    Pivoted Cholesky, whose columns are close to them, and a sweep of orthogonal iteration. Where
    there are fewer than rows of the basis, the others are zero.
    """
    size = basis.shape[0]
    largest = 0.0
    for i in range(n):
        rest[i] = gram[i, i]
        largest = max(largest, rest[i])
    for m in range(size):
        pivot = 0
        for i in range(n):
            if rest[i] > rest[pivot]:
                pivot = i
        for i in range(basis.shape[1]):
            basis[m, i] = 0.0
        if rest[pivot] > _SMALLEST_REST * largest:
            _write_cholesky_row(gram, n, basis, m, pivot, rest)
    orthonormalise(basis, n)
    for _ in range(_SWEEPS):
        write_images(gram, n, basis, other)
        for m in range(size):
            for i in range(n):
                basis[m, i] = other[m, i]
        orthonormalise(basis, n)


@compiled
def write_images(gram: Array, n: int, basis: Array, out: Array) -> None:
    """Write Gq in rows, for the rows q of a basis."""
    size = basis.shape[0]
    in_fours = size - size % 4
    for i in range(n):
        for m in range(0, in_fours, 4):
            dots = four_dots(gram[i], basis, m, n)
            out[m, i], out[m + 1, i], out[m + 2, i], out[m + 3, i] = dots
        for m in range(in_fours, size):
            out[m, i] = dot_of_row(gram[i], basis[m], n)


@compiled
def _write_cholesky_row(gram: Array, n: int, basis: Array, m: int, pivot: int, rest: Array) -> None:
    """Write the next column of a pivoted Cholesky factor as row m; take it from the diagonal."""
    row = basis[m]
    for i in range(n):
        row[i] = gram[pivot, i]
    for q in range(m):
        subtract_scaled(row, basis[q, pivot], basis[q], n)
    root = 1.0 / math.sqrt(rest[pivot])
    for i in range(n):
        row[i] *= root
        rest[i] = max(rest[i] - row[i] * row[i], 0.0)
    rest[pivot] = 0.0


@noalias
def subtract_scaled(target: Array, scale: float, x: Array, n: int) -> None:
    """Subtract ``scale`` times a vector from another one."""
    for i in range(n):
        target[i] -= scale * x[i]


@compiled
def orthonormalise(basis: Array, n: int) -> None:
    """Gram and Schmidt, twice: once leaves rounding. What depends on rows before it becomes 0."""
    for m in range(basis.shape[0]):
        row = basis[m]
        before = math.sqrt(dot_of_row(row, row, n))
        for _ in range(2):
            for q in range(m):
                subtract_scaled(row, dot_of_row(basis[q], row, n), basis[q], n)
        length = math.sqrt(dot_of_row(row, row, n))
        scale = 1.0 / length if length > 1e-10 * before else 0.0
        for i in range(n):
            row[i] *= scale


@noalias
def write_transposed(basis: Array, n: int, out: Array) -> None:
    """Write Q, whose columns are the rows of the basis."""
    for i in range(n):
        for m in range(basis.shape[0]):
            out[i, m] = basis[m, i]


@compiled
def note_turn(
    turns: Array, lags: Array, n: int, leading: Array, shared: Array, scratch: Array
) -> None:
    """Let g ← g + Tc and T ← TQ for each of n cuts, by the first rows of Q."""
    size = lags.shape[1]
    for cut in range(n):
        for j in range(size):
            row = turns[cut, j]
            lags[cut, j] += dot_of_row(row, shared, size)
            write_turned(row[:size], leading, scratch)
            for i in range(size):
                row[i] = scratch[i]


@compiled
def write_projected(gram: Array, n: int, basis: Array, other: Array, out: Array) -> None:
    """Write the lower triangle of QᵀGQ. Rows of the basis are the columns of Q."""
    write_images(gram, n, basis, other)
    for m in range(basis.shape[0]):
        for q in range(m + 1):
            out[m, q] = dot_of_row(basis[m], other[q], n)


@noalias
def write_inner(directions: Array, diagonal: Array, power: float, drift: float, out: Array) -> None:
    """Write the lower triangle of I + Σₖ wₖwₖᵀ·drift/(power + drift·ηₖ); zeros above.

    With power 0 and drift 1 that is I + WᵀD⁻¹W. All of it is added up, because whole rows are
    vectors, and half of them would be none.
    """
    size = directions.shape[1]
    for i in range(size):
        for j in range(size):
            out[i, j] = 0.0
        out[i, i] = 1.0
    for k in range(directions.shape[0]):
        row = directions[k]
        if dot(row, row) > 0.0:
            weight = drift / (power + drift * diagonal[k])
            for i in range(size):
                entry, target = weight * row[i], out[i]
                for j in range(size):
                    target[j] += entry * row[j]
    for i in range(size):
        for j in range(i + 1, size):
            out[i, j] = 0.0


@compiled
def factorise(matrix: Array, n: int) -> None:
    """Cholesky, in place: the lower triangle of a matrix not below the identity becomes C."""
    for i in range(n):
        for j in range(i):
            matrix[i, j] = (matrix[i, j] - dot_of_row(matrix[i], matrix[j], j)) / matrix[j, j]
        rest = matrix[i, i] - dot_of_row(matrix[i], matrix[i], i)
        matrix[i, i] = math.sqrt(max(rest, 1.0))
