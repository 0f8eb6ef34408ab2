"""What formats 4, 6, 8 and 10 changed of posteriors: noises, ranks, turns, independent weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from virtualvector.persistence.document import Arrays
from virtualvector.persistence.errors import Misfit
from virtualvector.persistence.records import Record, with_each_record

_SAME = "same as"
_MOST_TURNS, _WEIGHTS_PER_TURN = 32, 64  # of a residual of low rank, as format 8 has them
_SETTINGS = {"buffer_size", "half_life", "max_sweeps", "strategy", "tolerance"}


def with_label_noises(state: Any, arrays: Arrays) -> tuple[Any, Arrays]:
    """Format 4: the points of a posterior have label noises; before, that of its settings.

    The margin noises beside them were called noises.
    """
    arrays = dict(arrays)

    def change(record: Record) -> Record:
        states = record.get("states")
        if isinstance(states, list) and "settings" in record:
            label_noise = _label_noise(record["settings"], state)
            record["states"] = [_with_noises(each, label_noise, arrays) for each in states]
            if "unseen" in record:  # the state of classes that have not come yet
                record["unseen"] = _with_noises(record["unseen"], label_noise, arrays)
        return record

    return with_each_record(state, change), arrays


def _with_noises(state: Any, label_noise: float, arrays: Arrays) -> Any:
    place = state.get("noises") if isinstance(state, dict) else None
    if not isinstance(place, str) or place not in arrays:
        return state
    if "label_noises" in state or "margin_noises" in state:
        raise Misfit(f"{place}: found label_noises beside it; expected none before format 4")
    folder = place.removesuffix("noises")
    margin_noises, label_noises = folder + "margin_noises", folder + "label_noises"
    arrays[margin_noises] = arrays.pop(place)
    arrays[label_noises] = np.full(arrays[margin_noises].shape, label_noise)
    rest = {name: each for name, each in state.items() if name != "noises"}
    return rest | {"margin_noises": margin_noises, "label_noises": label_noises}


def _label_noise(settings: Any, whole: Any) -> float:
    """Return the label noise of settings, which may be those of an earlier posterior."""
    if isinstance(settings, dict) and settings.keys() == {_SAME}:
        path, settings = str(settings[_SAME]), whole
        for name in path.split("/"):
            if isinstance(settings, list) and name.isdecimal() and int(name) < len(settings):
                settings = settings[int(name)]
            else:
                settings = settings.get(name) if isinstance(settings, dict) else None
    found = settings.get("label_noise") if isinstance(settings, dict) else None
    return float(found) if isinstance(found, int | float) else 0.0


def with_ranks(state: Any) -> Any:
    """Format 6: settings say of what rank the residual is; before, all were of full covariance."""
    return with_each_record(state, _with_rank)


def _with_rank(record: Record) -> Record:
    if not record.keys() >= _SETTINGS:
        return record
    if "rank" in record:
        raise Misfit("found a rank among settings; expected none before format 6")
    return record | {"rank": -1}


def with_turns(state: Any, arrays: Arrays) -> tuple[Any, Arrays]:
    """Format 8: cuts of a residual of low rank leave turns; before, each has written all rows."""
    arrays = dict(arrays)
    return with_each_record(state, lambda record: _turned(record, arrays)), arrays


def _turned(record: Record, arrays: Arrays) -> Record:
    place = record.get("directions")
    if not isinstance(place, str) or place not in arrays or arrays[place].ndim != 2:
        return record
    if "visits" in record:
        raise Misfit(f"{place}: found visits beside it; expected none before format 8")
    (d, rank), folder = arrays[place].shape, place.removesuffix("directions")
    n_turns = max(1, min(_MOST_TURNS, d // (_WEIGHTS_PER_TURN * rank))) if rank > 0 else 1
    turns = np.zeros((n_turns, rank, -(-rank // 8) * 8))
    turns[0, :, :rank] = np.eye(rank)
    visits = np.zeros(d if rank > 0 else 0, np.int64)
    new = {"visits": visits, "turns": turns, "lags": np.zeros((n_turns, rank))}
    arrays |= {folder + name: array for name, array in new.items()}
    extent = folder + "extent"
    if extent in arrays and arrays[extent].shape == (2,):
        arrays[extent] = np.append(arrays[extent], 0)
    return record | {name: folder + name for name in new}


def with_precisions_added(state: Any) -> Any:
    """Format 10: weights may be independent, and rates beside learners; before, neither was."""
    return with_each_record(state, _with_precisions_added)


def _with_precisions_added(record: Record) -> Record:
    new: Record = {"independent": False} if record.keys() >= _SETTINGS else {}
    new |= {"rates": None} if record.keys() >= {"others", "trust"} else {}
    for name in new:
        if name in record:
            raise Misfit(f"found {name} among what was learned; expected none before format 10")
    return record | new
