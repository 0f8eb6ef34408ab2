"""Class labels as JSON, with their exact type: texts, whole numbers, truth values, dates."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from virtualvector.persistence.errors import Misfit, shortly

_MOST_BYTES = 2**26
_TYPES = re.compile(r"\|O|\|b1|[<>|][iu][1248]|[<>]f[248]|[<>]U\d{1,7}|[<>][Mm]8(\[\d*\w{1,2}\])?")


def node_of_labels(labels: NDArray[Any], path: str) -> dict[str, Any]:
    """Return labels as JSON.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.persistence.labels import node_of_labels
    >>> node_of_labels(np.array(["no", "yes"]), "classes")
    {'dtype': '<U3', 'values': ['no', 'yes']}
    """
    kind = labels.dtype.kind
    values = [str(label) for label in labels] if kind == "O" else _countable(labels).tolist()
    node = {"dtype": labels.dtype.str, "values": values}
    labels_from_node(node, path)  # what cannot be read is not written
    return node


def labels_from_node(node: Any, path: str) -> NDArray[Any]:
    """Return the labels that `node_of_labels` was given; raise `Misfit` if there are none such."""
    if not isinstance(node, dict) or node.keys() != {"dtype", "values"}:
        raise Misfit(f"{path}: found {shortly(node)}; expected labels")
    name, values = node["dtype"], node["values"]
    if not isinstance(name, str) or not _TYPES.fullmatch(name):
        raise Misfit(f"{path}: found labels of type {shortly(name)}; expected texts or numbers")
    try:
        labels = _made(values, np.dtype(name))
    except (TypeError, ValueError, OverflowError):
        raise Misfit(f"{path}: found {shortly(values)}; expected labels of type {name}") from None
    return labels


def _made(values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values as an array, unless that changes them, or they are too many."""
    plain = (str,) if dtype.kind in "OU" else (bool, int, float)
    if not isinstance(values, list) or dtype.itemsize * len(values) > _MOST_BYTES:
        raise ValueError
    if any(type(value) not in plain or value in (math.inf, -math.inf) for value in values):
        raise ValueError
    labels = np.array(values, np.int64 if dtype.kind in "Mm" else dtype)
    if repr(labels.tolist()) != repr(values):  # unlike ==, tells 1 from 1.0 and True
        raise ValueError
    return labels.view(dtype)


def _countable(labels: NDArray[Any]) -> NDArray[Any]:
    """Return dates as whole numbers, anything else as it is."""
    return labels.view(np.int64) if labels.dtype.kind in "Mm" else labels
