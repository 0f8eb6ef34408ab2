"""What requests may hold, looked at before anything is done with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from struct import Struct
from typing import Any, NamedTuple, Self

import orjson

from virtualvector.escaping import quoted
from virtualvector.serve.rows import RowFormat
from virtualvector.serve.texts import compact, parsed

LONGEST_ID = 200  # characters
_FEW = 40  # characters of what was found that are told
_SIZES = Struct("<HI")  # bytes of an id, and of numbers


class Refused(Exception):
    """A request cannot be carried out, for a reason that is the client's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Limits(NamedTuple):
    """How much may be asked for at once."""

    body: int = 2**20  # bytes
    rows: int = 1000
    columns: int = 20_480  # keys of a row
    open: int = 256  # requests under way
    rate: float | None = None  # requests in a second
    seconds: float = 10.0  # for a body to come


class Asked(NamedTuple):
    """Rows, and what came with them."""

    rows: list[dict[str, Any]]
    ids: list[str | None]
    labels: list[Any]
    is_one: bool  # one row, not a list of one


class OneRow(NamedTuple):
    """A row of nothing but finite numbers, in the order of the columns."""

    numbers: bytes  # as an array of floats has them
    text: str  # JSON: the same as they were sent
    id: str | None

    def packed(self) -> bytes:
        """Return it as bytes, for another process."""
        own = b"" if self.id is None else self.id.encode()
        sizes = _SIZES.pack(len(own), len(self.numbers))
        return b"".join((sizes, own, self.numbers, self.text.encode()))

    @classmethod
    def unpacked(cls, data: bytes) -> Self:
        """Return what was packed.

        Examples
        --------
        >>> from virtualvector.serve.bodies import OneRow
        >>> row = OneRow(bytes(8), "[0.0]", "a")
        >>> OneRow.unpacked(row.packed()) == row
        True
        """
        n_id, n_numbers = _SIZES.unpack_from(data)
        numbers_at = _SIZES.size + n_id
        text_at = numbers_at + n_numbers
        own = data[_SIZES.size : numbers_at].decode() if n_id else None
        return cls(data[numbers_at:text_at], data[text_at:].decode(), own)


def rows_in(
    body: bytes, limits: Limits, labelled: bool = False, only_numbers: bool = False
) -> Asked:
    """Return the rows of a request, their ids, and their labels if they have any.

    Examples
    --------
    >>> from virtualvector.serve.bodies import Limits, rows_in
    >>> rows_in(b'{"row": {"x": 1.5}, "id": "a"}', Limits())
    Asked(rows=[{'x': 1.5}], ids=['a'], labels=[], is_one=True)
    """
    asked = _json(body, only_numbers)
    one = ("row", "id", "label") if labelled else ("row", "id")
    many = ("rows", "ids", "labels") if labelled else ("rows", "ids")
    if not isinstance(asked, dict):
        raise Refused(422, f"found {_kind(asked)}; expected an object with {_named(one)}.")
    is_one = "row" in asked
    known = one if is_one else many
    for name in asked:
        if name not in known:
            raise Refused(422, f"found the key {quoted(name, _FEW)}; expected {_named(known)}.")
    if not is_one and "rows" not in asked:
        raise Refused(422, 'found neither "row" nor "rows"; expected one of them.')
    if is_one:
        asked = {f"{name}s": [asked[name]] for name in one if name in asked}
    rows = _listed(asked, "rows", limits.rows)
    for k, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise Refused(422, f"row {k}: found {_kind(row)}; expected an object.")
        if not 0 < len(row) <= limits.columns:
            most = f"1 to {limits.columns:,}"
            raise Refused(422, f"row {k}: found {len(row):,} columns; expected {most}.")
    ids = _beside(asked, "ids", rows) if "ids" in asked else [None] * len(rows)
    for own in ids:
        if own is not None:
            check_id(own)
    given = [own for own in ids if own is not None]
    if len(set(given)) < len(given):
        raise Refused(422, "ids: found one twice; expected another id for each row.")
    labels = _beside(asked, "labels", rows) if labelled else []
    return Asked(rows, ids, labels, is_one)


