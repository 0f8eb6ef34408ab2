"""What a file of an older format says, turned into what one of the present format would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from virtualvector.persistence.document import Arrays
from virtualvector.persistence.errors import Misfit
from virtualvector.persistence.records import Record, with_each_record
from virtualvector.persistence.upgrade_committee import (
    with_counts,
    with_first_columns,
    with_first_rows,
    with_full_covariances,
    with_pool,
    with_rank,
    with_reach,
    with_recalibration,
    with_views,
)
from virtualvector.persistence.upgrade_points import (
    with_label_noises,
    with_precisions_added,
    with_ranks,
    with_turns,
)
from virtualvector.persistence.upgrade_tables import with_marks, with_times

# Format 3 has other names for these: fields of records, parameters, counters.
_RENAMED = {
    "precisions": "site_precisions",
    "shifts": "site_shifts",
    "born": "row_numbers",
    "fresh": "variances_at_refresh",
    "seen": "matched",
    "outlook": "feature_space",
    "watch": "drift",
    "record": "history",
    "moments": "entries",
    "n_waves": "n_frequencies",
    "inputs": "encoder",
    "named": "categorical",
    "names": "categories",
    "gaps": "missing",
}
_SAME = "same as"


def with_header(format: int, document: dict[str, Any]) -> dict[str, Any]:
    """Return a document of such a format with the header that the present one has."""
    if format < 4:
        document = with_marks(document)
    if format < 5:
        document = with_views(document)
    if format < 6:
        document = with_reach(document)
    if format < 9:
        document = with_rank(document)
    if format >= 3:
        return dict(document)
    if "processor" in document:
        raise Misfit(f"found a processor; expected none in format {format}")
    renamed = {
        part: {_renamed(name): value for name, value in document[part].items()}
        for part in ("parameters", "counters")
        if isinstance(document.get(part), dict)
    }
    return document | renamed | {"processor": "unknown"}


def upgraded(format: int, state: Any, arrays: Arrays) -> tuple[Any, Arrays]:
    """Return what a file of such a format holds as one of the present format would.

    Whether it makes sense is for `unpack` to say.
    """
    if format < 2:
        arrays = dict(arrays)
        state = _with_nothing_matched(state, arrays)
    if format < 3:
        plain = {path: node for path, node in _records(state, "") if _is_plain(node)}
        state = _with_names(state, "", arrays, plain)
        arrays = {_renamed(name): array for name, array in arrays.items()}
    if format < 4:
        state, arrays = with_times(*with_label_noises(state, arrays))
    if format < 5:
        state, arrays = with_pool(state, arrays)
    if format < 6:
        state, arrays = with_counts(with_ranks(with_first_columns(state)), arrays)
    if format < 8:
        state, arrays = with_turns(state, arrays)
    if format < 9:
        state = with_first_rows(with_full_covariances(state))
    if format < 10:
        state = with_precisions_added(state)
    if format < 11:
        state, arrays = with_recalibration(state, arrays)
    return state, arrays


def _with_nothing_matched(state: Any, arrays: Arrays) -> Any:
    """Format 2: a posterior knows what its sites were matched at; here, at nothing yet."""

    def change(record: Record) -> Record:
        place = str(record.get("fresh"))
        if place in arrays:
            if "seen" in record:
                raise Misfit(f"{place}: found seen beside it; expected none in format 1")
            record["seen"] = place.removesuffix("fresh") + "seen"
            arrays[record["seen"]] = np.zeros((arrays[place].size, 4))
        return record

    return with_each_record(state, change)


def _with_names(node: Any, path: str, arrays: Arrays, plain: dict[str, dict[str, Any]]) -> Any:
    """Format 3: fields have other names, and come in another order.

    Therefore a record that is the same as an earlier one may now come before it, and is written
    out; those with arrays are not, and stay in their order.
    """
    if isinstance(node, list):
        return [_with_names(each, _under(path, k), arrays, plain) for k, each in enumerate(node)]
    if isinstance(node, dict):
        if node.keys() == {_SAME}:
            earlier = str(node[_SAME])
            return dict(plain[earlier]) if earlier in plain else {_SAME: _renamed(earlier)}
        return {
            _renamed(name): _with_names(each, _under(path, name), arrays, plain)
            for name, each in node.items()
        }
    return _renamed(path) if node == path and path in arrays else node


def _records(node: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each record and its path."""
    if isinstance(node, dict):
        yield path, node
    fields = node.items() if isinstance(node, dict) else enumerate(node)
    for name, each in fields:
        if isinstance(each, dict | list):
            yield from _records(each, _under(path, name))


def _is_plain(node: dict[str, Any]) -> bool:
    """Whether a record holds numbers only, of which many take little memory."""
    numbers = (int, float, str, type(None))
    return node.keys() != {_SAME} and all(isinstance(each, numbers) for each in node.values())


def _under(path: str, name: Any) -> str:
    return f"{path}/{name}" if path else str(name)


def _renamed(path: str) -> str:
    return "/".join(_RENAMED.get(name, name) for name in path.split("/"))
