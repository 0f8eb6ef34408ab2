"""Bayesian online classification in constant memory: the Virtual Vector Machine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from virtualvector.garbage import garbage_left_alone

if TYPE_CHECKING:
    from virtualvector.auto.classifier import AutoVVMClassifier
    from virtualvector.features import RandomFourierFeatures
    from virtualvector.files import load
    from virtualvector.learners import (
        ADFClassifier,
        EPClassifier,
        VVMClassifier,
        WindowEPClassifier,
    )
    from virtualvector.rivals import NaturalGradientClassifier, SOGPClassifier

    __version__: str

__all__ = [
    "ADFClassifier",
    "AutoVVMClassifier",
    "EPClassifier",
    "NaturalGradientClassifier",
    "RandomFourierFeatures",
    "SOGPClassifier",
    "VVMClassifier",
    "WindowEPClassifier",
    "load",
]

_HOMES = {
    "ADFClassifier": "learners",
    "AutoVVMClassifier": "auto.classifier",
    "EPClassifier": "learners",
    "NaturalGradientClassifier": "rivals",
    "RandomFourierFeatures": "features",
    "SOGPClassifier": "rivals",
    "VVMClassifier": "learners",
    "WindowEPClassifier": "learners",
    "load": "files",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, when it is asked for: `vvm --help` should not wait for numba."""
    if name == "__version__":
        from importlib.metadata import version

        return version("virtualvector")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with garbage_left_alone():
        home = import_module(f"{__name__}.{_HOMES[name]}")
    return getattr(home, name)


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__"]
