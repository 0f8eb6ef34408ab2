"""A PostgreSQL server of Debian's package, for as long as something takes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path


def programs() -> Path | None:
    """Return the folder of the newest server's programs, or None."""
    found = sorted(glob("/usr/lib/postgresql/*/bin/initdb"))
    return Path(found[-1]).parent if found else None


class Server:
    """A server that listens on a socket in its own folder only."""

    def __init__(self, folder: Path) -> None:
        found = programs()
        assert found is not None, "needs Debian's package postgresql"
        self._folder, self._bin = folder, found
        # It refuses to be run by root.
        self._user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def make(self) -> None:
        """Make its files, and start it."""
        if self._user:
            shutil.chown(self._folder, "postgres")
        self._run("initdb", "-D", self._folder / "data", "-U", "vvm", "-A", "trust", "--no-sync")
        self.start()

    def start(self) -> None:
        """Start it, also after a crash."""
        # Without fsync: it is killed now and then, but the machine it runs on is not.
        options = f"-k {self._folder} -c listen_addresses='' -c max_connections=30 -c fsync=off"
        self._run("pg_ctl", "-D", self._folder / "data", "-w", "-o", options, "-l",
                  self._folder / "log", "start")  # fmt: skip

    def kill(self) -> None:
        """End it as a crash does."""
        self._run("pg_ctl", "-D", self._folder / "data", "-m", "immediate", "stop")

    def kill_and_start(self) -> None:
        """End it as a crash does, and start it again."""
        self.kill()
        self.start()

    def address(self, database: str) -> str:
        """Make a database; return its address."""
        self._run("createdb", "-h", self._folder, "-U", "vvm", database)
        return f"postgresql://vvm@/{database}?host={self._folder}"

    def _run(self, program: str, *arguments: str | Path) -> None:
        command = [*self._user, self._bin / program, *arguments]
        done = subprocess.run(
            [str(each) for each in command], cwd="/", stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


@contextmanager
def running() -> Iterator[Server]:
    """Run a server; its folder is short, as the name of a socket has to be."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="pg") as folder:
        os.chmod(folder, 0o755)
        server = Server(Path(folder))
        server.make()
        try:
            yield server
        finally:
            server.kill()
