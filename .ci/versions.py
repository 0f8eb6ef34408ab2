"""Test the built wheel on every Python that is here, with the newest and the oldest dependencies.

    make test-versions

Interpreters are looked for on the path and under pyenv. Each gets two environments in
``build/versions``, which stay as long as neither pyproject.toml nor the interpreter changes: one
with the newest releases that pyproject.toml allows, one with the oldest. All come as wheels. What
is run there is part of the tests: what has shown to depend on versions. The newest releases on the
Python of ``.venv`` are left out: ``make test`` runs all tests there.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version

PYTHONS = ("3.11", "3.12", "3.13", "3.14")

TESTS = (
    # Model files: every learner, committees on tables of numbers and names, all earlier formats.
    "tests/persistence/test_kinds.py",
    "tests/persistence/test_golden.py",
    "tests/persistence/test_round_trip.py",
    # Tables of any library, and the names of their columns.
    "tests/test_dataframes.py",
    "tests/features/test_encoder.py",
    "tests/streams/test_table.py",
    "tests/streams/test_reader.py",
    # Learners: scikit-learn's contract, committees.
    "tests/learners/test_contract.py",
    "tests/auto/test_classifier.py",
    # The layer above numba's compiler.
    "tests/jit/test_compiled.py::test_a_change_in_a_called_function_or_a_constant_is_noticed[True]",
    "tests/jit/test_compiled.py::test_compiled_code_cannot_allocate",
    "tests/jit/test_compiled.py::test_a_kernel_is_looked_up_once",
    "tests/jit/test_struct_table.py",
    # Services: the store, what is written behind answers, and a real one, killed.
    "tests/serve/test_store.py",
    "tests/serve/test_gathering.py",
    "tests/serve/test_kills.py::test_nothing_is_lost_or_learned_twice_when_a_service_is_killed",
    # The command and the report.
    "tests/cli/test_main.py::test_help_tells_what_there_is_with_examples",
    "tests/cli/test_main.py::test_whatever_stops_a_verb_is_one_line_and_an_exit_code",
    "tests/cli/test_main.py::test_wrong_options_are_one_line[--jump]",
    "tests/cli/test_main.py::test_completion_is_offered",
    "tests/cli/test_main.py::test_the_installed_command_runs_and_knows_no_colours_in_a_pipe",
    "tests/cli/test_learn.py::test_from_a_csv_to_probabilities",
    "tests/report/test_page.py::test_the_same_report_is_the_same_page",
)

# Old releases do not know yet what newer ones of theirs, or Python, will say goodbye to.
WARNINGS = {
    "newest": (),
    "oldest": ("-W", "ignore::DeprecationWarning", "-W", "ignore::PendingDeprecationWarning"),
}

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "versions"
TOO_LONG = 1800  # seconds: it hangs


class Interpreter(NamedTuple):
    """A Python: where it is, and its full version."""

    path: str
    version: str

    @property
    def series(self) -> str:
        """Such as 3.13."""
        return ".".join(self.version.split(".")[:2])


class Outcome(NamedTuple):
    """What came of one combination."""

    passed: bool
    line: str
    output: str


def interpreters() -> Iterator[Interpreter]:
    """Yield one interpreter of each supported version that is here."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for series in PYTHONS:
        named = [shutil.which(f"python{series}"), sys._base_executable]
        installed = sorted(pyenv.glob(f"versions/{series}.*/bin/python"))
        known = (_interpreter(str(path)) for path in [*named, *installed] if path)
        found = next((each for each in known if each and each.series == series), None)
        if found:
            yield found
        else:
            print(f"{series} is not here", flush=True)


def _interpreter(path: str) -> Interpreter | None:
    """Return what is at a path; None if it does not run, as names that pyenv has not chosen."""
    code = "import platform; print(platform.python_version())"
    done = subprocess.run([path, "-c", code], capture_output=True, text=True)
    return Interpreter(path, done.stdout.strip()) if done.returncode == 0 else None


