"""Check that a wheel and an sdist have what they should, and nothing else, and that the wheel runs.

    python .ci/release.py build/dist

`python -m build` makes the wheel of the sdist: what is missing there is missing in both. The wheel
is installed without extras into an environment that has nothing else, and run from another folder:
what it needs and does not say is missing there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BESIDE = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "pyproject.toml"}
RUN = (("--version",), ("learn", "ionosphere", "--quiet"))
MADE = {"MANIFEST.in", "PKG-INFO", "setup.cfg"}  # by or for setuptools


def sources(root: Path) -> set[str]:
    """Return all files of the package, as they are in the repository."""
    package = root / "src" / "virtualvector"
    return {
        str(path.relative_to(root / "src"))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def in_wheel(path: Path) -> set[str]:
    """Return what a wheel installs, without what is written about it."""
    names = zipfile.ZipFile(path).namelist()
    return {name for name in names if ".dist-info/" not in name}


def in_sdist(path: Path) -> set[str]:
    """Return the files of an sdist, without the folder that all are in."""
    with tarfile.open(path) as archive:
        names = [member.name.partition("/")[2] for member in archive if member.isfile()]
    return {name for name in names if ".egg-info/" not in name}


def problems(dist: Path, root: Path) -> Iterator[str]:
    """Yield a line for each file that is missing or that should not be there."""
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    installed = sources(root)
    expected = {f"src/{name}" for name in installed} | BESIDE
    for path, found, wanted in (
        (wheel, in_wheel(wheel), installed),
        (sdist, in_sdist(sdist) - MADE, expected),
    ):
        yield from (f"{path.name}: {name} is missing" for name in sorted(wanted - found))
        yield from (f"{path.name}: {name} should not be there" for name in sorted(found - wanted))


def failures(dist: Path) -> Iterator[str]:
    """Yield a line for each command that fails where the wheel alone is installed."""
    (wheel,) = dist.resolve().glob("*.whl")
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as name:
        environment, elsewhere = Path(name) / "environment", Path(name) / "elsewhere"
        elsewhere.mkdir()
        venv.create(environment, with_pip=True)
        programs = environment / ("Scripts" if os.name == "nt" else "bin")
        install = [str(programs / "python"), "-m", "pip", "install", "--quiet", str(wheel)]
        vvm = [[str(programs / "vvm"), *arguments] for arguments in RUN]
        for command in (install, *vvm):
            try:
                done = subprocess.run(
                    command, cwd=elsewhere, env=own, capture_output=True, text=True
                )
            except OSError as error:
                yield f"{wheel.name}: {error}"
                return
            if done.returncode:
                said = (done.stderr + done.stdout).strip().splitlines() or [""]
                words = " ".join([Path(command[0]).name, *command[1:]])
                yield f"{wheel.name}: {words}: exit code {done.returncode}: {said[-1]}"
                return


def main(dist: str) -> int:
    """Print what is wrong; return 1 if anything is."""
    found = list(problems(Path(dist), ROOT)) or list(failures(Path(dist)))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
