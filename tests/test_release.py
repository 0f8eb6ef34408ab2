"""What `.ci/release.py` finds in a wheel and an sdist, and what is said of a release."""

import importlib.util
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def load_script():
    spec = importlib.util.spec_from_file_location("release_check", ROOT / ".ci" / "release.py")
    script = importlib.util.module_from_spec(spec)
    sys.modules["release_check"] = script
    spec.loader.exec_module(script)
    return script


@pytest.fixture
def found(tmp_path):
    """Return what is wrong with a release of a small package that lacks or has some files."""
    script, root, dist = load_script(), tmp_path / "root", tmp_path / "dist"
    dist.mkdir()
    for name in ("src/virtualvector/__init__.py", "src/virtualvector/page.html", *script.BESIDE):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "src" / "virtualvector" / "__pycache__").mkdir()
    (root / "src" / "virtualvector" / "__pycache__" / "x.pyc").touch()

    def check(lacks="", has=()):
        package = ["virtualvector/__init__.py", "virtualvector/page.html"]
        with zipfile.ZipFile(dist / "x.whl", "w") as wheel:
            for name in (*package, *has, "x.dist-info/METADATA"):
                if name != lacks:
                    wheel.writestr(name, "")
        sdist = [*(f"src/{name}" for name in package), *script.BESIDE, *has, "PKG-INFO"]
        with tarfile.open(dist / "x.tar.gz", "w:gz") as archive:
            for name in sdist:
                if name != lacks:
                    archive.addfile(tarfile.TarInfo(f"x-1/{name}"))
        return list(script.problems(dist, root))

    return check


def test_a_release_with_all_its_files_is_right(found):
    assert found() == []


def test_a_file_that_is_missing_is_named(found):
    assert found(lacks="virtualvector/page.html") == ["x.whl: virtualvector/page.html is missing"]
    assert found(lacks="LICENSE") == ["x.tar.gz: LICENSE is missing"]


def test_a_file_that_does_not_belong_there_is_named(found):
    assert found(has=["tests/test_x.py"]) == [
        "x.whl: tests/test_x.py should not be there",
        "x.tar.gz: tests/test_x.py should not be there",
    ]


def test_the_version_is_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert version("virtualvector") == project["version"]
    elsewhere = ("CITATION.cff", "docs/conf.py", "src/virtualvector/__init__.py")
    assert all(project["version"] not in (ROOT / name).read_text() for name in elsewhere)
