"""Which code reads which format."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, Protocol

from virtualvector.streams.arrow_tables import shipped
from virtualvector.streams.bad_input import BadInput, Damaged
from virtualvector.streams.batches import Piece
from virtualvector.streams.binary_files import arrow, parquet
from virtualvector.streams.byte_source import CHUNK, blocks
from virtualvector.streams.chunks import BOM, why
from virtualvector.streams.columns import MISSING, Column, Plan
from virtualvector.streams.delimited import Delimited
from virtualvector.streams.json_lines import JsonLines
from virtualvector.streams.sources import BINARY, Source
from virtualvector.streams.svmlight import SvmLight

DELIMITERS = {"csv": ",", "tsv": "\t"}
BLANK = 100  # blocks that are looked at for what is not blank


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
    indices: range = range(0)  # of the columns of svmlight


def open_source(source: Source, options: Options) -> Rows:
    """Open a source and look at its first rows."""
    from pyarrow import ArrowException

    try:
        return _open(source, options)
    except (OSError, ArrowException, Damaged, UnicodeDecodeError) as error:
        raise BadInput(f"{source.name}: {why(error)}.") from error


def _open(source: Source, options: Options) -> Rows:
    if source.format == "shipped":
        return shipped(source.name, options.seed)
    if source.format in BINARY and source.path is not None:
        open_typed = parquet if source.format == "parquet" else arrow
        return open_typed(source.name, source.path, options.missing)
    if source.format == "svmlight":
        data = blocks(source, options.chunk)
        return SvmLight(source.name, data, options.missing, options.indices)
    format, data = _sniffed(source, blocks(source, options.chunk))
    if format == "jsonl":
        return JsonLines(source.name, data, options.missing)
    return Delimited(source.name, data, options.missing, DELIMITERS[format], options.least)


def _sniffed(source: Source, data: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """Return the format of text, and all of it; what has no name begins with a brace or is CSV."""
    if source.format is not None:
        return source.format, data
    seen = []
    for block in data:
        seen.append(block)
        if block.strip() or len(seen) == BLANK:
            break
    begin = b"".join(seen).removeprefix(BOM).lstrip()
    return "jsonl" if begin.startswith(b"{") else "csv", chain(seen, data)
