"""`vvm reproduce`, in small."""

import json
import signal
import subprocess

import pytest
from typer.testing import CliRunner

from tests import forking
from tests.cli.conftest import COMMAND, until
from virtualvector.cli.main import app


def vvm(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def files(folder, *names):
    return {name: (folder / name).read_bytes() for name in names}


def test_files_and_report_are_written(tmp_path):
    result = vvm("table1", "--quick", "--jobs", 1, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert {file.name for file in tmp_path.iterdir()} == {
        "table1.csv", "table1.json", "table1.png", "table1.svg", "report.md", "report.html",
        "parts",
    }  # fmt: skip
    summary = json.loads((tmp_path / "table1.json").read_text())
    assert set(summary["vvm"]) == set(summary["window_ep"]) == {"10", "20", "30", "50"}
    report = (tmp_path / "report.md").read_text()
    assert "vvm reproduce table1 --seed 0 --quick" in report
    assert "7.86 ± 1.03 %" in report  # the paper's, beside ours
    assert f"{summary['vvm']['10']:.2f} ± " in report


@pytest.mark.processes
def test_the_same_seed_gives_the_same_bytes_in_any_number_of_processes(tmp_path):
    for folder, jobs, seed in (("one", 1, 0), ("two", 2, 0), ("other", 1, 1)):
        out = tmp_path / folder
        assert vvm(
            "table1", "--quick", "--runs", 2, "--jobs", jobs, "--seed", seed, "--out", out
        ).exit_code == 0  # fmt: skip
    names = "table1.csv", "table1.json", "table1.svg", "table1.png", "report.html"
    assert files(tmp_path / "one", *names) == files(tmp_path / "two", *names)
    assert files(tmp_path / "one", "table1.csv") != files(tmp_path / "other", "table1.csv")


def test_the_report_covers_all_that_the_folder_has(tmp_path):
    for name in ("sphere", "table1"):
        assert vvm(name, "--quick", "--jobs", 1, "--out", tmp_path).exit_code == 0
    report = (tmp_path / "report.md").read_text()
    assert report.index("## Table 1") < report.index("sphere.png")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fig7"], "'fig7' is not one of fig1, table1, fig2"),
        (["fig1", "--runs", "0"], "--runs"),
        (["fig1", "--seed", "-1"], "--seed"),
        ([], "EXPERIMENT"),
    ],
)
def test_wrong_options_are_named(arguments, complaint):
    result = vvm(*arguments)
    assert result.exit_code == 2
    assert complaint in result.output


def test_a_file_in_the_way_is_named(tmp_path):
    (tmp_path / "out").write_text("something else")
    result = vvm("table1", "--quick", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert (tmp_path / "out").read_text() == "something else"


@pytest.mark.processes
def test_after_an_interruption_the_same_command_goes_on(tmp_path):
    options = ("table1", "--quick", "--runs", "6", "--jobs", "1", "--out")
    parts = tmp_path / "parts" / "table1"
    with forking.start(COMMAND, "reproduce", *options, tmp_path, stderr=subprocess.PIPE) as running:
        until(lambda: len(list(parts.glob("run-*.json"))) >= 2)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate()
    assert running.returncode == 130
    assert "the same command goes on" in told
    assert "Traceback" not in told
    done = {file.name: file.stat().st_mtime_ns for file in parts.iterdir()}
    assert 2 <= len(done) < 6
    assert not (tmp_path / "table1.json").exists()
    assert vvm(*options, tmp_path).exit_code == 0
    assert len(list(parts.iterdir())) == 6
    assert {name: (parts / name).stat().st_mtime_ns for name in done} == done
    once = tmp_path / "once"
    assert vvm(*options, once).exit_code == 0
    assert files(tmp_path, "table1.csv", "table1.json") == files(once, "table1.csv", "table1.json")
