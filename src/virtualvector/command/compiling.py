"""Say so when kernels are compiled: it happens once, and takes a while."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any

_WHY = "Compiling; later runs start at once"


@contextmanager
def saying_when_compiling(quiet: bool = False) -> Iterator[None]:
    """Show a spinner on a terminal, a line elsewhere, from the first kernel that is not cached on.

    Examples
    --------
    >>> from virtualvector.command.compiling import saying_when_compiling
    >>> with saying_when_compiling():
    ...     pass  # nothing compiled, nothing said
    """
    from numba.core import event

    class Sign(event.Listener):
        """Begins with the first compilation."""

        began: float | None = None

        def on_start(self, event: Any) -> None:
            if self.began is None:
                self.began = perf_counter()
                if not quiet:
                    shown.enter_context(_sign())

        def on_end(self, event: Any) -> None:
            pass

    sign = Sign()
    with ExitStack() as shown, event.install_listener("numba:compile", sign):
        yield
    if sign.began is not None and not quiet:
        print(f"Compiled in {perf_counter() - sign.began:.0f} s.", file=sys.stderr, flush=True)


@contextmanager
def _sign() -> Iterator[None]:
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal and not console.is_dumb_terminal:
        with console.status(f"{_WHY} …"):
            yield
    else:
        print(f"{_WHY} …", file=sys.stderr, flush=True)
        yield
