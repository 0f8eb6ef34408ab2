"""What columns were taken for, and why, in a few lines for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from virtualvector.escaping import argument, quoted
from virtualvector.prose import is_long
from virtualvector.streams.columns import Column, listed
from virtualvector.values import Kind, category, number_in, time_in

FEW = 10  # columns of a kind that get a line each

_DAYS = (18000101, 21001231)  # as numbers
_SECONDS = (1_000_000_000, 2_500_000_000)  # since 1970: of the years 2001 to 2049
_UNITS = {1: "seconds", 1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds"}
_NINES = re.compile(r"-?9{2,}(?:\.0*)?")  # which people write for what they do not know
_CODE = re.compile(r"[+-]?0\d+", re.ASCII)  # the zero says nothing of a number
_LARGE = re.compile(r"[+-]?\d{16,40}", re.ASCII)
_SOME = 10  # rows of which one is seldom what the others are not

_KINDS: dict[Kind, tuple[str, str]] = {
    "number": ("numbers", "most of the first rows have one"),
    "category": ("categories", "most of the first rows have a text or a truth value"),
    "time": ("dates and times", "most of the first rows have one"),
    "text": (
        "texts",
        "most of the first rows have several words, which count with pairs of them; --categorical "
        "takes each text as a whole",
    ),
}


def described(
    columns: Sequence[Column],
    heads: Mapping[str, Sequence[str]],
    categorical: Sequence[str],
    typed: Collection[str] = (),
    may_be_text: bool = False,
) -> list[str]:
    """Return what columns are taken for, by what the first rows have.

    Whether some ``may_be_text`` is for who is told which options help.

    Examples
    --------
    >>> from virtualvector.streams.columns import Column
    >>> from virtualvector.streams.description import described
    >>> columns = [Column("age", False), Column("zip", True)]
    >>> for line in described(columns, {"age": ["31", "40"], "zip": ["1", "1"]}, ["zip"]):
    ...     print(line)
    numbers: 'age' (most of the first rows have one)
    categories: 'zip' (as asked)
    'zip' is always '1' in the first 2 rows
    """
    lines = []
    known_by_name = {*categorical, *typed}  # there may be thousands
    for kind, (words, why) in _KINDS.items():
        names = [c.name for c in columns if c.kind == kind and (heads[c.name] or c.name in typed)]
        asked = [name for name in names if name in categorical]
        rest = [name for name in names if name not in categorical]
        known = [name for name in rest if name in typed]
        found = [name for name in rest if name not in typed]
        lines += [f"{words}: {listed(known)} (by type)"] if known else []
        lines += [f"{words}: {listed(found)} ({why})"] if found else []
        lines += [f"{words}: {listed(asked)} (as asked)"] if asked else []
    remarks = [
        *_constant(heads),
        *_distinct(columns, heads),
        *_texts(columns, heads, may_be_text),
        *_mixed([c for c in columns if c.name not in known_by_name], heads),
        *_counted_times(columns, heads),
        *_codes(columns, heads),
        *_sentinels(columns, heads),
        *_rounded(columns, heads),
        *_cases(columns, heads),
    ]
    return lines + remarks


def _constant(heads: Mapping[str, Sequence[str]]) -> Iterator[str]:
    found = {name: cells for name, cells in heads.items() if len(set(cells)) == 1 < len(cells)}
    empty = [name for name, cells in heads.items() if not cells]
    yield from _bounded(
        (
            f"{quoted(name)} is always {quoted(cells[0], 40)} in the first {len(cells)} rows"
            for name, cells in found.items()
        ),
        len(found),
        "columns that are always the same",
    )
    if empty:
        yield f"{listed(empty)}: no value in the first rows; taken for numbers"


def _distinct(columns: Sequence[Column], heads: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield columns that have another value in each row, as an id has: texts, or counted rows."""
    found = [c.name for c in columns if _is_id(c, heads.get(c.name, ()))]
    yield from _bounded(
        (
            f"{quoted(name)} is different in each of the first {len(heads[name])} rows: if it is "
            f"an id, --id {argument(name)} hands it on, --ignore {argument(name)} "
            "leaves it out"
            for name in found
        ),
        len(found),
        "columns that are different in each row",
    )


def _is_id(column: Column, cells: Sequence[str]) -> bool:
    if column.time or len(cells) < 20:
        return False
    if column.categorical:
        return len(set(cells)) == len(cells)
    if not all(cell.isascii() and cell.isdigit() and len(cell) < 19 for cell in cells):
        return False
    return {after - before for before, after in pairwise(map(int, cells))} == {1}


def _texts(
    columns: Sequence[Column], heads: Mapping[str, Sequence[str]], may_be_text: bool
) -> Iterator[str]:
    names = [c.name for c in columns if c.categorical and is_long(heads.get(c.name, ()))]
    yield from _bounded(
        (
            f"{quoted(name)} holds texts, of which each is taken as a whole, for a category "
            f"({f'--text {argument(name)} learns its words, ' * may_be_text}"
            f"--ignore {argument(name)} leaves it out)"
            for name in names
        ),
        len(names),
        "columns of texts",
    )


