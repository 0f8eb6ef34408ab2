"""What formats 5 and 6 changed of committees: a pool, more views, statistics, later columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from virtualvector.persistence.document import Arrays
from virtualvector.persistence.errors import Misfit

_SLOTS = 8  # of a categorical column, as format 4 has them
_PRECISION = 10.0  # of an exponent in the pool
_WAYS, _NEW_WAYS = 13, (1, 14, 15)  # to correct the mix; those of the pool
_NEXT_TO_NOTHING = 1e-12  # trust in a new way, so that a file says what it said


def with_views(document: dict[str, Any]) -> dict[str, Any]:
    """Format 5: experts, which may be parameters, may see a few columns each, or squares."""
    parameters = document.get("parameters")
    if not isinstance(parameters, dict) or "experts" not in parameters:
        return document
    return document | {"parameters": parameters | {"experts": _with_views(parameters["experts"])}}


def with_pool(state: Any, arrays: Arrays) -> tuple[Any, Arrays]:
    """Format 5: a committee also pools its experts, which may see more; an encoder counts classes.

    The pool begins with all who are awake alike.
    """
    if not isinstance(state, dict) or not _has(state, "committee", "encoder"):
        return state, arrays
    committee, encoder = _with_views(state["committee"]), state["encoder"]
    if "pool" in committee or "statistics" in encoder:
        raise Misfit("committee: found a pool or statistics; expected none before format 5")
    arrays = dict(arrays)
    try:
        awake, counts = arrays["committee/awake"].astype(bool), arrays["encoder/counts"]
        corrections = arrays["committee/corrections"]
        n_most = len(counts) + _SLOTS * len(encoder["categories"])
        space = committee["feature_space"]
        narrowed = space["most_inputs"] < n_most
        space = space | {"n_numbers": space["most_inputs"] if narrowed else len(counts)}
    except (KeyError, TypeError):
        return state, arrays  # which `unpack` refuses
    if corrections.shape == (_WAYS,):
        places = [place - i for i, place in enumerate(_NEW_WAYS)]
        arrays["committee/corrections"] = np.insert(corrections, places, _NEXT_TO_NOTHING)
    arrays["committee/pool/mean"] = awake / max(awake.sum(), 1)
    arrays["committee/pool/covariance"] = np.diag(awake / _PRECISION)
    arrays["encoder/statistics/totals"] = np.zeros(1)
    pool = {name: f"committee/pool/{name}" for name in ("mean", "covariance")}
    statistics: dict[str, Any] = {
        "most": 0,
        "classes": None,
        "totals": "encoder/statistics/totals",
        "counts": [],
        "places": [],
    }
    upgraded = {
        "committee": committee | {"feature_space": space, "pool": pool},
        "encoder": encoder | {"most_statistics": 0, "statistics": statistics},
    }
    return state | upgraded, arrays


def with_first_columns(state: Any) -> Any:
    """Format 6: an encoder knows how many columns there were at the start; here, all of them."""
    if not isinstance(state, dict) or not _has(state, "encoder"):
        return state
    encoder = state["encoder"]
    if "n_first" in encoder:
        raise Misfit("encoder: found n_first; expected none before format 6")
    categorical = encoder.get("categorical")
    n_columns = len(categorical) if isinstance(categorical, list) else 0
    return state | {"encoder": encoder | {"n_first": n_columns}}


def _has(state: dict[str, Any], *names: str) -> bool:
    return all(isinstance(state.get(name), dict) for name in names)


def _with_views(node: Any) -> Any:
    """Return experts that see all columns, and no squares."""
    if isinstance(node, list):
        return [_with_views(each) for each in node]
    if not isinstance(node, dict):
        return node
    node = {name: _with_views(each) for name, each in node.items()}
    is_expert = {"bandwidth", "margin_noise", "detail"} <= node.keys()
    if is_expert and {"columns", "squares"} & node.keys():
        raise Misfit("committee: found an expert with columns; expected none before format 5")
    return node | {"columns": 0, "squares": False} if is_expert else node
