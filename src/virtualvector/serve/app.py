"""The service as a web application."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
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
from virtualvector.serve.service import Answer, Service, compact
from virtualvector.serve.store import Outcome, StoreLost
from virtualvector.serve.writer import Overloaded
from virtualvector.streams.bad_input import BadInput

LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERY = 1.0  # seconds between two events

_STATUS = {Outcome.CONFLICT: 409, Outcome.TAKEN: 409, Outcome.UNKNOWN: 404}


class _Json(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return compact(content).encode()


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

    def routes(self) -> list[Route]:
        """Return what answers to which address."""
        return [
            Route("/predict", self.predict, methods=["POST"]),
            Route("/labels", self.labels, methods=["POST"]),
            Route("/learn", self.learn, methods=["POST"]),
            Route("/model", self.model),
            Route("/figures", self.figures),
            Route("/events", self.events),
            Route("/health", self.health),
            Route("/ready", self.ready),
            Route("/metrics", self.metrics),
            Route("/openapi.json", self.openapi),
            *(Route(path, self.page) for path in self._page),
        ]

    async def predict(self, request: Request) -> Response:
        """Say how probable the classes of rows are."""
        asked = rows_in(request.scope["body"], self.limits)
        answers = await self.service.predict(asked.rows, asked.ids)
        bodies = []
        for own, answer in zip(asked.ids, answers, strict=True):
            if not isinstance(answer, Answer):
                raise Refused(409, f"id {own!r}: another row has it; expected another id.")
            fields = answer._asdict()
            if not answer.left_out:
                del fields["left_out"]
            bodies.append(fields)
        return _Json(bodies[0] if asked.is_one else {"answers": bodies})

    async def learn(self, request: Request) -> Response:
        """Take rows and their labels."""
        asked = rows_in(request.scope["body"], self.limits, labelled=True)
        found = await self.service.learn(asked.rows, asked.labels, asked.ids)
        return _outcomes(found, asked.is_one)

    async def labels(self, request: Request) -> Response:
        """Take labels of rows that were asked about."""
        labels, is_one = labels_in(request.scope["body"], self.limits)
        return _outcomes(await self.service.label(labels), is_one)

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
        exception_handlers={
            Refused: _refused,
            BadInput: _bad_input,
            StoreLost: _lost,
            Overloaded: _overloaded,
            HTTPException: _not_here,
        },
    )
    return Gate(app, limits, tokens, hosts, inside.latency)


def _outcomes(found: Sequence[tuple[str, Outcome]], is_one: bool) -> Response:
    outcomes = [{"id": own, "outcome": outcome.value} for own, outcome in found]
    status = max(_STATUS.get(outcome, 200) for _, outcome in found)
    return _Json(outcomes[0] if is_one else {"outcomes": outcomes}, status)


def _error(status: int, message: str, **headers: str) -> Response:
    return _Json({"error": message}, status, headers)


def _refused(request: Request, error: Any) -> Response:
    return _error(error.status, str(error))


def _bad_input(request: Request, error: Exception) -> Response:
    return _error(422, str(error))


def _lost(request: Request, error: Exception) -> Response:
    return _error(503, f"the store cannot be written: {error}", **{"Retry-After": "1"})


def _overloaded(request: Request, error: Exception) -> Response:
    return _error(429, str(error), **{"Retry-After": "1"})


def _not_here(request: Request, error: Any) -> Response:
    return _error(error.status_code, error.detail, **(error.headers or {}))
