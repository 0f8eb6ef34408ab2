"""Whether what is known of columns can have been learned: files come from anywhere."""

from __future__ import annotations

import numpy as np

from virtualvector.features.hashing import place_of
from virtualvector.features.validation import check_encoder
from virtualvector.features.wide import HASHED, LONGEST, WideEncoder
from virtualvector.kernels.scaling import LARGEST, LONGEST_MEMORY
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.posterior.settings import Settings
from virtualvector.types import LARGEST_COUNT
from virtualvector.wide.learning import settings_beside, were_beside
from virtualvector.wide.mixed import Mixed

_KINDS = ("number", "time", "category", "text", "sparse")
MOST_PLACES = 2**24


def check_wide_encoder(encoder: WideEncoder, n_rows: int, scale: bool, n_columns: int) -> None:
    """Raise ValueError unless an encoder is one that so many rows can have led to."""
    kinds = list(encoder.kinds)
    _expect(bool(kinds) and all(kind in _KINDS for kind in kinds), f"columns of {_KINDS}")
    _expect(len(encoder.names) == len(kinds) == len(encoder.missing), "a name for each column")
    is_alone = kinds == ["sparse"] and encoder.n_sparse == n_columns
    _expect(len(kinds) == n_columns or is_alone, f"{n_columns} columns")
    _expect(0 <= n_rows <= LARGEST_COUNT, "a number of rows")
    _expect(encoder.scaling == bool(scale), "the same scale as parameters say")
    n_sparse, n_hashed = encoder.n_sparse, encoder.n_hashed
    _expect(kinds.count("sparse") == int(n_sparse > 0), "places of sparse rows, if there are some")
    some = any(kind in HASHED for kind in kinds)
    _expect(some == (n_hashed > 0), "places of words, if there are some")
    _expect(0 <= max(n_sparse, n_hashed) <= MOST_PLACES, f"at most {MOST_PLACES:,} places")
    _expect(np.all((encoder.missing >= 0) & (encoder.missing <= n_rows)), "missing values of rows")
    _check_numbers(encoder, n_rows)
    _check_sparse(encoder, n_rows)
    _check_words(encoder)


def check_same_settings(known: OneVsRest, settings: Settings, mix: bool) -> None:
    """Raise ValueError unless what is known was learned with such settings."""
    changed = known.differences(settings, None)
    if isinstance(known, Mixed):
        beside = [other.settings for other in known.others]
        some = [each for each in settings_beside(settings) if each in beside]
        if not mix or beside not in (some, were_beside(settings)):
            changed.append("mix")
    if changed:
        raise ValueError(
            f"found parameters that give another {', '.join(changed)} than what was learned with; "
            "expected the same: set them back, or fit anew"
        )


def _check_numbers(encoder: WideEncoder, n_rows: int) -> None:
    dense = [kind for kind in encoder.kinds if kind in ("number", "time")]
    numbers = encoder.numbers
    _expect(list(numbers.times) == [kind == "time" for kind in dense], "times where they are")
    _expect(numbers.scaling == encoder.scaling, "one scale")
    if dense:
        check_encoder(numbers, [False] * len(dense), len(dense), n_rows)
    else:
        _expect(len(numbers.categorical) == numbers.counts.size == 0, "no numbers")


def _check_sparse(encoder: WideEncoder, n_rows: int) -> None:
    counts, squares = encoder.counts, encoder.squares
    _expect(counts.shape == squares.shape == (encoder.n_sparse,), "a scale for each place")
    most = min(n_rows, LONGEST_MEMORY)
    _expect(np.all((counts >= 0.0) & (counts <= most)), f"counts from 0 to {most:g}")
    _expect(np.all((squares >= 0.0) & (squares <= LARGEST**2)), "mean squares")
    _expect(not np.any(squares[counts == 0.0]), "no squares where nothing was")


def _check_words(encoder: WideEncoder) -> None:
    met = encoder.met
    _expect(met.shape == (encoder.n_hashed,), "a mark for each place of words")
    _expect(all(len(word) <= LONGEST for word in encoder.words), f"words of up to {LONGEST}")
    places = [place_of(word, encoder.n_hashed) for word in encoder.words]
    _expect(len(set(places)) == len(places) and bool(met[places].all()), "a word for each place")


def _expect(is_so: object, expected: str) -> None:
    if not is_so:
        raise ValueError(f"found something else in what is known of columns; expected {expected}")
