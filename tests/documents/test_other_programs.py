"""Commands of other programs on pages: of make, pytest, Vowpal Wabbit, Dask and Python itself."""

import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from faults.services import _free_port
from tests.documents.pages import ROOT, commands_of, pages

PAGES = [*pages(), ROOT / "docs" / "serving.md"]
COMMANDS = {page.name: list(commands_of(page.read_text())) for page in PAGES}


def beginning_with(program):
    """Return all commands of a program on pages, each once."""
    found = (line for lines in COMMANDS.values() for line in lines)
    return sorted({line.partition(" #")[0].strip() for line in found if line.startswith(program)})


@pytest.mark.processes
@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_there_is_all_that_make_is_to_make():
    words = {word for command in beginning_with("make ") for word in shlex.split(command)[1:]}
    targets = [word for word in sorted(words) if "=" not in word]
    assert {"demo", "test", "docs"} <= set(targets)
    told = ["make", "--dry-run", *targets]  # at once, as it looks for interpreters each time
    done = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_pytest_is_to_select_is_there():
    selected, paths = 0, []
    for command in [line for line in COMMANDS["reliability.md"] if re.match("pytest |… ", line)]:
        first, *words = shlex.split(command)
        expression = words[words.index("-k") + 1] if "-k" in words else ""
        if first == "pytest":
            paths = [ROOT / word for word in words if word.startswith("tests/")]
        files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
        names = [
            name
            for file in files
            if re.fullmatch(r"test_\w+\.py", file.name)
            for name in re.findall(r"^ *def (test_\w+)", file.read_text(), re.M)
        ]
        for word in expression.split(" or "):  # no other operators are used
            assert any(word in name for name in names), f"{command}: nothing has {word!r}"
        selected += 1
    assert selected > 30


@pytest.mark.processes
def test_the_lines_of_vowpal_wabbit_learn_predict_and_go_on(tmp_path):
    if not find_spec("vowpalwabbit"):
        pytest.skip("needs the package vowpalwabbit")
    commands = [line for line in COMMANDS["coming_from.md"] if line.startswith("vw ")]
    assert len(commands) == 3
    for name in ("rows.vw", "new.vw", "more.vw"):
        lines = (f"{1 if k % 3 else -1} | a:{k % 3} b:{k % 5}\n" for k in range(60))
        (tmp_path / name).write_text("".join(lines))
    vw = [sys.executable, "-m", "vowpalwabbit"]  # which is the same program
    for command in commands:
        subprocess.run([*vw, *shlex.split(command)[1:]], cwd=tmp_path, check=True)
    said = [float(line) for line in (tmp_path / "predicted.txt").read_text().splitlines()]
    assert len(said) == 60
    assert all(0.0 < probability < 1.0 for probability in said)


@pytest.mark.processes
def test_a_cluster_is_started_by_the_commands_of_dask(tmp_path):
    distributed = pytest.importorskip("distributed")
    scheduler, worker = (
        next(line for line in COMMANDS["scaling.md"] if line.startswith(each))
        for each in ("dask scheduler", "dask worker tcp://scheduler:8786 ")
    )
    address = f"tcp://127.0.0.1:{_free_port()}"
    worker = worker.replace("tcp://scheduler:8786", address).replace("--nworkers 8", "--nworkers 1")
    commands = [
        [*shlex.split(scheduler), "--host", address, "--dashboard-address", ":0"],
        [*shlex.split(worker), "--dashboard-address", ":0"],
    ]
    program = Path(sys.executable).with_name("dask")
    started = [
        subprocess.Popen([program, *words[1:]], cwd=tmp_path, stderr=subprocess.DEVNULL)
        for words in commands
    ]
    try:
        with distributed.Client(address, timeout=120) as client:
            client.wait_for_workers(1, timeout=120)
            assert list(client.nthreads().values()) == [1]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


@pytest.mark.processes
def test_what_memory_costs_is_measured_by_a_line_of_python():
    (command,) = beginning_with("python -m timeit")
    words = [sys.executable, "-m", "timeit", "-n", "1", "-r", "1", *shlex.split(command)[3:]]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert re.match(r"1 loop, best of 1: [\d.]+ .?sec per loop", done.stdout)
