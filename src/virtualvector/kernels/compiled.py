"""How every kernel is compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import register_jitable

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    # Division by zero gives inf or nan; kernels test for them where they can arise.
    "error_model": "numpy",
    # Sums may be reordered and multiply-adds fused, so that loops vectorise; nan, inf and signed
    # zeros keep their meaning.
    "fastmath": {"reassoc", "contract", "arcp"},
    # Without numba's runtime nothing can be allocated: what compiles needs no memory of its own.
    "_nrt": False,
    "no_cfunc_wrapper": True,  # nobody takes the address of a kernel; it compiles faster
}


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
    dispatcher = numba.njit(cache=True, **_OPTIONS)(function)
    dispatcher._cache._cache_file._source_stamp = _STAMP
    result: Function = dispatcher
    return result


def part(function: Function) -> Function:
    """Compile a part of a kernel, to be called by other compiled functions only.

    Without the wrapper that lets Python call it, a function of many arrays compiles much faster.
    """
    options = _OPTIONS | {"no_cpython_wrapper": True}
    result: Function = numba.njit(**options)(function)
    return result


def woven(function: Function) -> Function:
    """Compile a part that is called in one place only, as if it were written there.

    Every function is compiled together with all that it calls. Weaving in those high up in the
    tree, which call nearly everything, halves the time of the first run.
    """
    options = _OPTIONS | {"no_cpython_wrapper": True, "inline": "always"}
    result: Function = numba.njit(**options)(function)
    return result


def shared(function: Function) -> Function:
    """Leave a function to Python as it is, and compile it where a kernel calls it."""
    result: Function = register_jitable(**_OPTIONS)(function)
    return result
