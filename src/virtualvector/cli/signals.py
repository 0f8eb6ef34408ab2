"""Signals that end a run come between two steps, once, and leave time to save."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType, TracebackType
from typing import Any, ClassVar, Self

_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_TICK = 1.0  # seconds
_LOST = 1.5  # seconds after which what was raised has not ended the steps: it was swallowed


def nothing() -> None:
    """Do nothing between steps."""


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
    >>> from virtualvector.cli.signals import Signals, Stopped
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

    of_a_program: ClassVar[bool] = False  # which ends once it is stopped

    def __init__(self) -> None:
        self.idle: Callable[[], None] = nothing  # called every second, between steps
        self._depth = 0
        self._received: int | None = None
        self._raised, self._raised_at = False, 0.0
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

    def __exit__(
        self, kind: object, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in self._before.items():
            is_over = self.of_a_program and self.stop is not None  # it is ending, in its own way
            signal.signal(number, signal.SIG_IGN if is_over else handler)
        if isinstance(error, Exception) and self.stop is not None:
            raise self.stop from error

    @property
    def stop(self) -> Stopped | None:
        """What a signal has raised, if one has.

        Where it came it may have become another error: Python makes a `RuntimeError` of what is
        raised while a class is made, as by an import.
        """
        return Stopped(self._received) if self._raised and self._received is not None else None

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
        if self._received is None:
            self._received = number
            self._raise_if_due()

    def _raise_if_due(self) -> None:
        if self._received is not None and not self._raised and self._depth == 0:
            self._raised, self._raised_at = True, monotonic()
            raise Stopped(self._received)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        if self._depth == 0 and self._received is None:
            with self.shielded():
                self.idle()
        elif self._is_lost():
            self._raised = False
            self._raise_if_due()

    def _is_lost(self) -> bool:
        """Whether steps go on, though they were to end: Python ignores what finalisers raise."""
        late = self._raised and monotonic() - self._raised_at > _LOST
        return late and self._depth == 0 and self.idle is not nothing
