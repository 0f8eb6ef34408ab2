"""Show how far a long job is: a bar on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from virtualvector.escaping import printable

MOST_LINES = 20


class Advance(Protocol):
    """What to call after some steps."""

    def __call__(self, done: str, steps: int = 1) -> None:
        """Say what has just been done, and how many steps of the total that was."""


@contextmanager
def progress(total: int, title: str) -> Iterator[Advance]:
    """Show progress on standard error, so that standard output has the results only.

    Parameters
    ----------
    total : int
        The number of steps.
    title : str
        What is going on.

    Yields
    ------
    Advance
        To be called after each step, or after several.

    Examples
    --------
    >>> from virtualvector.command.progress import progress
    >>> with progress(2, "Baking") as advance:
    ...     advance("bread")
    ...     advance("cake")
    """
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal and not console.is_dumb_terminal:
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = (
            "{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            "{task.fields[done]}",
        )  # fmt: skip
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(escape(printable(title)), total=total, done="")
            yield lambda done, steps=1: bar.update(
                task, advance=steps, done=escape(printable(done))
            )
    else:
        yield _Lines(total, title)


class _Lines:
    """Print a line for every twentieth of the total, and for the end."""

    def __init__(self, total: int, title: str) -> None:
        self.total = total
        self.title = title
        self.steps = 0

    def __call__(self, done: str, steps: int = 1) -> None:
        before = self.steps * MOST_LINES // max(self.total, 1)
        self.steps += steps
        if self.steps * MOST_LINES // max(self.total, 1) > before:
            count = f"{self.steps:>{len(str(self.total))}}/{self.total}"
            print(printable(f"{self.title} {count} {done}"), file=sys.stderr, flush=True)
