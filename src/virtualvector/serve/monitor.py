"""How good answers were, measured by the labels that came later: what was predicted at the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from virtualvector.evaluation import Tally
from virtualvector.evaluation.tally import BEFORE_ALL, Totals, between
from virtualvector.serve.store import Labelled
from virtualvector.serve.texts import parsed_together
from virtualvector.types import Array, Labels

SURPRISING = 0.1  # of a probability: what came had been given less
LATEST = 10  # surprises and alarms that are remembered
_LEAST = 1e-300  # of a probability whose logarithm is taken

# Up to so many labels learned, or seconds gone by, between an answer and its label.
AGES = {"none": 0, "up to 9": 9, "10 to 99": 99, "100 to 999": 999, "1,000 or more": np.inf}
DELAYS = {
    "up to a second": 1.0,
    "up to a minute": 60.0,
    "up to an hour": 3600.0,
    "up to a day": 86_400.0,
    "longer": np.inf,
}

Parts = dict[str, Totals]


class Surprise(NamedTuple):
    """A label that had seemed improbable."""

    id: str
    label: str
    probability: float
    at: float


class Monitor(NamedTuple):
    """Measures of a service, added up label by label in the order in which they are learned.

    However the labels are cut into calls, the sums are the same to the last bit.
    """

    tally: Tally = Tally()
    by_age: Parts = {}  # noqa: RUF012 (never changed)
    by_delay: Parts = {}  # noqa: RUF012
    surprises: tuple[Surprise, ...] = ()
    alarms: tuple[int, ...] = ()  # labels after which the latest were raised
    n_alarms: int = 0

    def with_labels(self, rows: Sequence[Labelled], columns: Labels, predicted: Array) -> Monitor:
        """Add rows whose labels have come, and what was predicted, as `predictions_of` has it."""
        labels = np.array([row.label for row in rows])
        observed = np.searchsorted(columns, labels)
        own = predicted[np.arange(len(rows)), observed]
        wrong = predicted.argmax(axis=1) != observed
        squares = ((predicted**2).sum(axis=1) - 2.0 * own + 1.0) / 2.0
        surprise = -np.log(np.maximum(own, _LEAST))
        losses = np.stack([wrong, surprise, squares])
        ages = np.array([row.sequence - 1 - row.learned for row in rows])
        delays = np.array([row.labelled_at - row.asked_at for row in rows])
        surprises = [
            Surprise(rows[k].id, rows[k].label, float(own[k]), rows[k].labelled_at)
            for k in np.flatnonzero(own < SURPRISING)[-LATEST:].tolist()
        ]
        return self._replace(
            tally=self.tally.with_rows(labels, predicted, columns),
            by_age=_with_losses(self.by_age, AGES, ages, losses),
            by_delay=_with_losses(self.by_delay, DELAYS, delays, losses),
            surprises=(*self.surprises, *surprises)[-LATEST:],
        )

    def with_alarm(self, sequence: int) -> Monitor:
        """Add a drift alarm."""
        alarms = (*self.alarms, sequence)[-LATEST:]
        return self._replace(alarms=alarms, n_alarms=self.n_alarms + 1)

    def figures(self) -> dict[str, Any]:
        """Return what it has measured, for people and machines."""
        tally = self.tally
        if tally.now.n_rows == 0:
            return {"labels": 0}
        measures, recent = tally.measures, tally.recent
        (_, guessed_wrong, guessing) = tally.base_rate
        n_rows, predicted, observed = (each.tolist() for each in tally.reliability)
        return {
            "labels": tally.now.n_rows,
            "error": measures.error,
            "log_loss": measures.log_loss,
            "brier": measures.brier,
            "calibration_error": measures.calibration_error,
            "base_error": guessed_wrong,
            "base_log_loss": guessing,
            "recent": recent._asdict(),
            "past": [[m.n_rows, m.wrong] for m in (*tally.past, tally.now)],
            "reliability": [
                {"rows": n, "predicted": p, "observed": o}
                for n, p, o in zip(n_rows, predicted, observed, strict=True)
                if n > 0
            ],
            "by_age": _in_order(self.by_age, AGES),
            "by_delay": _in_order(self.by_delay, DELAYS),
            "surprises": [surprise._asdict() for surprise in reversed(self.surprises)],
            "alarms": list(self.alarms),
            "n_alarms": self.n_alarms,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain lists and numbers, for files."""
        return {
            "tally": self.tally.as_dict(),
            "by_age": {name: list(totals) for name, totals in self.by_age.items()},
            "by_delay": {name: list(totals) for name, totals in self.by_delay.items()},
            "surprises": [list(surprise) for surprise in self.surprises],
            "alarms": list(self.alarms),
            "n_alarms": self.n_alarms,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return what `as_dict` was made of; raise ValueError if nothing can have been."""
        try:
            return cls(
                Tally.from_dict(stored["tally"]),
                {str(name): Totals(*each) for name, each in stored["by_age"].items()},
                {str(name): Totals(*each) for name, each in stored["by_delay"].items()},
                tuple(Surprise(*each) for each in stored["surprises"]),
                tuple(int(each) for each in stored["alarms"]),
                int(stored["n_alarms"]),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("found damaged measures of a service; expected whole ones") from error


def predictions_of(rows: Sequence[Labelled], classes: Sequence[str]) -> tuple[Labels, Array]:
    """Return the predictions of rows, a column for each class, sorted; 0 for those unheard of.

    Examples
    --------
    >>> from virtualvector.serve.monitor import predictions_of
    >>> from virtualvector.serve.store import Labelled
    >>> row = Labelled(1, "a", "[0.5]", '{"ham":0.2,"spam":0.8}', 0, 1.0, "spam", 2.0)
    >>> columns, predicted = predictions_of([row], ["ham", "phish", "spam"])
    >>> columns.tolist(), predicted.tolist()
    (['ham', 'phish', 'spam'], [[0.2, 0.0, 0.8]])
    """
    each = parsed_together([row.predicted for row in rows], only_numbers=True)
    columns = np.array(sorted({*classes, *(name for one in each for name in one)}))
    return columns, np.array([[one.get(name, 0.0) for name in columns.tolist()] for one in each])


def _with_losses(parts: Parts, buckets: Mapping[str, float], sizes: Array, losses: Array) -> Parts:
    """Add losses to the part that each belongs to by its size, one after the other."""
    names, places = list(buckets), np.searchsorted([*buckets.values()], sizes)
    after = dict(parts)
    for place in dict.fromkeys(places.tolist()):  # in their order, as files have it
        before = after.get(names[place], BEFORE_ALL)
        some = losses[:, places == place]
        start = np.array([[before.wrong], [before.log_loss], [before.brier]])
        # Sums in the order of the rows, however they are cut into calls; sum() adds in pairs.
        wrong, log_loss, brier = np.hstack([start, some]).cumsum(axis=1)[:, -1].tolist()
        n_rows = before.n_rows + some.shape[1]
        after[names[place]] = Totals(n_rows, int(wrong), log_loss, brier)
    return after


def _in_order(parts: Parts, buckets: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"part": name, **between(BEFORE_ALL, parts[name])._asdict()}
        for name in buckets
        if name in parts
    ]
