"""Learners to compare with.

Perceptron, passive-aggressive learning and online logistic regression are in scikit-learn.
"""

from virtualvector.baselines.arow import AROWClassifier
from virtualvector.baselines.budget_perceptron import BudgetPerceptron
from virtualvector.baselines.confidence_weighted import ConfidenceWeightedClassifier
from virtualvector.baselines.kalman import KalmanClassifier
from virtualvector.baselines.natural_gradient import NaturalGradientClassifier
from virtualvector.baselines.second_order_perceptron import SecondOrderPerceptron
from virtualvector.baselines.sogp import SOGPClassifier

__all__ = [
    "AROWClassifier",
    "BudgetPerceptron",
    "ConfidenceWeightedClassifier",
    "KalmanClassifier",
    "NaturalGradientClassifier",
    "SOGPClassifier",
    "SecondOrderPerceptron",
]
