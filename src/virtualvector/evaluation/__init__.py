"""How well learners do: predict each row, then learn it, and measure what was said."""

from virtualvector.evaluation.compared import all_learners
from virtualvector.evaluation.comparison import (
    Comparison,
    LeftOut,
    Outcome,
    one_by_one,
    side_by_side,
)
from virtualvector.evaluation.displays import ReliabilityDisplay, WeightsDisplay
from virtualvector.evaluation.inputs import inputs_of
from virtualvector.evaluation.metrics import (
    Measures,
    Reliability,
    brier,
    calibration_error,
    cumulative_error,
    error,
    log_loss,
    measure,
    reliability,
)
from virtualvector.evaluation.plots import draw
from virtualvector.evaluation.prequential import predict_then_learn
from virtualvector.evaluation.tally import Tally

__all__ = [
    "Comparison",
    "LeftOut",
    "Measures",
    "Outcome",
    "Reliability",
    "ReliabilityDisplay",
    "Tally",
    "WeightsDisplay",
    "all_learners",
    "brier",
    "calibration_error",
    "cumulative_error",
    "draw",
    "error",
    "inputs_of",
    "log_loss",
    "measure",
    "one_by_one",
    "predict_then_learn",
    "reliability",
    "side_by_side",
]
