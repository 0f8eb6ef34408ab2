"""Numba's compiler, without what kernels do not need.

A hundred small functions are compiled when the first row is learned, and somebody waits for it.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from types import BuiltinFunctionType
from typing import Any, ClassVar

from llvmlite.binding import Linkage
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.typed_passes import (
    AnnotateTypes,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)

from virtualvector.concurrency import computed_once

# All of numba's steps that a part needs. The others are for what kernels have none of: closures,
# loops over several types, expressions of arrays, objects whose references are counted.
_STEPS = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    GenericRewrites,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    AnnotateTypes,
    NativeLowering,
    NoPythonBackend,
)


class _Flags(Flags):
    """Numba's options, which it compares ten thousand times, for every operator that it types."""

    __slots__ = ()

    def __hash__(self) -> int:
        return _HASH_OF_FLAGS

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, _Flags) and self._values == other._values
        return same or super().__eq__(other)


_HASH_OF_FLAGS = hash(Flags())  # of the names of all options


class _Typing:
    """Numba's knowledge of types, which remembers what Python's own functions and operators return.

    For each ``a + b`` numba goes through all the sums that it knows of.
    """

    _known: ClassVar[dict[tuple[Any, Any], Any]] = {}

    def __init__(self, typing: Any) -> None:
        self._typing = typing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._typing, name)

    def resolve_function_type(self, function: Any, kinds: Any, named_kinds: Any) -> Any:
        """Return the signature of a call."""
        resolve, key = self._typing.resolve_function_type, (function, kinds)
        name = function.typing_key if isinstance(function, types.Function) else function
        if named_kinds or not isinstance(name, BuiltinFunctionType | str):
            return resolve(function, kinds, named_kinds)
        if key not in self._known:
            self._known[key] = resolve(function, kinds, named_kinds)
        return self._known[key]


@cache
def _target_of(target: Any) -> Any:
    """Return numba's knowledge of the machine, which remembers what it had to ask LLVM."""
    target, sizes = copy(target), {}

    def get_abi_sizeof(kind: Any) -> int:
        name = str(kind)
        if name not in sizes:
            sizes[name] = kind.get_abi_size(target.target_data)
        return sizes[name]

    target.get_abi_sizeof = get_abi_sizeof
    return target


class PartCompiler(Compiler):
    """Numba's compiler, which leaves parts to be optimised where they end up.

    By itself it would optimise every function together with all that it calls, and again in each
    caller, and write machine code every time.
    """

    def __init__(self, typing: Any, target: Any, *more: Any) -> None:
        super().__init__(typing, _target_of(target), *more)
        self.state.typingctx = _Typing(typing)
        self.state.flags = _Flags(self.state.flags)

    def define_pipelines(self) -> Any:
        """Return what is done, step by step."""
        codegen = self.state.targetctx.codegen()
        self.state.library = _PartLibrary(codegen, self.state.func_id.func_qualname)
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [each for each in pipeline.passes if each[0] in _STEPS]
        return pipelines


class NoaliasCompiler(PartCompiler):
    """The same for functions whose arrays never overlap."""

    def define_pipelines(self) -> Any:
        """Return what is done, step by step."""
        self.state.flags.noalias = True
        return super().define_pipelines()


class _PartLibrary(JITCodeLibrary):
    """Code that is never run by itself, without that of the parts which it calls.

    All of it comes together in the kernel that Python calls.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def finalize(self) -> None:
        """Do nothing yet: what is called is linked where all of it ends up."""
        self._raise_if_finalized()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the code together with that of all which it calls, to be had by many kernels."""
        self._ensure_finalized()
        return self._linked

    @computed_once
    def _linked(self) -> Any:
        parts: dict[Any, None] = {self: None}
        others: dict[Any, None] = {}
        self._collect(parts, others)
        module = self._final_module.clone()
        for part in list(parts)[1:]:
            module.link_in(part._final_module, preserve=True)
        for other in others:  # only as much of it as is called
            module.link_in(other._get_module_for_linking(), preserve=True)
        for function in module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = Linkage.linkonce_odr
        return module

    def _collect(self, parts: dict[Any, None], others: dict[Any, None]) -> None:
        """Add all parts that are called, by what is called and so on, and what is numba's own."""
        for library in self._linking_libraries:
            if not isinstance(library, _PartLibrary):
                others[library] = None
            elif library not in parts:
                parts[library] = None
                library._collect(parts, others)

    @property
    def codegen(self) -> _NoEnvironment:
        return _NoEnvironment()


class _NoEnvironment:
    """Where numba would put the Python objects that a function uses: kernels use none."""

    def set_env(self, name: str, environment: Any) -> None:
        pass
