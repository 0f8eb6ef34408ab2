"""What a file of an older format says, turned into what one of the present format would."""

from __future__ import annotations

from typing import Any

import numpy as np

from virtualvector.storage.document import Arrays
from virtualvector.storage.errors import Misfit


def with_header(format: int, document: dict[str, Any]) -> dict[str, Any]:
    """Return a document of such a format with the header that the present one has."""
    if format < 3:
        if "processor" in document:
            raise Misfit(f"found a processor; expected none in format {format}")
        return document | {"processor": "unknown"}
    return dict(document)


def upgraded(format: int, state: Any, arrays: Arrays) -> tuple[Any, Arrays]:
    """Return what a file of such a format holds as one of the present format would.

    Whether it makes sense is for `unpack` to say.
    """
    if format < 2:
        arrays = dict(arrays)
        state = _with_nothing_seen(state, arrays)
    return state, arrays


def _with_nothing_seen(node: Any, arrays: Arrays) -> Any:
    """Format 2: a posterior knows what its stand-ins were matched to; here, to nothing yet."""
    if isinstance(node, list):
        return [_with_nothing_seen(each, arrays) for each in node]
    if not isinstance(node, dict):
        return node
    node = {name: _with_nothing_seen(each, arrays) for name, each in node.items()}
    place = str(node.get("fresh"))
    if place in arrays:
        if "seen" in node:
            raise Misfit(f"{place}: found seen beside it; expected none in format 1")
        node["seen"] = place.removesuffix("fresh") + "seen"
        arrays[node["seen"]] = np.zeros((arrays[place].size, 4))
    return node
