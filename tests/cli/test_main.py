import os
import platform
import subprocess
import sys
from pathlib import Path

import numba
import numpy
import pyarrow
import pytest
import scipy
import sklearn
import typer
from typer.testing import CliRunner

from virtualvector import __version__
from virtualvector.cli.console import progress
from virtualvector.cli.errors import in_one_line
from virtualvector.cli.main import app
from virtualvector.streams import BadInput

VVM = Path(sys.executable).with_name("vvm")


def run(*arguments):
    return CliRunner().invoke(app, arguments)


def test_the_version_is_that_of_the_package():
    done = run("--version")
    assert done.exit_code == 0
    assert done.stdout.startswith(f"vvm {__version__}\n")


def test_the_version_says_what_a_report_of_a_bug_needs(monkeypatch):
    lines = dict(line.split(" ", 1) for line in run("--version").stdout.splitlines())
    assert lines["python"].startswith(".".join(map(str, sys.version_info[:3])))
    assert lines["platform"] == platform.platform()
    for module in (numpy, scipy, numba, pyarrow):
        assert lines[module.__name__] == module.__version__
    assert lines["scikit-learn"] == sklearn.__version__
    monkeypatch.setattr("virtualvector.cli.version.PACKAGES", ("no-such-package",))
    assert run("--version").stdout.splitlines()[-1] == "no-such-package is not installed"


VERBS = ("learn", "predict", "evaluate", "inspect", "datasets", "compare", "reproduce")


@pytest.mark.parametrize("verb", VERBS)
def test_help_tells_what_there_is_with_examples(verb):
    done = run(verb, "--help")
    assert done.exit_code == 0
    assert f"vvm {verb}" in done.stdout.partition("For example")[2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ignore", "TSH", "--ignore", "T3"], "--ignore: found more than once; expected it once"),
        (["--ignore=TSH", "--ignore=T3"], "its values with commas between them"),
        (["--learner", "vvm", "--learner", "adf"], "--learner: found more than once"),
    ],
)
def test_an_option_that_is_given_twice_is_refused(options, said):
    done = run("learn", "thyroid", *options)
    assert done.exit_code == 2
    assert said in " ".join(done.output.replace("│", " ").split())
    assert run("learn", "thyroid", "--learner", "adf", "--quiet", "--quiet").exit_code == 0


def test_help_lists_all_verbs():
    assert all(verb in run("--help").stdout for verb in VERBS)


def test_help_loads_neither_numba_nor_scikit_learn():
    code = (
        "import sys; from virtualvector.cli.main import main\n"
        "sys.argv = ['vvm', '--help']\n"
        "try: main()\n"
        "except SystemExit: print([m for m in ('numba', 'sklearn', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments",
    ["juggle", "--jump", "compare", "learn thyroid --learner none", "learn thyroid --resume"],
)
def test_wrong_options_are_one_line(vvm, arguments):
    done = vvm(*arguments.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("vvm: ")
    assert done.err.count("\n") == 1


def test_completion_is_offered():
    asked = {"_VVM_COMPLETE": "complete_bash", "COMP_WORDS": "vvm l", "COMP_CWORD": "1"}
    done = subprocess.run([VVM], capture_output=True, text=True, check=True, env=os.environ | asked)
    assert done.stdout.split() == ["learn"]


@pytest.mark.parametrize(
    "arguments",
    [("juggle",), ("--jump",), ("compare",), ("compare", "thyroid", "--buffer-size", "many")],
)
def test_wrong_options_leave_with_2_and_no_traceback(arguments):
    done = run(*arguments)
    assert done.exit_code == 2
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("stopped_by", "exit_code", "line"),
    [
        (BadInput("rows.csv:\nno rows."), 2, "vvm: rows.csv: no rows.\n"),
        (KeyboardInterrupt(), 130, "vvm: interrupted\n"),
        (OSError("disk full"), 1, "vvm: OSError: disk full (VVM_TRACEBACK=1 shows where)\n"),
        (typer.Exit(7), 7, ""),
    ],
)
def test_whatever_stops_a_verb_is_one_line_and_an_exit_code(stopped_by, exit_code, line):
    small = typer.Typer()

    @small.command()
    @in_one_line
    def verb() -> None:
        raise stopped_by

    done = CliRunner().invoke(small)
    assert (done.exit_code, done.stderr, done.stdout) == (exit_code, line, "")


def test_a_traceback_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("VVM_TRACEBACK", "1")

    @in_one_line
    def verb() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        verb()


@pytest.mark.parametrize("total", [0, 1, 3, 20, 21, 1000])
def test_progress_is_at_most_20_lines_and_ends_at_the_total(total, capsys):
    with progress(total, "Baking") as advance:
        for k in range(total):
            advance(f"bread {k}")
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert len(lines) == min(total, 20)
    if total:
        assert lines[-1] == f"Baking {total}/{total} bread {total - 1}"


def test_progress_on_a_terminal_is_a_bar(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # to every rich: a terminal
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    with progress(4, "Baking") as advance:
        advance("bread", steps=4)
    err = capsys.readouterr().err
    assert "Baking" in err
    assert "━" in err
    assert "4/4" in err


def test_progress_on_a_terminal_that_cannot_draw_is_lines(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # to every rich: a terminal
    monkeypatch.setenv("TERM", "dumb")
    with progress(1, "Baking") as advance:
        advance("bread")
    assert capsys.readouterr().err == "Baking 1/1 bread\n"


def test_the_installed_command_runs_and_knows_no_colours_in_a_pipe():
    done = subprocess.run(
        [VVM, "--help"], capture_output=True, text=True, env={**os.environ, "PYTHONUTF8": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert "compare" in done.stdout
    assert "\x1b" not in done.stdout
