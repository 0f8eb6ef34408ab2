"""Processes that begin with everything imported: forked from one that waits, not started.

A Python that imports scikit-learn and numba and loads kernels takes seconds until it does anything.
Where a process of its own is needed, and not how one starts, it is forked in milliseconds:
``start(code, *arguments)`` is what ``python -c code *arguments`` would be.
"""

import atexit
import functools
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

SECONDS = 300  # after which something hangs, even on a slow machine


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Process:
    """A process that was forked, as `subprocess.Popen` would have it."""

    def __init__(self, link, pipes):
        self._link = link.makefile()
        link.close()
        self.pid = int(self._link.readline())
        self.returncode = None
        self.stdin, self.stdout, self.stderr = pipes

    def wait(self):
        if self.returncode is None:
            self.returncode = int(self._link.readline())
            self._link.close()
        return self.returncode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def communicate(self):
        """Close its input, read what it writes to pipes, one after the other, and wait for it."""
        if self.stdin:
            self.stdin.close()
        told = [pipe.read() if pipe else None for pipe in (self.stdout, self.stderr)]
        self.wait()
        return told

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        if error:
            with suppress(ProcessLookupError):  # it has ended
                self.kill()
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe:
                pipe.close()
        self.wait()


def start(code, *arguments, cwd=".", stdin=None, stdout=None, stderr=None, **environment):
    """Run code in a process of its own; streams are descriptors, pipes, or nothing."""
    link, theirs = socket.socketpair()
    asked = [code, [str(each) for each in arguments], str(Path(cwd).absolute()), environment]
    with ExitStack() as sent:
        sent.enter_context(theirs)
        given, pipes = [theirs.fileno()], []
        for stream, mode in ((stdin, "rw"), (stdout, "wr"), (stderr, "wr")):
            pipe = None
            if stream == subprocess.PIPE:
                read, write = os.pipe()
                stream, mine = (read, write) if mode == "rw" else (write, read)
                pipe = open(mine, mode[1])  # noqa: SIM115
                sent.callback(os.close, stream)
            elif stream is None:
                stream = sent.enter_context(open(os.devnull, mode[0])).fileno()
            given.append(stream)
            pipes.append(pipe)
        socket.send_fds(_server(), [json.dumps(asked).encode()], given)
    return Process(link, pipes)


def run(code, *arguments, stdin="", **options):
    """Run code in a process of its own to its end."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write(stdin.encode())
        given.seek(0)
        with start(
            code, *arguments, stdin=given.fileno(), stdout=out.fileno(), stderr=subprocess.PIPE,
            **options,
        ) as process:  # fmt: skip
            _, err = process.communicate()
        out.seek(0)
        return Done(process.returncode, out.read().decode(), err)


@functools.cache
def _server():
    """Return the line to a process that forks others; it ends when this one does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        # Arrow has threads, which forks make do without, as newer Pythons remind of.
        [sys.executable, "-P", "-W", "ignore::DeprecationWarning", __file__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        # Processes that have little memory leave it to the system.
        env=os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"},
    )
    theirs.close()

    @atexit.register
    def end():
        ours.close()
        process.wait()

    return ours


def _serve(line):
    _import_and_compile()
    gc.freeze()  # no process looks for garbage in what all of them have
    while True:
        message, descriptors, *_ = socket.recv_fds(line, 2**20, 4)
        if not message:
            return None
        if os.fork() == 0:
            line.close()
            return _watch(json.loads(message), *descriptors)
        for each in descriptors:
            os.close(each)
        with suppress(ChildProcessError):  # there is none
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _import_and_compile():
    """Do what processes are going to do."""
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401
    import sklearn.datasets  # noqa: F401
    from typer.testing import CliRunner

    from virtualvector.cli.main import app

    with tempfile.TemporaryDirectory() as folder:
        model, rows = Path(folder, "m.vvm"), Path(folder, "rows.csv")
        rows.write_text("a,label\n" + "1,x\n2,y\n" * 8)
        for learner in ("vvm", "adf"):
            asked = ["learn", rows, "--learner", learner, "--model", model]
            assert CliRunner().invoke(app, list(map(str, asked))).exit_code == 0
        CliRunner().invoke(app, ["predict", str(rows), "--model", str(model)])


def _watch(asked, link, *streams):
    """Fork, and tell the number of the process and how it ends."""
    process = os.fork()
    if process == 0:
        os.close(link)
        return _become(asked, streams)
    for each in streams:
        os.close(each)
    with open(link, "w", buffering=1) as told:
        print(process, file=told)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(process, signal.SIGKILL))
        signal.alarm(SECONDS)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), file=told)
    os._exit(0)


def _become(asked, streams):
    code, arguments, folder, environment = asked
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__ = (
        open(0),  # noqa: SIM115
        open(1, "w"),  # noqa: SIM115
        open(2, "w", buffering=1, errors="backslashreplace"),  # noqa: SIM115
    )
    os.chdir(folder)
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    try:
        exec(code, {"__name__": "__main__"})
        code = 0
    except SystemExit as leaving:
        code = leaving.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    os._exit(code)  # to take everything apart takes longer than most of what is run


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
