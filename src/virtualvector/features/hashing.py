"""Words of texts, and categories, as places that a hash says: no vocabulary is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils import murmurhash3_32

from virtualvector.types import IntArray

N_PLACES = 2**18


@lru_cache(2**17)  # most words of a text have been met before
def place_of(token: str, n_places: int) -> int:
    """Return the place of a word or a category, as scikit-learn's `FeatureHasher` has it.

    Examples
    --------
    >>> from sklearn.feature_extraction import FeatureHasher
    >>> from virtualvector.features.hashing import place_of
    >>> hasher = FeatureHasher(2**18, input_type="string")
    >>> hasher.transform([["wine: dry red"]]).indices.tolist() == [place_of("wine: dry red", 2**18)]
    True
    """
    place: int = abs(murmurhash3_32(token, seed=0)) % n_places
    return place


@cache
def _words() -> Callable[[str], list[str]]:
    """Return what makes words, and pairs of neighbouring ones, of a text.

    That those of one letter count was chosen after looking, on `benchmarks/text.py`: Vowpal Wabbit
    does so, too.
    """
    words: Any = HashingVectorizer(ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b")
    analyzer: Callable[[str], list[str]] = words.build_analyzer()
    return analyzer


def tokens_of_texts(name: str, texts: Sequence[Any]) -> list[list[str]]:
    """Return the words and pairs of words of each text of a column; none where it is missing.

    Examples
    --------
    >>> from virtualvector.features.hashing import tokens_of_texts
    >>> tokens_of_texts("wine", ["Dry, red!", None])
    [['wine: dry', 'wine: red', 'wine: dry red'], []]
    """
    words = _words()
    return [[f"{name}: {word}" for word in words(text)] if text else [] for text in texts]


def tokens_of_categories(name: str, categories: Sequence[str]) -> list[list[str]]:
    """Return a token for each category of a column; a missing value is one like others."""
    return [[f"{name} = {each}" if each else f"{name} missing"] for each in categories]


def hashed(tokens: Sequence[Sequence[str]], n_places: int) -> tuple[Any, list[str], IntArray]:
    """Return rows with a 1 at the place of each token; and all tokens with their places.

    Examples
    --------
    >>> from virtualvector.features.hashing import hashed
    >>> rows, tokens, places = hashed([["a", "b", "a"], []], 8)
    >>> rows.toarray().sum(axis=1).tolist(), tokens, len(places)
    ([2.0, 0.0], ['a', 'b', 'a'], 3)
    """
    every = list(chain.from_iterable(tokens))
    places = np.array([place_of(token, n_places) for token in every], np.int64)
    starts = np.concatenate([[0], np.cumsum([len(own) for own in tokens])])
    shape = (len(tokens), n_places)
    rows = sparse.csr_array((np.ones(len(every)), places.copy(), starts), shape=shape)
    rows.sum_duplicates()
    rows.data[:] = 1.0  # how often a word comes does not count
    return rows, every, places
