"""Products for eight rows of a table at once, with the bits that each row has alone.

A tile has entry i of row t at place 8i + t: one vector has an entry of eight rows. What lanes are
to a row in `triangular.py`, vectors are here, and they are added up in the same order. Each entry
of a matrix is read once for all rows of a tile, and no sum goes across lanes.
"""

from __future__ import annotations

from virtualvector.jit.compiled import ordered
from virtualvector.jit.lanes import (
    LANES,
    Lanes,
    entry_in_all,
    lanes,
    multiply_add,
    no_lanes,
    plus,
    write_lanes,
    write_transposed,
)
from virtualvector.kernels.triangular import four_rows
from virtualvector.types import Array

Four = tuple[Lanes, Lanes, Lanes, Lanes]


@ordered
def write_tile(vectors: Array, tile: Array) -> None:
    """Write eight vectors, the rows of a matrix, as a tile."""
    d = vectors.shape[1]
    whole = d // LANES * LANES
    for i in range(0, whole, LANES):
        write_transposed(vectors, i, tile)
    for i in range(whole, d):
        for t in range(LANES):
            tile[LANES * i + t] = vectors[t, i]


@ordered
def _residue(row: Array, tile: Array, size: int, first: int) -> Lanes:
    """One of eight parts of the inner products of a vector with the rows of a tile."""
    sums = no_lanes()
    for i in range(first, size, LANES):
        sums = multiply_add(entry_in_all(row, i), lanes(tile, LANES * i), sums)
    return sums


@ordered
def dots_of_tile(row: Array, tile: Array, size: int) -> Lanes:
    """The inner products of the first ``size`` entries of a vector and of each row of a tile."""
    whole = size // LANES * LANES
    a = plus(_residue(row, tile, whole, 0), _residue(row, tile, whole, 1))
    b = plus(_residue(row, tile, whole, 2), _residue(row, tile, whole, 3))
    c = plus(_residue(row, tile, whole, 4), _residue(row, tile, whole, 5))
    d = plus(_residue(row, tile, whole, 6), _residue(row, tile, whole, 7))
    sums = plus(plus(a, b), plus(c, d))
    for i in range(whole, size):
        sums = multiply_add(entry_in_all(row, i), lanes(tile, LANES * i), sums)
    return sums


@ordered
def _residue_of_tiles(tile: Array, other: Array, size: int, first: int) -> Lanes:
    sums = no_lanes()
    for i in range(first, size, LANES):
        sums = multiply_add(lanes(tile, LANES * i), lanes(other, LANES * i), sums)
    return sums


@ordered
def dots_of_tiles(tile: Array, other: Array, size: int) -> Lanes:
    """The inner products of the first ``size`` entries of each row of two tiles."""
    whole = size // LANES * LANES
    a = plus(_residue_of_tiles(tile, other, whole, 0), _residue_of_tiles(tile, other, whole, 1))
    b = plus(_residue_of_tiles(tile, other, whole, 2), _residue_of_tiles(tile, other, whole, 3))
    c = plus(_residue_of_tiles(tile, other, whole, 4), _residue_of_tiles(tile, other, whole, 5))
    d = plus(_residue_of_tiles(tile, other, whole, 6), _residue_of_tiles(tile, other, whole, 7))
    sums = plus(plus(a, b), plus(c, d))
    for i in range(whole, size):
        sums = multiply_add(lanes(tile, LANES * i), lanes(other, LANES * i), sums)
    return sums


@ordered
def _add_to_four(sums: Four, a: Array, b: Array, c: Array, d: Array, tile: Array, i: int) -> Four:
    """Add what entries i of four vectors bring."""
    entries = lanes(tile, LANES * i)
    return (
        multiply_add(entry_in_all(a, i), entries, sums[0]),
        multiply_add(entry_in_all(b, i), entries, sums[1]),
        multiply_add(entry_in_all(c, i), entries, sums[2]),
        multiply_add(entry_in_all(d, i), entries, sums[3]),
    )


