"""The lock goes with the process; what was written does not."""

import os
import signal
import subprocess
import sys

import pytest

from virtualvector.persistence import lock
from virtualvector.persistence.errors import CannotSave
from virtualvector.persistence.lock import Busy, locked

HOLDING = """
import sys, time
from pathlib import Path
from virtualvector.persistence.lock import locked
with locked(Path(sys.argv[1])) as file:
    file.add_line("theirs")
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_killed_process_leaves_words_but_no_lock(tmp_path):
    path = tmp_path / "run"
    holder = subprocess.Popen([sys.executable, "-c", HOLDING, path], stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Busy), locked(path):
            pass
        holder.send_signal(signal.SIGKILL)
    with locked(path) as file:
        assert file.is_locked
        assert file.last_line() == "theirs"


def test_a_file_that_nothing_was_written_to_is_gone(tmp_path):
    with locked(tmp_path / "run"):
        assert (tmp_path / "run").exists()
    assert not (tmp_path / "run").exists()


def test_what_is_removed_while_held_is_no_lock_any_more(tmp_path):
    with locked(tmp_path / "run") as one:
        one.add_line("one")
        one.remove()
        with locked(tmp_path / "run") as other:
            assert other.last_line() is None


def test_half_a_line_does_not_count(tmp_path):
    path = tmp_path / "run"
    with locked(path) as file:
        file.add_line("whole")
    with path.open("a") as torn:
        torn.write("hal")
    with locked(path) as file:
        assert file.last_line() == "whole"


def test_a_file_that_goes_before_its_lock_is_had_is_made_again(tmp_path, monkeypatch):
    path, flock = tmp_path / "run", lock.fcntl.flock
    times = iter(range(10))

    def slow(descriptor, operation):
        if next(times) == 0:
            path.unlink()
        flock(descriptor, operation)

    monkeypatch.setattr(lock.fcntl, "flock", slow)
    with locked(path) as file:
        file.add_line("mine")
        assert path.read_text() == "mine\n"


def test_a_file_system_without_locks_is_told_apart(tmp_path, monkeypatch):
    def none(descriptor, operation):
        raise OSError(lock.errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", none)
    with locked(tmp_path / "run") as file:
        assert not file.is_locked


def test_a_full_disk_is_an_error_and_leaves_what_was_there(tmp_path, monkeypatch):
    with locked(tmp_path / "run") as file:
        file.add_line("before")
        write = os.write
        monkeypatch.setattr(os, "write", lambda descriptor, words: write(descriptor, words[:2]))
        with pytest.raises(CannotSave, match="No space left"):
            file.add_line("after")
        assert file.last_line() == "before"
    assert (tmp_path / "run").read_text() == "before\n"


def test_a_device_is_refused_and_stays():
    with pytest.raises(CannotSave, match="found a device"), locked(lock.Path("/dev/null")):
        pass
    assert lock.Path("/dev/null").is_char_device()


def test_descriptors_are_not_left_open(tmp_path):
    before = set(os.listdir("/proc/self/fd"))
    with locked(tmp_path / "run"), pytest.raises(Busy), locked(tmp_path / "run"):
        pass
    assert set(os.listdir("/proc/self/fd")) <= before
