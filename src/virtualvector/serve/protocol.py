"""HTTP as uvicorn has it, and a shorter way for rows to predict, of which there are many.

Whoever asks much sends the same head again and again, but for the length of the body. A head that
was seen before need not be parsed and checked again; and if a request comes whole, with nothing
behind it, its body can be sent on and the answer written without a task for it. Whatever looks
different goes the long way, through uvicorn and the ASGI application, and is answered the same.
"""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from virtualvector.serve.bodies import Refused
from virtualvector.serve.gate import STOPPING, Gate, refusal, rendered
from virtualvector.serve.pipe import Asking, OneWrite

HEAD = 10.0  # seconds for the head of a request to come
LONGEST_HEAD = 2000  # bytes of those that are remembered
N_HEADS = 1024  # that are remembered
_SHORT = "/predict"  # what the short way leads to
_UNUSUAL = {b"transfer-encoding", b"expect", b"upgrade"}


class Heads:
    """Which heads of requests are let in, and how long the bodies are that follow.

    Parameters
    ----------
    gate : Gate
        Who lets them in.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.size_after = lru_cache(N_HEADS)(self._size_after)

    def _size_after(self, head: bytes) -> int | None:
        """Return how long the body is; None if the request has to go the long way.

        The same parser as on the long way decides what a head says.
        """
        found = _Found()
        parser = httptools.HttpRequestParser(found)
        try:
            parser.feed_data(head)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return None
        headers = dict(found.headers)
        size = headers.get(b"content-length", b"")
        is_usual = (
            found.is_whole
            and parser.get_method() == b"POST"
            and found.url == _SHORT.encode()
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not _UNUSUAL & headers.keys()
            and size.isdigit()
        )
        if not is_usual:
            return None
        try:
            self._gate.check_head("POST", _SHORT, headers)
        except Refused:
            return None
        return int(size)


class _Found:
    """What a parser finds in a head."""

    def __init__(self) -> None:
        self.url, self.is_whole = b"", False
        self.headers: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self.is_whole = True


class Http(HttpToolsProtocol):
    """One connection.

    Beside the short way, headers and bodies go in one write, and heads have to come: between two
    requests uvicorn waits for a while; once some of the next one has come it would wait for ever.

    Parameters
    ----------
    heads : Heads
        Those that are let in.
    gate : Gate
        Who counts requests.
    pipe : Asking
        Who knows the answers.
    **of_uvicorn : dict
        What uvicorn gives to every connection.
    """

    def __init__(self, heads: Heads, gate: Gate, pipe: Asking, **of_uvicorn: Any) -> None:
        super().__init__(**of_uvicorn)
        self._heads, self._gate, self._pipe = heads, gate, pipe
        self._late: asyncio.TimerHandle | None = None  # while half a head is there
        self._is_between = True  # requests, as far as the parser has seen
        self._asked: int | None = None  # the number of a question on the short way
        self._asked_at = self._told_at = 0.0
        self._is_last = False  # the answer under way
        self._following = b""  # what came before the answer was there

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        super().connection_made(OneWrite(transport))  # type: ignore[arg-type]
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Take some of a request, or all of it."""
        if self._asked is not None:
            self._following += data
            self.flow.pause_reading()
        elif not self._is_asked_shortly(data):
            super().data_received(data)
            if self._is_idle:
                self._wait_for_head()
            else:
                self._wait_no_more()

    def on_message_begin(self) -> None:
        """Take notice that the parser has begun with a request."""
        self._is_between = False
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Take notice that the parser has come to the end of a request."""
        self._is_between = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._gate.count_malformed()
        super().send_400_response(msg)

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that was not used for a while; on the short way no timer is set."""
        left = self._told_at + self.timeout_keep_alive - self.loop.time()
        if self._asked is not None or left > 0.0:
            self._stay_for(max(left, 1.0))
        else:
            super().timeout_keep_alive_handler()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._wait_no_more()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Answer what is under way, and close."""
        if self._asked is None:
            super().shutdown()
        else:
            self._is_last = True

    def end(self) -> None:
        """End what is under way by ourselves: it has taken too long."""
        if self._asked is not None:
            self._pipe.forget(self._asked)
            self._is_last = True
            self._tell(*refusal(STOPPING))
        elif self.cycle is not None and self.cycle.response_started:
            self.transport.abort()  # it is too late to say anything else

    @property
    def _is_idle(self) -> bool:
        """Whether all has been answered that the parser has found."""
        return self.cycle is None or self.cycle.response_complete

    def _is_asked_shortly(self, data: bytes) -> bool:
        """Ask, if this is a whole request, with a head that is let in, and nothing is before it."""
        if not (self._is_between and self._is_idle) or self.flow.write_paused:
            return False
        end = data.find(b"\r\n\r\n", 0, LONGEST_HEAD) + 4
        if self._heads.size_after(data[:end]) != len(data) - end or not self._gate.may_enter():
            return False
        self._wait_no_more()
        self._asked_at = time.perf_counter()
        self._asked = self._pipe.ask(_SHORT, data[end:], self._tell)
        return True

    def _tell(self, status: int, body: bytes) -> None:
        """Write an answer, and go on with what came meanwhile."""
        self._asked = None
        self._gate.leave(_SHORT, status, time.perf_counter() - self._asked_at)
        if self.transport.is_closing():
            return
        self.transport.write(rendered(status, body, self._is_last))
        if self._is_last:
            self.transport.close()
            return
        self._told_at = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._stay_for(self.timeout_keep_alive)
        if self._following:
            data, self._following = self._following, b""
            self.flow.resume_reading()
            self.data_received(data)

    def _stay_for(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )

    def _wait_for_head(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEAD, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
