"""Feature maps: what a row becomes before a linear learner sees it."""

from virtualvector.features.fourier import RandomFourierFeatures
from virtualvector.features.scaling import RunningStandardScaler

__all__ = ["RandomFourierFeatures", "RunningStandardScaler"]
