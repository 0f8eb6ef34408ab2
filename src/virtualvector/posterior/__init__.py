"""The posterior over the weights: its state, how rows change it, the Gaussian it stands for."""

from virtualvector.posterior.gaussian import Gaussian, gaussian, settle
from virtualvector.posterior.learning import (
    Learning,
    learn,
    learn_in_place,
    mirror,
    with_more_weights,
)
from virtualvector.posterior.memory import Events
from virtualvector.posterior.prediction import log_probabilities, standardised_margins
from virtualvector.posterior.state import Settings, State, Strategy, copy_state, empty_state

__all__ = [
    "Events",
    "Gaussian",
    "Learning",
    "Settings",
    "State",
    "Strategy",
    "copy_state",
    "empty_state",
    "gaussian",
    "learn",
    "learn_in_place",
    "log_probabilities",
    "mirror",
    "settle",
    "standardised_margins",
    "with_more_weights",
]
