"""Which kind of processor this is: code for another kind may round in another way."""

from __future__ import annotations

import llvmlite.binding as llvm
from numba.core import config


def processor() -> str:
    """Return the kind of processor that kernels are compiled for.

    It is LLVM's name of the architecture, and of this machine's processor or of what
    ``NUMBA_CPU_NAME`` says.

    Examples
    --------
    >>> from virtualvector.jit.processor import processor
    >>> processor()  # doctest: +SKIP
    'x86_64 skylake-avx512'
    """
    architecture = llvm.get_process_triple().split("-")[0]
    return f"{architecture} {config.CPU_NAME or llvm.get_host_cpu_name()}"
