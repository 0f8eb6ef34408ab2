"""Rows of W, as many numbers as the rank says, and matrices they are multiplied with.

All in vectors of eight: most of the time of a posterior of low rank goes into these loops. Rows of
scratch memory and of turns have zeros behind them, so that there are whole vectors; rows of W,
which are many, have none, and the last vector of each is read and written in part.
"""

from __future__ import annotations

from virtualvector.jit.compiled import compiled, ordered
from virtualvector.jit.lanes import (
    LANES,
    Lanes,
    entry_in_all,
    lanes,
    lanes_before,
    multiply_add,
    no_lanes,
    plus,
    repeated,
    times,
    total,
    write_lanes,
    write_lanes_before,
)
from virtualvector.types import Array, IntArray


@ordered
def products(x: Array, y: Array) -> Lanes:
    """The products of the entries of two short vectors, added up in eight lanes."""
    size = x.shape[0]
    whole, sums = size // LANES * LANES, no_lanes()
    for c in range(0, whole, LANES):
        sums = multiply_add(lanes(x, c), lanes(y, c), sums)
    if whole < size:
        sums = multiply_add(lanes_before(x, whole, size), lanes_before(y, whole, size), sums)
    return sums


@compiled
def short_dot(x: Array, y: Array) -> float:
    """The inner product of two short vectors."""
    return total(products(x, y))


@ordered
def add_rows(
    places: IntArray, values: Array, directions: Array, visits: IntArray, sums: Array
) -> None:
    """Add wₖuₖ, for a vector u of these non-zeros, to the sums of the cut that has written wₖ."""
    rank = directions.shape[1]
    whole = rank // LANES * LANES
    for k in range(places.shape[0]):
        row, out, entry = directions[places[k]], sums[visits[places[k]]], entry_in_all(values, k)
        for c in range(0, whole, LANES):
            write_lanes(multiply_add(entry, lanes(row, c), lanes(out, c)), out, c)
        if whole < rank:
            rest = lanes_before(row, whole, rank)
            write_lanes(multiply_add(entry, rest, lanes(out, whole)), out, whole)


@ordered
def add_turned(sums: Array, turns: Array, last: int, out: Array) -> None:
    """Add Σ Tᵀs over all cuts up to the last one; let sums be zero again."""
    for cut in range(last + 1):
        if short_dot(sums[cut], sums[cut]) > 0.0:
            add_turned_row(sums[cut], turns[cut], out)
            for c in range(0, sums.shape[1], LANES):
                write_lanes(no_lanes(), sums[cut], c)


@ordered
def lagging_dot(
    places: IntArray, values: Array, diagonal: Array, directions: Array, visits: IntArray,
    lags: Array,
) -> float:  # fmt: skip
    """The inner product Σ xₖ·wₖᵀg/ηₖ of a vector and what the mean lags behind."""
    sums = no_lanes()
    for k in range(places.shape[0]):
        place = places[k]
        scaled = repeated(values[k] / diagonal[place])
        sums = multiply_add(scaled, products(directions[place], lags[visits[place]]), sums)
    return total(sums)


@ordered
def write_turned(row: Array, turn: Array, out: Array) -> None:
    """Write wT."""
    for c in range(0, turn.shape[1], LANES):
        write_lanes(no_lanes(), out, c)
    add_turned_row(row, turn, out)


@ordered
def add_turned_row(row: Array, turn: Array, out: Array) -> None:
    """Add wT, by as many rows of T as w has entries, or as there are: behind those w has zeros."""
    n, width = min(row.shape[0], turn.shape[0]), turn.shape[1]
    in_threes = width - width % (3 * LANES)
    for c in range(0, in_threes, 3 * LANES):  # one addition need not wait for another
        sums, more, most = lanes(out, c), lanes(out, c + LANES), lanes(out, c + 2 * LANES)
        p, q, r = no_lanes(), no_lanes(), no_lanes()
        for j in range(0, n - 1, 2):
            entry, of_turn = entry_in_all(row, j), turn[j]
            sums = multiply_add(entry, lanes(of_turn, c), sums)
            more = multiply_add(entry, lanes(of_turn, c + LANES), more)
            most = multiply_add(entry, lanes(of_turn, c + 2 * LANES), most)
            entry, of_turn = entry_in_all(row, j + 1), turn[j + 1]
            p = multiply_add(entry, lanes(of_turn, c), p)
            q = multiply_add(entry, lanes(of_turn, c + LANES), q)
            r = multiply_add(entry, lanes(of_turn, c + 2 * LANES), r)
        if n % 2 == 1:
            entry, of_turn = entry_in_all(row, n - 1), turn[n - 1]
            sums = multiply_add(entry, lanes(of_turn, c), sums)
            more = multiply_add(entry, lanes(of_turn, c + LANES), more)
            most = multiply_add(entry, lanes(of_turn, c + 2 * LANES), most)
        write_lanes(plus(sums, p), out, c)
        write_lanes(plus(more, q), out, c + LANES)
        write_lanes(plus(most, r), out, c + 2 * LANES)
    for c in range(in_threes, width, LANES):
        sums = lanes(out, c)
        for j in range(n):
            sums = multiply_add(entry_in_all(row, j), lanes(turn[j], c), sums)
        write_lanes(sums, out, c)


