"""Where a verb writes: into folders that are there, and never over anything that is read."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple

from virtualvector.escaping import printable
from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.sources import STANDARD_INPUT, find_sources

STANDARD_OUTPUT = "-"
_BESIDE = ("~", ".run")  # what vvm learn keeps beside a model: the one before, the mark of a run

Written = Iterable[tuple[str, Path | None]]  # each option, and what it names


class _File(NamedTuple):
    """A file by what it is called, where it is, and which it is if it is there."""

    called: str
    path: str
    number: tuple[int, int] | None

    def is_same(self, other: _File) -> bool:
        return self.path == other.path or (self.number is not None and self.number == other.number)


def check_outputs(
    sources: Sequence[str],
    written: Written,
    format: str | None = None,
    model: Path | None = None,
    folder: Path | None = None,
    models: Sequence[Path] = (),
) -> None:
    """Raise if an output is something that is read, or another output, or has no folder.

    Files are the same whatever they are called: by another path, through a symbolic or a hard
    link, as one that a pattern matches, or as what standard input comes from.

    Parameters
    ----------
    sources : sequence of str
        What rows are read from.
    written : iterable of (str, Path or None)
        Options and what they name; a ``--model`` has files beside it.
    format : str, optional
        Of the sources.
    model : Path, optional
        A model file that is only read.
    folder : Path, optional
        One that will be made.
    models : sequence of Path
        More model files that are only read.
    """
    named = [(option, path) for option, path in written if path is not None]
    for option, path in named:
        if path.parent != folder:
            _check_folder(option, path)
    read = list(_sources(sources, format))
    if STANDARD_INPUT in sources:
        read += _stream(sys.stdin, "standard input")
    for path in models if model is None else (model, *models):
        read.append(_file(f"the model {printable(str(path))}", path))
    taken: list[_File] = []
    for option, path in named:
        files = list(_outputs(option, path))
        for file in files:
            _check_apart(file, read, "which is read")
            _check_apart(file, taken, "which is written too")
        taken += files  # the model that is kept beside a new one may be the same until then
    for file in _stream(sys.stdout, "Standard output"):
        _check_apart(file, read, "which is read")


def _check_apart(file: _File, others: Iterable[_File], which: str) -> None:
    for other in others:
        if file.is_same(other):
            raise BadInput(
                f"{file.called}: this is the same file as {other.called}, {which}; expected "
                "another file. Nothing was written."
            )


def is_standard_output(path: Path | None) -> bool:
    """Whether an option names standard output."""
    return str(path) == STANDARD_OUTPUT


def leaving_room_for(json: Path | None) -> AbstractContextManager[Any]:
    """Print for people on standard error if standard output is for JSON, and for nothing else."""
    return redirect_stdout(sys.stderr) if is_standard_output(json) else nullcontext()


def _sources(names: Sequence[str], format: str | None) -> Iterator[_File]:
    for name in names:
        with suppress(BadInput):  # what cannot be found is for the reader to tell
            for source in find_sources([name], format):
                if source.path is not None:
                    yield _file(f"the source {source.name}", source.path)


def _outputs(option: str, path: Path) -> Iterator[_File]:
    called = f"{option} {printable(str(path))}"
    if is_standard_output(path):
        yield _File(called, STANDARD_OUTPUT, None)
    elif not path.exists() or path.is_file():  # to a device all may be written
        yield _file(called, path)
        for ending in _BESIDE if option == "--model" else ():
            yield _file(f"{called}{ending}", Path(os.path.realpath(path) + ending))


def _file(called: str, path: Path) -> _File:
    with suppress(OSError):
        return _File(called, os.path.realpath(path), _number(os.stat(path)))
    return _File(called, os.path.realpath(path), None)


def _stream(stream: Any, called: str) -> list[_File]:
    """Return the file that a standard stream is, if it is one."""
    with suppress(OSError, ValueError, AttributeError):  # closed, or none that the system knows of
        number = _number(os.fstat(stream.fileno()))
        return [] if number is None else [_File(called, "", number)]
    return []


def _number(found: os.stat_result) -> tuple[int, int] | None:
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _check_folder(option: str, path: Path) -> None:
    """Raise if there is no folder to write a file into, before hours of learning."""
    if not is_standard_output(path) and not path.parent.is_dir():
        raise BadInput(f"{option} {path}: there is no folder {path.parent}.")