def _mixed(columns: Sequence[Column], heads: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield columns of texts in which there are numbers."""
    lines = []
    for name in (column.name for column in columns if column.categorical):
        cells = heads.get(name, ())
        n_numbers = sum(number_in(cell) is not None for cell in cells)
        if cells and n_numbers == len(cells):
            lines.append(f"{quoted(name)} holds numbers written as texts, taken for categories")
        elif n_numbers * _SOME > len(cells):
            lines.append(
                f"{quoted(name)} has numbers in {n_numbers} of the first {len(cells)} rows, and is "
                "taken for categories"
            )
    yield from _bounded(lines, len(lines), "columns of texts and numbers")


def _counted_times(columns: Sequence[Column], heads: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield columns of numbers that may be times: days as 20210506, or counted since 1970."""
    lines = []
    for name in (column.name for column in columns if column.kind == "number"):
        unit = _unit_of(set(heads.get(name, ())))
        if unit:
            lines.append(
                f"{quoted(name)} is taken for numbers; if these are {unit}, write them as "
                "2021-05-06 07:08:09 to have them taken for times"
            )
    yield from _bounded(lines, len(lines), "columns of numbers that may be times")


def _codes(columns: Sequence[Column], heads: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield columns of numbers of which some begin with a zero, as zip codes do."""
    lines = []
    for name in (column.name for column in columns if column.kind == "number"):
        code = next(filter(_CODE.fullmatch, heads.get(name, ())), None)
        if code:
            lines.append(
                f"{quoted(name)} is taken for numbers, but has {quoted(code, 40)}, which begins "
                f"with a zero (--categorical {argument(name)} if these are codes)"
            )
    yield from _bounded(lines, len(lines), "columns of numbers that begin with a zero")


def _sentinels(columns: Sequence[Column], heads: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield columns of numbers with a row of nines again and again, far from all others."""
    lines = []
    for name in (column.name for column in columns if column.kind == "number"):
        for text, n in Counter(filter(_NINES.fullmatch, heads.get(name, ()))).items():
            number = float(text)
            others = [o for o in map(number_in, heads[name]) if o is not None and o != number]
            if n > 1 and others and _is_far(number, min(others), max(others)):
                lines.append(
                    f"{quoted(name)} is {text} in {n} of the first {len(heads[name])} rows, taken "
                    f"for a number (--missing {argument(text)} if it stands for a missing value)"
                )
    yield from _bounded(lines, len(lines), "columns with such numbers")


def _is_far(number: float, least: float, most: float) -> bool:
    return max(least - number, number - most) > most - least


def _rounded(columns: Sequence[Column], heads: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield columns of whole numbers that are too large to be told from their neighbours."""
    numbers = (column.name for column in columns if column.kind == "number")
    names = [name for name in numbers if any(map(_is_rounded, heads.get(name, ())))]
    yield from _bounded(
        (
            f"{quoted(name)} has whole numbers beyond 2^53, which are rounded as numbers "
            f"(--categorical {argument(name)} if these are codes, --ignore {argument(name)} "
            "leaves them out)"
            for name in names
        ),
        len(names),
        "columns of numbers that are rounded",
    )


def _is_rounded(cell: str) -> bool:
    return _LARGE.fullmatch(cell) is not None and abs(int(cell)) > 2**53


def _cases(columns: Sequence[Column], heads: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield columns of categories that differ by nothing but capitals."""
    lines = []
    for name in (column.name for column in columns if column.categorical):
        pair = alike(category(cell) for cell in heads.get(name, ()))
        if pair:
            both = " and ".join(map(quoted, pair))
            lines.append(f"{quoted(name)} has {both}, which are two categories")
    yield from _bounded(lines, len(lines), "columns of categories that differ by capitals")


def alike(texts: Iterable[str]) -> tuple[str, str] | None:
    """Return the first two texts that differ by nothing but capitals, or None.

    Examples
    --------
    >>> from virtualvector.streams.description import alike
    >>> alike(["yes", "no", "Yes"]), alike(["yes", "no", "yes"])
    (('yes', 'Yes'), None)
    """
    first: dict[str, str] = {}
    for text in texts:
        other = first.setdefault(text.casefold(), text)
        if other != text:
            return other, text
    return None


def _unit_of(cells: Collection[str]) -> str | None:
    whole = []
    for number in map(number_in, cells):
        if number is None or not number.is_integer():
            return None
        whole.append(number)
    if len(whole) < 2:
        return None
    days = [f"{day // 10000}-{day // 100 % 100:02}-{day % 100:02}" for day in map(int, whole)]
    if _DAYS[0] <= min(whole) <= max(whole) <= _DAYS[1] and None not in map(time_in, days):
        return "dates"
    least, most = _SECONDS
    return next(
        (
            f"{unit} since 1970"
            for factor, unit in _UNITS.items()
            if least * factor <= min(whole) <= max(whole) <= most * factor
        ),
        None,
    )


def _bounded(lines: Iterable[str], n_lines: int, words: str) -> Iterator[str]:
    for k, line in enumerate(lines):
        if k == FEW:
            yield f"{n_lines - FEW:,} more {words}"
            return
        yield line
