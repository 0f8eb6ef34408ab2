"""Whatever happens while a model is saved, the file holds the old one or the new one."""

import errno
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest

import virtualvector
from tests.persistence.model_examples import stream
from virtualvector import ADFClassifier
from virtualvector.persistence import CannotSave, disk
from virtualvector.persistence.mixin import contents_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.vvm"


@pytest.fixture(scope="module")
def old():
    return ADFClassifier().fit(*stream())


@pytest.fixture(scope="module")
def new():
    return ADFClassifier().fit(*stream(columns=60))


def holds(path, model):
    return path.read_bytes() == contents_of(model)


def test_a_file_that_is_replaced_while_it_is_opened_is_read_whole(path, old, new, monkeypatch):
    old.save(path)
    opened = type(path).open

    def replaced_and_opened(self, *how):
        disk.replace_file(path, contents_of(new))
        return opened(self, *how)

    monkeypatch.setattr(type(path), "open", replaced_and_opened)
    assert disk.read_file(path) == contents_of(new)
    assert len(contents_of(new)) > len(contents_of(old))


def alone(path):
    """Whether there is nothing beside a file."""
    return list(path.parent.iterdir()) == [path]


@contextmanager
def mounted(folder, options):
    """A small file system in memory."""
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount, "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if mount is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_the_old_model(tmp_path, old, new):
    with mounted(tmp_path / "small", "size=32k") as folder:
        path = folder / "model.vvm"
        old.save(path)
        with pytest.raises(CannotSave, match=r"^[^\n]*model\.vvm: cannot be saved: No space left"):
            new.save(path)
        assert holds(path, old)
        assert alone(path)


def test_a_read_only_folder_leaves_the_old_model(tmp_path, old, new):
    with mounted(tmp_path / "small", "size=1m") as folder:
        path = folder / "model.vvm"
        old.save(path)
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        with pytest.raises(CannotSave, match=r"^[^\n]*model\.vvm: cannot be saved: Read-only"):
            new.save(path)
        assert holds(path, old)
        assert alone(path)


def test_a_write_that_ends_early_leaves_the_old_model(path, old, new):
    old.save(path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(CannotSave, match="File too large"):
            new.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert holds(path, old)
    assert alone(path)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_an_error_at_any_step_leaves_the_old_model(path, old, new, monkeypatch, step, error):
    old.save(path)

    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises((CannotSave, KeyboardInterrupt)):
            new.save(path)
    assert holds(path, old)
    assert alone(path)


@pytest.mark.parametrize(
    ("place", "reason"),
    [("none/model.vvm", "No such file or directory"), ("file/model.vvm", "Not a directory"),
     ("folder", "found a folder or a device"), (f"{'m' * 300}.vvm", "File name too long")],
)  # fmt: skip
def test_places_where_nothing_can_be_saved(tmp_path, old, place, reason):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(CannotSave, match=reason) as caught:
        old.save(tmp_path / place)
    assert isinstance(caught.value, OSError)
    assert "\n" not in str(caught.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder"]


def test_a_device_is_not_replaced(old):
    with pytest.raises(CannotSave, match="a device"):
        old.save("/dev/null")
    assert not os.path.isfile("/dev/null")


def test_a_long_name_is_no_obstacle(tmp_path, old):
    path = tmp_path / ("ß" * 120 + ".vvm")
    old.save(path)
    assert holds(path, old)
    assert alone(path)


def test_permissions_are_kept(path, old, new):
    umask = os.umask(0o027)
    try:
        old.save(path)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    new.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_a_link_stays_one(tmp_path, old, new):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "real.vvm", tmp_path / "model.vvm"
    link.symlink_to(target)
    old.save(link)  # to where nothing is yet
    new.save(link)
    assert link.is_symlink()
    assert holds(target, new)
    assert alone(target)


def test_saving_and_loading_often_leaves_nothing_behind(path, old, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # which takes most of the time
    open_before = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        old.save(path)
        virtualvector.load(path)
    assert alone(path)
    assert len(os.listdir("/proc/self/fd")) <= open_before  # the collector may have closed some


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from virtualvector.persistence import disk
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
disk.replace_file(Path(sys.argv[1]), b"new" * 1000)
"""


def test_what_a_killed_run_leaves_is_removed_by_the_next(path, old, new):
    old.save(path)
    run = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(path)])
    assert run.returncode == -signal.SIGKILL
    (leftover,) = set(path.parent.iterdir()) - {path}
    assert leftover.name.startswith(".model.vvm.")
    assert leftover.suffix == ".tmp"
    assert holds(path, old)
    new.save(path)
    assert holds(path, new)
    assert alone(path)


def test_what_a_living_run_writes_is_not_removed(path, old):
    others = path.with_name(f".model.vvm.{os.getppid()}-0.tmp")
    mine = path.with_name(f".model.vvm.{os.getpid()}-123456789.tmp")
    unlike = path.with_name(".model.vvm.backup.tmp")
    for each in (others, mine, unlike):
        each.touch()
    old.save(path)
    assert others.exists()
    assert mine.exists()
    assert unlike.exists()


def test_a_leftover_of_the_same_number_is_no_obstacle(path, old, monkeypatch):
    monkeypatch.setattr(disk, "_numbers", iter([7]))
    path.with_name(f".model.vvm.{os.getpid()}-7.tmp").write_text("from an earlier container")
    old.save(path)
    assert holds(path, old)
    assert alone(path)


# --- what is replaced is kept ---


def test_a_copy_is_kept_whole_without_taking_room(tmp_path):
    path = tmp_path / "m.vvm"
    path.write_bytes(b"old")
    kept = disk.kept_copy(path)
    assert kept == tmp_path / "m.vvm~"
    assert kept.stat().st_ino == path.stat().st_ino
    disk.replace_file(path, b"new")
    assert (kept.read_bytes(), path.read_bytes()) == (b"old", b"new")
    disk.kept_copy(path)
    disk.kept_copy(path)  # of the same file once more
    assert kept.read_bytes() == b"new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.vvm", "m.vvm~"]


def test_without_links_a_full_disk_leaves_the_earlier_copy(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.EPERM, "Operation not permitted")

    def fill(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    path, kept = tmp_path / "m.vvm", tmp_path / "m.vvm~"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "link", refuse)
    disk.kept_copy(path)
    assert kept.read_bytes() == b"old"
    path.write_bytes(b"newer")
    monkeypatch.setattr(disk, "_write", fill)
    with pytest.raises(CannotSave, match="No space left"):
        disk.kept_copy(path)
    assert kept.read_bytes() == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.vvm", "m.vvm~"]