def oldest(project: dict, series: str) -> list[str]:
    """Return the constraints by which a Python of some version gets the oldest dependencies."""
    least: dict[str, Version] = {}
    extras = project["optional-dependencies"]
    for line in [*project["dependencies"], *extras["test"], *extras["serve"]]:
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"python_version": series}):
            continue
        bounds = [Version(each.version) for each in requirement.specifier if each.operator == ">="]
        least[requirement.name] = max([*bounds, least.get(requirement.name, Version("0"))])
    return [f"{name}=={version}" for name, version in least.items()]


def build_wheel() -> Path:
    """Return a wheel of the sources as they are, built where nothing else lies about."""
    source = FOLDER / "source"
    for old in (source, FOLDER / "wheel"):
        shutil.rmtree(old, ignore_errors=True)
    clean = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=clean)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--wheel-dir", FOLDER / "wheel", source], check=True)
    (wheel,) = (FOLDER / "wheel").glob("*.whl")
    return wheel


def environment(python: Interpreter, resolution: str, wheel: Path) -> Path:
    """Return the interpreter of an environment that has the wheel and what it needs."""
    folder = FOLDER / f"{python.series}-{resolution}"
    inside, made = folder / "bin" / "python", folder / "made-for"
    needs = (ROOT / "pyproject.toml").read_bytes()
    stamp = hashlib.sha256(f"{python} ".encode() + needs).hexdigest()
    install = [sys.executable, "-m", "pip", f"--python={inside}", "--disable-pip-version-check"]
    install += ["install", "--quiet", "--no-compile", "--only-binary=:all:"]
    if made.exists() and made.read_text() == stamp:
        _run([*install, "--no-deps", "--force-reinstall", wheel])
        return inside
    _run([python.path, "-m", "venv", "--clear", "--without-pip", folder])
    constraints = folder / "constraints.txt"
    project = tomllib.loads(needs.decode())["project"]
    lines = oldest(project, python.series) if resolution == "oldest" else []
    constraints.write_text("\n".join(lines))
    _run([*install, f"--constraint={constraints}", f"{wheel}[test,serve]"])
    made.write_text(stamp)
    return inside


def test(python: Interpreter, resolution: str, wheel: Path) -> Outcome:
    """Run the tests in one environment."""
    name, began = f"{python.version} {resolution}", perf_counter()
    try:
        inside = environment(python, resolution, wheel)
        installed = perf_counter()
        code = "import virtualvector as v, numpy, numba, sklearn; print(v.__file__); "
        code += "print(*(f'{m.__name__} {m.__version__}' for m in (numpy, numba, sklearn)))"
        where, versions = _run([inside, "-P", "-c", code]).splitlines()
        if not Path(where).is_relative_to(FOLDER):
            return Outcome(False, f"{name:15} tests would import {where}, not the wheel", "")
        pytest = [inside, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
        output = _run([*pytest, *WARNINGS[resolution]])
    except subprocess.CalledProcessError as error:
        return Outcome(False, f"{name:15} FAILED", error.output)
    except subprocess.TimeoutExpired as error:
        return Outcome(False, f"{name:15} FAILED: it hangs", (error.output or b"").decode())
    times = f"installed in {installed - began:.0f} s, {output.splitlines()[-1].strip('= ')}"
    return Outcome(True, f"{name:15} {times} ({versions})", output)


def _run(command: list[str | Path]) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=ROOT, env=clean, timeout=TOO_LONG, check=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout


def combinations(pythons: list[Interpreter], tested: str) -> Iterator[tuple[Interpreter, str]]:
    """Yield each Python with the newest and the oldest, but for what has been tested already."""
    for python in pythons:
        if python.version != tested:
            yield python, "newest"
        yield python, "oldest"


def main() -> int:
    """Run all combinations, two at a time; return 1 if one has failed."""
    pythons = list(interpreters())
    wheel = build_wheel()
    all_passed = True
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(test, *combination, wheel)
            for combination in combinations(pythons, platform.python_version())
        ]
        for job in jobs:
            outcome = job.result()
            all_passed = all_passed and outcome.passed
            print(outcome.line, flush=True)
            if not outcome.passed:
                print(outcome.output[-10_000:], flush=True)
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main())
