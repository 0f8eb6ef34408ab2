"""Python's search for garbage, and when it is in the way."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Do not look for garbage in here: much is made that stays, and all of it is searched often.

    Nor right after: all that there is then counts as old, and is searched when all else is.
    """
    was_enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if was_enabled:
            if gc.get_freeze_count() == 0:  # else somebody has frozen something, and wants it so
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def give_back_memory() -> None:
    """Collect garbage, and give free memory back to the system, where the C library can.

    A compiler leaves hundreds of megabytes, which would be there beside all that comes later.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)
