"""What was asked, what was predicted and which labels came: none is lost, and none counts twice."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple, Self, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    delete,
    false,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DatabaseError, InterfaceError, SQLAlchemyError

from virtualvector.serve.schema import VERSION, about, answers, conflicts, open_database
from virtualvector.streams.bad_input import BadInput

DROPPED_AT_ONCE = 5000  # rows
AT_ONCE = 500  # ids or rows in one statement: SQLite takes no more than 32,766 values

Each = TypeVar("Each")


class StoreLost(Exception):
    """The store cannot be read or written now; what it has acknowledged it still has."""


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


class Labelled(NamedTuple):
    """A row whose label is durable."""

    sequence: int
    id: str
    row: str
    predicted: str
    learned: int
    asked_at: float
    label: str
    labelled_at: float


class Base(NamedTuple):
    """The model that the labels of a store lead on from."""

    sequence: int  # of the last label that it has learned
    model: bytes


class _Known(NamedTuple):
    row: str
    predicted: str
    learned: int
    label: str | None


class Store:
    """A database of answers and labels, which one service writes.

    Labels are numbered in the order in which they become durable; a model learns them in that
    order.

    Parameters
    ----------
    address : str
        Of a SQLite or PostgreSQL database, as SQLAlchemy has it.
    must_exist : bool, default=False
        Whether to refuse to make a file where there is none.

    Examples
    --------
    >>> import tempfile
    >>> from virtualvector.serve.store import Entry, Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(f"sqlite:///{folder}/small.store").begun(b"a model", ["x"])
    ...     asked = Entry("a", 1.0, "[0.5]", '{"no":0.4,"yes":0.6}')
    ...     labels = [Entry("a", 2.0, label=label) for label in ("no", "no", "yes")]
    ...     [written.outcome.value for written in store.write([asked, *labels])]
    ...     [(row.sequence, row.label) for row in store.labelled(0, 10)]
    ...     store.close()
    ['answered', 'accepted', 'repeated', 'conflict']
    [(1, 'no')]
    """

    def __init__(self, address: str, must_exist: bool = False) -> None:
        with _telling():
            self._engine = open_database(address, must_exist)

    def begun(self, model: bytes, columns: Sequence[str]) -> Self:
        """Let a store that has no model yet lead on from this one, for rows of these columns."""
        own: dict[str, Any] = {
            "id": uuid.uuid4().hex,
            "version": VERSION,
            "columns": json.dumps(list(columns)),
        }
        with _telling(), self._engine.begin() as connection:
            found = connection.execute(select(about.c.version, about.c.columns)).first()
            if found is None:
                connection.execute(insert(about).values(**own, base_sequence=0, base_model=model))
        version, names = (VERSION, own["columns"]) if found is None else found
        if version != VERSION:
            raise BadInput(f"--store: found tables of version {version}; expected {VERSION}.")
        if json.loads(names) != list(columns):
            raise BadInput("--store: found rows of other columns; expected those of the model.")
        return self

    @property
    def id(self) -> str | None:
        """What tells the store from any other; None if no service has begun it."""
        with _telling(), self._engine.connect() as connection:
            found: str | None = connection.scalar(select(about.c.id))
            return found

    @property
    def base(self) -> Base:
        """The model that its labels lead on from."""
        with _telling(), self._engine.connect() as connection:
            row = connection.execute(select(about.c.base_sequence, about.c.base_model)).one()
            return Base(*row)

    @property
    def last(self) -> int:
        """The number of the last label that became durable."""
        with _telling(), self._engine.connect() as connection:
            return self._last(connection)

    def write(self, entries: Sequence[Entry]) -> list[Written]:
        """Make entries durable, all or none; return what became of each, in their order."""
        with _telling(), self._engine.begin() as connection:
            _add(connection, [entry for entry in entries if _is_only_new(entry)])
            rest = [entry for entry in entries if not _is_only_new(entry)]
            if rest:
                has_labels = any(entry.label is not None for entry in rest)
                transaction = _Transaction(
                    self._known(connection, {e.id for e in rest if not e.is_new}),
                    self._last(connection) if has_labels else 0,
                )
                became = iter([transaction.take(entry) for entry in rest])
                transaction.carry_out(connection)
        return [
            Written(Outcome.ANSWERED, entry.predicted, entry.learned)
            if _is_only_new(entry)
            else next(became)
            for entry in entries
        ]

    def labelled(self, after: int, most: int) -> list[Labelled]:
        """Return the rows whose labels follow the given one, in the order to learn them in."""
        names = [answers.c[name] for name in Labelled._fields]
        wanted = select(*names).where(answers.c.sequence > after)
        with _telling(), self._engine.connect() as connection:
            found = connection.execute(wanted.order_by(answers.c.sequence).limit(most))
            return [Labelled(*row) for row in found]

    def counts(self) -> dict[str, int]:
        """Return how many answers there are, how many wait for a label, and how many conflicts."""
        questions = {
            "answers": select(func.count()).select_from(answers),
            "waiting": select(func.count()).where(answers.c.sequence.is_(None)),
            "conflicts": select(func.count()).select_from(conflicts),
        }
        with _telling(), self._engine.connect() as connection:
            return {name: connection.scalar(each) or 0 for name, each in questions.items()}

    def conflicts(self, most: int) -> list[dict[str, Any]]:
        """Return the latest labels that contradict one that was acknowledged, for a person."""
        wanted = select(conflicts.c.id, answers.c.label, conflicts.c.label.label("other"))
        wanted = wanted.join_from(conflicts, answers, conflicts.c.id == answers.c.id, isouter=True)
        with _telling(), self._engine.connect() as connection:
            found = connection.execute(wanted.order_by(conflicts.c.came_at.desc()).limit(most))
            return [row._asdict() for row in found]

    def prune(self, base: Base | None, before: float | None = None, most: int | None = None) -> int:
        """Let labels lead on from a later model, and drop old rows; return how many.

        Parameters
        ----------
        base : Base or None
            A model that has learned all labels that may go; None: the one there is.
        before : float, optional
            Rows that were asked about before go, in seconds since 1970.
        most : int, optional
            Rows that stay, the latest ones. A label that the base has not learned stays anyhow.
        """
        with _telling(), self._engine.begin() as connection:
            old: ColumnElement[bool] = false()
            if before is not None:
                old |= answers.c.asked_at < before
            if most is not None:
                latest = select(answers.c.number).order_by(answers.c.number.desc()).offset(most)
                number = connection.scalar(latest.limit(1))
                old |= answers.c.number <= (0 if number is None else number)
            now = select(about.c.base_sequence)
            last = (connection.scalar(now) or 0) if base is None else base.sequence
            may_go = old & (answers.c.sequence.is_(None) | (answers.c.sequence <= last))
            if base is not None and connection.scalar(
                select(answers.c.number).where(may_go & answers.c.sequence.is_not(None)).limit(1)
            ):
                later = {"base_sequence": base.sequence, "base_model": base.model}
                connection.execute(update(about).values(**later))
        n_gone = 0
        # A few at a time: whoever writes meanwhile is not to wait.
        some = select(answers.c.number).where(may_go).limit(DROPPED_AT_ONCE)
        while True:
            with _telling(), self._engine.begin() as connection:
                n_now = connection.execute(
                    delete(answers).where(answers.c.number.in_(some))
                ).rowcount
            n_gone += n_now
            if n_now < DROPPED_AT_ONCE:
                return n_gone

    def check(self) -> None:
        """Raise `StoreLost` unless it can be written to."""
        with _telling(), self._engine.begin() as connection:
            connection.execute(update(about).values(version=VERSION))

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    def _known(self, connection: Connection, ids: set[str]) -> dict[str, _Known]:
        found: dict[str, _Known] = {}
        wanted = select(answers.c.id, *(answers.c[name] for name in _Known._fields))
        for some in _cut(sorted(ids)):
            for own, *rest in connection.execute(wanted.where(answers.c.id.in_(some))):
                found[own] = _Known(*rest)
        return found

    def _last(self, connection: Connection) -> int:
        """Return the last label that there was; its row may be gone, if the base has learned it."""
        last = connection.scalar(select(func.max(answers.c.sequence)))
        return max(last or 0, connection.scalar(select(about.c.base_sequence)) or 0)


class _Transaction:
    """What entries become, one after the other, before all of it is written at once."""

    def __init__(self, known: dict[str, _Known], sequence: int) -> None:
        self._known, self._sequence = known, sequence
        self._rows: dict[str, dict[str, Any]] = {}
        self._labels: list[dict[str, Any]] = []
        self._conflicts: dict[tuple[str, str], dict[str, Any]] = {}

    def take(self, entry: Entry) -> Written:
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

    def _add(self, entry: Entry) -> _Known:
        names = ("id", "row", "predicted", "learned")
        row = {name: getattr(entry, name) for name in names} | {"asked_at": entry.at}
        self._rows[entry.id] = row | dict.fromkeys(("label", "labelled_at", "sequence"))
        known = self._known[entry.id] = _Known(str(entry.row), entry.predicted, entry.learned, None)
        return known

    def _label(self, entry: Entry, known: _Known) -> Outcome:
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
            self._labels.append({f"new_{name}": v for name, v in came.items()} | {"of": entry.id})
        self._known[entry.id] = known._replace(label=label)
        return Outcome.ACCEPTED

    def carry_out(self, connection: Connection) -> None:
        if self._rows:
            connection.execute(insert(answers), list(self._rows.values()))
        if self._labels:
            came: dict[str, Any] = {
                name: bindparam(f"new_{name}") for name in ("label", "labelled_at", "sequence")
            }
            connection.execute(
                update(answers).where(answers.c.id == bindparam("of")).values(**came), self._labels
            )
        if self._conflicts:
            ids = {own for own, _ in self._conflicts}
            wanted = select(conflicts.c.id, conflicts.c.label)
            for some in _cut(sorted(ids)):
                for own, label in connection.execute(wanted.where(conflicts.c.id.in_(some))):
                    self._conflicts.pop((own, label), None)
            if self._conflicts:
                connection.execute(insert(conflicts), list(self._conflicts.values()))


def _is_only_new(entry: Entry) -> bool:
    """Whether there is nothing to look for, nor to decide."""
    return entry.is_new and entry.label is None


def _add(connection: Connection, entries: Sequence[Entry]) -> None:
    """Add rows that nobody can have asked about before."""
    for some in _cut(entries):
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


def _cut(every: Sequence[Each]) -> Iterator[Sequence[Each]]:
    return (every[k : k + AT_ONCE] for k in range(0, len(every), AT_ONCE))


@contextmanager
def _telling() -> Iterator[None]:
    """Let whatever a database fails with be one error, whose message has no value of a row."""
    try:
        yield
    except (DatabaseError, InterfaceError) as error:
        found = " ".join(str(error.orig).split()) or type(error).__name__
        raise StoreLost(found) from error
    except SQLAlchemyError as error:
        raise StoreLost(type(error).__name__) from error
