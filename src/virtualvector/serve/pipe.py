"""Who takes requests asks who answers, in another process: over a pair of sockets, many at a time.

A question is a path and a body, a reply a status and a body; both have a number, and replies come
in any order. What there is to send after a turn of the loop goes in one write; questions that have
come by then are answered together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import count
from struct import Struct
from typing import Any, Protocol

from virtualvector.serve.answering import PATHS, Answers, Reply
from virtualvector.serve.learning import TOGETHER

# Bytes that follow, the number, and the place of a path, or a status.
_HEAD = Struct("<IQH")
_PREDICT = PATHS.index("/predict")
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
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        super().__init__()
        self.is_stopping = False
        self._stop, self._numbers = stop, count(_STOP + 1)
        self._waiting: dict[int, asyncio.Future[Reply]] = {}

    async def answer(self, path: str, body: bytes = b"") -> Reply:
        """Return what is answered at one of `PATHS`."""
        number = next(self._numbers)
        reply: asyncio.Future[Reply] = self._loop.create_future()
        self._waiting[number] = reply
        try:
            self.send(number, PATHS.index(path), body)
            return await reply
        finally:
            del self._waiting[number]

    def data_received(self, data: bytes) -> None:
        """Let whoever waits go on."""
        for number, status, body in self.came(data):
            if number == _STOP:
                self.is_stopping = True
                self._stop()
                continue
            reply = self._waiting.get(number)
            if reply is not None and not reply.done():  # or nobody waits for it any more
                reply.set_result((status, body))


class AnswersTogether(Answers, Protocol):
    """Who answers, in this process: to several requests at once."""

    def answer_together(self, bodies: Sequence[bytes]) -> list[Reply | Awaitable[Reply]]:
        """Return what is answered at /predict to each, at once or later."""


class Telling(_End):
    """The end of who answers."""

    def __init__(self, answers: AnswersTogether) -> None:
        super().__init__()
        self._answers = answers
        self._tasks: set[asyncio.Task[None]] = set()

    def data_received(self, data: bytes) -> None:
        """Answer, or begin to."""
        asked: list[tuple[int, bytes]] = []
        for number, place, body in self.came(data):
            if place == _PREDICT:
                asked.append((number, body))
            else:
                self._begin(number, self._answers.answer(PATHS[place], body))
        # A turn of the loop for each few: replies to the first need not wait for the last.
        for start in range(0, len(asked), TOGETHER):
            self._loop.call_soon(self._answer, asked[start : start + TOGETHER])

    def stop(self) -> None:
        """Ask for no more requests; those under way are still answered."""
        self.send(_STOP, 0, b"")

    def _answer(self, asked: list[tuple[int, bytes]]) -> None:
        replies = self._answers.answer_together([body for _, body in asked])
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
