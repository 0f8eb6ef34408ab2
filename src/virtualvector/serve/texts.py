"""JSON as it is read, kept and sent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NoReturn

import orjson

_encode = json.JSONEncoder(separators=(",", ":")).encode


def compact(value: Any) -> str:
    """Return a value as JSON in as few characters as it takes.

    Examples
    --------
    >>> from virtualvector.serve.texts import compact
    >>> compact({"x": [1.5, 2**70, None]})
    '{"x":[1.5,1180591620717411303424,null]}'
    """
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a number of more than 64 bits, or half a character
        return _encode(value)


def parsed(body: bytes | str, only_numbers: bool = False) -> Any:
    """Return what JSON says; raise ValueError or RecursionError if it is none.

    Where rows are ``only_numbers``, whole numbers of more than 64 bits may come as their nearest
    float, which is what becomes of them anyhow.

    Examples
    --------
    >>> from virtualvector.serve.texts import parsed
    >>> parsed(b'{"x": 1e999}', only_numbers=True)
    {'x': inf}
    """
    if only_numbers:
        try:
            return orjson.loads(body)
        except ValueError:  # which is stricter
            pass
    return json.loads(body, parse_constant=_refuse)


def parsed_together(texts: Iterable[str], only_numbers: bool = False) -> list[Any]:
    """Return what some texts of JSON say, each of which is a whole; quicker than one by one.

    Examples
    --------
    >>> from virtualvector.serve.texts import parsed_together
    >>> parsed_together(["[1, 2.5]", "{}"])
    [[1, 2.5], {}]
    """
    found: list[Any] = parsed(f"[{','.join(texts)}]", only_numbers)
    return found


def _refuse(constant: str) -> NoReturn:
    """Raise for what Python would read beside JSON: NaN, Infinity and -Infinity."""
    why = f"{constant} is none; null stands for a missing value"
    raise json.JSONDecodeError(why, constant, 0)
