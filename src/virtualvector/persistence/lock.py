"""One process at a time: a lock that goes with the process, and a few words that do not."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from virtualvector.persistence.errors import CannotSave

# A file system that has no locks says so in one of these ways.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


class Busy(CannotSave):
    """Another process holds the lock."""


class LockedFile:
    """A small file that is locked while it is open; made by `locked`.

    The lock belongs to the open file: the system takes it back when a process ends, however that
    happens. What was written stays until `remove`.

    Attributes
    ----------
    is_locked : bool
        False on a file system that has no locks.
    """

    def __init__(self, path: Path, descriptor: int, is_locked: bool) -> None:
        self.path, self._descriptor, self.is_locked = path, descriptor, is_locked

    def last_line(self) -> str | None:
        """Return the last line that was written to its end, if there is one."""
        contents = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
        # What a crash left of a line has no end.
        whole = contents.rpartition(b"\n")[0]
        return whole.rpartition(b"\n")[2].decode("utf-8", "replace") or None

    def add_line(self, line: str) -> None:
        """Write a line, and wait until the disk has it."""
        try:
            start = os.lseek(self._descriptor, 0, os.SEEK_END)
            contents = line.encode() + b"\n"
            if os.write(self._descriptor, contents) < len(contents):
                os.ftruncate(self._descriptor, start)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._descriptor)
        except OSError as error:
            raise CannotSave(f"{self.path}: cannot be written: {error.strerror}.") from error

    def remove(self) -> None:
        """Remove the file while the lock is held: whoever opened it meanwhile finds it gone."""
        self.path.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[LockedFile]:
    """Open a file that no other process has open in this way, or raise `Busy`.

    A file that nothing was written to is gone afterwards.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from virtualvector.persistence.lock import Busy, locked
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "run")
    ...     with locked(path) as file:
    ...         file.add_line("begun")
    ...         try:
    ...             with locked(path):
    ...                 pass
    ...         except Busy:
    ...             print("busy")
    ...     with locked(path) as file:
    ...         print(file.last_line())
    busy
    begun
    """
    try:
        descriptor, is_locked = _open_locked(path)
    except Busy:
        raise
    except OSError as error:
        raise CannotSave(f"{path}: cannot be written: {error.strerror}.") from error
    try:
        yield LockedFile(path, descriptor, is_locked)
    finally:
        try:
            if os.fstat(descriptor).st_size == 0:
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _open_locked(path: Path) -> tuple[int, bool]:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # which must not be removed
                raise OSError(errno.EINVAL, "found a device; expected a file or none")
            is_locked = _lock(descriptor, path)
            if _is_at(descriptor, path):
                return descriptor, is_locked
            os.close(descriptor)  # its owner removed it before we had the lock
        except BaseException:
            os.close(descriptor)
            raise


def _lock(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return False
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            raise Busy(f"{path} is in use by another process.") from error
        raise
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
