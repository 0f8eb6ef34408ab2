"""What entries of a store become, before all of it is written at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, insert, select

from virtualvector.serve.schema import answers, conflicts

AT_ONCE = 500  # ids or rows in one statement: SQLite takes no more than 32,766 values

Each = TypeVar("Each")


class Outcome(StrEnum):
    """What became of a row that was asked about, or of a label."""

    ANSWERED = "answered"
    ACCEPTED = "accepted"  # the label is durable, and will be learned once
    REPEATED = "repeated"  # it had been accepted before
    CONFLICT = "conflict"  # another label had; this one is kept for a person
    TAKEN = "taken"  # another row has the id
    UNKNOWN = "unknown"  # no row has it, or none any more


class Entry(NamedTuple):
    """A row and what was predicted about it, a label, or both."""

    id: str
    at: float  # seconds since 1970
    row: str | None = None  # JSON: values in the order of the columns; None: only a label
    predicted: str = ""  # JSON: the probability of each class
    learned: int = 0  # labels that the model had learned when it predicted so
    label: str | None = None
    is_new: bool = False  # nobody can have used the id before


class Written(NamedTuple):
    """What became of an entry, and what was predicted at first if its row is known."""

    outcome: Outcome
    predicted: str | None = None
    learned: int = 0  # labels that the model had learned when it predicted so


class Known(NamedTuple):
    """A row that the store has."""

    row: str
    predicted: str
    learned: int
    label: str | None


class Transaction:
    """What entries become, one after the other, before all of it is written at once."""

    def __init__(self, known: dict[str, Known], sequence: int) -> None:
        self._known, self._sequence = known, sequence
        self._rows: dict[str, dict[str, Any]] = {}
        self._labels: list[tuple[Any, ...]] = []
        self._conflicts: dict[tuple[str, str], dict[str, Any]] = {}

    def take(self, entry: Entry) -> Written:
        """Say what becomes of an entry, after those that were taken before."""
        known = self._known.get(entry.id)
        if entry.row is not None:
            if known is not None and not _is_same(known.row, entry.row):
                return Written(Outcome.TAKEN)
            if known is None:
                known = self._add(entry)
            if entry.label is None:
                return Written(Outcome.ANSWERED, known.predicted, known.learned)
        if known is None:
            return Written(Outcome.UNKNOWN)
        return Written(self._label(entry, known), known.predicted, known.learned)

    def _add(self, entry: Entry) -> Known:
        names = ("id", "row", "predicted", "learned")
        row = {name: getattr(entry, name) for name in names} | {"asked_at": entry.at}
        self._rows[entry.id] = row | dict.fromkeys(("label", "labelled_at", "sequence"))
        known = self._known[entry.id] = Known(str(entry.row), entry.predicted, entry.learned, None)
        return known

    def _label(self, entry: Entry, known: Known) -> Outcome:
        label = str(entry.label)
        if known.label is not None:
            if known.label == label:
                return Outcome.REPEATED
            kept = {"id": entry.id, "label": label, "came_at": entry.at}
            self._conflicts.setdefault((entry.id, label), kept)
            return Outcome.CONFLICT
        self._sequence += 1
        came = {"label": label, "labelled_at": entry.at, "sequence": self._sequence}
        if entry.id in self._rows:
            self._rows[entry.id] |= came
        else:
            self._labels.append((*came.values(), entry.id))
        self._known[entry.id] = known._replace(label=label)
        return Outcome.ACCEPTED

    def carry_out(self, connection: Connection) -> None:
        """Write all of it."""
        if self._rows:
            connection.execute(insert(answers), list(self._rows.values()))
        if self._labels:
            connection.exec_driver_sql(_LABELLING[connection.dialect.name], self._labels)
        if self._conflicts:
            ids = {own for own, _ in self._conflicts}
            wanted = select(conflicts.c.id, conflicts.c.label)
            for some in cut(sorted(ids)):
                for own, label in connection.execute(wanted.where(conflicts.c.id.in_(some))):
                    self._conflicts.pop((own, label), None)
            if self._conflicts:
                connection.execute(insert(conflicts), list(self._conflicts.values()))


# As the database takes it: SQLAlchemy would take longer over each label than the database does.
_LABELLING = {
    dialect: f"UPDATE {answers.name} SET label = {mark}, labelled_at = {mark}, sequence = {mark} "
    f"WHERE id = {mark}"
    for dialect, mark in (("sqlite", "?"), ("postgresql", "%s"))
}


def is_only_new(entry: Entry) -> bool:
    """Whether there is nothing to look for, nor to decide."""
    return entry.is_new and entry.label is None


def add(connection: Connection, entries: Sequence[Entry]) -> None:
    """Add rows that nobody can have asked about before."""
    for some in cut(entries):
        values = [v for e in some for v in (e.id, e.row, e.predicted, e.learned, e.at)]
        connection.exec_driver_sql(_insertion(connection.dialect.name, len(some)), tuple(values))


@cache
def _insertion(dialect: str, n_rows: int) -> str:
    """Return one statement for many rows: Python's other threads go on while it is carried out."""
    one = "(?, ?, ?, ?, ?)" if dialect == "sqlite" else "(%s, %s, %s, %s, %s)"
    return (
        f'INSERT INTO {answers.name} (id, "row", predicted, learned, asked_at) '
        f"VALUES {', '.join([one] * n_rows)}"
    )


def _is_same(row: str, other: str) -> bool:
    """Whether two rows, as JSON, have the same values."""
    return row == other or json.loads(row) == json.loads(other)


def cut(every: Sequence[Each]) -> Iterator[Sequence[Each]]:
    """Return as many at a time as a statement is to have."""
    return (every[k : k + AT_ONCE] for k in range(0, len(every), AT_ONCE))
