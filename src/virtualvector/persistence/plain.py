"""Numbers, texts and truth values as JSON, and back."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from virtualvector.persistence.errors import Misfit, shortly
from virtualvector.types import ClassWeight

_LABELS = (str, int, float, bool)
_INFINITIES = {"Infinity": math.inf, "-Infinity": -math.inf}


def expected(node: Any, kind: type, path: str) -> Any:
    """Return a node of JSON if it is of a kind; raise `Misfit` otherwise."""
    if type(node) is not kind:
        names = {list: "a list", dict: "named entries", str: "text", bool: "true or false"}
        raise Misfit(f"{path}: found {shortly(node)}; expected {names[kind]}")
    return node


class _Plain(NamedTuple):
    """How values of a plain type become JSON, and back."""

    to_node: Callable[[Any, str], Any]
    from_node: Callable[[Any, str], Any]


def _fitting(value: Any, kinds: Any, path: str, in_words: str) -> Any:
    if not isinstance(value, kinds):
        raise Misfit(f"{path}: found {shortly(value)}; expected {in_words}")
    return value


def _int_to_node(value: Any, path: str) -> int:
    return int(_fitting(value, Integral, path, "a whole number"))


def _int_from_node(node: Any, path: str) -> int:
    if type(node) is not int or not -(2**63) <= node < 2**63:
        raise Misfit(f"{path}: found {shortly(node)}; expected a whole number")
    return node


def _float_to_node(value: Any, path: str) -> Any:
    if isinstance(_fitting(value, Real, path, "a number"), Integral):
        return int(value)
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if math.isnan(value):
        raise Misfit(f"{path}: found nan; expected a number")
    return float(value)


def _float_from_node(node: Any, path: str) -> Any:
    if isinstance(node, str) and node in _INFINITIES:
        return _INFINITIES[node]
    if type(node) is int:
        return _int_from_node(node, path)
    if type(node) is not float or not math.isfinite(node):
        raise Misfit(f"{path}: found {shortly(node)}; expected a number")
    return node


def _json(value: Any, path: str) -> Any:
    """Return numbers, texts and sequences of them, of no declared type, as JSON."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_json(each, f"{path}/{i}") for i, each in enumerate(value)]
    if isinstance(value, float):
        return _float_to_node(value, path)
    return _fitting(value, str | int | None, path, "numbers or texts")


def _class_weight_to_node(value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        return _fitting(value, str | None, path, "weights of classes")
    pairs = [[_json(label, path), _float_to_node(each, path)] for label, each in value.items()]
    _class_weight_from_node(pairs, path)  # what cannot be read is not written
    return pairs


def _class_weight_from_node(node: Any, path: str) -> Any:
    """Return weights of classes, whose labels keep their types; a dictionary is a list of pairs."""
    if not isinstance(node, list):
        return _fitting(node, str | None, path, "weights of classes")
    weights = {}
    for pair in node:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) not in _LABELS:
            raise Misfit(f"{path}: found {shortly(pair)}; expected a class and its weight")
        weights[pair[0]] = _float_from_node(pair[1], path)
    if len(weights) < len(node):
        raise Misfit(f"{path}: found a class twice; expected a weight for each")
    return weights


PLAIN: dict[Any, _Plain] = {
    ClassWeight: _Plain(_class_weight_to_node, _class_weight_from_node),
    bool: _Plain(
        lambda value, path: bool(_fitting(value, bool | np.bool_, path, "true or false")),
        lambda node, path: expected(node, bool, path),
    ),
    int: _Plain(_int_to_node, _int_from_node),
    float: _Plain(_float_to_node, _float_from_node),
    Any: _Plain(_json, lambda node, path: node),
    # JSON as it is.
    dict[str, Any]: _Plain(
        lambda value, path: expected(value, dict, path),
        lambda node, path: expected(node, dict, path),
    ),
    list[Any]: _Plain(
        lambda value, path: expected(value, list, path),
        lambda node, path: expected(node, list, path),
    ),
    str: _Plain(
        lambda value, path: str(_fitting(value, str, path, "text")),
        lambda node, path: expected(node, str, path),
    ),
}
