"""What is answered to whom has come in: a path and a body become a status and a body."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any, Protocol

from virtualvector.serve.bodies import Limits, OneRow, Refused, labels_in, one_row_in, rows_in
from virtualvector.serve.entries import Entry, Outcome
from virtualvector.serve.metrics import exposition
from virtualvector.serve.service import Answer, Service, likeliest_of
from virtualvector.serve.store import StoreLost
from virtualvector.serve.texts import compact, parsed
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
        if path != "/predict":
            return await self._answer(path, body)
        asked: OneRow | bytes = body
        with suppress(Exception):  # which is told as any other is
            asked = one_row_in(body, self.service.form, self.limits) or body
        (reply,) = self.answer_together([asked])
        return reply if isinstance(reply, tuple) else await reply

    def answer_together(self, asked: Sequence[OneRow | bytes]) -> list[Reply | Awaitable[Reply]]:
        """Return what is answered at /predict to requests that come at the same time.

        Rows of numbers, one in each request, go through the experts' covariances together, and
        nobody waits for the store who left it to the service to make an id. All others, of which
        the bodies are given, are answered one by one, later.
        """
        said: Iterator[Reply | Awaitable[Reply]] | None = None
        with suppress(Exception):  # of which each is told by itself
            if self.service.writer.is_sure:
                plain = [each for each in asked if isinstance(each, OneRow)]
                said = iter(self._said(plain) if plain else ())
        return [
            self._answer("/predict", each)
            if isinstance(each, bytes)
            else (self._told_reply(self._predict_one(each)) if said is None else next(said))
            for each in asked
        ]

    def _said(self, asked: Sequence[OneRow]) -> list[Reply | Awaitable[Reply]]:
        """Say how probable the classes of rows of numbers are, each by itself."""
        numbers, texts, ids = zip(*asked, strict=True)
        rows = self.service.form.unpacked(numbers)
        entries, predicted = self.service.predict_together(rows, texts, ids)
        made = [entry for entry in entries if entry.is_new]
        kept = "true" if made and self.service.are_handed_over(made) else "false"
        return [
            (200, _written_out(entry, likeliest_of(each), kept))
            if entry.is_new
            else self._told_reply(self._once_kept(entry, each))
            for entry, each in zip(entries, predicted, strict=True)
        ]

    async def _once_kept(self, entry: Entry, predicted: dict[str, float]) -> tuple[int, Any]:
        """Answer under an id of the client's, which is to be durable first."""
        (answer,) = await self.service.kept([entry], [predicted])
        return 200, _fields_of(entry.id, answer)

    async def _answer(self, path: str, body: bytes) -> Reply:
        return await self._told_reply(self._handlers[path](body))

    async def _told_reply(self, doing: Awaitable[tuple[int, Any]]) -> Reply:
        """Return what is sent, whatever goes wrong."""
        reply: Any
        try:
            status, reply = await doing
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
        bodies = [_fields_of(own, answer) for own, answer in zip(asked.ids, answers, strict=True)]
        return 200, bodies[0] if asked.is_one else {"answers": bodies}

    async def _predict_one(self, asked: OneRow) -> tuple[int, Any]:
        """Say the same of a row of numbers, where it has to wait for the store."""
        row = dict(zip(self.service.form.names, parsed(asked.text), strict=True))
        (answer,) = await self.service.predict([row], [asked.id])
        return 200, _fields_of(asked.id, answer)

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


def _fields_of(own: str | None, answer: Answer | Outcome) -> dict[str, Any]:
    if not isinstance(answer, Answer):
        raise Refused(409, f"id {own!r}: another row has it; expected another id.")
    fields = answer._asdict()
    if not answer.left_out:
        del fields["left_out"]
    return fields


def _written_out(entry: Entry, label: str, kept: str) -> bytes:
    """Return the same as JSON, of which most has been written for the store."""
    return (
        f'{{"id":"{entry.id}","label":{compact(label)},"probabilities":{entry.predicted},'
        f'"learned":{entry.learned},"kept":{kept}}}'
    ).encode()


def _outcomes(found: Sequence[tuple[str, Outcome]], is_one: bool) -> tuple[int, Any]:
    outcomes = [{"id": own, "outcome": outcome.value} for own, outcome in found]
    status = max(_STATUS.get(outcome, 200) for _, outcome in found)
    return status, outcomes[0] if is_one else {"outcomes": outcomes}
