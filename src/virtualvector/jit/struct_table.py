"""Named tuples handed to compiled code as one address.

Numba passes a tuple of arrays by value: some hundred numbers at every call from Python and from one
kernel to the next, most of which goes into compiling them. Here the arrays of a tuple are listed in
a table, and kernels are given its address. Inside they write ``state.mean`` all the same, which
reads the table.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from ctypes import addressof, c_char
from functools import lru_cache
from struct import Struct
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    register_model,
)
from numba.np.arrayobj import make_array, populate_array

from virtualvector.jit.alignment import lines_of

Values = TypeVar("Values", bound=tuple[Any, ...])

# In a line: a number, an address, or that of an array of up to 3 dimensions and its shape.
_WORDS = 4

_NO_MORE = ((0, 0, 0), (0, 0), (0,), ())  # lengths, of arrays of fewer dimensions

_NUMBER, _BITS = Struct("d"), Struct("q")


def address_of(array: Any) -> int:
    """Return where an array that can be written to begins; numpy's own ways take much longer."""
    return addressof(c_char.from_buffer(array)) if array.size else 0


def _line_of(array: Any) -> tuple[int, ...]:
    return (address_of(array), *array.shape, *_NO_MORE[array.ndim])


class StructTable:
    """The address of each array of a named tuple, each number, and the table of each tuple in it.

    It keeps the arrays alive, and has to live as long as kernels use its address. Arrays may be
    written to, and have to allow it, but not be replaced.
    """

    address: int

    def __init__(self, values: tuple[Any, ...]) -> None:
        self._values = values
        lines = lines_of(values)
        if lines is not None:
            self._lines, self.address = lines, address_of(lines)
            return
        self._tables = [_table_of(value) for value in values if isinstance(value, tuple)]
        tables = iter(self._tables)
        words: list[int] = []
        for value in values:
            if isinstance(value, np.ndarray):
                words += _line_of(value)
            elif isinstance(value, tuple):
                words += (next(tables).address, 0, 0, 0)
            elif isinstance(value, float):
                words += (_BITS.unpack(_NUMBER.pack(value))[0], 0, 0, 0)
            else:
                words += (value, 0, 0, 0)
        self._lines = np.array(words, np.int64).reshape(-1, _WORDS)
        self.address = address_of(self._lines)

    def replaced(self, values: tuple[Any, ...], place: int) -> StructTable:
        """Return the table of a tuple that differs in one array, at a place, and nowhere else."""
        other, array = copy(self), values[place]
        other._values, other._lines = values, self._lines.copy()
        other._lines[place] = _line_of(array)
        other.address = address_of(other._lines)
        return other


_NUMBERS = frozenset({float, int})
_table_of_numbers = lru_cache(maxsize=256)(lambda values, kinds: StructTable(values))


def _table_of(values: tuple[Any, ...]) -> StructTable:
    """Return a table; of nothing but numbers, which no kernel changes, the same for all alike."""
    kinds = tuple(map(type, values))
    if _NUMBERS.issuperset(kinds):
        return _table_of_numbers(values, kinds)
    return StructTable(values)


class _TableOf(types.Type):
    """The type of a pointer to the table of one kind of named tuple."""

    def __init__(self, kind: types.NamedTuple) -> None:
        self.instance_class = kind.instance_class
        self.fields = {
            name: _TableOf(field) if isinstance(field, types.NamedTuple) else field
            for name, field in zip(kind.fields, kind.types, strict=True)
        }
        tables = [each.name for each in self.fields.values() if isinstance(each, _TableOf)]
        super().__init__(name=f"TableOf({', '.join([self.instance_class.__name__, *tables])})")


@register_model(_TableOf)
class _Pointer(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _TableOf) -> None:
        super().__init__(manager, kind, ir.IntType(64).as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    key = _TableOf

    def generic_resolve(self, table: _TableOf, name: str) -> Any:
        return table.fields.get(name)


@lower_getattr_generic(_TableOf)
def _read(context: Any, builder: Any, table: _TableOf, pointer: Any, name: str) -> Any:
    first = _WORDS * list(table.fields).index(name)
    kind = table.fields[name]

    def word(place: int, as_type: Any) -> Any:
        entry = builder.gep(pointer, [ir.Constant(ir.IntType(64), first + place)])
        loaded = builder.load(builder.bitcast(entry, as_type.as_pointer()))
        # No kernel writes to a table: it need not be read again after each write to an array.
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    if not isinstance(kind, types.Array):
        return word(0, context.get_value_type(kind))
    array = make_array(kind)(context, builder)
    size = kind.dtype.bitwidth // 8
    shape = [word(1 + k, ir.IntType(64)) for k in range(kind.ndim)]
    strides = [ir.Constant(ir.IntType(64), size)]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    populate_array(
        array,
        data=word(0, array.data.type),
        shape=shape,
        strides=strides,
        itemsize=size,
        meminfo=None,
    )
    return array._getvalue()


def reader(example: Values) -> Callable[[int], Values]:
    """Return what gives a kernel the tuple whose table is at an address.

    Parameters
    ----------
    example : named tuple
        One of the same types. Arrays are contiguous.
    """
    kind = _TableOf(typeof(example))

    @intrinsic
    def at(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(kind))

        return kind(types.int64), generate

    return cast("Callable[[int], Values]", at)
