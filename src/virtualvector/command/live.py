"""How a stream is going: a live line on a terminal, a table row at powers of two elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from virtualvector.evaluation.tally import Tally

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
        yield _Table(start)


def _speed(tally: Tally, start: Tally, began: float) -> float:
    return (tally.now.n_rows - start.now.n_rows) / max(perf_counter() - began, 1e-9)


def _line(tally: Tally, n_awake: int, per_second: float) -> str:
    so_far, recent = tally.so_far, tally.recent
    return (
        f"[bold]{so_far.n_rows:,}[/] rows, {per_second:,.0f}/s · "
        f"error [bold]{so_far.error:.2%}[/], log-loss [bold]{so_far.log_loss:.4f}[/] · "
        f"last {recent.n_rows:,}: {recent.error:.2%}, {recent.log_loss:.4f} · {n_awake} awake"
    )


class _Table:
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
