"""How every kernel is compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums may be reordered and multiply-adds fused, so that loops vectorise; nan, inf and signed
# zeros keep their meaning.
_FLOATING_POINT = {"reassoc", "contract", "arcp"}


def _stamp_of_the_sources() -> bytes:
    """Hash every source file that can end up inside a compiled function."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for folder in ("kernels", "posterior"):
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()


_STAMP = _stamp_of_the_sources()


def compiled(function: Function) -> Function:
    """Compile a kernel with numba, cached on disk, releasing the GIL.

    Numba's cache notices changes in the file of a function but not in the files of the functions
    it calls. Stamping every cache entry with the hash of *all* sources keeps it from going stale.
    """
    dispatcher = numba.njit(
        cache=True, nogil=True, error_model="numpy", fastmath=_FLOATING_POINT
    )(function)
    dispatcher._cache._cache_file._source_stamp = _STAMP
    result: Function = dispatcher
    return result
