"""Records as JSON and arrays, and back, by the types that their classes declare.

A record is a named tuple or a dataclass. Its fields may be numbers, texts, truth values, None,
arrays, sequences, dictionaries, and records. Nothing else is ever made, and nothing is called but
the constructors of the classes that the declared types name: what a file says cannot choose.

    record       {"field": …, …}, fields by name; one like an earlier one: {"same as": "its/path"}
    array        its name among the arrays, which is its path: "posterior/states/0/mean"
    labels       {"dtype": …, "values": […]}
    sequence     […]
    dictionary   [[key, value], …], in its order
    infinity     "Infinity" or "-Infinity"; there is no nan
"""

from __future__ import annotations

import dataclasses
import hashlib
import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from virtualvector.persistence.document import Arrays
from virtualvector.persistence.errors import Misfit, shortly
from virtualvector.persistence.labels import labels_from_node, node_of_labels
from virtualvector.persistence.plain import PLAIN, expected

_SAME = "same as"

# What is learned next is no longer the same, and takes memory of its own. So records that are only
# named may not hold much more, all together, than those before them that are written out.
_NAMED_ANYWAY = 2**26  # bytes
_NAMED_PER_BYTE = 4
_PER_ARRAY = 256  # bytes that an array takes beside its entries


def pack(values: Mapping[str, Any], kinds: Mapping[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """Return named values as JSON and arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Gaussian
    >>> from virtualvector.persistence.tree import pack, unpack
    >>> kinds = {"prior": Gaussian, "seed": int}
    >>> nodes, arrays = pack({"prior": Gaussian(np.zeros(1), np.eye(1)), "seed": 7}, kinds)
    >>> nodes
    {'prior': {'factor': 'prior/factor', 'mean': 'prior/mean'}, 'seed': 7}
    >>> unpack(nodes, arrays, kinds)
    {'prior': Gaussian(mean=array([0.]), factor=array([[1.]])), 'seed': 7}
    """
    packer = _Packer()
    packed = {name: packer.pack(values[name], kinds[name], name) for name in sorted(kinds)}
    return {name: each.node for name, each in packed.items()}, _union(packed.values())


def unpack(nodes: Any, arrays: Arrays, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that `pack` was given; raise `Misfit` for anything it cannot have made."""
    unpacker = _Unpacker(dict(arrays))
    values = unpacker.fields(nodes, kinds, "")
    if unpacker.arrays:
        raise Misfit(f"found an array {shortly(min(unpacker.arrays))} that nothing needs")
    return values


class _Packed(NamedTuple):
    node: Any
    arrays: Arrays
    key: Any  # equal for what is the same to the last bit, and only for that
    n_bytes: int = 0  # in memory, if it were written out


class _Extent(NamedTuple):
    """The bytes that there are in memory so far."""

    written: int = 0  # arrays
    named: int = 0  # arrays in records that are only named
    labels: int = 0

    @property
    def is_allowed(self) -> bool:
        return self.named + self.labels <= _NAMED_ANYWAY + _NAMED_PER_BYTE * self.written

    @property
    def of_arrays(self) -> int:
        return self.written + self.named

    def with_array(self, n_bytes: int) -> _Extent:
        return self._replace(written=self.written + n_bytes)

    def with_named(self, n_bytes: int) -> _Extent:
        return self._replace(named=self.named + n_bytes)

    def with_labels(self, n_bytes: int, path: str) -> _Extent:
        extent = self._replace(labels=self.labels + n_bytes)
        if not extent.is_allowed:
            raise Misfit(f"{path}: found labels of {n_bytes:,} bytes; expected fewer")
        return extent


class _Packer:
    """Knows the records packed so far, to name them instead of packing them again."""

    def __init__(self) -> None:
        self._paths: dict[Any, str] = {}
        self._labels: set[str] = set()
        self._extent = _Extent()

    def pack(self, value: Any, kind: Any, path: str) -> _Packed:
        packed = self._packed(value, kind, path)
        if path in packed.arrays:
            self._extent = self._extent.with_array(packed.n_bytes)
        elif isinstance(packed.node, dict) and isinstance(value, np.ndarray):
            self._add_labels(packed.key, value.nbytes, path)
        return packed

    def _add_labels(self, key: str, n_bytes: int, path: str) -> None:
        if key not in self._labels:
            self._labels.add(key)
            self._extent = self._extent.with_labels(n_bytes, path)

    def _packed(self, value: Any, kind: Any, path: str) -> _Packed:
        kind = spelled_out(kind)
        origin, arguments = get_origin(kind), get_args(kind)
        if kind in PLAIN:
            return _plain(PLAIN[kind].to_node(value, path))
        if origin in (Union, types.UnionType):
            return (
                _plain(None) if value is None else self._packed(value, _kind_of(value, kind), path)
            )
        if origin is np.ndarray:
            return _packed_array(value, _entry_type(kind), path)
        if origin is dict:
            pairs = [
                _joined([
                    self.pack(key, arguments[0], f"{path}/{i}/key"),
                    self.pack(each, arguments[1], f"{path}/{i}/value"),
                ])
                for i, (key, each) in enumerate(value.items())
            ]  # fmt: skip
            return _joined(pairs)
        if origin in (list, Sequence) and arguments[0] in PLAIN:  # of which there may be many
            nodes = [
                PLAIN[arguments[0]].to_node(each, f"{path}/{i}") for i, each in enumerate(value)
            ]
            return _plain(nodes)
        if origin in (tuple, list, Sequence):
            items = zip(value, _item_kinds(kind, len(value), path), strict=True)
            return _joined(
                [self.pack(each, item, f"{path}/{i}") for i, (each, item) in enumerate(items)]
            )
        return self._record(value, kind, path)

    def _record(self, value: Any, kind: Any, path: str) -> _Packed:
        fields = fields_of(kind)
        if not isinstance(value, kind):
            value = kind(*value)  # a plain tuple in place of a named one
        before = self._extent
        packed = {
            name: self.pack(getattr(value, name), each, f"{path}/{name}")
            for name, each in fields.items()
        }
        key = (kind, *(each.key for each in packed.values()))
        n_bytes = sum(each.n_bytes for each in packed.values())
        if _is_immutable(kind):
            earlier, extent = self._paths.setdefault(key, path), before.with_named(n_bytes)
            if earlier != path and (n_bytes == 0 or extent.is_allowed):
                self._extent = extent
                return _Packed({_SAME: earlier}, {}, key, n_bytes)
        node = {name: each.node for name, each in packed.items()}
        return _Packed(node, _union(packed.values()), key, n_bytes)


class _Unpacker:
    """Knows the arrays not used so far, and the records that later ones may be the same as."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._records: dict[str, Any] = {}
        self._sizes: dict[str, int] = {}  # of those records, in bytes
        self._labels: dict[str, Any] = {}  # the same ones are made once
        self._extent = _Extent()

    def unpack(self, node: Any, kind: Any, path: str) -> Any:
        kind = spelled_out(kind)
        origin, arguments = get_origin(kind), get_args(kind)
        if kind in PLAIN:
            return PLAIN[kind].from_node(node, path)
        if origin in (Union, types.UnionType):
            return None if node is None else self.unpack(node, self._kind_at(node, kind), path)
        if origin is np.ndarray:
            return self._array(node, _entry_type(kind), path)
        if origin is dict:
            return self._dictionary(node, arguments, path)
        if origin in (tuple, list, Sequence):
            items = expected(node, list, path)
            kinds = _item_kinds(kind, len(items), path)
            pairs = enumerate(zip(items, kinds, strict=True))
            made = [self.unpack(each, item, f"{path}/{i}") for i, (each, item) in pairs]
            return tuple(made) if origin is tuple else made
        return self._record(node, kind, path)

    def _kind_at(self, node: Any, kind: Any) -> Any:
        """Return which of several kinds of records a node is, by the names of its fields."""
        kinds = _kinds(kind)
        if len(kinds) == 1 or not isinstance(node, dict):
            return kinds[0]
        if node.keys() == {_SAME}:
            earlier = type(self._records.get(str(node[_SAME])))
            return earlier if earlier in kinds else kinds[0]
        return next((each for each in kinds if fields_of(each).keys() == node.keys()), kinds[0])

    def fields(self, node: Any, kinds: Mapping[str, Any], path: str) -> dict[str, Any]:
        expected(node, dict, path)
        if node.keys() != kinds.keys():
            unknown, missing = node.keys() - kinds.keys(), kinds.keys() - node.keys()
            raise Misfit(
                f"{path or 'document'}: found {shortly(sorted(unknown))} too much and "
                f"{shortly(sorted(missing))} missing; expected neither"
            )
        under = f"{path}/" if path else ""
        # In an order that does not depend on how a class is written.
        return {name: self.unpack(node[name], kinds[name], under + name) for name in sorted(kinds)}

    def _record(self, node: Any, kind: Any, path: str) -> Any:
        if isinstance(node, dict) and node.keys() == {_SAME} and _is_immutable(kind):
            earlier = self._records.get(expected(node[_SAME], str, path))
            if type(earlier) is not kind:
                raise Misfit(f"{path}: found {shortly(node)}; expected an earlier {kind.__name__}")
            n_bytes = self._sizes[node[_SAME]]
            extent = self._extent.with_named(n_bytes)
            if n_bytes and not extent.is_allowed:
                raise Misfit(f"{path}: found {shortly(node)}; expected it written out again")
            self._extent = extent
            return earlier
        before = self._extent.of_arrays
        values = self.fields(node, fields_of(kind), path)
        if issubclass(kind, tuple):
            record = kind(**values)
        else:
            record = object.__new__(kind)  # as it was, not as its constructor would make it
            vars(record).update(values)
        self._records[path] = record
        self._sizes[path] = self._extent.of_arrays - before
        return record

    def _dictionary(self, node: Any, kinds: tuple[Any, Any], path: str) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for i, pair in enumerate(expected(node, list, path)):
            if not isinstance(pair, list) or len(pair) != 2:
                raise Misfit(f"{path}/{i}: found {shortly(pair)}; expected a key and a value")
            key = self.unpack(pair[0], kinds[0], f"{path}/{i}/key")
            made[key] = self.unpack(pair[1], kinds[1], f"{path}/{i}/value")
        if len(made) < len(node):
            raise Misfit(f"{path}: found a key twice")
        return made

    def _array(self, node: Any, dtype: Any, path: str) -> Any:
        if dtype is None:
            name = repr(node)
            if name not in self._labels:
                self._labels[name] = labels = labels_from_node(node, path)
                self._extent = self._extent.with_labels(labels.nbytes, path)
            return self._labels[name]
        if node != path or path not in self.arrays:
            raise Misfit(f"{path}: found {shortly(node)}; expected an array of that name")
        array = self.arrays.pop(path)
        if array.dtype != dtype:
            raise Misfit(f"{path}: found an array of {array.dtype}; expected {dtype}")
        if not np.isfinite(array).all():
            raise Misfit(f"{path}: found an array with nan or infinity; expected finite numbers")
        if dtype == np.bool_ and np.any(array.view(np.uint8) > 1):
            raise Misfit(f"{path}: found bytes other than 0 and 1; expected truth values")
        self._extent = self._extent.with_array(array.nbytes + _PER_ARRAY)
        return array


def _packed_array(value: Any, dtype: Any, path: str) -> _Packed:
    if dtype is None:
        return _plain(node_of_labels(value, path))
    if not isinstance(value, np.ndarray) or value.dtype != dtype or not np.isfinite(value).all():
        raise Misfit(f"{path}: found {shortly(value)}; expected an array of finite {dtype}")
    digest = hashlib.sha256(np.ascontiguousarray(value).data).digest() if value.size else b""
    return _Packed(path, {path: value}, (value.shape, digest), value.nbytes + _PER_ARRAY)


def _plain(node: Any) -> _Packed:
    return _Packed(node, {}, repr(node))  # unlike the node itself, tells 1 from 1.0 and True


def _joined(parts: list[_Packed]) -> _Packed:
    n_bytes = sum(p.n_bytes for p in parts)
    return _Packed([p.node for p in parts], _union(parts), tuple(p.key for p in parts), n_bytes)


def _union(parts: Any) -> Arrays:
    return {name: array for part in parts for name, array in part.arrays.items()}


@cache
def spelled_out(kind: Any) -> Any:
    """Return a type without the alias that it may be written with.

    What `NDArray` is, an alias or the type itself, depends on the version of numpy.

    Examples
    --------
    >>> import numpy as np
    >>> from numpy.typing import NDArray
    >>> from typing import get_origin
    >>> from virtualvector.persistence.tree import spelled_out
    >>> get_origin(spelled_out(NDArray[np.float64]))
    <class 'numpy.ndarray'>
    """
    alias = get_origin(kind) or kind
    if not hasattr(alias, "__value__"):  # which all aliases have, and types have not
        return kind
    value, arguments = spelled_out(alias.__value__), get_args(kind)
    free = getattr(value, "__parameters__", ())
    if not (arguments and free):
        return value
    given = dict(zip(alias.__type_params__, arguments, strict=True))
    return value[tuple(given[each] for each in free)]


@cache
def fields_of(kind: Any) -> dict[str, Any]:
    """Return the fields of a class of records and their types, by name."""
    if not _is_record(kind):
        raise TypeError(f"cannot be stored in a model file: {kind}")
    hints = get_type_hints(kind)
    names = getattr(kind, "_fields", None) or [each.name for each in dataclasses.fields(kind)]
    return {name: hints[name] for name in sorted(names)}


def _is_record(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")


def _is_immutable(kind: Any) -> bool:
    """Whether one record may stand for several; arrays in such records are never changed."""
    return issubclass(kind, tuple) or kind.__dataclass_params__.frozen


def _kinds(kind: Any) -> list[Any]:
    """Return what a union is of, but for None; several only if they are all records."""
    kinds = [each for each in get_args(kind) if each is not types.NoneType]
    if len(kinds) != 1 and not all(_is_record(each) for each in kinds):
        raise TypeError(f"cannot be stored in a model file: {kind}")
    return kinds


def _kind_of(value: Any, kind: Any) -> Any:
    """Return which kind of a union a value is of."""
    kinds = _kinds(kind)
    return type(value) if type(value) in kinds else kinds[0]


def _item_kinds(kind: Any, length: int, path: str) -> Sequence[Any]:
    kinds = get_args(kind)
    if get_origin(kind) is not tuple or kinds[-1] is Ellipsis:
        return [kinds[0]] * length
    if len(kinds) != length:
        raise Misfit(f"{path}: found {length} items; expected {len(kinds)}")
    return kinds


def _entry_type(kind: Any) -> Any:
    """Return the type of an array's entries; None if it holds labels, which may be of any."""
    (scalar,) = get_args(spelled_out(get_args(kind)[1]))
    return None if scalar is Any else np.dtype(scalar)
