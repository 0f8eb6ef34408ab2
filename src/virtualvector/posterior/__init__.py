"""The posterior over the weights: its state, how rows change it, the Gaussian it stands for."""

from virtualvector.posterior.engine import (
    Engine,
    learn,
    learn_in_place,
    mirror,
    with_more_weights,
)
from virtualvector.posterior.gaussian import Gaussian, gaussian, run_ep
from virtualvector.posterior.low_rank import mean_of, points_of, precision_of
from virtualvector.posterior.low_rank_state import AnyState, LowRankState, empty_low_rank_state
from virtualvector.posterior.pooling import pool, shard_start
from virtualvector.posterior.prediction import (
    Predictor,
    log_probabilities,
    predicted_margins,
    standardised_margins,
    write_each_probabilities,
)
from virtualvector.posterior.settings import Settings, Strategy
from virtualvector.posterior.state import State, copied_for_later, copy_state, empty_state
from virtualvector.posterior.workspace import WHOLE, Events

__all__ = [
    "WHOLE",
    "AnyState",
    "Engine",
    "Events",
    "Gaussian",
    "LowRankState",
    "Predictor",
    "Settings",
    "State",
    "Strategy",
    "copied_for_later",
    "copy_state",
    "empty_low_rank_state",
    "empty_state",
    "gaussian",
    "learn",
    "learn_in_place",
    "log_probabilities",
    "mean_of",
    "mirror",
    "points_of",
    "pool",
    "precision_of",
    "predicted_margins",
    "run_ep",
    "shard_start",
    "standardised_margins",
    "with_more_weights",
    "write_each_probabilities",
]
