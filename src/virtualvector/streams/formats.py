"""Which code reads which format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from virtualvector.streams.arrow_tables import shipped
from virtualvector.streams.bad_input import BadInput, Damaged
from virtualvector.streams.batches import Piece
from virtualvector.streams.binary_files import arrow, parquet
from virtualvector.streams.byte_source import CHUNK, begun, blocks
from virtualvector.streams.chunks import BOM, why
from virtualvector.streams.columns import Column, Plan
from virtualvector.streams.delimited import Delimited
from virtualvector.streams.dialect import DELIMITERS as DELIMITERS_OF_TEXT
from virtualvector.streams.dialect import Dialect, decoded
from virtualvector.streams.json_lines import JsonLines
from virtualvector.streams.limits import WIDEST
from virtualvector.streams.passing import Passing
from virtualvector.streams.sources import BINARY, Source
from virtualvector.streams.svmlight import SparseSvmLight, SvmLight
from virtualvector.streams.text import Text
from virtualvector.streams.wide_delimited import WideDelimited
from virtualvector.values import USUAL, Marks

DELIMITERS = {"csv": ",", "tsv": "\t"}


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

    @property
    def n_in_time(self) -> int | None:
        """How many rows decided what columns hold, if no more came in time."""

    @property
    def index(self) -> tuple[str, ...]:
        """Columns that pandas has written as an index."""

    @property
    def typed(self) -> frozenset[str]:
        """Columns whose type says what they hold."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found out about how it is written."""

    def first(self, column: str) -> list[str]:
        """Return what the first rows have in a column of labels, if they have something."""

    def heads(self, columns: Sequence[str]) -> dict[str, list[str]]:
        """Return what the first rows have in some columns, as far as they have something."""

    def pieces(self, plan: Plan, passing: Passing | None = None) -> Iterator[Piece]:
        """Yield all rows that are not passed over, once."""

    def close(self) -> None:
        """Close the file: no more rows come."""


class Options(NamedTuple):
    """How sources are read."""

    marks: Marks = USUAL  # of missing values
    least: int = 2  # columns that a table has
    seed: int = 0  # of the order of a shipped data set
    chunk: int = CHUNK  # bytes that are parsed in one go
    indices: range = range(0)  # of the columns of svmlight
    n_places: int = 0  # of its sparse rows, if it is read as such, and of those of Parquet
    sparse: bool | None = False  # whether a very wide table becomes sparse rows
    apart: frozenset[str] = frozenset()  # columns that are no part of them
    expected: frozenset[str] | None = None  # columns, if what they hold is known
    ignored: frozenset[str] = frozenset()  # columns that may be there or not
    dialect: Dialect = Dialect()  # of text


def places_in(sources: Iterable[Source]) -> int:
    """Return the places of sparse rows of Parquet and Arrow; 0 if there are none."""
    binary = (source for source in sources if source.format in BINARY)
    columns = (column for source in binary for column in open_source(source, Options()).columns)
    return max((column.n_places for column in columns), default=0)


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
        return open_typed(source.name, source.path, options.marks, options.n_places)
    data = blocks(source, options.chunk)
    try:
        rows = _text(source, data, options)
    except BaseException:
        data.close()
        raise
    rows.blocks = data
    return rows


def _text(source: Source, data: Iterator[bytes], options: Options) -> Text:
    if source.format == "svmlight":
        if options.n_places:
            name, marks = source.name, options.marks
            return SparseSvmLight(name, data, marks, options.n_places, options.expected)
        return SvmLight(source.name, data, options.marks, options.indices, options.expected)
    dialect, expected = options.dialect, options.expected
    data, notes = decoded(source.name, data, dialect.encoding)
    format, data = _sniffed(source, data)
    rows: Text
    if format == "jsonl":
        rows = JsonLines(source.name, data, options.marks, expected, options.ignored)
    else:
        rows = _delimited(source.name, data, DELIMITERS[format], options)
    rows.notes = (*notes, *rows.notes)
    return rows


def _delimited(name: str, data: Iterator[bytes], usual: str, options: Options) -> Text:
    """Return the rows of CSV or TSV; of very many columns as sparse rows, if that may be."""
    marks, dialect, expected = options.marks, options.dialect, options.expected
    if options.sparse is not False:
        begin, data = begun(data, lambda begin: b"\n" in begin.lstrip(b"\r\n"))
        header = begin.lstrip(b"\r\n").partition(b"\n")[0]
        delimiter = dialect.delimiter or max([usual, *DELIMITERS_OF_TEXT], key=_count_in(header))
        if header.count(delimiter.encode()) >= WIDEST:
            apart = options.apart | (expected or frozenset())
            return WideDelimited(name, data, marks, dialect, delimiter, apart, expected)
    return Delimited(name, data, marks, dialect, usual, options.least, expected)


def _count_in(header: bytes) -> Callable[[str], int]:
    return lambda delimiter: header.count(delimiter.encode())


def _sniffed(source: Source, data: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """Return the format of text, and all of it; what has no name begins with a brace or is CSV."""
    if source.format is not None:
        return source.format, data
    begin, data = begun(data, lambda begin: bool(begin.strip()))
    return "jsonl" if begin.removeprefix(BOM).lstrip().startswith(b"{") else "csv", data
