"""Who wants to know when numba compiles something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


class _Listener(event.Listener):
    def __init__(self, notify: Callable[[], None]) -> None:
        self._notify: Callable[[], None] | None = notify

    def on_start(self, event: Any) -> None:
        """Begin with the first compilation."""
        if self._notify is not None:
            notify, self._notify = self._notify, None
            notify()

    def on_end(self, event: Any) -> None:
        """Do nothing: the end of one is the beginning of another."""


@contextmanager
def on_first_compilation(notify: Callable[[], None]) -> Iterator[None]:
    """Call a function once, when the first kernel that is not cached is about to be compiled."""
    with event.install_listener("numba:compile", _Listener(notify)):
        yield
