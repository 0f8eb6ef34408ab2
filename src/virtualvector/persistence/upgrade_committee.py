"""What formats 5, 6, 9 and 11 changed of committees: how they see, pool, keep and correct."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from virtualvector.persistence.document import Arrays
from virtualvector.persistence.errors import Misfit
from virtualvector.persistence.records import Record, with_each_record

_SLOTS = 8  # of a categorical column, as format 4 has them
_PRECISION = 10.0  # of an exponent in the pool
_WAYS, _NEW_WAYS = 13, (1, 14, 15)  # to correct the mix; those of the pool
_LEVELS, _OF_CORRECTIONS = 6, 30.0  # of what recalibrates: values of p, and precisions
_LEAD = -1.3862943611198906  # log-odds of the trust in it, of 0.2
_NEXT_TO_NOTHING = 1e-12  # trust in a new way, so that a file says what it said


def with_views(document: dict[str, Any]) -> dict[str, Any]:
    """Format 5: experts, which may be parameters, may see a few columns each, or squares."""
    return _with_experts(document, _with_views)


def with_reach(document: dict[str, Any]) -> dict[str, Any]:
    """Format 6: experts, which may be parameters, have a reach; here, one deviation."""
    return _with_experts(document, _with_reach)


def with_rank(document: dict[str, Any]) -> dict[str, Any]:
    """Format 9: experts, which may be parameters, may have a rank; here, a full covariance."""
    return _with_experts(document, _with_rank)


def with_full_covariances(state: Any) -> Any:
    """Format 9: experts of a committee, and of its history, may have a rank; here, none has."""
    if not isinstance(state, dict) or not _has(state, "committee"):
        return state
    return state | {"committee": _with_rank(state["committee"])}


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
    """Format 6: a committee counts classes; here, as if all had come alike. None has a reach."""
    if not isinstance(state, dict) or not _has(state, "committee"):
        return state, arrays
    committee = _with_reach(state["committee"])
    if "counts" in committee:
        raise Misfit("committee: found counts; expected none before format 6")
    try:
        n_classes = len(committee["posteriors"][0]["classes"]["values"])
        n_calm = committee["n_rows"] - committee["calm_since"]
        space = committee["feature_space"] | {"n_scaled": 0}
        counts = np.full(n_classes, n_calm / max(n_classes, 1))
    except (KeyError, TypeError, IndexError):
        return state, arrays  # which `unpack` refuses
    committee |= {"feature_space": space, "counts": "committee/counts"}
    return state | {"committee": committee}, arrays | {"committee/counts": counts}


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


def with_first_rows(state: Any) -> Any:
    """Format 9: a committee may keep its first rows for a while; here, it has none."""
    if not isinstance(state, dict) or not _has(state, "committee"):
        return state
    if "first_rows" in state["committee"]:
        raise Misfit("committee: found first rows; expected none before format 9")
    return state | {"committee": state["committee"] | {"first_rows": None}}


def with_recalibration(state: Any, arrays: Arrays) -> tuple[Any, Arrays]:
    """Format 11: a committee recalibrates more than two classes; here, nothing yet."""
    if not isinstance(state, dict) or not _has(state, "committee"):
        return state, arrays
    committee = state["committee"]
    if "recalibration" in committee:
        raise Misfit("committee: found a recalibration; expected none before format 11")
    try:
        n_classes = len(committee["posteriors"][0]["classes"]["values"])
    except (KeyError, TypeError, IndexError):
        return state, arrays  # which `unpack` refuses
    known = {
        "by_class": np.zeros((n_classes, 2)),
        "class_covariances": np.tile(np.eye(2) / _OF_CORRECTIONS, (n_classes, 1, 1)),
        "of_likeliest": np.zeros(_LEVELS),
        "likeliest_covariance": np.eye(_LEVELS) / _OF_CORRECTIONS,
        "leads": np.full(2, _LEAD),
    }
    places = {name: f"committee/recalibration/{name}" for name in known}
    committee = committee | {"recalibration": places}
    return state | {"committee": committee}, arrays | {places[name]: known[name] for name in known}


def _has(state: dict[str, Any], *names: str) -> bool:
    return all(isinstance(state.get(name), dict) for name in names)


def _with_experts(document: dict[str, Any], changed: Callable[[Any], Any]) -> dict[str, Any]:
    parameters = document.get("parameters")
    if not isinstance(parameters, dict) or "experts" not in parameters:
        return document
    return document | {"parameters": parameters | {"experts": changed(parameters["experts"])}}


def _with_views(node: Any) -> Any:
    """Return experts that see all columns, and no squares."""
    return _with_fields(node, {"columns": 0, "squares": False}, 5)


def _with_reach(node: Any) -> Any:
    """Return experts that see all numbers bent."""
    return _with_fields(node, {"reach": 1.0}, 6)


def _with_rank(node: Any) -> Any:
    """Return experts with full covariances."""
    return _with_fields(node, {"rank": None}, 9)


def _with_fields(node: Any, fields: dict[str, Any], format: int) -> Any:
    """Return experts with fields that they have only since some format."""

    def change(record: Record) -> Record:
        is_expert = {"bandwidth", "margin_noise", "detail"} <= record.keys()
        if is_expert and fields.keys() & record.keys():
            name = next(iter(fields))
            raise Misfit(
                f"committee: found an expert with {name}; expected none before format {format}"
            )
        return record | fields if is_expert else record

    return with_each_record(node, change)
