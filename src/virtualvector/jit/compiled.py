"""How every kernel is compiled."""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import numba
from numba.core import sigutils
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.extending import register_jitable

from virtualvector.concurrency import LOADING, computed_once
from virtualvector.jit.compiler import NoaliasCompiler, PartCompiler
from virtualvector.jit.garbage import gc_paused
from virtualvector.jit.signals import signals_deferred

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


_FOLDERS = ("jit", "kernels", "posterior")  # that have kernels, or make them


def stamp_of(package: Path) -> bytes:
    """Hash every source file that can end up inside a compiled function."""
    digest = hashlib.sha256()
    for folder in _FOLDERS:
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()


_STAMP = stamp_of(Path(__file__).parent.parent)


class NoCache(RuntimeWarning):
    """Compiled code can be kept nowhere: each process compiles it again."""


def compiled(function: Function) -> Function:
    """Compile a function into the kernels that call it, and on its own when Python calls it."""
    return cast("Function", functools.wraps(function)(_Part(function, PartCompiler)))


def noalias(function: Function) -> Function:
    """As `compiled`, for a function whose arrays never overlap: its loops need not find out."""
    return cast("Function", functools.wraps(function)(_Part(function, NoaliasCompiler)))


def ordered(function: Function) -> Function:
    """As `noalias`, for a function whose sums are taken as they are written: see `lanes.py`."""
    part = _Part(function, NoaliasCompiler, fastmath=False)
    return cast("Function", functools.wraps(function)(part))


def inlined(function: Function) -> Function:
    """As `compiled`, for a part of an inner loop: every caller gets a copy, which saves calls."""
    part = _Part(function, PartCompiler, forceinline=True)
    return cast("Function", functools.wraps(function)(part))


class Dispatched(Protocol):
    """A compiled function that may have versions."""

    def __call__(self, *arguments: Any) -> Any:
        """Call the version for the arguments."""

    def register(self, kind: type) -> Callable[[Function], Function]:
        """Return what makes a function the version for a kind of named tuple."""


def dispatched(function: Callable[..., Any]) -> Dispatched:
    """As `compiled`, with versions for other kinds of arguments.

    What `functools.singledispatch` does for Python: ``@function.register(Kind)`` makes what follows
    the version for named tuples of that kind. The first argument for whose kind there is one has
    it. Only versions that are called are compiled.
    """
    return cast("Dispatched", functools.wraps(function)(_Dispatched(function, PartCompiler)))


def jitable(function: Function) -> Function:
    """Leave a function to Python as it is, and compile it where a kernel calls it."""
    result: Function = register_jitable(**_OPTIONS)(function)
    return result


def entry(function: Function, *kinds: type) -> Function:
    """Return a compiled function that takes its arguments to be of such types.

    Numba would look at them at every call, which takes as long as all the rest of a call.
    """
    return cast("Function", _entry_for(function, kinds))


@functools.cache
def _entry_for(function: Any, kinds: tuple[type, ...]) -> Any:
    return function.entry.compile(tuple(numba.typeof(kind()) for kind in kinds))


def _entry(function: Callable[..., Any], options: dict[str, Any]) -> _Entry:
    """Compile what Python calls, cached on disk, releasing the GIL.

    Numba's cache notices changes in the file of a function but not in the files of the functions
    it calls. Stamping every cache entry with the hash of *all* sources keeps it from going stale.
    As part of the version it also keeps numba from unpickling classes that are no longer there.
    """
    dispatcher = _Entry(function, targetoptions=_OPTIONS | options | {"nopython": True})
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        _say_that_there_is_no_cache()
        return dispatcher
    kept = dispatcher._cache._cache_file
    kept._source_stamp = _STAMP
    kept._version = f"{kept._version} {_STAMP.hex()}"
    return dispatcher


@functools.cache
def _say_that_there_is_no_cache() -> None:
    warnings.warn(
        "found no folder to keep compiled code in: neither the package nor the user's cache can be "
        "written to. It is compiled again in every process, which takes some seconds; expected "
        "NUMBA_CACHE_DIR to name a folder that can.",
        NoCache,
        stacklevel=2,
    )


class _Entry(CPUDispatcher):
    """A function as Python sees it."""

    def compile(self, signature: Any) -> Any:
        """Compile, or read what was compiled before."""
        # LLVM does not survive an exception at any point, nor a fork that leaves its locks held.
        with LOADING, signals_deferred(), gc_paused():
            return super().compile(signature)


class _Part(CPUDispatcher):
    """A function as other compiled functions see it."""

    def __init__(
        self, function: Callable[..., Any], compiler: type[Compiler], **options: bool
    ) -> None:
        self._options = options
        options = _OPTIONS | options | {"nopython": True, "no_cpython_wrapper": True}
        super().__init__(function, targetoptions=options, pipeline_class=compiler)

    @computed_once
    def entry(self) -> _Entry:
        """The same function as Python sees it."""
        return _entry(self.py_func, {k: v for k, v in self._options.items() if k == "fastmath"})

    def compile(self, signature: Any) -> Any:
        """Compile as numba does, which would also time every single step."""
        arguments, result = sigutils.normalize_signature(signature)
        known = self.overloads.get(tuple(arguments))
        if known is None:
            known = self._compiler.compile(arguments, result)
            self.add_overload(known)
        return known.entry_point

    def __call__(self, *arguments: Any) -> Any:
        return self.entry(*arguments)


class _Dispatched(_Part):
    """A function with versions: which one it is, the types of the arguments say."""

    def __init__(self, function: Callable[..., Any], compiler: type[Compiler]) -> None:
        super().__init__(function, compiler)
        self._versions: dict[type, _Part] = {}

    def register(self, kind: type) -> Callable[[Function], Function]:
        """Return a decorator that makes a function the version for a kind of named tuple."""

        def keep(function: Function) -> Function:
            self._versions[kind] = _Part(function, PartCompiler)
            return function

        return keep

    def get_call_template(self, kinds: Any, named_kinds: Any) -> Any:
        """Return what numba needs to type a call."""
        version = self._version_for(kinds)
        if version is None:
            return super().get_call_template(kinds, named_kinds)
        return version.get_call_template(kinds, named_kinds)

    def get_overload(self, signature: Any) -> Any:
        """Return what numba calls."""
        version = self._version_for(sigutils.normalize_signature(signature)[0])
        if version is None:
            return super().get_overload(signature)
        return version.get_overload(signature)

    def _version_for(self, kinds: Any) -> _Part | None:
        named = (getattr(kind, "instance_class", None) for kind in kinds)
        return next((self._versions[kind] for kind in named if kind in self._versions), None)
