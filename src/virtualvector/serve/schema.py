"""The tables of a store, and how a database is opened."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Engine,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    inspect,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from virtualvector.escaping import quoted
from virtualvector.streams.bad_input import BadInput

PATIENCE = 3  # seconds in which a database has to answer
VERSION = 1  # of these tables

_tables = MetaData()
_Number = BigInteger().with_variant(Integer, "sqlite")  # which counts only those up by itself

# One row: which store this is, and the model that its labels lead on from.
about = Table(
    "vvm_store",
    _tables,
    Column("id", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("columns", Text, nullable=False),  # JSON
    Column("base_sequence", BigInteger, nullable=False),
    Column("base_model", LargeBinary, nullable=False),
)

# What was asked, what was predicted, and the label once it has come.
answers = Table(
    "vvm_answers",
    _tables,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("row", Text, nullable=False),  # JSON: values in the order of the columns
    Column("predicted", Text, nullable=False),  # JSON: the probability of each class
    Column("learned", BigInteger, nullable=False),  # labels that the model had learned by then
    Column("asked_at", Float(53), nullable=False),  # seconds since 1970
    Column("label", Text),
    Column("labelled_at", Float(53)),
    Column("sequence", BigInteger, unique=True),  # of labels, in the order they became durable
)
Index("vvm_answers_by_time", answers.c.asked_at)

# Labels that contradict one that was acknowledged, kept for a person.
conflicts = Table(
    "vvm_conflicts",
    _tables,
    Column("id", Text, primary_key=True),
    Column("label", Text, primary_key=True),
    Column("came_at", Float(53), nullable=False),
)


def store_beside(model: Path) -> str:
    """Return the address of the store that a model has by default.

    Examples
    --------
    >>> from pathlib import Path
    >>> from virtualvector.serve.schema import store_beside
    >>> store_beside(Path("/srv/outcome.vvm"))
    'sqlite:////srv/outcome.vvm.store'
    """
    return f"sqlite:///{model.absolute()}.store"


def shown(address: str) -> str:
    """Return an address as messages have it, without what may be a user or a password.

    Examples
    --------
    >>> from virtualvector.serve.schema import shown
    >>> shown("postgresql://me:secret@there/outcomes?sslmode=require")
    "'there/outcomes'"
    """
    return quoted(address.rpartition("@")[2].partition("?")[0])


def open_database(address: str, must_exist: bool = False) -> Engine:
    """Return the database of an address: with its tables made, or left as it is if it must exist.

    Raises
    ------
    BadInput
        If it must exist, and is no store.
    """
    url = _checked(address, "--from-store" if must_exist else "--store")
    is_file = url.get_backend_name() == "sqlite"
    if is_file:
        if must_exist and not Path(str(url.database)).is_file():
            raise BadInput(f"{url.database}: no such file; expected a store of vvm serve.")
        engine = create_engine(url, connect_args={"timeout": PATIENCE})
    else:
        wait = {"connect_timeout": PATIENCE, "options": "-c statement_timeout=10s"}
        engine = create_engine(url, connect_args=wait, pool_pre_ping=True)
    # Many rows in one statement: Python's other threads go on while it is carried out.
    engine.dialect.use_insertmanyvalues_wo_returning = True
    if must_exist:
        if not all(inspect(engine).has_table(name) for name in _tables.tables):
            engine.dispose()
            raise BadInput("--from-store: found a database without a store of vvm serve.")
        return engine
    if is_file:
        event.listen(engine, "connect", _make_durable)
    _tables.create_all(engine)
    return engine


class Place:
    """Where the file of a database is, and which file that is; servers have none.

    What is written to a file that was moved or deleted is found by nobody later.
    """

    def __init__(self, engine: Engine) -> None:
        self._path = engine.url.database if engine.dialect.name == "sqlite" else None
        self._file = self._found()

    def is_lost(self) -> bool:
        """Whether another file is there now, or none."""
        return self._found() != self._file

    def _found(self) -> tuple[int, int] | None:
        with suppress(OSError):
            if self._path is not None:
                found = os.stat(self._path)
                return found.st_dev, found.st_ino
        return None


def _checked(address: str, option: str) -> URL:
    try:
        url = make_url(address)
        kind = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        kind = ""
    if kind not in ("sqlite", "postgresql") or (
        kind == "sqlite" and url.database in (None, "", ":memory:")
    ):
        raise BadInput(
            f"{option} {shown(address)}: expected sqlite:///FILE or "
            "postgresql://USER:PASSWORD@HOST/DATABASE."
        )
    return url.set(drivername="postgresql+psycopg") if kind == "postgresql" else url


def _make_durable(connection: Any, record: Any) -> None:
    """Let readers not wait for who writes, and a commit wait until the disk has it."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
