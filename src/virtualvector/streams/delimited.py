"""A CSV or TSV file: its columns, and where in it things are."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from virtualvector.streams.bad_input import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class DelimitedFile:
    """A file whose first line names the columns; its name says the delimiter, and ``.gz`` if so.

    Examples
    --------
    >>> from pathlib import Path
    >>> from virtualvector.streams.delimited import DelimitedFile
    >>> DelimitedFile(Path("rows.csv.gz")).delimiter
    ','
    """

    path: Path

    @property
    def compressed(self) -> bool:
        """Whether the file is compressed."""
        return self.path.suffix.lower() == ".gz"

    @property
    def delimiter(self) -> str:
        """What stands between two fields."""
        suffix = Path(self.path.stem if self.compressed else self.path.name).suffix.lower()
        if suffix not in _DELIMITERS:
            raise BadInput(f"{self.path}: expected a name in .csv, .tsv, .csv.gz or .tsv.gz.")
        return _DELIMITERS[suffix]

    def at(self, row: int, column: str) -> str:
        """Return the place of a cell, for people; the first row below the header is row 0."""
        return f"{self.path}, line {self._line(row + 1)}, column {column!r}"

    def header(self) -> list[str]:
        """Return the names of the columns."""
        try:
            _, names = next(self._records(), (1, []))
        except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
            raise BadInput(f"{self.path}: {_first_line(error)}.") from error
        if len(names) < 2:
            raise BadInput(
                f"{self.path}, line 1: found {names!r}; expected the names of two columns or more, "
                f"with {self.delimiter!r} in between."
            )
        if all(_is_number(name) for name in names):
            raise BadInput(f"{self.path}, line 1: found numbers; expected names of columns.")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise BadInput(f"{self.path}, line 1: found the column {twice[0]!r} more than once.")
        return names

    def table(self, texts: list[str]) -> pa.Table:
        """Read all rows; the columns in ``texts`` are text whatever they look like."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        odd: list[Any] = []

        def note(record: Any) -> str:
            odd.append(record)
            return "error"

        try:
            return arrow_csv.read_csv(
                self.path,
                arrow_csv.ReadOptions(use_threads=False),  # or records would have no number
                arrow_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=note
                ),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(texts, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
        except (pa.ArrowException, OSError) as error:
            if odd:
                raise BadInput(
                    f"{self.path}, line {self._line(odd[0].number - 1)}: found "
                    f"{odd[0].actual_columns} fields; expected {odd[0].expected_columns}."
                ) from error
            raise BadInput(f"{self.path}: {_first_line(error)}.") from error

    def _line(self, record: int) -> int:
        """Return the line on which a record starts; the header is record 0."""
        line, _ = next(islice(self._records(), record, None))
        return line

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the first line and the fields of each record; lines without any field are none."""
        unzip = gzip.open if self.compressed else open
        with unzip(self.path, "rt", encoding="utf-8-sig", errors="replace", newline="") as file:
            reader = csv.reader(file, delimiter=self.delimiter)
            line = 1
            for fields in reader:
                if fields:
                    yield line, fields
                line = reader.line_num + 1


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
