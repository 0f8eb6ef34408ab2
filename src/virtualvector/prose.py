"""Texts of several words, told from categories."""

from __future__ import annotations

from collections.abc import Sequence

_LONG = 30  # characters that a text has and a category seldom
_WORDS = 4  # that a text has at the mean, and a category seldom
_LEAST = 20  # rows that show whether texts come again


def is_plain_prose(cells: Sequence[str]) -> bool:
    """Whether cells plainly are texts of several words, most of which come only once.

    Examples
    --------
    >>> from virtualvector.prose import is_plain_prose
    >>> texts = [f"a bottle of red wine from the year {year}, dry" for year in range(1980, 2010)]
    >>> is_plain_prose(texts), is_plain_prose(["Bosnia and Herzegovina, the country of"] * 30)
    (True, False)
    """
    n_words = sum(len(cell.split()) for cell in cells)
    is_many = len(cells) >= _LEAST and len(set(cells)) > len(cells) / 2
    return is_many and is_long(cells) and n_words >= _WORDS * len(cells)


def is_long(cells: Sequence[str]) -> bool:
    """Whether cells have more characters than categories seldom have.

    Examples
    --------
    >>> from virtualvector.prose import is_long
    >>> is_long(["red", "white"]), is_long(["a dry red wine from the south of the country"])
    (False, True)
    """
    return bool(cells) and sum(map(len, cells)) > _LONG * len(cells)
