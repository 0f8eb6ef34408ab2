"""Python's search for garbage, and when it is in the way."""

from __future__ import annotations

import gc
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
