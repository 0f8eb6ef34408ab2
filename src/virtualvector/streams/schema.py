"""Which column has the labels, and whether the columns are those that are expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from virtualvector.doubts import doubt_in
from virtualvector.escaping import argument, quoted
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.columns import Column, Plan, listed

AS_ASKED = "as asked"
USUAL = ("label", "class", "target", "y")  # in any case
MANY = 20  # classes that are too many where most rows have one of their own


def choose_label(source: str, columns: Sequence[str], asked: str | None) -> tuple[str, str]:
    """Return the column that has the labels, and why it is that one.

    Examples
    --------
    >>> from virtualvector.streams.schema import choose_label
    >>> choose_label("rows.csv", ["Class", "age", "height"], None)
    ('Class', "the only column called 'Class'")
    >>> choose_label("rows.csv", ["age", "height", "ill"], None)
    ('ill', 'the last column')
    """
    if asked is not None:
        if asked not in columns:
            raise BadInput(
                f"{source}: found no column {quoted(asked)} (--label); the columns are "
                f"{listed(columns)}."
            )
        return asked, AS_ASKED
    usual = [name for name in columns if name.lower() in USUAL]
    if len(usual) == 1:
        return usual[0], f"the only column called {usual[0]!r}"
    return columns[-1], "the last column"


def check_labels(source: str, column: str, first: Sequence[str]) -> None:
    """Raise if the first labels do not look like classes."""
    n_classes = len(set(first))
    if n_classes > MANY and n_classes > len(first) / 2:
        raise BadInput(
            f"{source}, column {quoted(column)}: found {n_classes} different values in "
            f"{len(first)} rows; expected a few classes that come again and again."
        )


def with_categorical(
    source: str, columns: Sequence[Column], categorical: Sequence[str]
) -> tuple[Column, ...]:
    """Return the columns, of which some are categorical whatever they look like."""
    asked = set(chosen(source, [c.name for c in columns], categorical, "--categorical"))
    return tuple(Column(c.name, categorical=True) if c.name in asked else c for c in columns)


def with_text(
    source: str, columns: Sequence[Column], text: Sequence[str], found: Sequence[str]
) -> tuple[Column, ...]:
    """Return the columns, of which some hold texts whose words count: as asked, and as found."""
    words = {*chosen(source, [c.name for c in columns], text, "--text"), *found}
    return tuple(Column(c.name, False, text=True) if c.name in words else c for c in columns)


def check_text(text: Sequence[str], categorical: Sequence[str], label: str | None) -> None:
    """Raise if a column is to be a text and something else, too."""
    for name in text:
        if name in categorical or name == label:
            other = "--label" if name == label else "--categorical"
            raise BadInput(
                f"--text {argument(name)}: it is also the column of {other}; expected one of the "
                "two."
            )


def chosen(source: str, columns: Sequence[str], asked: Sequence[str], option: str) -> list[str]:
    """Return columns that were asked for, or raise if one is not there."""
    for name in asked:
        if name not in columns:
            raise BadInput(
                f"{source}: found no column {quoted(name)} ({option}); the columns are "
                f"{listed(columns)}."
            )
    return list(asked)


def check_weight(weight: str, others: Mapping[str, Sequence[str]], inputs: Sequence[str]) -> None:
    """Raise if a column is to have weights and to be something else, too."""
    for option, names in others.items():
        if weight in names:
            raise BadInput(
                f"--weight {argument(weight)}: it is also the column of {option}; expected "
                "one that is nothing else."
            )
    if weight in inputs:
        raise BadInput(
            f"--weight {argument(weight)}: the model has learned it as an input; expected a "
            "column that it has not."
        )


def check_ids(ids: Sequence[str], inputs: Sequence[str]) -> None:
    """Raise if a column is to be handed on as it is, and to be learned from or handed on, too."""
    for k, name in enumerate(ids):
        if name in inputs:
            raise BadInput(
                f"--id {argument(name)}: the model has learned it as an input; expected a column "
                "that it has not."
            )
        if name in ids[:k]:
            raise BadInput(f"--id: found {quoted(name)} twice; expected it once.")


def check_columns(source: str, columns: Sequence[Column], plan: Plan) -> None:
    """Raise if a column is missing; the order does not matter, nor what else there is."""
    present = {column.name for column in columns}
    missing = [column.name for column in plan.wanted if column.name not in present]
    if missing:
        expected = [column.name for column in plan.wanted]
        raise BadInput(
            f"{source}: found no column {listed(missing)}; expected {listed(expected)}, in any "
            f"order; found {listed(column.name for column in columns)}."
        )


def check_plain(source: str, heads: Mapping[str, Sequence[str]]) -> None:
    """Raise if texts that would be categories are dates or numbers, written in some other way."""
    for name, cells in heads.items():
        message = doubt_in(cells)
        if message is not None:
            option = argument(name)
            raise BadInput(
                f"{source}, column {quoted(name)}: {message} (--categorical {option} takes them as "
                f"categories, --ignore {option} leaves them out)."
            )
