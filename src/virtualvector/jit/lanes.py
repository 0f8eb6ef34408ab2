"""Eight numbers at once, added up in an order that is written down.

A loop over single numbers is vectorised by LLVM as it sees fit, and the order of its sums is LLVM's
choice. Kernels whose sums must have the same bits wherever they are taken say it themselves: number
i of a sum goes to lane i mod 8, in the end lanes are added up as
((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)), and numbers that do not fill eight lanes are added to
that one after the other. Where the same sums are taken for eight rows of a table
at once, each lane has a row, and eight vectors are what eight lanes are here.

Processors with narrower vectors take several for one.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array

LANES = 8

_NUMBER, _INDEX, _SHORT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_VECTOR, _HALF = ir.VectorType(_NUMBER, LANES), ir.VectorType(_NUMBER, LANES // 2)
_ALIGNMENT = 8  # bytes: a vector may begin at any number


class Lanes(types.Type):
    """The type of eight numbers, inside a kernel."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


_LANES = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, _VECTOR)


def _place(
    context: Any, builder: Any, kind: Any, array: Any, i: Any, *, pointed: Any = _VECTOR
) -> Any:
    """Return the address of entry i of an array, as that of such a type."""
    if kind.layout != "C":
        raise TypeError(f"found {kind}; expected entries that lie side by side")
    data = make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [i]), pointed.as_pointer())


def _shuffled(builder: Any, one: Any, other: Any, *places: int) -> Any:
    """Return lanes of two vectors, those of the other counted from eight on."""
    kind = ir.VectorType(ir.IntType(32), len(places))
    return builder.shuffle_vector(one, other, ir.Constant(kind, places))


def _called(builder: Any, name: str, *arguments: Any) -> Any:
    """Call one of LLVM's own functions, which returns what it is given."""
    kinds = [each.type for each in arguments]
    kind = ir.FunctionType(kinds[0], kinds)
    return builder.call(get_or_insert_function(builder.module, kind, name), arguments)


@intrinsic
def no_lanes(typing: Any) -> Any:
    """Eight zeros."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(_VECTOR, [0.0] * LANES)

    return _LANES(), generate


@intrinsic
def lanes(typing: Any, array: Any, i: Any) -> Any:
    """Entries i to i + 7 of a vector."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, array, *arguments)
        return builder.load(place, align=_ALIGNMENT)

    return _LANES(array, types.int64), generate


@intrinsic
def write_lanes(typing: Any, vector: Any, array: Any, i: Any) -> Any:
    """Write eight numbers to places i to i + 7 of a vector."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, array, *arguments[1:])
        builder.store(arguments[0], place, align=_ALIGNMENT)
        return context.get_dummy_value()

    return types.void(_LANES, array, types.int64), generate


def _halves_before(
    context: Any, builder: Any, kind: Any, array: Any, i: Any, stop: Any
) -> list[tuple[Any, Any]]:
    """Return the address of each half of eight entries, and which of its lanes are before ``stop``.

    Of two halves, because a vector that ends in another cache line waits for it, wanted or not. A
    half that has nothing is said to be where the other one is.
    """
    half = LANES // 2
    lane = ir.Constant(ir.VectorType(_INDEX, half), [*range(half)])
    nothing = ir.Constant(lane.type, ir.Undefined)
    halves = []
    for first in (0, half):
        place = builder.add(i, _INDEX(first))
        left = builder.sub(stop, place)
        place = builder.select(builder.icmp_signed(">", left, _INDEX(0)), place, i)
        left = builder.insert_element(nothing, left, _INDEX(0))
        left = _shuffled(builder, left, nothing, *(0,) * half)
        address = _place(context, builder, kind, array, place, pointed=_HALF)
        halves.append((address, builder.icmp_signed("<", lane, left)))
    return halves


@intrinsic
def lanes_before(typing: Any, array: Any, i: Any, stop: Any) -> Any:
    """Entries i to i + 7 of a vector, but zeros from place ``stop`` on, where nothing is read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros, read = ir.Constant(_HALF, [0.0] * (LANES // 2)), []
        for place, mask in _halves_before(context, builder, array, *arguments):
            given = [place, _SHORT(_ALIGNMENT), mask, zeros]
            kind = ir.FunctionType(_HALF, [each.type for each in given])
            load = get_or_insert_function(builder.module, kind, "llvm.masked.load.v4f64.p0")
            read.append(builder.call(load, given))
        return _shuffled(builder, *read, *range(LANES))

    return _LANES(array, types.int64, types.int64), generate


@intrinsic
def write_lanes_before(typing: Any, vector: Any, array: Any, i: Any, stop: Any) -> Any:
    """Write eight numbers to places i to i + 7 of a vector, as far as they are before ``stop``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, *where = arguments
        half = LANES // 2
        for k, (place, mask) in enumerate(_halves_before(context, builder, array, *where)):
            part = _shuffled(builder, numbers, numbers, *range(k * half, (k + 1) * half))
            given = [part, place, _SHORT(_ALIGNMENT), mask]
            kind = ir.FunctionType(ir.VoidType(), [each.type for each in given])
            store = get_or_insert_function(builder.module, kind, "llvm.masked.store.v4f64.p0")
            builder.call(store, given)
        return context.get_dummy_value()

    return types.void(_LANES, array, types.int64, types.int64), generate


def _repeated(builder: Any, number: Any) -> Any:
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(nothing, number, _INDEX(0))
    return _shuffled(builder, first, nothing, *(0,) * LANES)


@intrinsic
def repeated(typing: Any, number: Any) -> Any:
    """A number, eight times."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _repeated(builder, arguments[0])

    return _LANES(types.float64), generate


@intrinsic
def entry_in_all(typing: Any, array: Any, i: Any) -> Any:
    """Entry i of a vector, eight times."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, array, *arguments, pointed=_NUMBER)
        return _repeated(builder, builder.load(place))

    return _LANES(array, types.int64), generate


@intrinsic
def multiply_add(typing: Any, x: Any, y: Any, more: Any) -> Any:
    """``x * y + more``, rounded once where the processor can."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _called(builder, "llvm.fmuladd.v8f64", *arguments)

    return _LANES(_LANES, _LANES, _LANES), generate


@intrinsic
def multiply_add_one(typing: Any, x: Any, y: Any, more: Any) -> Any:
    """The same for one number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _called(builder, "llvm.fmuladd.f64", *arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic
def plus(typing: Any, x: Any, y: Any) -> Any:
    """``x + y``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments)

    return _LANES(_LANES, _LANES), generate


@intrinsic
def times(typing: Any, x: Any, y: Any) -> Any:
    """``x * y``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(*arguments)

    return _LANES(_LANES, _LANES), generate


@intrinsic
def minus(typing: Any, x: Any, y: Any) -> Any:
    """``x - y``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fsub(*arguments)

    return _LANES(_LANES, _LANES), generate


@intrinsic
def larger(typing: Any, x: Any, most: Any) -> Any:
    """The larger of |x| and ``most``, in each lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _larger(builder, _called(builder, "llvm.fabs.v8f64", arguments[0]), arguments[1])

    return _LANES(_LANES, _LANES), generate


@intrinsic
def largest(typing: Any, vector: Any) -> Any:
    """The largest of eight numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        [most] = arguments
        for places in (
            (4, 5, 6, 7, 0, 1, 2, 3),
            (2, 3, 0, 1, 6, 7, 4, 5),
            (1, 0, 3, 2, 5, 4, 7, 6),
        ):
            most = _larger(builder, _shuffled(builder, most, most, *places), most)
        return builder.extract_element(most, _INDEX(0))

    return types.float64(_LANES), generate


def _larger(builder: Any, x: Any, most: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, most), x, most)


