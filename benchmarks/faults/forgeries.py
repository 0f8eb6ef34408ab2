"""Ways to forge a model file: what it says, what its arrays hold, how both are written down."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from faults.sealing import changed, compact, header_and_data, sealed

NUMBERS = [
    0, 1, -1, 2, 7, 1000, 10**6, 2**31, 2**40, 2**52, 2**53 - 1, 2**62, 2**63 - 1, -(2**63), 10**40,
    0.0, -0.0, 0.5, 1e-300, 5e-324, 1e-20, 1e-9, 1e9, 1e15, 1e30, 1e100, 1e150, 1.7e308, -1e30,
    -1.7e308, "Infinity", "-Infinity",
]  # fmt: skip
OTHERS = [
    None, True, False, "", "yes", "NaN", "\ud800", "a\nb", [], {}, [[]], [1], ["a"], [[1, 2]],
    {"dtype": "<i8", "values": [0, 1]}, {"dtype": "<U9999999", "values": ["a", "b"]},
    {"dtype": "|O", "values": ["a", "b"]}, {"dtype": "<M8[D]", "values": [0, 1]},
]  # fmt: skip
FLOATS = [0.0, -1.0, 1.0, 5e-324, 1e-300, 1e-100, 1e-20, 1e9, 1e30, 1e100, 1e154, 1.7e308, -1.7e308]


def forged(contents: bytes, draw: random.Random) -> bytes:
    """Return a model file after one to three changes, with a right checksum in most cases."""
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        forge = draw.choices(list(_WAYS), weights=list(_WAYS.values()))[0]
        contents = forge(contents, draw)
    if draw.random() < 0.03:
        contents = damaged(contents, draw)
    return contents


def damaged(contents: bytes, draw: random.Random) -> bytes:
    """Return a file with some bytes changed, or cut off."""
    if draw.random() < 0.3:
        return contents[: draw.randrange(len(contents))]
    spoiled = bytearray(contents)
    for _ in range(draw.choice([1, 1, 8])):
        spoiled[draw.randrange(len(spoiled))] ^= 1 << draw.randrange(8)
    return bytes(spoiled)


# What a file says.


def _document(contents: bytes, draw: random.Random) -> bytes:
    way = draw.choice([_replace, _replace, _scale, _remove, _repeat, _swap, _name, _agree])
    return changed(contents, document=lambda document: way(document, draw))


def _places(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield every place in a document below its top."""
    inside = node.items() if isinstance(node, dict) else enumerate(node)
    for name, each in inside:
        yield (*way, name)
        if isinstance(each, dict | list):
            yield from _places(each, (*way, name))


def _at(document: Any, way: tuple[Any, ...]) -> Any:
    for name in way:
        document = document[name]
    return document


def _put(document: Any, way: tuple[Any, ...], node: Any) -> None:
    _at(document, way[:-1])[way[-1]] = node


def _numbers(document: Any) -> list[tuple[Any, ...]]:
    return [way for way in _places(document) if type(_at(document, way)) in (int, float)]


def _replace(document: Any, draw: random.Random) -> None:
    way = draw.choice(list(_places(document)))
    _put(document, way, json.loads(json.dumps(draw.choice(draw.choice([NUMBERS, OTHERS])))))


def _scale(document: Any, draw: random.Random) -> None:
    way = draw.choice(_numbers(document))
    _put(document, way, _scaled(_at(document, way), draw))


def _scaled(number: Any, draw: random.Random) -> Any:
    if type(number) is int:
        return number + draw.choice([-1, 1, 2, 100, 10**6])
    scaled = (number or 1.0) * draw.choice([-1.0, 1.0]) * 10.0 ** draw.uniform(-40, 40)
    return scaled if math.isfinite(scaled) else number


def _agree(document: Any, draw: random.Random) -> None:
    """Change a number wherever it stands: what is compared with it still agrees."""
    number = _at(document, draw.choice(_numbers(document)))
    to = draw.choice([draw.choice(NUMBERS), _scaled(number, draw)])
    for way in _numbers(document):
        if repr(_at(document, way)) == repr(number):
            _put(document, way, to)


def _remove(document: Any, draw: random.Random) -> None:
    *way, last = draw.choice(list(_places(document)))
    del _at(document, tuple(way))[last]


def _repeat(document: Any, draw: random.Random) -> None:
    lists = [way for way in _places(document) if isinstance(_at(document, way), list)]
    items = _at(document, draw.choice(lists))
    if items:
        times = draw.choice([1, 2, 30, 1000])
        items.extend(json.loads(json.dumps([draw.choice(items)])) * times)


