"""Who may come in, with how much, and how often; and the headers that every answer has."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Sequence
from functools import cache
from http import HTTPStatus
from typing import Any, NamedTuple

from virtualvector.serve.bodies import Limits, Refused
from virtualvector.serve.metrics import Latency
from virtualvector.streams.bad_input import BadInput

OPEN = ("/", "/page.js", "/page.css", "/health", "/ready")  # which tell nothing of the data
WRITING = ("/labels", "/learn")
POSTED = ("/predict", *WRITING)
# All that is counted by itself; what else may be asked for has no end.
PATHS = {*OPEN, *POSTED, "/model", "/figures", "/events", "/metrics", "/openapi.json"}
SHORTEST_TOKEN = 16  # characters
STOPPING = Refused(503, "the service stops; try again later.")
LATER, TRY_AGAIN = (429, 503), (b"retry-after", b"1")  # for whom it is worth it

# Of all answers.
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]
# Of all that a browser may show as a page: not of data that was asked for by POST.
_HEADERS_OF_PAGES = [
    *_HEADERS,
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
]


class Tokens(NamedTuple):
    """Words that let clients in: to read and be answered, or to write labels, too."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    def may(self, token: str, writing: bool) -> bool:
        """Whether a token lets in; takes as long whatever it has in common with one that does."""
        known = self.write if writing else (*self.read, *self.write)
        own = token.encode()
        return sum(hmac.compare_digest(own, each.encode()) for each in known) > 0


def tokens_in(text: str, name: str) -> Tokens:
    r"""Return the tokens of a file: in each line ``read`` or ``write``, and a token.

    Examples
    --------
    >>> from virtualvector.serve.gate import tokens_in
    >>> tokens = tokens_in("read 0123456789abcdef\nwrite fedcba9876543210\n", "tokens")
    >>> tokens.may("0123456789abcdef", writing=True), tokens.may("fedcba9876543210", writing=False)
    (False, True)
    """
    found: dict[str, list[str]] = {"read": [], "write": []}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or words[0] not in found:
            raise BadInput(f"{name}, line {number}: expected 'read TOKEN' or 'write TOKEN'.")
        if len(words[1]) < SHORTEST_TOKEN or not words[1].isascii():
            raise BadInput(
                f"{name}, line {number}: found a token of {len(words[1])} characters; expected "
                f"{SHORTEST_TOKEN} or more, of ASCII."
            )
        found[words[0]].append(words[1])
    if not found["read"] and not found["write"]:
        raise BadInput(f"{name}: found no tokens; expected lines 'read TOKEN' or 'write TOKEN'.")
    return Tokens(tuple(found["read"]), tuple(found["write"]))


