"""Which Pythons and which dependencies it starts with, as pyproject.toml and the Makefile say."""

import ast
import functools
import importlib.util
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DEPENDENCIES = [Requirement(line) for line in PROJECT["dependencies"]]
IMPORTED_AS = {"scikit-learn": "sklearn", "markdown-it-py": "markdown_it"}


def load_script():
    spec = importlib.util.spec_from_file_location("versions", ROOT / ".ci" / "versions.py")
    script = importlib.util.module_from_spec(spec)
    sys.modules["versions"] = script
    spec.loader.exec_module(script)
    return script


@functools.cache
def imported():
    """Return all that the package imports, by full names."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                found |= {f"{node.module}.{each.name}" for each in node.names}
            elif isinstance(node, ast.Import):
                found |= {each.name for each in node.names}
    return found


def private_parts(library):
    """Yield the modules of a library that are private by name, and imported by the package."""
    for name in imported():
        first, *rest = name.split(".")
        # What numba.core holds may change with every release, as numba says.
        if first == library and any(p.startswith("_") or p == "core" for p in rest):
            yield name


def test_there_is_an_upper_bound_exactly_where_private_parts_are_used():
    bounded = {each.name for each in DEPENDENCIES if "<" in str(each.specifier)}
    private = {
        each.name
        for each in DEPENDENCIES
        if any(private_parts(IMPORTED_AS.get(each.name, each.name)))
    }
    assert private == {"numba", "scikit-learn", "typer"}
    assert bounded == private


def test_every_dependency_has_a_least_version():
    for each in [*DEPENDENCIES, *map(Requirement, PROJECT["optional-dependencies"]["test"])]:
        assert any(bound.operator == ">=" for bound in each.specifier), each


def test_the_oldest_are_those_that_a_python_may_have():
    project = {
        "dependencies": ["a>=1.0,<9", "a>=1.10; python_version >= '3.13'", "b>=2"],
        "optional-dependencies": {"test": ["c>=3; python_version < '3.12'"], "serve": ["d>=4"]},
    }
    oldest = load_script().oldest
    assert oldest(project, "3.11") == ["a==1.0", "b==2", "c==3", "d==4"]
    assert oldest(project, "3.12") == ["a==1.0", "b==2", "d==4"]
    assert oldest(project, "3.14") == ["a==1.10", "b==2", "d==4"]


def test_every_python_has_the_oldest_and_the_newest_which_make_test_has_of_its_own():
    script = load_script()
    old, new = script.Interpreter("a", "3.11.7"), script.Interpreter("b", "3.13.0")
    found = list(script.combinations([old, new], "3.11.7"))
    assert found == [(old, "oldest"), (new, "newest"), (new, "oldest")]


def test_what_is_run_exists_and_covers_what_is_promised():
    script = load_script()
    assert all((ROOT / test.split("::")[0]).exists() for test in script.TESTS)
    promised = {line.split(" :: ")[-1] for line in PROJECT["classifiers"] if "Python :: 3." in line}
    assert promised <= set(script.PYTHONS)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(
    ("there", "asked_for", "made"),
    [("3.11.7", "3.13.0", True), ("3.13.0", "3.13.0", False), (None, "3.13.0", True)],
)
def test_an_environment_of_another_python_is_made_again(tmp_path, there, asked_for, made):
    def python(path, version):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {version}\n")
        path.chmod(0o755)
        return path

    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    if there:
        python(tmp_path / ".venv" / "bin" / "python", there)
    asked = python(tmp_path / "python3.13", asked_for)
    command = ["make", "--dry-run", "lint", f"PYTHON={asked}"]
    told = subprocess.check_output(command, cwd=tmp_path, text=True)
    assert (f"{asked} -m venv --clear .venv" in told) == made
