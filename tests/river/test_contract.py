"""River's own checks of a classifier."""

import gc
import random
from types import BuiltinFunctionType, SimpleNamespace

import pytest
from river import checks
from river.base import base

from virtualvector.river import (
    ADFClassifier,
    AutoVVMClassifier,
    VVMClassifier,
    WindowEPClassifier,
)

CLASSIFIERS = [ADFClassifier, AutoVVMClassifier, VVMClassifier, WindowEPClassifier]


def models():
    return [kind(**parameters) for kind in CLASSIFIERS for parameters in kind._unit_test_params()]


@pytest.fixture
def memory_is_that_of_the_model(monkeypatch):
    """Let river add up what models refer to without the compiler, which compiled functions do.

    That is megabytes, beside which no growth would be noticed, and takes longer than all checks.
    """

    def referents(*objects):
        kept = (each for each in objects if not isinstance(each, BuiltinFunctionType))
        return gc.get_referents(*kept)

    monkeypatch.setattr(base, "gc", SimpleNamespace(get_referents=referents))
    gc.freeze()  # what other tests have left need not be searched each time that river collects
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("memory_is_that_of_the_model")
@pytest.mark.parametrize("model", models(), ids=str)
def test_every_check_of_river_passes_and_none_is_skipped(model):
    random.seed(0)  # by which river leaves out features
    assert model._unit_test_skips() == set()
    checks.check_estimator(model)
