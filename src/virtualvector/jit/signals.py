"""Signals that wait until code is done with that must not end half-way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Let no handler of a signal run in here: it runs when this is done with.

    Handlers written in Python may raise between any two steps of the main thread, which libraries
    are seldom prepared for. Signals that nobody handles, or that the system does, are left alone;
    in other threads handlers never run.

    Examples
    --------
    >>> import signal
    >>> from virtualvector.jit.signals import signals_deferred
    >>> try:
    ...     with signals_deferred():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("finished")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    finished
    interrupted
    """
    if _Deferral.under_way or threading.get_ident() != threading.main_thread().ident:
        yield
        return
    deferral = _Deferral()
    try:
        deferral.begin()
        yield
    finally:
        deferral.end()


class _Deferral:
    """A handler that takes the place of all others, and passes on what has come in the end."""

    under_way = False  # in the main thread, the only one that has handlers

    def __init__(self) -> None:
        handlers = {int(number): signal.getsignal(number) for number in signal.valid_signals()}
        self._handlers = {number: each for number, each in handlers.items() if callable(each)}
        self._received: dict[int, FrameType | None] = {}  # once each, as the system would keep them
        self._wait = True

    def begin(self) -> None:
        _Deferral.under_way = True
        for number in self._handlers:
            signal.signal(number, self)

    def end(self) -> None:
        # From here on signals pass through at once, even if one of them keeps the others from
        # getting their own handlers back.
        self._wait = _Deferral.under_way = False
        try:
            for number, handler in self._handlers.items():
                if signal.getsignal(number) is self:
                    signal.signal(number, handler)
        finally:
            with ExitStack() as to_pass_on:  # all of them, even if the first one raises
                for number, frame in reversed(self._received.items()):
                    to_pass_on.callback(self._handlers[number], number, frame)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._wait:
            self._received[number] = frame
        else:
            self._handlers[number](number, frame)
