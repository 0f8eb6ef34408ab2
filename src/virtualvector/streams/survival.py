"""Whether something that a library does ends the process, found out in another one."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable


def survives(work: Callable[[], object]) -> bool:
    """Whether a process that does some work comes to its end, if only by an exception.

    For work that takes no time and changes nothing. Where processes cannot be forked, it does.

    Examples
    --------
    >>> import os
    >>> from virtualvector.streams.survival import survives
    >>> survives(lambda: 1 / 0), survives(lambda: os.kill(os.getpid(), 9))
    (True, False)
    """
    if not hasattr(os, "fork"):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which do not matter
            process = os.fork()
    except OSError:
        return True
    if process == 0:
        _do_and_leave(work)
    _, status = os.waitpid(process, 0)
    return os.WIFEXITED(status)


def _do_and_leave(work: Callable[[], object]) -> None:
    import resource

    with contextlib.suppress(BaseException):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where it would say why it ended
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        work()
    os._exit(0)
