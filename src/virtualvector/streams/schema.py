"""Which column has the labels, and whether the columns are those that are expected."""

from __future__ import annotations

from collections.abc import Sequence

from virtualvector.escaping import quoted
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.columns import Column, Plan, listed

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
                f"{source}: found no column {quoted(asked)}; the columns are {listed(columns)}."
            )
        return asked, "as asked"
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
    present = dict(columns)
    for name in categorical:
        if name not in present:
            raise BadInput(
                f"{source}: found no column {quoted(name)} to take as categorical; the columns are "
                f"{listed(present)}."
            )
    chosen = set(categorical)
    return tuple(Column(name, looks_so or name in chosen) for name, looks_so in columns)


def check_columns(source: str, columns: Sequence[Column], plan: Plan, ignored: str | None) -> None:
    """Raise if a column is missing or unknown; the order does not matter."""
    present = {column.name: None for column in columns}  # in order, and found at once
    expected = {column.name: None for column in plan.wanted}
    missing = [name for name in expected if name not in present]
    unknown = [name for name in present if name not in expected and name != ignored]
    if missing or unknown:
        said = [f"no column {listed(missing)}"] if missing else []
        said += [f"the unknown column {listed(unknown)}"] if unknown else []
        raise BadInput(
            f"{source}: found {' and '.join(said)}; expected {listed(expected)}, in any order."
        )
