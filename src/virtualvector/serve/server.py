"""A service until a signal ends it: a process that answers, and one that takes requests for it.

Taking requests is half of the work. In a process of its own it does not stand in the way of
predicting, writing and learning, nor these in its way. The process that answers has everything
that must not be lost; the other one has nothing, and goes when that one is gone.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from typing import Any, NoReturn

import uvicorn
from threadpoolctl import threadpool_limits

from virtualvector.serve.answering import Answering
from virtualvector.serve.app import Door, description, entrance
from virtualvector.serve.pipe import Asking, Telling
from virtualvector.serve.protocol import Heads, Http
from virtualvector.serve.rows import RowFormat
from virtualvector.serve.service import Service
from virtualvector.streams.bad_input import BadInput

GRACE = 4  # seconds that requests under way have to end; then everything is saved
REFUSING = 1  # seconds before that in which those that did not end are told so
SWITCH = 0.0002  # seconds for which a thread that learns may keep others from answering
BACKLOG = 512  # connections that wait to be accepted
PATIENCE = 1.0  # seconds in which a service that was killed lets go of its port


class Ended(Exception):
    """The process that takes requests is gone, and nobody had asked it to."""


def run(service: Service, door: Door, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Answer until SIGTERM or SIGINT comes; then save everything, and return.

    Parameters
    ----------
    service : Service
        What answers.
    door : Door
        Who may come in.
    host, port : str, int
        Where to listen; port 0 is any that is free.
    ready : callable
        Called with the port once requests are taken.
    """
    listener = _bound(host, port)
    listener.listen(BACKLOG)
    at = listener.getsockname()[1]
    openapi = description(service, door.limits)
    own, other = socket.socketpair()
    gc.freeze()  # nobody waits while all that was imported is looked through for garbage
    taker = _forked(
        lambda: _take_requests(openapi, service.form, door, listener, other), listener, other
    )
    listener.close()
    other.close()
    sys.setswitchinterval(SWITCH)
    threadpool_limits(1)  # threads of BLAS would be in the way of those that answer
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            was_told = runner.run(_answer(service, door, own, lambda: ready(at)))
    finally:
        with suppress(ProcessLookupError):
            os.kill(taker, signal.SIGKILL)
        os.waitpid(taker, 0)
    if not was_told:
        raise Ended("the process that takes requests was ended by someone else; all is saved.")


async def _answer(
    service: Service, door: Door, own: socket.socket, ready: Callable[[], None]
) -> bool:
    """Answer until a signal comes, or nobody asks any more; return whether it was a signal."""
    loop = asyncio.get_running_loop()
    service.start()
    _, pipe = await loop.create_unix_connection(
        lambda: Telling(Answering(service, door.limits)), sock=own
    )

    def end() -> None:
        service.is_stopping = True
        pipe.stop()
        loop.call_later(GRACE + 1, pipe.close)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    ready()
    await pipe.closed.wait()
    was_told = service.is_stopping
    await asyncio.to_thread(service.stop)
    return was_told


def _take_requests(
    openapi: dict[str, Any],
    form: RowFormat,
    door: Door,
    listener: socket.socket,
    other: socket.socket,
) -> None:
    """Take requests until the other process says so, or is gone."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # that one is told, and tells this one

    # Whoever sends what is no HTTP could fill a disk with warnings; the metrics have a count.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)

    async def take() -> None:
        loop = asyncio.get_running_loop()
        _, pipe = await loop.create_unix_connection(
            lambda: Asking(lambda: server.end(), form, door.limits), sock=other
        )
        gate = entrance(pipe, openapi, door)
        config = uvicorn.Config(
            gate,
            http=partial(Http, Heads(gate), gate, pipe),  # type: ignore[arg-type]
            log_config=None,  # no row is ever logged, and neither is who asks
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="off",
            timeout_graceful_shutdown=GRACE,
            timeout_keep_alive=30,
            backlog=BACKLOG,
            proxy_headers=False,
            ws="none",
        )
        server = _Server(config)
        gone = loop.create_task(pipe.closed.wait())
        gone.add_done_callback(lambda _: os._exit(1))
        await server.serve([listener])

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(take())


class _Server(uvicorn.Server):
    """Ended by the other process only."""

    def end(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        ending = asyncio.get_running_loop().call_later(GRACE - REFUSING, self._refuse_all)
        await super().shutdown(sockets)
        ending.cancel()

    def _refuse_all(self) -> None:
        """End requests under way by ourselves: uvicorn would make faults of them."""
        for connection in list(self.server_state.connections):
            assert isinstance(connection, Http)
            connection.end()
        for task in list(self.server_state.tasks):
            task.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _forked(run: Callable[[], None], *kept: socket.socket) -> int:
    """Run something in a process of its own, which has nothing open but a few sockets.

    A copy of this process has all code at hand, and shares its memory.
    """
    with warnings.catch_warnings():
        # Threads of libraries are not in the copy, which uses none of these libraries.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _leave_after(run, sorted(each.fileno() for each in kept))
    return child


def _leave_after(run: Callable[[], None], kept: list[int]) -> NoReturn:
    status = 1
    try:
        # Whoever holds a lock or a database open here would keep the next service from it.
        for start, stop in pairwise([2, *kept, os.sysconf("SC_OPEN_MAX")]):
            os.closerange(start + 1, stop)
        run()
        status = 0
    finally:
        os._exit(status)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the quickest loop that is installed."""
    return uvicorn.Config(_nothing, log_config=None).get_loop_factory()


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    """Be an application, where one has to be named."""


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket at an address, or raise before anything is begun."""
    end = time.monotonic() + PATIENCE
    while True:
        listener = None
        try:
            kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listener = socket.socket(kind)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            return listener
        except OSError as error:
            if listener is not None:
                listener.close()
            if error.errno == errno.EADDRINUSE and time.monotonic() < end:
                time.sleep(0.02)
                continue
            raise BadInput(
                f"--host {host} --port {port}: {error.strerror}; expected an address of this "
                "machine and a port that is free."
            ) from error
