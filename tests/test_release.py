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


def wheel_of(folder, code):
    """Write a wheel whose command `vvm` runs some code."""
    about = "virtualvector-1.dist-info"
    files = {
        "vvm_command.py": f"import sys\n\n\ndef main():\n    {code}\n",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: virtualvector\nVersion: 1\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "[console_scripts]\nvvm = vvm_command:main\n",
    }
    files[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(folder / "virtualvector-1-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("pass", []),
        (
            "import numpy",
            ["vvm --version: exit code 1: ModuleNotFoundError: No module named 'numpy'"],
        ),
        ("sys.exit('learn' in sys.argv)", ["vvm learn ionosphere --quiet: exit code 1: "]),
    ],
)
def test_a_wheel_is_run_where_nothing_else_is_installed(tmp_path, code, found):
    wheel_of(tmp_path, code)
    lines = [line.partition(": ")[2] for line in load_script().failures(tmp_path)]
    assert lines == found


def test_the_citation_has_the_paper():
    yaml = pytest.importorskip("yaml")  # which comes with Dask
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()  # those that it needs
    assert citation["license"] == "MIT"
    paper = citation["preferred-citation"]
    assert paper["title"] == "Virtual Vector Machine for Bayesian Online Classification"
    assert [each["family-names"] for each in paper["authors"]] == ["Minka", "Xiang", "Qi"]
    assert (paper["type"], paper["year"]) == ("conference-paper", 2009)


def test_the_version_is_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert version("virtualvector") == project["version"]
    elsewhere = ("CITATION.cff", "docs/conf.py", "src/virtualvector/__init__.py")
    assert all(project["version"] not in (ROOT / name).read_text() for name in elsewhere)
