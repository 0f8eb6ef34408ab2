"""What was asked, what was predicted and which labels came: none is lost, and none counts twice."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

from sqlalchemy import (
    ColumnElement,
    Connection,
    delete,
    false,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DatabaseError, InterfaceError, SQLAlchemyError

from virtualvector.serve.entries import (
    Entry,
    Known,
    Outcome,
    Transaction,
    Written,
    add,
    cut,
    is_only_new,
)
from virtualvector.serve.schema import VERSION, Place, about, answers, conflicts, open_database
from virtualvector.streams.bad_input import BadInput

DROPPED_AT_ONCE = 5000  # rows


class StoreLost(Exception):
    """The store cannot be read or written now; what it has acknowledged it still has."""


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
    >>> from virtualvector.serve.entries import Entry
    >>> from virtualvector.serve.store import Store
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
            self._place = Place(self._engine)
        self._own: str | None = None  # the id, once it has begun

    def begun(self, model: bytes, columns: Sequence[str], learned_from: str | None = None) -> Self:
        """Let a store lead on from a model, for rows of these columns, unless it is in use.

        Parameters
        ----------
        model : bytes
            A model file.
        columns : sequence of str
            Those of its rows.
        learned_from : str, optional
            The id of the store that the model has learned from: if it is this one, and has no
            labels, these are lost, and it does not begin anew.
        """
        own: dict[str, Any] = {
            "id": uuid.uuid4().hex,
            "version": VERSION,
            "columns": json.dumps(list(columns)),
        }
        with _telling(), self._engine.begin() as connection:
            found = connection.execute(select(*(about.c[name] for name in own))).first()
            if found is not None and found.version != VERSION:
                raise BadInput(
                    f"--store: found tables of version {found.version}; expected {VERSION}."
                )
            if found is not None and found.id != learned_from and self._is_unused(connection):
                connection.execute(delete(about))
                found = None
            if found is None:
                connection.execute(insert(about).values(**own, base_sequence=0, base_model=model))
        self._own = own["id"] if found is None else found.id
        if found is not None and json.loads(found.columns) != list(columns):
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
        self._check_place()
        with _telling(), self._engine.begin() as connection:
            self._check_own(connection)
            add(connection, [entry for entry in entries if is_only_new(entry)])
            rest = [entry for entry in entries if not is_only_new(entry)]
            if rest:
                has_labels = any(entry.label is not None for entry in rest)
                transaction = Transaction(
                    self._known(connection, {e.id for e in rest if not e.is_new}),
                    self._last(connection) if has_labels else 0,
                )
                became = iter([transaction.take(entry) for entry in rest])
                transaction.carry_out(connection)
        self._check_place()  # or nobody would find what is acknowledged
        return [
            Written(Outcome.ANSWERED, entry.predicted, entry.learned)
            if is_only_new(entry)
            else next(became)
            for entry in entries
        ]

    def labelled(self, after: int, most: int) -> list[Labelled]:
        """Return the rows whose labels follow the given one, in the order to learn them in."""
        names = [answers.c[name] for name in Labelled._fields]
        wanted = select(*names).where(answers.c.sequence > after)
        self._check_place()
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
        self._check_place()
        with _telling(), self._engine.begin() as connection:
            connection.execute(update(about).values(version=VERSION))

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    def _known(self, connection: Connection, ids: set[str]) -> dict[str, Known]:
        found: dict[str, Known] = {}
        wanted = select(answers.c.id, *(answers.c[name] for name in Known._fields))
        for some in cut(sorted(ids)):
            for own, *rest in connection.execute(wanted.where(answers.c.id.in_(some))):
                found[own] = Known(*rest)
        return found

    def _check_place(self) -> None:
        if self._place.is_lost():
            raise StoreLost(
                "its file was moved or deleted; expected it to be put back, or a new start"
            )

    def _check_own(self, connection: Connection) -> None:
        """Raise if another service has begun it anew: what this one knows is of another model."""
        if connection.scalar(select(about.c.id)) != self._own:
            raise StoreLost("another service began with it, for another model")

    def _is_unused(self, connection: Connection) -> bool:
        has_rows = connection.scalar(select(answers.c.number).limit(1)) is not None
        return not has_rows and self._last(connection) == 0

    def _last(self, connection: Connection) -> int:
        """Return the last label that there was; its row may be gone, if the base has learned it."""
        last = connection.scalar(select(func.max(answers.c.sequence)))
        return max(last or 0, connection.scalar(select(about.c.base_sequence)) or 0)


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
