"""What `vvm --version` prints: what someone has to know who looks into a bug."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

# What results, messages and crashes may depend on. Nothing is imported: it may be what is broken.
PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "scikit-learn", "pyarrow")


def version_lines() -> Iterator[str]:
    """Yield a line for the command itself, for Python, the machine and each package.

    Examples
    --------
    >>> from virtualvector.cli.version import version_lines
    >>> [line.split()[0] for line in version_lines()]
    ['vvm', 'python', 'platform', 'numpy', 'scipy', 'numba', 'llvmlite', 'scikit-learn', 'pyarrow']
    """
    yield f"vvm {version('virtualvector')}"
    yield f"python {platform.python_version()} ({platform.python_implementation()})"
    yield f"platform {platform.platform()}"
    for package in PACKAGES:
        yield f"{package} {_version_of(package)}"


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"
