"""Which code reads which format."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, Protocol

from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.bytes_in import CHUNK, blocks
from virtualvector.streams.chunks import why
from virtualvector.streams.columns import MISSING, Column, Plan
from virtualvector.streams.delimited import Delimited
from virtualvector.streams.pieces import Piece
from virtualvector.streams.sources import Source
from virtualvector.streams.typed import shipped


class Rows(Protocol):
    """The rows of one source."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, as they stand in it, with what the first rows or its types say."""

    @property
    def n_rows(self) -> int | None:
        """How many rows there are, if that is known at once."""

    @property
    def classes(self) -> tuple[str, ...] | None:
        """All classes, if these are known at once."""

    def first(self, column: str) -> list[str]:
        """Return what the first rows have in a column, as far as they have something."""

    def pieces(self, plan: Plan) -> Iterator[Piece]:
        """Yield all rows, once."""


class Options(NamedTuple):
    """How sources are read."""

    missing: tuple[str, ...] = MISSING
    least: int = 2  # columns that a table has
    seed: int = 0  # of the order of a shipped data set
    chunk: int = CHUNK  # bytes that are parsed in one go


def open_source(source: Source, options: Options) -> Rows:
    """Open a source and look at its first rows."""
    try:
        if source.format == "shipped":
            return shipped(source.name, options.seed)
        return _open_text(source, options)
    except OSError as error:
        raise BadInput(f"{source.name}: {why(error)}.") from error


def _open_text(source: Source, options: Options) -> Rows:
    data = blocks(source, options.chunk)
    format = source.format
    if format is None:
        first = next((block for block in data if block.strip()), b"")
        data = chain([first], data)
        format = "csv"
    delimiter = {"csv": ",", "tsv": "\t"}[format]
    return Delimited(source.name, data, options.missing, delimiter, options.least)
