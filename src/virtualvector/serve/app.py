"""The service as a web application."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from virtualvector.serve.bodies import Limits, Refused, labels_in, rows_in
from virtualvector.serve.gate import Gate, Tokens
from virtualvector.serve.metrics import Latency, exposition
from virtualvector.serve.openapi import described
from virtualvector.serve.page import page_files
from virtualvector.serve.service import Answer, Service
from virtualvector.serve.store import Outcome, StoreLost
from virtualvector.serve.texts import compact
from virtualvector.serve.writer import Overloaded
from virtualvector.streams.bad_input import BadInput

LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERY = 1.0  # seconds between two events

_LATER = (b"retry-after", b"1")
_STATUS = {Outcome.CONFLICT: 409, Outcome.TAKEN: 409, Outcome.UNKNOWN: 404}


class _Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return compact(content).encode()


Reply = tuple[int, Any]  # a status, and what is sent as JSON
Handler = Callable[[bytes], Awaitable[Reply]]


class Posts:
    """An ASGI application that answers what is posted, by itself, and leaves the rest to another.

    Each such request is short and there are many of them: nothing is done twice.

    Parameters
    ----------
    handlers : mapping of str to callable
        What answers to which address; `Gate` has read the body.
    app : ASGI application
        What answers to all others.
    """

    def __init__(self, handlers: Mapping[str, Handler], app: Any) -> None:
        self._handlers, self._app = handlers, app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        is_posted = scope["type"] == "http" and scope["method"] == "POST"
        handler = self._handlers.get(scope["path"]) if is_posted else None
        if handler is None:
            await self._app(scope, receive, send)
            return
        headers: list[tuple[bytes, bytes]] = []
        try:
            status, reply = await handler(scope["body"])
        except BadInput as error:
            status, reply = 422, {"error": str(error)}
        except Overloaded as error:
            status, reply, headers = 429, {"error": str(error)}, [_LATER]
        except StoreLost as error:
            reply = {"error": f"the store cannot be written: {error}"}
            status, headers = 503, [_LATER]
        body = compact(reply).encode()
        size = (b"content-length", str(len(body)).encode())
        headers = [(b"content-type", b"application/json"), size, *headers]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class Application:
    """What can be asked of a service.

    Parameters
    ----------
    service : Service
        What answers.
    limits : Limits
        How much may be asked for at once.
    """

    def __init__(self, service: Service, limits: Limits) -> None:
        self.service, self.limits, self.latency = service, limits, Latency()
        self._openapi = described(service.form.columns, service.snapshot.classes, limits)
        self._page = page_files()
        self._n_listening = 0
        self._told: dict[str, Any] = {}
        self._told_at = -EVERY

    def posted(self) -> dict[str, Handler]:
        """Return what answers to which address that is sent a body."""
        return {"/predict": self.predict, "/labels": self.labels, "/learn": self.learn}

    def routes(self) -> list[Route]:
        """Return what answers to which address."""
        return [
            *(Route(path, self.elsewhere, methods=["POST"]) for path in self.posted()),
            Route("/model", self.model),
            Route("/figures", self.figures),
            Route("/events", self.events),
            Route("/health", self.health),
            Route("/ready", self.ready),
            Route("/metrics", self.metrics),
            Route("/openapi.json", self.openapi),
            *(Route(path, self.page) for path in self._page),
        ]

    async def predict(self, body: bytes) -> Reply:
        """Say how probable the classes of rows are."""
        asked = rows_in(body, self.limits, only_numbers=self.service.form.only_numbers)
        answers = await self.service.predict(asked.rows, asked.ids)
        bodies = []
        for own, answer in zip(asked.ids, answers, strict=True):
            if not isinstance(answer, Answer):
                raise Refused(409, f"id {own!r}: another row has it; expected another id.")
            fields = answer._asdict()
            if not answer.left_out:
                del fields["left_out"]
            bodies.append(fields)
        return 200, bodies[0] if asked.is_one else {"answers": bodies}

    async def learn(self, body: bytes) -> Reply:
        """Take rows and their labels."""
        asked = rows_in(body, self.limits, labelled=True)
        found = await self.service.learn(asked.rows, asked.labels, asked.ids)
        return _outcomes(found, asked.is_one)

    async def labels(self, body: bytes) -> Reply:
        """Take labels of rows that were asked about."""
        labels, is_one = labels_in(body, self.limits)
        return _outcomes(await self.service.label(labels), is_one)

    async def elsewhere(self, request: Request) -> Response:
        """Never called: what is posted is answered by `Posts`; others are told what is allowed."""
        raise NotImplementedError

    async def model(self, request: Request) -> Response:
        """Say what the model is."""
        learned, form = self.service.snapshot, self.service.form
        return _Json(
            {
                "program": f"virtualvector {version('virtualvector')}",
                "columns": [{"name": c.name, "kind": c.kind} for c in form.columns],
                "classes": learned.classes,
                "new_classes": self.service.new_classes,
                "rows_learned": learned.model.n_seen_,
                "labels_learned": learned.sequence,
                "experts": len(learned.model.experts_),
                "experts_awake": learned.model.n_awake_,
            }
        )

    async def figures(self, request: Request) -> Response:
        """Say how good the answers were."""
        return _Json(self._figures())

    async def events(self, request: Request) -> Response:
        """Say so again whenever it changes."""
        if self._n_listening >= self.limits.open // 4:
            raise Refused(429, f"found {self._n_listening} listeners; expected fewer.")

        async def stream() -> AsyncIterator[str]:
            self._n_listening += 1
            try:
                while not self.service.is_stopping:
                    yield f"data: {compact(self._figures())}\n\n"
                    await asyncio.sleep(EVERY)
            finally:
                self._n_listening -= 1

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def health(self, request: Request) -> Response:
        """Say that the process is there."""
        return _Json({"status": "alive"})

    async def ready(self, request: Request) -> Response:
        """Say whether all can be done that may be asked for."""
        troubles = self.service.troubles()
        if troubles:
            return _Json({"status": "not ready", "troubles": troubles}, 503)
        return _Json({"status": "ready"})

    async def metrics(self, request: Request) -> Response:
        """Return figures for Prometheus."""
        return Response(
            exposition(self.service, self.latency),
            media_type="text/plain; version=0.0.4; charset=utf-8",
        )

    async def openapi(self, request: Request) -> Response:
        """Describe all this."""
        return _Json(self._openapi)

    async def page(self, request: Request) -> Response:
        """Return a part of the live page."""
        media_type, contents = self._page[request.url.path]
        return Response(contents, media_type=media_type)

    def _figures(self) -> dict[str, Any]:
        """Return all figures, made anew no more than twice in a second, whoever asks."""
        now = time.monotonic()
        if now - self._told_at > EVERY / 2:
            self._told, self._told_at = self._made_figures(), now
        return self._told

    def _made_figures(self) -> dict[str, Any]:
        service, learned = self.service, self.service.snapshot
        return learned.monitor.figures() | {
            "classes": learned.classes,
            "rows_learned": learned.model.n_seen_,
            "labels_learned": learned.sequence,
            "experts": len(learned.model.experts_),
            "experts_awake": learned.model.n_awake_,
            "store": service.learner.counts,
            "conflicts": service.learner.conflicts,
            "unseen": dict(service.unseen.most_common(20)),
            "requests": sum(self.latency.requests.values()),
            "latency": {
                "p50": self.latency.quantile("/predict", 0.5),
                "p99": self.latency.quantile("/predict", 0.99),
            },
            "troubles": service.troubles(),
        }


def application(
    service: Service,
    limits: Limits,
    tokens: Tokens | None = None,
    hosts: Sequence[str] = LOOPBACK,
) -> Gate:
    """Return a service as an ASGI application, which starts and stops it."""
    inside = Application(service, limits)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.start()
        try:
            yield
        finally:
            await asyncio.to_thread(service.stop)

    app = Starlette(
        routes=inside.routes(),
        lifespan=lifespan,
        exception_handlers={Refused: _refused, HTTPException: _not_here},
    )
    return Gate(Posts(inside.posted(), app), limits, tokens, hosts, inside.latency)


def _outcomes(found: Sequence[tuple[str, Outcome]], is_one: bool) -> Reply:
    outcomes = [{"id": own, "outcome": outcome.value} for own, outcome in found]
    status = max(_STATUS.get(outcome, 200) for _, outcome in found)
    return status, outcomes[0] if is_one else {"outcomes": outcomes}


def _refused(request: Request, error: Any) -> Response:
    return _Json({"error": str(error)}, error.status)


def _not_here(request: Request, error: Any) -> Response:
    return _Json({"error": error.detail}, error.status_code, error.headers or {})
