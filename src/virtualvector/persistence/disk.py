"""Files are read whole and replaced whole: a crash leaves the old one or the new one."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from virtualvector.persistence.errors import CannotSave, Misfit

LARGEST = 4 * 2**30  # bytes: a hole can make a file look larger than any memory

_numbers = count()


def read_file(path: Path) -> bytes:
    """Return what a file holds, unless it is no file or too large."""
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would never end
        raise Misfit("found a folder or a device; expected a model file")
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size  # another file may have taken the place meanwhile
        if size > LARGEST:
            raise Misfit(f"found {size:,} bytes; expected at most {LARGEST:,}")
        return file.read(size)


def replace_file(path: Path, *parts: Any) -> None:
    """Put bytes into a file, one part after the other.

    Or raise `CannotSave` and leave the file as it was.
    """
    target, size = Path(os.path.realpath(path)), sum(map(len, parts))  # a link stays one
    try:
        if size > LARGEST:
            raise OSError(f"found {size:,} bytes; expected at most {LARGEST:,}")
        if target.exists() and not target.is_file():
            raise OSError("found a folder or a device; expected a file")
        with _temporary_file(target) as temporary:
            _write(temporary, parts, target)
            os.replace(temporary, target)
        _sync_folder(target.parent)
        _remove_leftovers(target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CannotSave(f"{path}: cannot be saved: {reason}; what was there is kept.") from error


def kept_copy(path: Path) -> Path:
    """Keep what a file holds under its name and ``~``, whole or not at all; return that name."""
    target = Path(os.path.realpath(path))
    kept = target.with_name(target.name + "~")
    try:
        with _temporary_file(kept) as temporary:
            os.link(target, temporary)  # takes no room; a new file will take the place of the old
            os.replace(temporary, kept)
        _sync_folder(kept.parent)
    except OSError:  # not every file system has links
        replace_file(kept, target.read_bytes())
    return kept if path.is_symlink() else path.with_name(kept.name)


@contextmanager
def written_at_once(path: Path) -> Iterator[TextIO]:
    """Open a text file to write to that takes its name only if all goes well.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from virtualvector.persistence.disk import written_at_once
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with written_at_once(Path(folder, "a.txt")) as file:
    ...         _ = file.write("all")
    ...     Path(folder, "a.txt").read_text()
    'all'
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a device, as /dev/stdout is one
        with target.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    with _temporary_file(target) as temporary:
        with temporary.open("x", encoding="utf-8", newline="") as file:
            yield file
        os.replace(temporary, target)


@contextmanager
def _temporary_file(target: Path) -> Iterator[Path]:
    """Name a file beside the target that is gone in the end, whatever happens."""
    temporary = target.with_name(f"{_hidden(target)}{os.getpid()}-{next(_numbers)}.tmp")
    # A run that was killed may have had the same number, as all do that are alone in a container.
    temporary.unlink(missing_ok=True)
    try:
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _hidden(target: Path) -> str:
    return f".{target.name[:40]}."  # a name of 255 bytes leaves no room for more


def _write(temporary: Path, parts: Iterable[Any], target: Path) -> None:
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with open(descriptor, "wb") as file:
        if target.exists():
            os.fchmod(descriptor, stat.S_IMODE(target.stat().st_mode))
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    """Let the disk know of the new name too; not every file system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove_leftovers(target: Path) -> None:
    """Remove what processes left that were killed while they wrote the same file."""
    leftover = re.compile(re.escape(_hidden(target)) + r"(\d+)-\d+\.tmp")
    with suppress(OSError):
        for name in os.listdir(target.parent):
            found = leftover.fullmatch(name)
            if found and not _is_alive(int(found[1])):
                target.with_name(name).unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # alive, but someone else's
        return True
    return True
