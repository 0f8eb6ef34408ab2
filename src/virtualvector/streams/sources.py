"""From what the user calls the rows to files and their formats."""

from __future__ import annotations

import glob
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from virtualvector.escaping import printable, quoted
from virtualvector.streams.bad_input import BadInput

SHIPPED = ("spambase", "thyroid", "ionosphere")
STANDARD_INPUT = "-"
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
FORMATS = tuple(dict.fromkeys(ENDINGS.values()))
BINARY = ("parquet", "arrow")
COMPRESSED = (".gz", ".zst")
_DEVICES = "/dev/"  # whose files may stand for others, such as /dev/stdin


class Source(NamedTuple):
    """One file or pipe, or a shipped data set."""

    name: str  # for people: what a screen can show
    path: Path | None  # None: standard input
    format: str | None  # None: its first byte decides, as it is a pipe without a name
    rereadable: bool


def find_sources(names: Sequence[str], format: str | None = None) -> list[Source]:
    """Find what is called by names, paths, patterns or "-".

    Examples
    --------
    >>> from virtualvector.streams.sources import find_sources
    >>> [source.format for source in find_sources(["spambase"])]
    ['shipped']
    """
    if format not in (None, *FORMATS):
        raise BadInput(
            f"Found the format {quoted(str(format))}; expected one of {', '.join(FORMATS)}."
        )
    if not names:
        raise BadInput("Found no source; expected a data set's name, a path or '-'.")
    if names.count(STANDARD_INPUT) > 1:
        raise BadInput("Found '-' twice; standard input can be read only once.")
    return [source for name in names for source in _find(name, format)]


def _find(name: str, format: str | None) -> list[Source]:
    if name in SHIPPED:
        return [Source(name, None, "shipped", rereadable=True)]
    if name == STANDARD_INPUT:
        return [_pipe("standard input", None, format)]
    try:
        if _mode(name) is None and glob.has_magic(name):
            return _matching(name, format)
        return [_file(name, format)]
    except OSError as error:
        raise BadInput(f"{printable(name)}: {error.strerror}.") from error
    except ValueError as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{printable(name)}: {error}; expected the name of a file.") from error


def _matching(pattern: str, format: str | None) -> list[Source]:
    found = [name for name in sorted(glob.glob(pattern, recursive=True)) if not _is_folder(name)]
    if not found:
        raise BadInput(f"{printable(pattern)}: found no file of such a name; expected one or more.")
    return [_file(name, format) for name in found]


def _file(name: str, format: str | None) -> Source:
    mode = _mode(name)
    if mode is None or stat.S_ISDIR(mode):
        found = "no such file" if mode is None else "this is a folder"
        known = ", ".join(SHIPPED)
        raise BadInput(f"{printable(name)}: {found}; expected a file, or one of {known}.")
    path = Path(name)
    format = format or _format_by_name(path)
    if not stat.S_ISREG(mode) or name.startswith(_DEVICES):
        return _pipe(name, path, format)
    if format is None:
        endings = ", ".join(ENDINGS)
        raise BadInput(
            f"{printable(name)}: found no known ending; expected one of {endings}, or --format to "
            "say it."
        )
    return Source(printable(name), path, format, rereadable=True)


def _pipe(name: str, path: Path | None, format: str | None) -> Source:
    name = printable(name)
    if format in BINARY:
        raise BadInput(f"{name}: found a pipe; expected a file, as {format} is not read in order.")
    return Source(name, path, format, rereadable=False)


def _format_by_name(path: Path) -> str | None:
    suffix = path.suffix.lower()
    if suffix not in COMPRESSED:
        return ENDINGS.get(suffix)
    format = ENDINGS.get(Path(path.stem).suffix.lower())
    return None if format in BINARY else format


def _mode(name: str) -> int | None:
    try:
        return Path(name).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_folder(name: str) -> bool:
    return Path(name).is_dir()