def _swap(document: Any, draw: random.Random) -> None:
    one, other = draw.sample(list(_places(document)), 2)
    if one[: len(other)] != other and other[: len(one)] != one:
        first, second = _at(document, one), _at(document, other)
        _put(document, one, second)
        _put(document, other, first)


def _name(document: Any, draw: random.Random) -> None:
    """Let something be the same as a record elsewhere."""
    records = [way for way in _places(document) if isinstance(_at(document, way), dict)]
    there = draw.choice([way for way in records if way[0] == "state" and len(way) > 1])
    same = {"same as": "/".join(map(str, there[1:]))}
    _put(document, draw.choice(records), same)


# What its arrays hold.


def _array(contents: bytes, draw: random.Random) -> bytes:
    def change(arrays: dict[str, Any]) -> None:
        name = draw.choice(sorted(arrays))
        arrays[name] = draw.choice(_ARRAY_WAYS)(arrays[name].copy(), arrays, draw)

    return changed(contents, arrays=change)


def _entry(array: Any, arrays: dict[str, Any], draw: random.Random) -> Any:
    for _ in range(draw.choice([1, 1, 4])):
        if array.size:
            extreme = draw.choice(FLOATS if array.dtype == float else [0, 1, -1, 100, 2**53, 2**62])
            array.flat[draw.randrange(array.size)] = extreme
    return array


def _times(array: Any, arrays: dict[str, Any], draw: random.Random) -> Any:
    """Scale all of it, or an entry, by something."""
    if array.dtype != float:
        return array
    by = draw.choice([-1.0, 1.0]) * 10.0 ** draw.uniform(-30, 30)
    if draw.random() < 0.5 or not array.size:
        return array * by
    array.flat[draw.randrange(array.size)] *= by
    return array


def _bits(array: Any, arrays: dict[str, Any], draw: random.Random) -> Any:
    raw = array.view(np.uint8).reshape(-1) if array.ndim else array.reshape(1).view(np.uint8)
    for _ in range(draw.choice([1, 1, 8])):
        if raw.size:
            raw[draw.randrange(raw.size)] ^= 1 << draw.randrange(8)
    return array


def _shape(array: Any, arrays: dict[str, Any], draw: random.Random) -> Any:
    return draw.choice(
        [array[:-1], array.reshape(-1), array.T.copy(), np.concatenate([array, array]),
         array[np.newaxis], array[:0]]
    )  # fmt: skip


def _type(array: Any, arrays: dict[str, Any], draw: random.Random) -> Any:
    with np.errstate(invalid="ignore"):
        return array.astype(draw.choice([np.float64, np.int64, np.bool_, np.float32, np.uint8]))


def _other(array: Any, arrays: dict[str, Any], draw: random.Random) -> Any:
    alike = sorted(name for name in arrays if arrays[name].shape == array.shape)
    return arrays[draw.choice(alike)].copy()


def _shuffle(array: Any, arrays: dict[str, Any], draw: random.Random) -> Any:
    order = list(range(len(array)))
    draw.shuffle(order)
    return array[order]


_ARRAY_WAYS: list[Callable[[Any, dict[str, Any], random.Random], Any]] = [
    _entry, _entry, _entry, _times, _times, _times, _bits, _bits, _shape, _type, _other, _shuffle
]  # fmt: skip


# How both are written down.


def _text(contents: bytes, draw: random.Random) -> bytes:
    """Change the JSON as text: characters, or a part of it a second time."""
    header, data = header_and_data(contents)
    text = bytearray(compact(header))
    first = draw.randrange(120, len(text))
    if draw.random() < 0.5:
        text[first] = draw.choice(b'0123456789-.eE,:[]{}"\\ \x00\xff')
    else:
        last = min(first + draw.randrange(200), len(text))
        text[first:first] = text[first:last]
    return sealed(bytes(text), data)


def _layout(contents: bytes, draw: random.Random) -> bytes:
    """Say something else of where arrays are, and of what type."""
    header, data = header_and_data(contents)
    entry = header[draw.choice([name for name in header if name != "__metadata__"])]
    name = draw.choice(sorted(entry))
    entry[name] = draw.choice(
        [[0, 8], [8, 16], [2**62, 2**62], [-8], [0], [], "F64", "I64", "BOOL", "U8", None, {}]
    )
    return sealed(compact(header), data)


_WAYS: dict[Callable[[bytes, random.Random], bytes], float] = {
    _document: 10, _array: 10, _text: 2, _layout: 1,
}  # fmt: skip
