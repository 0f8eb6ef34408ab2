"""The records of a document, as those are changed that are of an earlier format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Record = dict[str, Any]


def with_each_record(node: Any, change: Callable[[Record], Record]) -> Any:
    """Return the same lists and records, each record changed once those within it have been.

    Examples
    --------
    >>> from virtualvector.persistence.records import with_each_record
    >>> with_each_record([{"a": {"b": 1}}, 2], lambda record: record | {"new": True})
    [{'a': {'b': 1, 'new': True}, 'new': True}, 2]
    """
    if isinstance(node, list):
        return [with_each_record(each, change) for each in node]
    if not isinstance(node, dict):
        return node
    return change({name: with_each_record(each, change) for name, each in node.items()})
