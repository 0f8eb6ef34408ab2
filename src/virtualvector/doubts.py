"""Texts that are numbers, dates or times to people, but not for sure: they are asked about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from virtualvector.values import number_in, time_in

_LONG = 64  # characters of a text that is not looked at more closely
_YEAR, _WORD = r"(?:1[5-9]|2[01])\d\d", r"[^\W\d_]{3,9}\.?"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?"
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
# What is a date, a time or a number to people. Those of other kinds may stand among them.
_DOUBTS = {
    "a date of which day and month are in doubt; expected 2021-05-06": re.compile(
        r"\d{1,2}([/.-])\d{1,2}\1(?:\d{2}|\d{4})(?:[T ,]+\d{1,2}:.*)?", re.ASCII
    ),
    "a date that is written in another way; expected 2021-05-06": re.compile(
        rf"{_YEAR}([-/.])(?:0?[1-9]|1[0-2])(?:\1\d{{1,2}}(?:[T ].*)?)?"
        rf"|\d{{1,2}}[/.]{_YEAR}|{_YEAR}-?W\d\d(?:-?\d)?|\d{{4}}年.*"
        rf"|(?:{_WORD},? )?\d{{1,2}}[. -]+{_WORD}[ ,-]+(?:\d\d|\d{{4}})(?:[T ,].*)?"
        rf"|(?:{_WORD},? )?{_WORD} +\d{{1,2}},? (?:{_CLOCK} )?{_YEAR}(?:[ ,].*)?"
        rf"|(?:{_MONTHS})[a-z]*[. -]+{_YEAR}",
        re.IGNORECASE,
    ),
    "a time or a duration that is written in another way; expected 07:08:09, or a number": (
        re.compile(rf"\d*{_CLOCK}(?: ?[ap]\.?m\.?)?|-?\d+ days?\b.*", re.IGNORECASE | re.ASCII)
    ),
    "a number with signs; expected 12.5": re.compile(
        r"(?:[$€£¥]|USD|EUR|GBP|CHF|JPY) ?[+-]?\d[\d.,]*"
        r"|[+-]?\d[\d.,]* ?(?:[$€£¥%]|USD|EUR|GBP|CHF|JPY)"
        r"|\(\d[\d.,]*\)|[−–]\d[\d.,]*",
        re.ASCII,
    ),
    "a number with commas; expected 1234.5, or --decimal , where 1,5 means 1.5": re.compile(
        r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[+-]?\d+,\d+", re.ASCII
    ),
    "a number with other signs between its digits; expected 1234.5": re.compile(
        r"[+-]?\d{1,3}(?:([ '_’\u00a0\u202f])\d{3})(?:\1\d{3})*(?:[.,]\d+)?"
        r"|[+-]?\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|[+-]?\d{1,3}(?:\.\d{3})+,\d+",
        re.ASCII,
    ),
    'a number in quotes; expected 12.5, or --quote "\'"': re.compile(r"'[+-]?\d[\d.,]*'", re.ASCII),
}


def doubt_in(texts: Sequence[str]) -> str | None:
    """Return why most of some texts are neither categories nor anything else for sure, or None.

    Examples
    --------
    >>> from virtualvector.doubts import doubt_in
    >>> doubt_in(["03/04/2021", "05/04/2021"])
    "found '03/04/2021', a date of which day and month are in doubt; expected 2021-05-06"
    >>> doubt_in(["$12.50", "$3"])
    "found '$12.50', a number with signs; expected 12.5"
    >>> doubt_in(["red", "blue", "3%"])
    """
    seen: Counter[str] = Counter()
    example: dict[str, str] = {}
    for text in texts:
        doubt = doubt_of(text)
        if doubt is not None:
            seen[doubt] += 1
            example.setdefault(doubt, text)
    # Beside numbers and dates, those in doubt are not odd, but one of their kind.
    n_plain = sum(number_in(text) is not None or time_in(text) is not None for text in texts)
    if not seen or 2 * (seen.total() + n_plain) <= len(texts):
        return None
    doubt = seen.most_common(1)[0][0]
    return f"found {example[doubt]!r}, {doubt}"


@lru_cache(2**10)
def doubt_of(text: str) -> str | None:
    """Return what a text may be that is neither a number nor a time for sure, or None.

    Examples
    --------
    >>> from virtualvector.doubts import doubt_of
    >>> doubt_of("12.3%"), doubt_of("12.3"), doubt_of("red")
    ('a number with signs; expected 12.5', None, None)
    """
    if len(text) > _LONG or time_in(text) is not None or number_in(text) is not None:
        return None
    return next((doubt for doubt, pattern in _DOUBTS.items() if pattern.fullmatch(text)), None)
