"""Who takes requests asks who answers, in another process: over a pair of sockets, many at a time.

A question is a path and a body, a reply a status and a body; both have a number, and replies come
in any order. Who takes a row of nothing but numbers sends them as an array has them. What there is
to send after a turn of the loop goes in one write; questions that have come by then are answered
together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import count
from struct import Struct
from typing import Any, Protocol

from virtualvector.serve.answering import PATHS, Answers, Reply
from virtualvector.serve.bodies import Limits, OneRow, one_row_in
from virtualvector.serve.learning import TOGETHER
from virtualvector.serve.rows import RowFormat

# Bytes that follow, the number, and the place of a path, or a status.
_HEAD = Struct("<IQH")
_PREDICT = PATHS.index("/predict")
_ROW = len(PATHS)  # as /predict, of which who takes requests has seen that it is a row of numbers
USUAL = Limits()
_STOP = 0  # the number of a reply that nobody has asked for: take no more requests


class OneWrite:
    """Sends what is written in a turn of the loop at once: a call of the system for all of it.

    Parameters
    ----------
    transport : asyncio.WriteTransport
        Which sends it; has all that is asked for beside.
    """

    def __init__(self, transport: Any) -> None:
        self._transport, self._going = transport, list[bytes]()
        self._loop = asyncio.get_running_loop()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send something soon, if there is still somebody to read it."""
        if not self._going:
            self._loop.call_soon(self._flush)
        self._going.append(data)

    def close(self) -> None:
        """Send what there is, and end."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        going, self._going = self._going, []
        if going and not self._transport.is_closing():
            self._transport.write(b"".join(going))


class _End(asyncio.Protocol):
    """One end of the pair.

    Attributes
    ----------
    closed : asyncio.Event
        Set once the other end is gone.
    """

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self._came = bytearray()
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = OneWrite(transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Take notice of the end."""
        self.closed.set()

    def close(self) -> None:
        """Let the other end know that there is nothing more to come."""
        self._transport.close()

    def came(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Return what came in full: the number, the path or status, and the body."""
        self._came += data
        start, size = 0, _HEAD.size
        while len(self._came) >= start + size:
            length, number, what = _HEAD.unpack_from(self._came, start)
            stop = start + size + length
            if len(self._came) < stop:
                break
            yield number, what, bytes(self._came[start + size : stop])
            start = stop
        del self._came[:start]

    def send(self, number: int, what: int, body: bytes) -> None:
        """Send a path or a status, and a body, under a number."""
        self._transport.write(framed(number, what, body))


def framed(number: int, what: int, body: bytes) -> bytes:
    """Return what is sent: a path or a status, and a body, under a number."""
    return _HEAD.pack(len(body), number, what) + body


class Asking(_End):
    """The end of who takes requests.

    Parameters
    ----------
    stop : callable
        Called when no more are to be taken.
    form : RowFormat, optional
        What rows look like; None: who answers looks at all of them.
    limits : Limits
        How much may be asked for at once.
    """

    def __init__(
        self, stop: Callable[[], None], form: RowFormat | None = None, limits: Limits = USUAL
    ) -> None:
        super().__init__()
        self.is_stopping = False
        self._stop, self._form, self._limits = stop, form, limits
        self._numbers = count(_STOP + 1)
        self._waiting: dict[int, Callable[[int, bytes], None]] = {}

    async def answer(self, path: str, body: bytes = b"") -> Reply:
        """Return what is answered at one of `PATHS`."""
        reply: asyncio.Future[Reply] = self._loop.create_future()

        def tell(status: int, body: bytes) -> None:
            if not reply.done():  # by who asked, and gave up
                reply.set_result((status, body))

        number = self.ask(path, body, tell)
        try:
            return await reply
        finally:
            self.forget(number)

    def ask(self, path: str, body: bytes, tell: Callable[[int, bytes], None]) -> int:
        """Let someone be told a status and a body once there is an answer; return its number."""
        number, place = next(self._numbers), PATHS.index(path)
        if place == _PREDICT and self._form is not None:
            row = one_row_in(body, self._form, self._limits)
            if row is not None:
                place, body = _ROW, row.packed()
        self._waiting[number] = tell
        self.send(number, place, body)
        return number

    def forget(self, number: int) -> None:
        """Tell nobody what is answered."""
        self._waiting.pop(number, None)

    def data_received(self, data: bytes) -> None:
        """Let whoever waits go on."""
        for number, status, body in self.came(data):
            if number == _STOP:
                self.is_stopping = True
                self._stop()
                continue
            tell = self._waiting.pop(number, None)
            if tell is not None:  # or nobody waits for it any more
                tell(status, body)


class AnswersTogether(Answers, Protocol):
    """Who answers, in this process: to several requests at once."""

    def answer_together(self, asked: Sequence[OneRow | bytes]) -> list[Reply | Awaitable[Reply]]:
        """Return what is answered at /predict to each, at once or later."""


class Telling(_End):
    """The end of who answers."""

    def __init__(self, answers: AnswersTogether) -> None:
        super().__init__()
        self._answers = answers
        self._tasks: set[asyncio.Task[None]] = set()

    def data_received(self, data: bytes) -> None:
        """Answer, or begin to."""
        asked: list[tuple[int, OneRow | bytes]] = []
        for number, place, body in self.came(data):
            if place == _ROW:
                asked.append((number, OneRow.unpacked(body)))
            elif place == _PREDICT:
                asked.append((number, body))
            else:
                self._begin(number, self._answers.answer(PATHS[place], body))
        # A turn of the loop for each few: replies to the first need not wait for the last.
        for start in range(0, len(asked), TOGETHER):
            self._loop.call_soon(self._answer, asked[start : start + TOGETHER])

    def stop(self) -> None:
        """Ask for no more requests; those under way are still answered."""
        self.send(_STOP, 0, b"")

    def _answer(self, asked: list[tuple[int, OneRow | bytes]]) -> None:
        replies = self._answers.answer_together([each for _, each in asked])
        for (number, _), reply in zip(asked, replies, strict=True):
            if isinstance(reply, tuple):
                self.send(number, *reply)
            else:
                self._begin(number, reply)

    def _begin(self, number: int, reply: Awaitable[Reply]) -> None:
        task = self._loop.create_task(self._tell(number, reply))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self, number: int, reply: Awaitable[Reply]) -> None:
        self.send(number, *await reply)
