"""What is answered to whom has come in: a path and a body become a status and a body."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version
from typing import Any, Protocol

from virtualvector.serve.bodies import Limits, Refused, labels_in, rows_in
from virtualvector.serve.metrics import exposition
from virtualvector.serve.service import Answer, Service
from virtualvector.serve.store import Outcome, StoreLost
from virtualvector.serve.texts import compact
from virtualvector.serve.writer import Overloaded
from virtualvector.streams.bad_input import BadInput

EVERY = 1.0  # seconds between two events

_STATUS = {Outcome.CONFLICT: 409, Outcome.TAKEN: 409, Outcome.UNKNOWN: 404}

Reply = tuple[int, bytes]  # a status, and what is sent


class Answers(Protocol):
    """Who answers: in this process, or in another one."""

    @property
    def is_stopping(self) -> bool:
        """Whether nothing more is to be begun."""

    async def answer(self, path: str, body: bytes = b"") -> Reply:
        """Return what is answered at one of `PATHS`."""


class Answering:
    """What a service answers.

    Parameters
    ----------
    service : Service
        Which has the model and the store.
    limits : Limits
        How much may be asked for at once.
    """

    def __init__(self, service: Service, limits: Limits) -> None:
        self.service, self.limits = service, limits
        self._handlers: dict[str, Callable[[bytes], Awaitable[tuple[int, Any]]]] = {
            "/predict": self._predict,
            "/labels": self._labels,
            "/learn": self._learn,
            "/model": self._model,
            "/figures": self._figures,
            "/ready": self._ready,
            "/metrics": self._metrics,
        }
        self._told: dict[str, Any] = {}
        self._told_at = -EVERY

    @property
    def is_stopping(self) -> bool:
        """Whether nothing more is to be begun."""
        return self.service.is_stopping

    async def answer(self, path: str, body: bytes = b"") -> Reply:
        """Return what is answered at one of `PATHS`."""
        reply: Any
        try:
            status, reply = await self._handlers[path](body)
        except Refused as error:
            status, reply = error.status, {"error": str(error)}
        except BadInput as error:
            status, reply = 422, {"error": str(error)}
        except Overloaded as error:
            status, reply = 429, {"error": str(error)}
        except StoreLost as error:
            status, reply = 503, {"error": f"the store cannot be written: {error}"}
        except Exception as error:  # whoever waits is told; what it says may be of a row
            status, reply = 500, {"error": f"a fault of the service: {type(error).__name__}"}
        return status, (reply if isinstance(reply, str) else compact(reply)).encode()

    async def _predict(self, body: bytes) -> tuple[int, Any]:
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

    async def _learn(self, body: bytes) -> tuple[int, Any]:
        """Take rows and their labels."""
        asked = rows_in(body, self.limits, labelled=True)
        found = await self.service.learn(asked.rows, asked.labels, asked.ids)
        return _outcomes(found, asked.is_one)

    async def _labels(self, body: bytes) -> tuple[int, Any]:
        """Take labels of rows that were asked about."""
        labels, is_one = labels_in(body, self.limits)
        return _outcomes(await self.service.label(labels), is_one)

    async def _model(self, _: bytes) -> tuple[int, Any]:
        """Say what the model is."""
        learned, form = self.service.snapshot, self.service.form
        return 200, {
            "program": f"virtualvector {version('virtualvector')}",
            "columns": [{"name": c.name, "kind": c.kind} for c in form.columns],
            "classes": learned.classes,
            "new_classes": self.service.new_classes,
            "rows_learned": learned.model.n_seen_,
            "labels_learned": learned.sequence,
            "experts": len(learned.model.experts_),
            "experts_awake": learned.model.n_awake_,
        }

    async def _ready(self, _: bytes) -> tuple[int, Any]:
        """Say whether all can be done that may be asked for."""
        troubles = self.service.troubles()
        if troubles:
            return 503, {"status": "not ready", "troubles": troubles}
        return 200, {"status": "ready"}

    async def _metrics(self, _: bytes) -> tuple[int, Any]:
        """Return figures for Prometheus."""
        return 200, exposition(self.service)

    async def _figures(self, _: bytes) -> tuple[int, Any]:
        """Say how good the answers were; made anew no more than twice in a second, whoever asks."""
        now = time.monotonic()
        if now - self._told_at > EVERY / 2:
            self._told, self._told_at = self._made_figures(), now
        return 200, self._told

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
            "troubles": service.troubles(),
        }


# What can be asked of it; a path is told to another process by its place.
PATHS = ("/predict", "/labels", "/learn", "/model", "/figures", "/ready", "/metrics")


def _outcomes(found: Sequence[tuple[str, Outcome]], is_one: bool) -> tuple[int, Any]:
    outcomes = [{"id": own, "outcome": outcome.value} for own, outcome in found]
    status = max(_STATUS.get(outcome, 200) for _, outcome in found)
    return status, outcomes[0] if is_one else {"outcomes": outcomes}
