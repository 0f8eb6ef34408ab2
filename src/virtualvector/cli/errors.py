"""How a verb fails: in one line, with an exit code that says whose fault it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec

import typer

from virtualvector.escaping import LONGEST_MESSAGE, printable
from virtualvector.persistence.errors import BadModelFile, CannotSave
from virtualvector.streams.bad_input import BadInput, NothingToLearn

FAILED = 1
BAD_INPUT = 2  # as for wrong options
NOTHING_TO_LEARN = 3  # the input can be read, but there are no good rows, or only one class
INTERRUPTED = 130
NOBODY_READS = 141  # as shells have it for programs that the closed pipe of `| head` ends

SHOW_TRACEBACK = "VVM_TRACEBACK"  # an environment variable: set it to see where a failure came from

P = ParamSpec("P")


def in_one_line(verb: Callable[P, None]) -> Callable[P, None]:
    """Let whatever stops a verb end the program with one line and an exit code."""

    @wraps(verb)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        try:
            verb(*arguments, **options)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except KeyboardInterrupt as stopped:
            _leave(str(stopped) or "interrupted", getattr(stopped, "exit_code", INTERRUPTED))
        except Exception as error:
            if os.environ.get(SHOW_TRACEBACK):
                raise
            if isinstance(error, NothingToLearn):
                _leave(str(error), NOTHING_TO_LEARN)
            if isinstance(error, BadInput | BadModelFile):
                _leave(str(error), BAD_INPUT)
            if isinstance(error, CannotSave):
                _leave(str(error), FAILED)
            if isinstance(error, BrokenPipeError):
                _forget_output()
                raise typer.Exit(NOBODY_READS) from None
            if isinstance(error, OSError) and error.filename:
                if isinstance(error, FileNotFoundError):
                    _leave(f"{error.filename}: no such file.", BAD_INPUT)
                _leave(f"{error.filename}: {error.strerror}.", FAILED)
            _leave(f"{type(error).__name__}: {error} ({SHOW_TRACEBACK}=1 shows where)", FAILED)

    return run


def _forget_output() -> None:
    """Let what is not yet written to a closed pipe go nowhere, without another complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(message: str, exit_code: int) -> NoReturn:
    say(f"vvm: {message}")
    raise typer.Exit(exit_code)


def say(message: str) -> None:
    """Write one line to standard error, of what a screen can show."""
    # Not all of a message that has no end is taken apart.
    print(printable(" ".join(message[: 2 * LONGEST_MESSAGE].split())), file=sys.stderr, flush=True)
