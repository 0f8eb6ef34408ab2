"""Signals that end a run come between two steps, once, and leave time to save."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_TICK = 1.0  # seconds


class Stopped(KeyboardInterrupt):
    """A signal has ended the run."""

    def __init__(self, number: int, message: str = "") -> None:
        super().__init__(message or signal.Signals(number).name)
        self.number = number
        self.exit_code = 128 + number  # as shells have it

    def saying(self, message: str) -> Stopped:
        """Return the same with a message for people."""
        return Stopped(self.number, f"stopped by {signal.Signals(self.number).name}: {message}")


class Signals:
    """What to do at signals while something is under way.

    The first signal that ends programs raises `Stopped`, at once or, in a `shielded` block, when
    the block ends. Those that follow are ignored: what was learned is being saved. A signal that
    was ignored before, as under nohup, stays so. Outside the main thread nothing changes.

    Examples
    --------
    >>> import os, signal
    >>> from virtualvector.command.signals import Signals, Stopped
    >>> with Signals() as signals:
    ...     try:
    ...         with signals.shielded():
    ...             os.kill(os.getpid(), signal.SIGTERM)
    ...             print("done")
    ...     except Stopped as stopped:
    ...         print(stopped, stopped.exit_code)
    done
    SIGTERM 143
    """

    def __init__(self) -> None:
        self.idle: Callable[[], None] = lambda: None  # called every second, between steps
        self._depth = 0
        self._came: int | None = None
        self._raised = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for name in _ENDING:
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._end)
            self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._tick)
            signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """Let nothing come between what is done in here."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
        self._raise_if_due()

    def _end(self, number: int, frame: FrameType | None) -> None:
        if self._came is None:
            self._came = number
            self._raise_if_due()

    def _raise_if_due(self) -> None:
        if self._came is not None and not self._raised and self._depth == 0:
            self._raised = True
            raise Stopped(self._came)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        if self._depth == 0 and self._came is None:
            with self.shielded():
                self.idle()
