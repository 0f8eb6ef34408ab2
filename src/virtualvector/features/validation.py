"""Whether an encoder that comes from outside can have learned so many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from virtualvector.features import statistics
from virtualvector.features.categories import CELLS, SLOTS
from virtualvector.features.encoder import Encoder
from virtualvector.kernels.scaling import LARGEST, LONGEST_MEMORY, settled
from virtualvector.types import LARGEST_COUNT

_ROUNDING = 1e-9  # of means


def check_encoder(
    encoder: Encoder, categorical: Sequence[bool], n_columns: int, n_rows: int
) -> None:
    """Raise ValueError unless inputs are those of so many columns and rows."""
    _expect(
        list(encoder.categorical) == list(categorical) and len(categorical) == n_columns,
        "the same columns",
    )
    _expect(len(encoder.times) == n_columns, "the same columns")
    _expect(n_columns >= 1 and 0 <= n_rows <= LARGEST_COUNT, "columns and rows")
    _expect(1 <= encoder.n_first <= n_columns, "columns at the start")
    given = {each.name: getattr(encoder, each.name) for each in fields(encoder) if each.init}
    both = zip(encoder.categorical, encoder.times, strict=True)
    _expect(not any(k and t for k, t in both), "columns of one kind each")
    fresh = Encoder(**given)
    for each in fields(encoder):
        value, expected = getattr(encoder, each.name), getattr(fresh, each.name)
        if isinstance(expected, np.ndarray):
            _expect(value.shape == expected.shape, f"{each.name} of shape {expected.shape}")
    _expect(
        list(encoder.categories) == list(fresh.categories),
        "categories of the columns that are categorical",
    )
    places = [place for known in encoder.categories.values() for place in known.values()]
    places += [place for inputs in encoder.statistics.places.values() for place in inputs]
    places.sort()
    first, n_inputs = len(encoder.at_start.counts), len(encoder.counts) + len(places)
    # Numbers have those between, if their columns came later.
    possible = len(set(places)) == len(places) and all(first <= p < n_inputs for p in places)
    _expect(possible, "an input for each category")
    most = max(map(len, encoder.categories.values()), default=0)
    _expect(most <= min(SLOTS, n_rows), f"at most {SLOTS} inputs for a column, each from a row")
    _expect(
        np.all((encoder.missing >= 0) & (encoder.missing <= n_rows)),
        "no more missing values than rows",
    )
    _check_scales(encoder, n_rows)
    _check_statistics(encoder, n_rows)


def _check_scales(encoder: Encoder, n_rows: int) -> None:
    """Check what is known of columns of numbers: every row that had a value counted once."""
    counts, means, squares = encoder.counts, encoder.means, encoder.squares
    rows = n_rows - encoder.missing[encoder.column_of_number]
    observed = np.asarray(rows if encoder.scaling else np.zeros(len(counts)), float)
    # Models of earlier versions began without giving more weight to the first rows.
    fits = (counts == settled(observed)) | (counts == np.minimum(observed, LONGEST_MEMORY))
    _expect(np.all(fits), "counts of rows")
    largest = LARGEST * (1.0 + _ROUNDING)
    _expect(np.all(np.abs(means) <= np.where(counts > 0, largest, 0.0)), "means of what came")
    widest = np.where(counts > 1, np.square(2.0 * largest), 0.0)
    _expect(np.all((squares >= 0) & (squares <= widest)), "squares of what came")


def check_room(encoder: Encoder) -> None:
    """Raise ValueError unless there is room for as many inputs as an encoder may make."""
    most = encoder.most_statistics
    _expect(0 <= most <= statistics.MOST, f"at most {statistics.MOST} statistics of a column")


def _check_statistics(encoder: Encoder, n_rows: int) -> None:
    """Check what is known of later categories: every row counted once for each column."""
    found, most = encoder.statistics, encoder.most_statistics
    _expect(found.most == most and 0 <= most <= statistics.MOST, "as many statistics")
    n_classes = 0 if found.classes is None else len(found.classes)
    width = 1 + min(max(n_classes - 1, 0), most)
    _expect(found.totals.shape == (width,), f"totals of {width - 1} classes")
    observed, counted = n_rows if n_classes else 0, found.totals[0]
    # Rows count from the first categorical column on.
    fits = counted == observed if encoder.at_start.categories else counted <= observed
    _expect(_are_counts(found.totals) and fits, "totals of the rows")
    for k, counts in found.counts.items():
        full = k in encoder.categories and len(encoder.categories[k]) == SLOTS
        _expect(full and counts.shape == (CELLS, width), "counts of a column with later categories")
        _expect(_are_counts(counts), "counts of rows")
        _expect(np.all(counts.sum(axis=0) <= found.totals), "no more counts than rows")
    for k, places in found.places.items():
        _expect(k in found.counts and len(places) < width, "an input for each class")


def _are_counts(counts: Any) -> bool:
    """Whether counts of all rows and of those of some classes go together."""
    whole = np.all((counts >= 0.0) & (counts == np.floor(counts)))
    return bool(whole and np.all(counts[..., 1:].sum(axis=-1) <= counts[..., 0]))


def _expect(holds: object, expected: str) -> None:
    if not holds:
        raise ValueError(f"found what cannot have been learned; expected {expected}")
