"""scikit-learn estimators around the one engine."""

from virtualvector.learners.adf import ADFClassifier
from virtualvector.learners.ep import EPClassifier
from virtualvector.learners.vvm import VVMClassifier
from virtualvector.learners.window_ep import WindowEPClassifier

__all__ = ["ADFClassifier", "EPClassifier", "VVMClassifier", "WindowEPClassifier"]
