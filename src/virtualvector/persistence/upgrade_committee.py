"""What format 5 changed of committees: a logarithmic pool, more views, statistics of categories."""

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


def with_reach(document: dict[str, Any]) -> dict[str, Any]:
    """Format 5, since experts have a reach: that of those which have none is one deviation."""
    parameters = document.get("parameters")
    if not isinstance(parameters, dict) or "experts" not in parameters:
        return document
    experts = _with_fields(parameters["experts"], {"reach": 1.0})
    return document | {"parameters": parameters | {"experts": experts}}


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


def with_counts(state: Any, arrays: Arrays) -> tuple[Any, Arrays]:
    """Format 5, since it counts classes: as if all had come alike. No number was straightened."""
    if not isinstance(state, dict) or not _has(state, "committee"):
        return state, arrays
    committee = _with_fields(state["committee"], {"reach": 1.0})
    if "counts" in committee:
        return state, arrays
    try:
        n_classes = len(committee["posteriors"][0]["classes"]["values"])
        n_calm = committee["n_rows"] - committee["calm_since"]
        space = committee["feature_space"] | {"n_scaled": 0}
        counts = np.full(n_classes, n_calm / max(n_classes, 1))
    except (KeyError, TypeError, IndexError):
        return state, arrays  # which `unpack` refuses
    committee |= {"feature_space": space, "counts": "committee/counts"}
    return state | {"committee": committee}, arrays | {"committee/counts": counts}


def _has(state: dict[str, Any], *names: str) -> bool:
    return all(isinstance(state.get(name), dict) for name in names)


def _with_views(node: Any) -> Any:
    """Return experts that see all columns, and no squares."""
    return _with_fields(node, {"columns": 0, "squares": False}, "columns")


def _with_fields(node: Any, fields: dict[str, Any], unexpected: str = "") -> Any:
    """Return experts with fields that they lack; those that must lack them may have none."""
    if isinstance(node, list):
        return [_with_fields(each, fields, unexpected) for each in node]
    if not isinstance(node, dict):
        return node
    node = {name: _with_fields(each, fields, unexpected) for name, each in node.items()}
    is_expert = {"bandwidth", "margin_noise", "detail"} <= node.keys()
    if is_expert and unexpected and fields.keys() & node.keys():
        raise Misfit(f"committee: found an expert with {unexpected}; expected none before format 5")
    return fields | node if is_expert else node
