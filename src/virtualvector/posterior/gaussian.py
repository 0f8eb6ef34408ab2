"""The Gaussian that predictions are made with (eqs. 5 and 9)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from virtualvector.kernels.triangular import Array
from virtualvector.posterior.propagation import propagate
from virtualvector.posterior.stand_in import refresh
from virtualvector.posterior.state import (
    SWEEPS,
    UNSETTLED,
    Settings,
    State,
    copy_state,
    make_workspace,
    plain,
)


class Gaussian(NamedTuple):
    """N(mean, factorᵀfactor) over the weights, with a lower triangular factor."""

    mean: Array
    factor: Array

    @property
    def covariance(self) -> Array:
        """The covariance matrix."""
        return self.factor.T @ self.factor


def gaussian(state: State) -> Gaussian:
    """Return q̃ (eq. 9): the residual times the stand-ins of all points.

    Nothing is inverted: every stand-in is absorbed by a copy of the residual, as if all points were
    evicted.

    Examples
    --------
    >>> from virtualvector.posterior import Settings, empty_state, gaussian
    >>> gaussian(empty_state(2, Settings())).covariance
    array([[1., 0.],
           [0., 1.]])
    """
    state = copy_state(state)._replace(
        gram=np.zeros((0, 0)),  # that is, not in margin space
        weight_mean=np.zeros_like(state.mean),
        weight_factor=np.zeros_like(state.factor),
    )
    refresh(state, make_workspace(state, Settings()))
    return Gaussian(state.weight_mean, state.weight_factor)


def settle(state: State, settings: Settings) -> State:
    """Run EP on a copy of the state until nothing moves.

    The engine does as much after each row as its settings allow; this goes on from there. If there
    is no fixed point, because rows without noise contradict each other, nothing moves, and the copy
    counts as unsettled.
    """
    state, settings = copy_state(state), plain(settings)
    sweeps, served = propagate(state, settings, make_workspace(state, settings))
    state.counts[SWEEPS] += sweeps
    state.counts[UNSETTLED] += not served
    return state
