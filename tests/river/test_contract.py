"""River's own checks of a classifier."""

import random

import pytest
from river import checks

from virtualvector.river import (
    ADFClassifier,
    AutoVVMClassifier,
    VVMClassifier,
    WindowEPClassifier,
)

CLASSIFIERS = [ADFClassifier, AutoVVMClassifier, VVMClassifier, WindowEPClassifier]


def models():
    return [kind(**parameters) for kind in CLASSIFIERS for parameters in kind._unit_test_params()]


@pytest.mark.parametrize("model", models(), ids=str)
def test_every_check_of_river_passes_and_none_is_skipped(model):
    random.seed(0)  # by which river leaves out features
    assert model._unit_test_skips() == set()
    checks.check_estimator(model)
