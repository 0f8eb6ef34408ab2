"""What format 4 changed of tables: times, one spelling of categories, marks of missing values."""

from __future__ import annotations

from typing import Any

import numpy as np

from virtualvector.persistence.document import Arrays
from virtualvector.persistence.errors import Misfit
from virtualvector.values import category

_SLOTS, _CELLS = 8, 4096  # of a categorical column, as format 4 has them


def with_marks(document: dict[str, Any]) -> dict[str, Any]:
    """Format 4: a committee knows which texts stand for a missing value, beside the usual ones."""
    parameters = document.get("parameters")
    if document.get("learner") != "AutoVVMClassifier" or not isinstance(parameters, dict):
        return document
    if "missing_values" in parameters:
        raise Misfit("found missing_values; expected none before format 4")
    return document | {"parameters": parameters | {"missing_values": None}}


def with_times(state: Any, arrays: Arrays) -> tuple[Any, Arrays]:
    """Format 4: an encoder knows columns of times, and categories by their one spelling.

    Those that it has seen beside the ones with an input were not kept: any may have been.
    """
    encoder = state.get("encoder") if isinstance(state, dict) else None
    if not isinstance(encoder, dict) or not isinstance(encoder.get("categorical"), list):
        return state, arrays
    if {"times", "seen"} & encoder.keys():
        raise Misfit("encoder: found times or what was seen; expected none before format 4")
    categories = encoder.get("categories")
    known = [_respelled(each) for each in categories] if isinstance(categories, list) else []
    full = [isinstance(each[1], list) and len(each[1]) >= _SLOTS for each in known]
    seen = np.zeros((len(known), _CELLS), bool)
    seen[np.flatnonzero(full)] = True
    more = {"times": [False] * len(encoder["categorical"]), "seen": "encoder/seen"}
    if isinstance(categories, list):
        more["categories"] = known
    return state | {"encoder": encoder | more}, arrays | {"encoder/seen": seen}


def _respelled(node: Any) -> Any:
    """Return the categories of a column as they are spelled now; one that is twice, as it was."""
    try:
        column, pairs = node
        names = [str(name) for name, _ in pairs]
        spelled = [category(name) for name in names]
        first = [spelled.index(name) == k for k, name in enumerate(spelled)]
        each = zip(pairs, names, spelled, first, strict=True)
        return [column, [[new if is_first else old, pair[1]] for pair, old, new, is_first in each]]
    except (TypeError, ValueError):
        raise Misfit("encoder: found other categories than those of columns") from None
