"""A service in a process of its own, until a signal ends it."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from threadpoolctl import threadpool_limits

from virtualvector.serve.service import Service
from virtualvector.streams.bad_input import BadInput

GRACE = 4  # seconds that requests under way have to end; then everything is saved
SWITCH = 0.0002  # seconds for which a thread that learns may keep others from answering
BACKLOG = 512  # connections that wait to be accepted


def run(app: Any, service: Service, host: str, port: int, ready: Callable[[int], None]) -> None:
    """Answer until SIGTERM or SIGINT comes; then save everything, and return.

    Parameters
    ----------
    app : ASGI application
        What answers.
    service : Service
        Whose end is to be known at once.
    host, port : str, int
        Where to listen; port 0 is any that is free.
    ready : callable
        Called with the port once requests are taken.
    """
    listener = _bound(host, port)
    sys.setswitchinterval(SWITCH)
    gc.freeze()  # nobody waits while all that was imported is looked through for garbage
    threadpool_limits(1)  # threads of BLAS would be in the way of those that answer
    config = uvicorn.Config(
        app,
        log_config=None,  # no row is ever logged, and neither is who asks
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="on",
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=30,
        backlog=BACKLOG,
        proxy_headers=False,
        ws="none",
    )
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(_Server(config, service, ready).serve([listener]))


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket at an address, or raise before anything is begun."""
    listener = None
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise BadInput(
            f"--host {host} --port {port}: {error.strerror}; expected an address of this machine "
            "and a port that is free."
        ) from error
    return listener


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, service: Service, ready: Callable[[int], None]
    ) -> None:
        super().__init__(config)
        self._service, self._ready = service, ready

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            assert sockets is not None
            self._ready(sockets[0].getsockname()[1])

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End by a signal, and not be ended by it once more when all is saved."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def _end(self) -> None:
        self._service.is_stopping = True
        self.should_exit = True
