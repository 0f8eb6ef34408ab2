"""Nothing that is read is ever written over."""

import os
import re
import subprocess

import pytest

from tests import forking
from tests.cli.conftest import COMMAND, lines_of
from virtualvector import ADFClassifier, persistence

ROWS = "\n".join(lines_of(30)) + "\n"


@pytest.fixture
def folder(tmp_path):
    """Write a model and rows for it that go by several names."""
    model = ADFClassifier().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    persistence.save(model, tmp_path / "m.vvm")
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "rows.csv")
    (tmp_path / "soft.csv").symlink_to("rows.csv")
    (tmp_path / "table.csv").write_text(ROWS)
    (tmp_path / "inner").mkdir()
    (tmp_path / "again").symlink_to("inner")
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("predict rows.csv --model m.vvm --output rows.csv", "--output rows.csv: .*rows.csv"),
        ("predict rows.csv --model m.vvm --output inner/../rows.csv", "--output .*rows.csv"),
        ("predict rows.csv --model m.vvm --output hard.csv", "--output hard.csv: .* rows.csv"),
        ("predict soft.csv --model m.vvm --output rows.csv", "--output rows.csv: .* soft.csv"),
        ("predict t*.csv table.csv --model m.vvm --output table.csv", "--output table.csv"),
        ("predict rows.csv --model m.vvm --output m.vvm", "--output m.vvm: .* the model m.vvm"),
        ("evaluate rows.csv --model m.vvm --json soft.csv", "--json soft.csv: .* rows.csv"),
        ("evaluate rows.csv --model m.vvm --json m.vvm", "--json m.vvm: .* the model m.vvm"),
        ("learn rows.csv --model rows.csv", "--model rows.csv: .* the source rows.csv"),
        ("learn rows.csv --report rows.csv", "--report rows.csv: .* the source rows.csv"),
        ("learn [hr]*.csv --json rows.csv", "--json rows.csv: .* the source hard.csv"),
        ("learn rows.csv --json new --report inner/../new", "--json new: .* --report inner"),
        ("learn rows.csv --model inner/m --json again/m", "--json again/m: .* --model inner/m"),
        ("learn rows.csv --model m.vvm --report m.vvm", "--report m.vvm: .* --model m.vvm"),
        ("learn rows.csv --model m.vvm --json m.vvm~", "--json m.vvm~: .* --model m.vvm~"),
        ("learn rows.csv --model m.vvm --json m.vvm.run", "--json m.vvm.run: .* m.vvm.run"),
        ("learn m.vvm.run --format csv --model m.vvm", "m.vvm.run: .* the source m.vvm.run"),
        ("compare table.csv --out .", "--out table.csv: .* the source table.csv"),
    ],
)
def test_what_is_read_or_written_already_is_refused(vvm, folder, arguments, words):
    (folder / "m.vvm.run").write_text(ROWS)
    before = contents(folder)
    done = vvm(*arguments.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert "the same file" in done.err
    assert re.search(words, done.err)
    assert contents(folder) == before
    assert list((folder / "inner").iterdir()) == []


@pytest.mark.parametrize(
    ("command", "read", "written"),
    [
        ("predict - --model m.vvm --output rows.csv", "rows.csv", os.devnull),
        ("predict rows.csv --model m.vvm", os.devnull, "rows.csv"),
        ("learn - --learner adf", "rows.csv", "hard.csv"),
    ],
)
def test_standard_streams_are_known_by_the_file_that_they_are(folder, command, read, written):
    with open(folder / read) as given, open(folder / written, "a") as out:
        streams = {"stdin": given.fileno(), "stdout": out.fileno(), "stderr": subprocess.PIPE}
        with forking.start(COMMAND, *command.split(), cwd=folder, **streams) as run:
            _, told = run.communicate()
    assert run.returncode == 2
    assert "the same file" in told
    assert (folder / "rows.csv").read_text() == ROWS


def test_devices_may_be_written_to_twice_and_over_old_results(vvm, folder):
    options = ("--learner", "adf", "-q", "--json", "/dev/null")
    done = vvm("learn", "rows.csv", *options, "--report", "/dev/null")
    assert (done.code, done.err) == (0, "")
    for _ in range(2):
        assert vvm("learn", "rows.csv", *options, "--report", "r.html").code == 0


def test_the_model_that_is_kept_may_be_the_one_that_stands(vvm, folder):
    (folder / "m.vvm~").hardlink_to(folder / "m.vvm")
    done = vvm("learn", "rows.csv", "--learner", "adf", "-q", "--model", "m.vvm")
    assert done == (0, "", "")


@pytest.mark.parametrize("verb", ["learn rows.csv", "evaluate rows.csv --model m.vvm"])
def test_a_folder_that_is_not_there_is_told_first(vvm, folder, verb):
    done = vvm(*verb.split(), "--json", "none/s.json")
    assert done == (2, "", "vvm: --json none/s.json: there is no folder none.\n")