# Lanes of two vectors in turns, or two and four at a time: even ones of all, then odd ones.
_IN_TURNS = (
    ((0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15)),
    ((0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)),
    ((0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)),
)


@intrinsic
def write_transposed(typing: Any, matrix: Any, i: Any, tile: Any) -> Any:
    """Write entries i to i + 7 of eight rows of a matrix as vectors of a tile, from place 8i on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, i, out = arguments
        d = builder.extract_value(make_array(matrix)(context, builder, rows).shape, 1)
        vectors = []
        for t in range(LANES):
            place = builder.add(builder.mul(d, _INDEX(t)), i)
            place = _place(context, builder, matrix, rows, place)
            vectors.append(builder.load(place, align=_ALIGNMENT))
        for k, both in enumerate(_IN_TURNS):
            before, apart = list(vectors), 1 << k
            for t in range(LANES):
                if not t & apart:
                    pair = before[t], before[t + apart]
                    vectors[t] = _shuffled(builder, *pair, *both[0])
                    vectors[t + apart] = _shuffled(builder, *pair, *both[1])
        for t, vector in enumerate(vectors):
            place = builder.mul(builder.add(i, _INDEX(t)), _INDEX(LANES))
            builder.store(vector, _place(context, builder, tile, out, place), align=_ALIGNMENT)
        return context.get_dummy_value()

    return types.void(matrix, types.int64, tile), generate


def _totals(builder: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Add up the lanes of four vectors; return four numbers."""

    def neighbours(one: Any, other: Any, k: int) -> Any:
        return builder.fadd(*(_shuffled(builder, one, other, *each) for each in _IN_TURNS[k]))

    halves = neighbours(neighbours(a, b, 0), neighbours(c, d, 0), 1)
    low = _shuffled(builder, halves, halves, 0, 1, 2, 3)
    high = _shuffled(builder, halves, halves, 4, 5, 6, 7)
    return builder.fadd(low, high)


@intrinsic
def total(typing: Any, vector: Any) -> Any:
    """The sum of the lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        totals = _totals(builder, *arguments * 4)
        return builder.extract_element(totals, _INDEX(0))

    return types.float64(_LANES), generate


@intrinsic
def write_totals(typing: Any, a: Any, b: Any, c: Any, d: Any, array: Any, i: Any) -> Any:
    """Write the sums of the lanes of four vectors to places i to i + 3."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        totals = _totals(builder, *arguments[:4])
        place = _place(context, builder, array, *arguments[4:], pointed=totals.type)
        builder.store(totals, place, align=_ALIGNMENT)
        return context.get_dummy_value()

    return types.void(_LANES, _LANES, _LANES, _LANES, array, types.int64), generate


@intrinsic
def prefetch(typing: Any, array: Any, i: Any) -> Any:
    """Ask for the cache line of entry i of a vector, which is wanted soon; nothing else happens."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = _place(context, builder, array, *arguments, pointed=byte.pointee)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # To be read, wanted more than once, data and no code.
        builder.call(function, [place, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate
