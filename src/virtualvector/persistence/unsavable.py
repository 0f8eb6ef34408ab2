"""Estimators that have no model file of their own."""

from __future__ import annotations

from os import PathLike
from typing import ClassVar, NoReturn


class Unsavable:
    """An estimator that says why it cannot be saved, and what to do instead."""

    _why_unsavable: ClassVar[str]

    def save(self, path: str | PathLike[str]) -> NoReturn:
        """Raise TypeError: there is no such file."""
        raise TypeError(f"{path}: a {type(self).__name__} has no model file: {self._why_unsavable}")
