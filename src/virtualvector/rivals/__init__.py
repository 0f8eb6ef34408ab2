"""Learners to compare with, and samplers that give exact posterior means.

Perceptron, passive-aggressive learning and online logistic regression are in scikit-learn.
"""

from virtualvector.rivals.arow import AROWClassifier
from virtualvector.rivals.budget_perceptron import BudgetPerceptron
from virtualvector.rivals.confidence_weighted import ConfidenceWeightedClassifier
from virtualvector.rivals.kalman import KalmanClassifier
from virtualvector.rivals.natural_gradient import NaturalGradientClassifier
from virtualvector.rivals.sampling import Estimate, billiard, elliptical_slice
from virtualvector.rivals.second_order_perceptron import SecondOrderPerceptron
from virtualvector.rivals.sogp import SOGPClassifier

__all__ = [
    "AROWClassifier",
    "BudgetPerceptron",
    "ConfidenceWeightedClassifier",
    "Estimate",
    "KalmanClassifier",
    "NaturalGradientClassifier",
    "SOGPClassifier",
    "SecondOrderPerceptron",
    "billiard",
    "elliptical_slice",
]
