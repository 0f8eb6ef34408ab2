"""Check that a wheel and an sdist have what they should, and nothing else.

    python .ci/release.py build/dist

`python -m build` makes the wheel of the sdist: what is missing there is missing in both.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BESIDE = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "pyproject.toml"}
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


def main(dist: str) -> int:
    """Print what is wrong; return 1 if anything is."""
    found = list(problems(Path(dist), ROOT))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
