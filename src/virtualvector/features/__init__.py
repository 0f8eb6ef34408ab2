"""Feature maps: what a row becomes before a linear learner sees it."""

from virtualvector.features.fourier import RandomFourierFeatures

__all__ = ["RandomFourierFeatures"]