@ordered
def write_turned_rows(
    places: IntArray, directions: Array, visits: IntArray, turns: Array, lags: Array, out: Array,
    squares: Array, lagging: Array,
) -> None:  # fmt: skip
    """Write wT, |w|² and wᵀg of some rows, by the turns and lags of the cuts that wrote them."""
    for i in range(places.shape[0]):
        row = directions[places[i]]
        cut = visits[places[i]] if visits.shape[0] > 0 else 0
        squares[i], lagging[i] = short_dot(row, row), short_dot(row, lags[cut])
        write_turned(row, turns[cut], out[i])


@ordered
def add_scaled(target: Array, scale: float, x: Array) -> None:
    """Add ``scale`` times a vector to another one, of whole vectors of eight."""
    by = repeated(scale)
    for c in range(0, x.shape[0], LANES):
        write_lanes(multiply_add(by, lanes(x, c), lanes(target, c)), target, c)


@ordered
def write_and_scale(row: Array, weight: float, out: Array, scaled: Array) -> None:
    """Write a row of whole vectors as one of W, and again times a weight."""
    size, by = out.shape[0], repeated(weight)
    for c in range(0, row.shape[0], LANES):
        entries = lanes(row, c)
        write_lanes_before(entries, out, c, size)
        write_lanes(times(by, entries), scaled, c)


@ordered
def add_squares(rows: Array, scaled: Array, n: int, out: Array) -> None:
    """Add the lower triangle of Σ sₜwₜᵀ over n rows; what is above it is anything.

    Four rows of it at once, by even and by odd rows of W: none of eight additions waits for another
    and what is read of W is read for four of them.
    """
    for i in range(0, out.shape[0], 4):
        for c in range(0, i + 4, LANES):
            p, q, r, s = no_lanes(), no_lanes(), no_lanes(), no_lanes()
            a, b = lanes(out[i], c), lanes(out[i + 1], c)
            d, e = lanes(out[i + 2], c), lanes(out[i + 3], c)
            for t in range(0, n - 1, 2):
                entries, others = lanes(rows[t], c), lanes(rows[t + 1], c)
                by, by_others = scaled[t], scaled[t + 1]
                a = multiply_add(entry_in_all(by, i), entries, a)
                b = multiply_add(entry_in_all(by, i + 1), entries, b)
                d = multiply_add(entry_in_all(by, i + 2), entries, d)
                e = multiply_add(entry_in_all(by, i + 3), entries, e)
                p = multiply_add(entry_in_all(by_others, i), others, p)
                q = multiply_add(entry_in_all(by_others, i + 1), others, q)
                r = multiply_add(entry_in_all(by_others, i + 2), others, r)
                s = multiply_add(entry_in_all(by_others, i + 3), others, s)
            if n % 2 == 1:
                entries, by = lanes(rows[n - 1], c), scaled[n - 1]
                a = multiply_add(entry_in_all(by, i), entries, a)
                b = multiply_add(entry_in_all(by, i + 1), entries, b)
                d = multiply_add(entry_in_all(by, i + 2), entries, d)
                e = multiply_add(entry_in_all(by, i + 3), entries, e)
            write_lanes(plus(a, p), out[i], c)
            write_lanes(plus(b, q), out[i + 1], c)
            write_lanes(plus(d, r), out[i + 2], c)
            write_lanes(plus(e, s), out[i + 3], c)
