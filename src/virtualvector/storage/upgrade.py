"""What was learned, as an older format has it, turned into the present one."""

from __future__ import annotations

from typing import Any

import numpy as np

from virtualvector.storage.document import Arrays
from virtualvector.storage.errors import Misfit, shortly


def upgraded(format: int, state: Any, arrays: Arrays) -> tuple[Any, Arrays]:
    """Return what a file of such a format holds as one of the present format would.

    Whether it makes sense is for `unpack` to say.
    """
    if format < 2:
        arrays = dict(arrays)
        state = _with_what_waits(state, arrays)
    return state, arrays


def _with_what_waits(node: Any, arrays: Arrays) -> Any:
    """Format 2: a posterior has three arrays more, which say that nothing waits or was seen."""
    if isinstance(node, list):
        return [_with_what_waits(each, arrays) for each in node]
    if not isinstance(node, dict):
        return node
    node = {name: _with_what_waits(each, arrays) for name, each in node.items()}
    mean, fresh = (arrays.get(str(node.get(name))) for name in ("mean", "fresh"))
    if mean is not None and fresh is not None:
        path = str(node["mean"]).removesuffix("mean")
        shapes = {"waiting": (3, mean.size), "waiting_step": (1,), "seen": (fresh.size, 4)}
        for name, shape in shapes.items():
            if name in node:
                raise Misfit(f"found {shortly(path + name)}; expected none in format 1")
            node[name] = path + name
            arrays[path + name] = np.zeros(shape)
    return node
