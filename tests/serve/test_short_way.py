"""Requests that come whole take a shorter way than others, and are answered the same."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.server import ServerState

from virtualvector.serve.app import Door, entrance
from virtualvector.serve.bodies import Limits
from virtualvector.serve.gate import Tokens
from virtualvector.serve.protocol import N_HEADS, Heads, Http

HEAD = (
    b"POST /predict HTTP/1.1\r\nHost: localhost:80\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)
STATUSES = (200, 404, 422, 429, 503)


def whole(body, head=HEAD):
    return head % len(body) + body


class Pipe:
    """Answers with what was asked, a few turns of the loop later; a digit in front is the status.

    Attributes
    ----------
    short, long : list of bytes
        What was asked which way.
    """

    is_stopping = False

    def __init__(self):
        self.short, self.long, self._waiting = [], [], {}
        self.is_held = False

    async def answer(self, path, body=b""):
        self.long.append(body)
        await asyncio.sleep(0)
        return said_to(body)

    def ask(self, path, body, tell):
        self.short.append(body)
        number = len(self.short)
        self._waiting[number] = tell
        if not self.is_held:
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self.tell, number, *said_to(body))
        return number

    def tell(self, number, *said):
        if number in self._waiting:
            self._waiting.pop(number)(*said)

    def forget(self, number):
        del self._waiting[number]


def said_to(body):
    return STATUSES[body[0] % len(STATUSES)] if body else 200, b"said " + body


@asynccontextmanager
async def connected(pipe, door=None):
    """Return a connection's protocol, and who reads and writes at the other end."""
    gate = entrance(pipe, {}, door or Door(Limits()))
    config = uvicorn.Config(gate, log_config=None, access_log=False, server_header=False,
                            date_header=False)  # fmt: skip
    config.load()
    own, other = socket.socketpair()
    loop = asyncio.get_running_loop()

    def connection():
        uvicorns = {"config": config, "server_state": ServerState(), "app_state": {}}
        return Http(Heads(gate), gate, pipe, **uvicorns)

    _, http = await loop.create_unix_connection(connection, sock=own)
    reader, writer = await asyncio.open_unix_connection(sock=other)
    try:
        yield http, reader, writer
    finally:
        writer.close()
        while http in http.connections:
            await asyncio.sleep(0)


async def answer_from(reader):
    """Return the status, the headers and the body of the next answer."""
    line, *lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[:-2]
    headers = dict(each.split(b": ", 1) for each in lines)
    assert len(headers) == len(lines)
    return line, headers, await reader.readexactly(int(headers[b"content-length"]))


async def asked(parts, n_answers, pipe, door=None):
    """Return the answers to what is sent in parts, each in a turn of its own."""
    async with connected(pipe, door) as (http, reader, writer):
        for part in parts:
            writer.write(part)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        said = [await answer_from(reader) for _ in range(n_answers)]
        return said, http._gate


@pytest.mark.parametrize("status", STATUSES)
def test_the_answer_is_the_same_either_way(status):
    body = bytes([STATUSES.index(status)]) + b"{}"
    short, long = Pipe(), Pipe()
    (one,), gate = asyncio.run(asked([whole(body)], 1, short))
    (other,), _ = asyncio.run(asked([whole(body)[:-2], b"{}"], 1, long))
    assert (short.short, short.long, long.short, long.long) == ([body], [], [], [body])
    assert one == other
    assert one[0].startswith(b"HTTP/1.1 %d " % status)
    assert one[2] == b"said " + body
    assert gate._latency.requests == {("/predict", status): 1}
    assert gate._n_open == 0


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=6), st.data())
def test_wherever_requests_are_cut_each_is_answered_in_its_turn(bodies, data):
    stream = b"".join(map(whole, bodies))
    starts = {sum(len(whole(body)) for body in bodies[:k]) for k in range(1, len(bodies))}
    cuts = sorted(
        data.draw(st.sets(st.sampled_from(sorted(starts)))) if starts else set()
    ) + data.draw(st.lists(st.integers(0, len(stream)), max_size=4))
    parts = zip([0, *sorted(cuts)], [*sorted(cuts), len(stream)], strict=True)
    pipe = Pipe()
    said, gate = asyncio.run(
        asked([stream[start:stop] for start, stop in parts], len(bodies), pipe)
    )
    assert [body for _, _, body in said] == [b"said " + body for body in bodies]
    assert sorted(pipe.short + pipe.long) == sorted(bodies)
    assert gate._n_open == 0


