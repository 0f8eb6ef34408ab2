"""Bayesian online classification in constant memory: the Virtual Vector Machine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from virtualvector.jit.garbage import gc_paused

if TYPE_CHECKING:
    from virtualvector.auto.classifier import AutoVVMClassifier
    from virtualvector.baselines import NaturalGradientClassifier, SOGPClassifier
    from virtualvector.features import RandomFourierFeatures
    from virtualvector.learners import (
        ADFClassifier,
        EPClassifier,
        VVMClassifier,
        WindowEPClassifier,
    )
    from virtualvector.learners.expert import Expert
    from virtualvector.persistence import load
    from virtualvector.pooling import pool
    from virtualvector.wide.classifier import WideVVMClassifier

    __version__: str

__all__ = [
    "ADFClassifier",
    "AutoVVMClassifier",
    "EPClassifier",
    "Expert",
    "NaturalGradientClassifier",
    "RandomFourierFeatures",
    "SOGPClassifier",
    "VVMClassifier",
    "WideVVMClassifier",
    "WindowEPClassifier",
    "load",
    "pool",
]

_HOMES = {
    "ADFClassifier": "learners",
    "AutoVVMClassifier": "auto.classifier",
    "EPClassifier": "learners",
    "Expert": "learners.expert",
    "NaturalGradientClassifier": "baselines",
    "RandomFourierFeatures": "features",
    "SOGPClassifier": "baselines",
    "VVMClassifier": "learners",
    "WideVVMClassifier": "wide.classifier",
    "WindowEPClassifier": "learners",
    "load": "persistence",
    "pool": "pooling",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, when it is asked for: `vvm --help` should not wait for numba."""
    if name == "__version__":
        from importlib.metadata import version

        return version("virtualvector")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with gc_paused():
        home = import_module(f"{__name__}.{_HOMES[name]}")
    return getattr(home, name)


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__"]