class Gate:
    """An ASGI application around another one.

    Parameters
    ----------
    app : ASGI application
        What is inside.
    limits : Limits
        How much may come in.
    tokens : Tokens, optional
        Who may; None: everyone who can reach it, which is to be this machine only.
    hosts : sequence of str
        Names by which it may be called where there are no tokens, so that no page from elsewhere
        can make a browser call it by another.
    latency : Latency
        Where the time that requests took is added up.
    """

    def __init__(
        self,
        app: Any,
        limits: Limits,
        tokens: Tokens | None,
        hosts: Sequence[str],
        latency: Latency,
    ) -> None:
        self._app, self._limits, self._tokens, self._latency = app, limits, tokens, latency
        self._hosts = {host.lower() for host in hosts}
        self._n_open = 0
        self._left, self._left_at = limits.rate or 0.0, time.monotonic()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, is_begun = time.perf_counter(), 500, False

        async def sending(message: Any) -> None:
            nonlocal status, is_begun
            if message["type"] == "http.response.start":
                status, is_begun = message["status"], True
                is_data = scope["method"] == "POST" and status == 200
                more = _HEADERS if is_data else _HEADERS_OF_PAGES
                message["headers"] = [*message["headers"], *more]
            await send(message)

        self._n_open += 1
        try:
            headers = dict(scope["headers"])
            self._check_load()
            self.check_head(scope["method"], scope["path"], headers)
            if scope["method"] == "POST":
                scope["body"] = await self._body(receive)
            await self._app(scope, receive, sending)
        except Refused as refused:
            if not is_begun:
                await _refuse(sending, refused)
        except asyncio.CancelledError:  # by a service that stops, and waits no longer
            if not is_begun:
                await _refuse(sending, STOPPING)
        finally:
            self.leave(scope["path"], status, time.perf_counter() - began)

    def may_enter(self) -> bool:
        """Whether there is room for one more request; if so, it is counted until it leaves."""
        self._n_open += 1
        try:
            self._check_load()
        except Refused:
            self._n_open -= 1
            return False
        return True

    def leave(self, path: str, status: int, seconds: float) -> None:
        """Count a request that has been answered."""
        self._n_open -= 1
        path = path if path in PATHS else "other"
        if path != "/events":
            self._latency.add(path, status, seconds)

    def count_malformed(self) -> None:
        """Count a request that is no HTTP, and was refused before it came here."""
        self._latency.add("malformed", 400, 0.0)

    def _check_load(self) -> None:
        limits = self._limits
        if self._n_open > limits.open:
            raise Refused(429, f"found {limits.open:,} requests under way; expected no more.")
        if limits.rate is not None and not self._is_in_time(limits.rate):
            raise Refused(429, f"found more than {limits.rate:g} requests in a second.")

    def check_head(self, method: str, path: str, headers: dict[bytes, bytes]) -> None:
        """Raise `Refused` unless whoever sends such a request may do so, at any time."""
        if self._tokens is not None:
            self._check_token(headers, path)
        elif _host(headers) not in self._hosts:
            raise Refused(403, "found another name of a host; expected that of this service.")
        if method != "POST":
            return
        if path in POSTED:
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if kind != b"application/json":
                raise Refused(415, "found another Content-Type; expected application/json.")
        announced = headers.get(b"content-length", b"0")
        if announced.isdigit() and len(announced) < 20 and int(announced) > self._limits.body:
            raise _too_long(self._limits.body)

    def _is_in_time(self, rate: float) -> bool:
        """Whether one more request is within the rate; those of a second may come at once."""
        now = time.monotonic()
        self._left = min(self._left + rate * (now - self._left_at), max(rate, 1.0))
        self._left_at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def _check_token(self, headers: dict[bytes, bytes], path: str) -> None:
        assert self._tokens is not None
        if path in OPEN:
            return
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            raise Refused(401, "found no token; expected the header Authorization: Bearer TOKEN.")
        if not self._tokens.may(token.strip(), path in WRITING):
            if self._tokens.may(token.strip(), writing=False):
                raise Refused(403, "found a token to read; expected one to write.")
            raise Refused(401, "found an unknown token.")

    async def _body(self, receive: Any) -> bytes:
        most = self._limits.body
        parts, size, is_late, task = [], 0, False, asyncio.current_task()
        assert task is not None

        def end() -> None:
            nonlocal is_late
            is_late = True
            task.cancel()

        # As asyncio.timeout does it, at a third of the cost: this is done for every request.
        timer = asyncio.get_running_loop().call_later(self._limits.seconds, end)
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(400, "found half a body.")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise _too_long(most)
                if not message.get("more_body", False):
                    return b"".join(parts)
        except asyncio.CancelledError:
            if not is_late or task.uncancel() > 0:  # someone else wants it to end
                raise
            raise Refused(408, "found a body that comes too slowly.") from None
        finally:
            timer.cancel()


def _too_long(most: int) -> Refused:
    return Refused(413, f"found a body of more than {most:,} bytes; expected less.")


def _host(headers: dict[bytes, bytes]) -> str:
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if host.startswith("["):
        return host.partition("]")[0][1:]
    return host.partition(":")[0]


def refusal(refused: Refused) -> tuple[int, bytes]:
    """Return the status and the body that tell of it."""
    return refused.status, json.dumps({"error": str(refused)}).encode()


def rendered(status: int, body: bytes, is_last: bool = False) -> bytes:
    r"""Return an answer to what was posted as HTTP has it; the last one closes the connection.

    Examples
    --------
    >>> from virtualvector.serve.gate import rendered
    >>> rendered(200, b"{}").splitlines()[::5]
    [b'HTTP/1.1 200 OK', b'content-length: 2']
    """
    return b"%bcontent-length: %d\r\n\r\n%b" % (_beginning(status, is_last), len(body), body)


@cache
def _beginning(status: int, is_last: bool) -> bytes:
    more = _HEADERS if status == 200 else _HEADERS_OF_PAGES
    headers = [(b"content-type", b"application/json"), *more]
    if status in LATER:
        headers.append(TRY_AGAIN)
    if is_last:
        headers.append((b"connection", b"close"))
    lines = [b"HTTP/1.1 %d %b" % (status, HTTPStatus(status).phrase.encode())]
    return b"".join(b"%b\r\n" % line for line in [*lines, *map(b": ".join, headers)])


async def _refuse(send: Any, refused: Refused) -> None:
    _, body = refusal(refused)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if refused.status in LATER:
        headers.append(TRY_AGAIN)
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if refused.status in (408, 413):
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
