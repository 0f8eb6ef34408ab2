"""Bayesian online classification in constant memory: the Virtual Vector Machine."""

from importlib.metadata import version

from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.features import RandomFourierFeatures
from virtualvector.learners import (
    ADFClassifier,
    EPClassifier,
    VVMClassifier,
    WindowEPClassifier,
)
from virtualvector.rivals import NaturalGradientClassifier, SOGPClassifier

__version__ = version("virtualvector")

__all__ = [
    "ADFClassifier",
    "AutoVVMClassifier",
    "EPClassifier",
    "NaturalGradientClassifier",
    "RandomFourierFeatures",
    "SOGPClassifier",
    "VVMClassifier",
    "WindowEPClassifier",
]
