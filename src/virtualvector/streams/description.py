"""What columns were taken for, and why, in a few lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from virtualvector.escaping import printable, quoted
from virtualvector.streams.columns import Column, listed
from virtualvector.values import Kind

FEW = 10  # columns of a kind that get a line each
_LONG = 30  # characters that a text has and a category seldom

_KINDS: dict[Kind, tuple[str, str]] = {
    "number": ("numbers", "most of the first rows have one"),
    "category": ("categories", "most of the first rows have a text or a truth value"),
    "time": ("dates and times", "most of the first rows have one"),
}


def described(
    columns: Sequence[Column], heads: Mapping[str, Sequence[str]], categorical: Sequence[str]
) -> list[str]:
    """Return what columns are taken for, by what the first rows have.

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
    for kind, (words, why) in _KINDS.items():
        names = [column.name for column in columns if column.kind == kind]
        asked = [name for name in names if name in categorical]
        found = [name for name in names if name not in categorical]
        lines += [f"{words}: {listed(found)} ({why})"] if found else []
        lines += [f"{words}: {listed(asked)} (as asked)"] if asked else []
    remarks = [*_constant(heads), *_distinct(columns, heads), *_texts(columns, heads)]
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
            f"an id, --id {printable(name, 100)} hands it on, --ignore {printable(name, 100)} "
            "leaves it out"
            for name in found
        ),
        len(found),
        "columns that are different in each row",
    )


def _is_id(column: Column, cells: Sequence[str]) -> bool:
    if column.time or len(cells) < 20 or len(set(cells)) < len(cells):
        return False
    if column.categorical:
        return True
    whole = [int(cell) for cell in cells if cell.isascii() and cell.isdigit() and len(cell) < 19]
    steps = {after - before for before, after in pairwise(whole)}
    return len(whole) == len(cells) and steps == {1}


def _texts(columns: Sequence[Column], heads: Mapping[str, Sequence[str]]) -> Iterator[str]:
    names = [c.name for c in columns if c.categorical and _is_prose(heads.get(c.name, ()))]
    yield from _bounded(
        (
            f"{quoted(name)} holds texts, of which each is taken as a whole, for a category "
            f"(--ignore {printable(name, 100)} leaves it out)"
            for name in names
        ),
        len(names),
        "columns of texts",
    )


def _is_prose(cells: Sequence[str]) -> bool:
    return bool(cells) and sum(map(len, cells)) > _LONG * len(cells)


def _bounded(lines: Iterable[str], n_lines: int, words: str) -> Iterator[str]:
    for k, line in enumerate(lines):
        if k == FEW:
            yield f"{n_lines - FEW:,} more {words}"
            return
        yield line