def one_row_in(body: bytes, form: RowFormat, limits: Limits) -> OneRow | None:
    """Return the numbers of the one row of a request, and its id; None if there is more to see.

    Examples
    --------
    >>> from virtualvector.serve.bodies import Limits, one_row_in
    >>> from virtualvector.serve.rows import RowFormat
    >>> from virtualvector.streams import Column
    >>> form = RowFormat([Column("a", False), Column("b", False)])
    >>> one_row_in(b'{"row": {"b": 2, "a": 1.5}}', form, Limits()).text
    '[1.5,2]'
    """
    try:
        asked = orjson.loads(body)
    except ValueError:
        return None
    if type(asked) is not dict or not asked.keys() <= {"row", "id"}:
        return None
    values, own = form.numbers_in(asked.get("row")), asked.get("id")
    if values is None or len(values) > limits.columns or not (own is None or is_id(own)):
        return None
    return OneRow(form.packed(values), compact(values), own)


def labels_in(body: bytes, limits: Limits) -> tuple[list[tuple[str, Any]], bool]:
    """Return ids and labels of a request, and whether it was one, not a list of one.

    Examples
    --------
    >>> from virtualvector.serve.bodies import Limits, labels_in
    >>> labels_in(b'[{"id": "a", "label": "spam"}]', Limits())
    ([('a', 'spam')], False)
    """
    asked = _json(body)
    is_one = isinstance(asked, dict)
    each = [asked] if is_one else asked
    if not isinstance(each, list):
        raise Refused(422, f'found {_kind(asked)}; expected {{"id": …, "label": …}} or a list.')
    _check_number(each, "labels", limits.rows)
    found = []
    for k, one in enumerate(each, start=1):
        if not isinstance(one, dict) or one.keys() != {"id", "label"}:
            raise Refused(422, f'label {k}: expected an object with "id" and "label".')
        check_id(one["id"])
        found.append((one["id"], one["label"]))
    return found, is_one


def check_id(own: Any) -> None:
    """Raise unless it can be the id of a row."""
    if not is_id(own):
        raise Refused(
            422, f"id: found {_kind(own)}; expected a text of 1 to {LONGEST_ID} visible characters."
        )


def is_id(own: Any) -> bool:
    """Whether it can be the id of a row."""
    return isinstance(own, str) and 0 < len(own) <= LONGEST_ID and own.isprintable()


def _json(body: bytes, only_numbers: bool = False) -> Any:
    try:
        return parsed(body, only_numbers)
    except (ValueError, RecursionError) as error:
        message = error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise Refused(400, f"found a body that is no JSON ({message}); expected JSON.") from error


def _listed(asked: dict[str, Any], name: str, most: int) -> list[Any]:
    found = asked[name]
    if not isinstance(found, list):
        raise Refused(422, f"{name}: found {_kind(found)}; expected a list.")
    _check_number(found, name, most)
    return found


def _check_number(found: Sequence[Any], name: str, most: int) -> None:
    if len(found) > most:
        raise Refused(413, f"{name}: found {len(found):,}; expected at most {most:,} at once.")
    if not found:
        raise Refused(422, f"{name}: found none; expected some.")


def _beside(asked: dict[str, Any], name: str, rows: Sequence[Any]) -> list[Any]:
    found = asked.get(name)
    if not isinstance(found, list) or len(found) != len(rows):
        n_found = f"{len(found):,}" if isinstance(found, list) else _kind(found)
        raise Refused(422, f"{name}: found {n_found}; expected a list of {len(rows):,}.")
    return found


def _kind(value: Any) -> str:
    """Return what a value is, and not what it holds: that is nobody else's business."""
    kinds = {dict: "an object", list: "a list", str: "a text", type(None): "nothing"}
    return kinds.get(type(value), "a number or a truth value")


def _named(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
