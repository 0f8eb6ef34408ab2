"""Feature maps: what a row becomes before a linear learner sees it."""

from virtualvector.features.fourier import RandomFourierFeatures
from virtualvector.features.standardise import RunningStandardiser

__all__ = ["RandomFourierFeatures", "RunningStandardiser"]
