"""Whether a committee can have gone on from another one, and whether two have learned the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from virtualvector.auto.committee import Committee
from virtualvector.auto.online import Known
from virtualvector.features.encoder import Encoder
from virtualvector.features.pooling import Seen, begins_like
from virtualvector.learners.ancestry import WentOn


def check_news(
    known: Sequence[Known], start: Known, names: Sequence[str], common_name: str,
    columns: Sequence[str],
) -> None:  # fmt: skip
    """Raise for a model that did not go on from the start, or that is another one's copy."""
    contents: dict[bytes, str] = {}
    for each, name in zip(known, names, strict=True):
        _check_calm(each.committee, start.committee, name)
        if start.committee.n_rows > 0:  # else everyone has begun with nothing
            _check_went_on(each, start, WentOn(name, common_name), columns)
        if each.committee.n_rows > start.committee.n_rows:
            content = content_of(each)
            if content in contents:
                raise ValueError(
                    f"{contents[content]} and {name} have learned the same rows; expected each row "
                    "in one only"
                )
            contents[content] = name


def content_of(known: Known) -> bytes:
    """Return a digest of what has been learned."""
    committee, encoder = known
    weights = (committee.evidence, committee.weights, committee.corrections)
    numbers = (*weights, *committee.pool, *committee.recalibration)
    columns = (encoder.means, encoder.squares, encoder.missing)
    digest = hashlib.sha256(str(committee.n_rows).encode())
    for array in (*numbers, *columns):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.digest()


def _check_calm(committee: Committee, before: Committee, name: str) -> None:
    if committee.calm_since != before.calm_since:
        raise ValueError(
            f"{name} has begun anew at row {committee.calm_since:,}, because its stream had "
            "changed; expected models whose stream did not"
        )


def _check_went_on(known: Known, start: Known, said: WentOn, columns: Sequence[str]) -> None:
    """Raise if something was counted, or came, before the start and is not there any more."""
    committee, before = known.committee, start.committee
    n_rows, n_before = committee.n_rows, len(before.experts)
    said.check_rows(n_rows, before.n_rows)
    if n_rows == before.n_rows:
        said.check_contents(content_of(known) == content_of(start), n_rows)
    if committee.experts[:n_before] != before.experts:
        found = len(committee.experts)
        raise said.cannot_be(f"{found} experts", f"{n_before}, of which some are others")
    said.check_classes(committee.classes, before.classes)
    said.check_rows_of_classes(*((each.classes, each.counts) for each in (committee, before)))
    _check_columns(Seen(known.encoder, n_rows), Seen(start.encoder, before.n_rows), said, columns)
    said.check_evidence(committee.evidence[:n_before].tolist(), before.evidence.tolist())


def _check_columns(known: Seen, start: Seen, said: WentOn, columns: Sequence[str]) -> None:
    """Raise if the start has seen more of a column, or met a category at another place."""
    own, before = known.encoder, start.encoder
    missing = [f"missing values of {label!r}" for label in columns]
    said.check_counts(own.missing.tolist(), before.missing.tolist(), missing)
    there = [f"values of {columns[k]!r}" for k in own.column_of_number.tolist()]
    said.check_counts(known.n_values.tolist(), start.n_values.tolist(), there)
    if not begins_like(before, own):
        found, expected = (_labels(each, columns) for each in (own, before))
        place = next(k for k, label in enumerate(expected) if found[k : k + 1] != [label])
        there_now = found[place] if place < len(found) else "nothing"
        raise said.cannot_be(
            f"{there_now!r} as input {place + 1} of categories", repr(expected[place])
        )


def _labels(encoder: Encoder, columns: Sequence[str]) -> list[str]:
    """Return what inputs behind the numbers mean."""
    return encoder.labels(list(columns))[len(encoder.counts) :]