@ordered
def _plus_four(x: Four, y: Four) -> Four:
    return plus(x[0], y[0]), plus(x[1], y[1]), plus(x[2], y[2]), plus(x[3], y[3])


@ordered
def _residue_of_four(
    a: Array, b: Array, c: Array, d: Array, tile: Array, whole: int, first: int
) -> Four:
    """One of eight parts of the inner products of four vectors with the rows of a tile."""
    sums = no_lanes(), no_lanes(), no_lanes(), no_lanes()
    for i in range(first, whole, LANES):
        sums = _add_to_four(sums, a, b, c, d, tile, i)
    return sums


@ordered
def _two_residues_of_four(
    a: Array, b: Array, c: Array, d: Array, tile: Array, whole: int, first: int
) -> Four:
    """Two parts, one after the other: side by side, sums would not stay in registers."""
    return _plus_four(
        _residue_of_four(a, b, c, d, tile, whole, first),
        _residue_of_four(a, b, c, d, tile, whole, first + 1),
    )


@ordered
def _half_of_four(
    a: Array, b: Array, c: Array, d: Array, tile: Array, whole: int, first: int
) -> Four:
    return _plus_four(
        _two_residues_of_four(a, b, c, d, tile, whole, first),
        _two_residues_of_four(a, b, c, d, tile, whole, first + 2),
    )


@ordered
def multiply_tile(factor: Array, tile: Array, out: Array) -> None:
    """Write Ux for each row x of a tile, as `triangular.multiply` does."""
    n_rows = factor.shape[0]
    last = n_rows // 4 * 4
    for j in range(0, last, 4):
        a, b, c, d = factor[j], factor[j + 1], factor[j + 2], factor[j + 3]
        size = four_rows(j, n_rows)
        whole = size // LANES * LANES
        sums = _plus_four(
            _half_of_four(a, b, c, d, tile, whole, 0), _half_of_four(a, b, c, d, tile, whole, 4)
        )
        for i in range(whole, size):
            sums = _add_to_four(sums, a, b, c, d, tile, i)
        _write_four(sums, out, j)
    for j in range(last, n_rows):
        write_lanes(dots_of_tile(factor[j], tile, j + 1), out, LANES * j)


@ordered
def _write_four(sums: Four, out: Array, j: int) -> None:
    write_lanes(sums[0], out, LANES * j)
    write_lanes(sums[1], out, LANES * (j + 1))
    write_lanes(sums[2], out, LANES * (j + 2))
    write_lanes(sums[3], out, LANES * (j + 3))


@ordered
def _add_columns(sums: Four, row: Array, i: int, entries: Lanes) -> Four:
    """Add what four entries of a vector bring, from place i on, times those of eight rows."""
    return (
        multiply_add(entry_in_all(row, i), entries, sums[0]),
        multiply_add(entry_in_all(row, i + 1), entries, sums[1]),
        multiply_add(entry_in_all(row, i + 2), entries, sums[2]),
        multiply_add(entry_in_all(row, i + 3), entries, sums[3]),
    )


@ordered
def multiply_rows_of_tile(products: Array, size: int, n: int, tile: Array, out: Array) -> None:
    """Write xᵀP for each row x of a tile, as `triangular.multiply_rows` does.

    It has n entries; ``size`` columns of P are a multiple of four.
    """
    nothing = (no_lanes(), no_lanes(), no_lanes(), no_lanes())
    for i in range(0, size, 4):
        even, odd = nothing, nothing
        for j in range(0, n - 1, 2):
            even = _add_columns(even, products[j], i, lanes(tile, LANES * j))
            odd = _add_columns(odd, products[j + 1], i, lanes(tile, LANES * (j + 1)))
        if n % 2 == 1:
            even = _add_columns(even, products[n - 1], i, lanes(tile, LANES * (n - 1)))
        _write_four(_plus_four(even, odd), out, i)
