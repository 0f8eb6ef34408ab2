"""All that is shown on a terminal, or in plain lines where there is none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from virtualvector.escaping import printable

if TYPE_CHECKING:
    from rich.text import Text

    from virtualvector.evaluation.tally import Tally

LONGEST = 60  # characters of a cell
MOST_LINES = 20

_WHY = "Compiling; later runs start at once"

Show = Callable[["Tally", int], None]  # what is known so far, and how many experts are awake

_HEAD = "      rows    rows/s     error  since above  log-loss  since above  awake"


@contextmanager
def live(start: Tally, quiet: bool = False) -> Iterator[Show]:
    """Show on standard error how a stream is going, so that standard output has the results only.

    Parameters
    ----------
    start : Tally
        What was known before.
    quiet : bool, default=False
        Whether to show nothing.

    Yields
    ------
    callable
        To be called with a `Tally` and the number of experts awake, after every few rows.
    """
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if quiet:
        yield lambda tally, n_awake: None
    elif console.is_terminal and not console.is_dumb_terminal:
        from rich.live import Live

        began = perf_counter()
        # The last line stays, above the summary.
        with Live(console=console, refresh_per_second=8) as line:
            yield lambda tally, n_awake: line.update(
                _line(tally, n_awake, _speed(tally, start, began))
            )
    else:
        yield _LiveTable(start)


def _speed(tally: Tally, start: Tally, began: float) -> float:
    return (tally.now.n_rows - start.now.n_rows) / max(perf_counter() - began, 1e-9)


def _line(tally: Tally, n_awake: int, per_second: float) -> str:
    so_far, recent = tally.so_far, tally.recent
    return (
        f"[bold]{so_far.n_rows:,}[/] rows, {per_second:,.0f}/s · "
        f"error [bold]{so_far.error:.2%}[/], log-loss [bold]{so_far.log_loss:.4f}[/] · "
        f"last {recent.n_rows:,}: {recent.error:.2%}, {recent.log_loss:.4f} · {n_awake} awake"
    )


class _LiveTable:
    """A row whenever the number of rows has reached a power of two."""

    def __init__(self, start: Tally) -> None:
        self.start = self.above = start
        self.began = perf_counter()

    def __call__(self, tally: Tally, n_awake: int) -> None:
        from virtualvector.evaluation.tally import between

        now, above = tally.now, self.above.now
        if now.n_rows.bit_length() == above.n_rows.bit_length():
            return
        if self.above is self.start:
            print(_HEAD, file=sys.stderr)
        so_far, since = tally.so_far, between(above, now)
        print(
            f"{now.n_rows:>10}{_speed(tally, self.start, self.began):>10.0f}"
            f"{so_far.error:>10.4f}{since.error:>13.4f}"
            f"{so_far.log_loss:>10.4f}{since.log_loss:>13.4f}{n_awake:>7}",
            file=sys.stderr,
            flush=True,
        )
        self.above = tally


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
    >>> import sys
    >>> from contextlib import redirect_stderr
    >>> from virtualvector.cli.console import progress
    >>> with redirect_stderr(sys.stdout), progress(2, "Baking") as advance:
    ...     advance("bread")
    ...     advance("cake")
    Baking 1/2 bread
    Baking 2/2 cake
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


@contextmanager
def compilation_notice(quiet: bool = False) -> Iterator[None]:
    """Show a spinner on a terminal, a line elsewhere, from the first kernel that is not cached on.

    Examples
    --------
    >>> import sys
    >>> from contextlib import redirect_stderr
    >>> from virtualvector.cli.console import compilation_notice
    >>> with redirect_stderr(sys.stdout), compilation_notice():
    ...     print("nothing is compiled, and nothing else said")
    nothing is compiled, and nothing else said
    """
    from virtualvector.jit.listener import on_first_compilation

    began: list[float] = []
    with ExitStack() as shown:

        def notice() -> None:
            began.append(perf_counter())
            if not quiet:
                shown.enter_context(_notice())

        with on_first_compilation(notice):
            yield
    if began and not quiet:
        print(f"Compiled in {perf_counter() - began[0]:.0f} s.", file=sys.stderr, flush=True)


def compile_engine() -> None:
    """Compile the engine, if that was never done, and say so."""
    from virtualvector.learners import VVMClassifier

    with compilation_notice():
        VVMClassifier(1).fit([[1.0], [-1.0]], [1, 0]).predict_proba([[1.0]])


@contextmanager
def _notice() -> Iterator[None]:
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal and not console.is_dumb_terminal:
        with console.status(f"{_WHY} …"):
            yield
    else:
        print(f"{_WHY} …", file=sys.stderr, flush=True)
        yield


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
    >>> from virtualvector.cli.console import print_table
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
    >>> from virtualvector.cli.console import print_facts
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