UNUSUAL = {
    "another path": HEAD.replace(b"/predict", b"/labels"),
    "a query": HEAD.replace(b"/predict", b"/predict?a"),
    "an older HTTP": HEAD.replace(b"HTTP/1.1", b"HTTP/1.0"),
    "the last request": HEAD.replace(b"Host", b"Connection: close\r\nHost"),
    "who waits to be told to go on": HEAD.replace(b"Host", b"Expect: 100-continue\r\nHost"),
    "another protocol": HEAD.replace(b"Host", b"Connection: upgrade\r\nUpgrade: h2c\r\nHost"),
    "another kind": HEAD.replace(b"application/json", b"text/plain"),
    "another host": HEAD.replace(b"localhost", b"evil.example"),
    "no host": HEAD.replace(b"Host: localhost:80\r\n", b""),
    "two lengths": HEAD.replace(b"Host", b"Content-Length: 3\r\nHost"),
    "no length": HEAD.replace(b"Content-Length", b"Content-Lengths"),
    "a length that is none": HEAD.replace(b"%d", b"+%d"),
    "pieces": HEAD.replace(b"Content-Length: %d", b"Transfer-Encoding: chunked"),
    "both": HEAD.replace(b"Host", b"Transfer-Encoding: chunked\r\nHost"),
    "a space before the colon": HEAD.replace(b"Content-Length:", b"Content-Length :"),
    "a folded line": HEAD.replace(b"Host", b"Content-Length: 1\r\n 2\r\nHost"),
    "half a head": HEAD[:-2],
    "no HTTP": b"\x00\xff\r\n\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("what", UNUSUAL)
def test_whatever_is_unusual_goes_the_long_way(what):
    head = UNUSUAL[what] % 2 if b"%d" in UNUSUAL[what] else UNUSUAL[what]
    heads = Heads(entrance(Pipe(), {}, Door(Limits())))
    assert heads.size_after(head) is None
    assert heads.size_after(HEAD % 2) == 2


def test_no_more_heads_than_so_many_are_remembered():
    heads = Heads(entrance(Pipe(), {}, Door(Limits())))
    for size in range(2 * N_HEADS):
        assert heads.size_after(HEAD % size) == size
    assert heads.size_after.cache_info().currsize == N_HEADS


def test_only_tokens_let_in():
    token, other = "r" * 20, "s" * 20
    door = Door(Limits(), Tokens(read=(token,)))
    heads = Heads(entrance(Pipe(), {}, door))
    for own, size in ((token, 2), (other, None)):
        head = HEAD.replace(b"Host", b"Authorization: Bearer %b\r\nHost" % own.encode()) % 2
        assert heads.size_after(head) == size
    assert heads.size_after(HEAD % 2) is None


@pytest.mark.parametrize("limits", [Limits(open=0), Limits(rate=1e-9), Limits(body=2)])
def test_limits_hold_either_way(limits):
    async def ask():
        pipe = Pipe()
        (said,), gate = await asked([whole(b"abc")], 1, pipe, Door(limits))
        return said, gate._n_open, pipe.short

    (line, headers, body), n_open, short = asyncio.run(ask())
    status = 413 if limits.body == 2 else 429
    assert line.startswith(b"HTTP/1.1 %d " % status)
    assert (status == 429) == (b"retry-after" in headers)
    assert json.loads(body)["error"]
    assert (n_open, short) == (0, [])


@asynccontextmanager
async def under_way():
    """Ask on the short way, and return before there is an answer."""
    pipe = Pipe()
    pipe.is_held = True
    async with connected(pipe) as (http, reader, writer):
        writer.write(whole(b"{}"))
        while not pipe.short:
            await asyncio.sleep(0)
        yield pipe, http, reader, writer


@pytest.mark.parametrize("is_in_time", [True, False])
def test_a_service_that_stops_answers_what_is_under_way_or_says_so(is_in_time):
    async def stop():
        async with under_way() as (pipe, http, reader, _):
            http.shutdown()
            if is_in_time:
                pipe.tell(1, 200, b"yes")
            else:
                http.end()
            pipe.tell(1, 200, b"yes")  # and nobody waits for it any more
            said = await answer_from(reader)
            assert await reader.read() == b""
            return said, http._gate._n_open

    (line, headers, body), n_open = asyncio.run(stop())
    assert headers[b"connection"] == b"close"
    assert n_open == 0
    if is_in_time:
        assert (line, body) == (b"HTTP/1.1 200 OK", b"yes")
    else:
        assert line.startswith(b"HTTP/1.1 503 ")
        assert b"the service stops" in body


def test_a_client_that_is_gone_is_told_nothing_and_counted_once():
    async def leave():
        async with under_way() as (pipe, http, _, writer):
            writer.close()
            while http in http.connections:
                await asyncio.sleep(0)
            pipe.tell(1, 200, b"yes")
            return http._gate

    gate = asyncio.run(leave())
    assert gate._n_open == 0
    assert gate._latency.requests == {("/predict", 200): 1}


def test_a_connection_stays_while_it_is_used_and_is_closed_once_it_is_not():
    async def wait():
        pipe = Pipe()
        async with connected(pipe) as (http, reader, writer):
            writer.write(whole(b"{}"))
            await answer_from(reader)
            first = http.timeout_keep_alive_task
            http.timeout_keep_alive_handler()  # as if it were time already: it was just used
            stays = not http.transport.is_closing() and http.timeout_keep_alive_task is not first
            http._told_at -= http.timeout_keep_alive
            http.timeout_keep_alive_handler()
            assert await reader.read() == b""
            return stays

    assert asyncio.run(wait())
