"""The service as a web application: requests come in here, whoever answers them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from virtualvector.serve.answering import EVERY, Answering, Answers
from virtualvector.serve.bodies import Limits, Refused
from virtualvector.serve.gate import LATER, POSTED, TRY_AGAIN, Gate, Tokens
from virtualvector.serve.metrics import Latency
from virtualvector.serve.openapi import described
from virtualvector.serve.page import page_files
from virtualvector.serve.service import Service
from virtualvector.serve.texts import compact, parsed

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Door(NamedTuple):
    """Who may come in, with how much."""

    limits: Limits
    tokens: Tokens | None = None
    hosts: Sequence[str] = LOOPBACK


class _Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return content if isinstance(content, bytes) else compact(content).encode()


class Posts:
    """An ASGI application that answers what is posted, by itself, and leaves the rest to another.

    Each such request is short and there are many of them: nothing is done twice.

    Parameters
    ----------
    answers : Answers
        Who answers; `Gate` has read the body.
    app : ASGI application
        What answers to all others.
    """

    def __init__(self, answers: Answers, app: Any) -> None:
        self._answers, self._app = answers, app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        path = scope["path"] if scope["type"] == "http" and scope["method"] == "POST" else None
        if path not in POSTED:
            await self._app(scope, receive, send)
            return
        status, body = await self._answers.answer(path, scope["body"])
        size = (b"content-length", str(len(body)).encode())
        headers = [(b"content-type", b"application/json"), size]
        if status in LATER:
            headers.append(TRY_AGAIN)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class Application:
    """What can be asked for beside that.

    Parameters
    ----------
    answers : Answers
        Who answers.
    openapi : dict
        The description of all.
    limits : Limits
        How much may be asked for at once.
    """

    def __init__(self, answers: Answers, openapi: dict[str, Any], limits: Limits) -> None:
        self.latency = Latency()
        self._answers, self._openapi, self._limits = answers, openapi, limits
        self._page = page_files()
        self._n_listening = 0

    def routes(self) -> list[Route]:
        """Return what answers to which address."""
        return [
            *(Route(path, self.elsewhere, methods=["POST"]) for path in POSTED),
            Route("/model", self.asked),
            Route("/ready", self.asked),
            Route("/figures", self.figures),
            Route("/events", self.events),
            Route("/health", self.health),
            Route("/metrics", self.metrics),
            Route("/openapi.json", self.openapi),
            *(Route(path, self.page) for path in self._page),
        ]

    async def elsewhere(self, request: Request) -> Response:
        """Never called: what is posted is answered by `Posts`; others are told what is allowed."""
        raise NotImplementedError

    async def asked(self, request: Request) -> Response:
        """Say what the service says."""
        status, body = await self._answers.answer(request.url.path)
        return _Json(body, status)

    async def figures(self, request: Request) -> Response:
        """Say how good the answers were."""
        return _Json(await self._figures())

    async def events(self, request: Request) -> Response:
        """Say so again whenever it changes."""
        if self._n_listening >= self._limits.open // 4:
            raise Refused(429, f"found {self._n_listening} listeners; expected fewer.")

        async def stream() -> AsyncIterator[str]:
            self._n_listening += 1
            try:
                while not self._answers.is_stopping:
                    yield f"data: {compact(await self._figures())}\n\n"
                    await asyncio.sleep(EVERY)
            finally:
                self._n_listening -= 1

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def health(self, request: Request) -> Response:
        """Say that the process is there."""
        return _Json({"status": "alive"})

    async def metrics(self, request: Request) -> Response:
        """Return figures for Prometheus."""
        status, body = await self._answers.answer("/metrics")
        return Response(
            self.latency.exposition().encode() + body,
            status,
            media_type="text/plain; version=0.0.4; charset=utf-8",
        )

    async def openapi(self, request: Request) -> Response:
        """Describe all this."""
        return _Json(self._openapi)

    async def page(self, request: Request) -> Response:
        """Return a part of the live page."""
        media_type, contents = self._page[request.url.path]
        return Response(contents, media_type=media_type)

    async def _figures(self) -> dict[str, Any]:
        status, body = await self._answers.answer("/figures")
        figures: dict[str, Any] = parsed(body)
        if status != 200:
            raise Refused(status, figures["error"])
        return figures | {
            "requests": sum(self.latency.requests.values()),
            "latency": {
                "p50": self.latency.quantile("/predict", 0.5),
                "p99": self.latency.quantile("/predict", 0.99),
            },
        }


def description(service: Service, limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI description of a service."""
    return described(service.form.columns, service.snapshot.classes, limits)


def entrance(answers: Answers, openapi: dict[str, Any], door: Door, lifespan: Any = None) -> Gate:
    """Return an ASGI application that asks someone for all that it does not know itself."""
    inside = Application(answers, openapi, door.limits)
    app = Starlette(
        routes=inside.routes(),
        lifespan=lifespan,
        exception_handlers={Refused: _refused, HTTPException: _not_here},
    )
    return Gate(Posts(answers, app), *door, inside.latency)


def application(service: Service, door: Door) -> Gate:
    """Return a service as an ASGI application, which starts and stops it; all in one process."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.start()
        try:
            yield
        finally:
            await asyncio.to_thread(service.stop)

    openapi = description(service, door.limits)
    return entrance(Answering(service, door.limits), openapi, door, lifespan)


def _refused(request: Request, error: Any) -> Response:
    return _Json({"error": str(error)}, error.status)


def _not_here(request: Request, error: Any) -> Response:
    return _Json({"error": error.detail}, error.status_code, error.headers or {})
