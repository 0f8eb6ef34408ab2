"""What this runs on."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("virtualvector", "numpy", "scipy", "numba", "scikit-learn", "river", "vowpalwabbit")
_LIKELY_CACHE = 32 * 2**20  # where the machine does not tell


def machine() -> dict[str, str]:
    """Describe processor, system, packages that are installed, and the commit if it is known."""
    description = {
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "last-level cache": f"{last_level_cache() // 2**20} MB",
        "system": platform.platform(),
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            description[package] = version(package)
        except PackageNotFoundError:
            continue
    commit = _commit()
    return description | ({"commit": commit} if commit else {})


def last_level_cache() -> int:
    """Return the bytes of the largest cache."""
    sizes = (path.read_text() for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("*/size"))
    kilobytes = (int(size.strip().removesuffix("K")) for size in sizes)
    return max((1024 * size for size in kilobytes), default=_LIKELY_CACHE)


def resident_bytes() -> int | None:
    """Return the memory that this process has now, where the system tells."""
    path = Path("/proc/self/statm")
    if not path.exists():
        return None
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def give_back_free_memory() -> None:
    """Return to the system what is free, as far as it can be: else it would hide what grows."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it
    if trim is not None:
        trim(0)


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
