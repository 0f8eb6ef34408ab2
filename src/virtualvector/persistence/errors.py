"""What can go wrong with a model file, and how it is said."""

import reprlib
from typing import Any


class Misfit(ValueError):
    """Something is not as it should be; the message says what was found and expected."""


class BadModelFile(ValueError):
    """A file that holds no model; the message names the file, what was found and expected.

    Examples
    --------
    >>> from virtualvector.persistence import BadModelFile
    >>> raise BadModelFile("model.vvm: found 3 bytes; expected a model file.")
    Traceback (most recent call last):
    virtualvector.persistence.errors.BadModelFile: model.vvm: found 3 bytes; expected a model file.
    """


class CannotSave(OSError):
    """A model could not be written: the disk is full, the folder is read-only or is none.

    Whatever was in the file before still is.

    Examples
    --------
    >>> from virtualvector import ADFClassifier
    >>> from virtualvector.persistence import CannotSave
    >>> model = ADFClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> try:
    ...     model.save("/no such folder/small.vvm")
    ... except CannotSave:
    ...     print("the model is not lost, only not saved")
    the model is not lost, only not saved
    """


def shortly(value: Any) -> str:
    """Return what a value looks like, in a few characters however large it is."""
    text = reprlib.repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
