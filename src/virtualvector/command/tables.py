"""Tables on the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from virtualvector.escaping import printable

if TYPE_CHECKING:
    from rich.text import Text

LONGEST = 60  # characters of a cell


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], bold: Iterable[str] = ()
) -> None:
    """Print a table whose first column is text and whose others are numbers.

    Parameters
    ----------
    heads : sequence of str
        What stands above each column.
    rows : iterable of sequences of str
        The cells.
    bold : iterable of str
        Rows that begin with one of these stand out on a terminal.

    Examples
    --------
    >>> from virtualvector.command.tables import print_table
    >>> print_table(["colour", "n"], [["red", "12"], ["blue", "3"]])
    colour   n
    red     12
    blue     3
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200  # a file has no width that lines should be broken to
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for k, head in enumerate(heads):
        table.add_column(_text(head), justify="right" if k else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(_text, row), style="bold" if row[0] in bold else None)
    console.print(table)


def print_facts(facts: dict[str, str]) -> None:
    """Print names and what there is to say of each.

    Examples
    --------
    >>> from virtualvector.command.tables import print_facts
    >>> print_facts({"rows": "12", "error": "0.25"})
    rows                  12
    error                 0.25
    """
    for name, text in facts.items():
        print(f"{printable(name):<22}{printable(text)}")


def _text(cell: str) -> Text:
    """Return a cell as it is: neither markup nor a sequence that does something to a screen."""
    from rich.text import Text

    return Text(printable(cell, LONGEST))
