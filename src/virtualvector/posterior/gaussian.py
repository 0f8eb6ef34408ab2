"""The Gaussian that predictions are made with (eqs. 5 and 9)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from virtualvector.jit.compiled import compiled
from virtualvector.jit.struct_table import StructTable
from virtualvector.posterior.approximation import refresh
from virtualvector.posterior.ep import propagate
from virtualvector.posterior.settings import Settings
from virtualvector.posterior.state import POINTS, SWEEPS, UNSETTLED, State, copy_state
from virtualvector.posterior.weight_space import absorb_sites
from virtualvector.posterior.workspace import arguments_for, parts_at
from virtualvector.types import Array


class Gaussian(NamedTuple):
    """N(mean, factorᵀfactor) over the weights, with a lower triangular factor."""

    mean: Array
    factor: Array

    @property
    def covariance(self) -> Array:
        """The covariance matrix."""
        return self.factor.T @ self.factor


def gaussian(state: State) -> Gaussian:
    """Return q̃ (eq. 9): the residual times the sites of all points.

    Nothing is inverted: every site is absorbed by a copy of the residual, as if all points were
    evicted.

    Examples
    --------
    >>> from virtualvector.posterior import Settings, empty_state, gaussian
    >>> gaussian(empty_state(2, Settings())).covariance
    array([[1., 0.],
           [0., 1.]])
    """
    n = int(state.counts[POINTS])
    mean, factor = state.mean.copy(), state.factor.copy()
    sites = (state.points[:n], state.site_precisions[:n].copy(), state.site_shifts[:n].copy())
    absorb_sites(mean, factor, *sites, np.empty_like(mean), np.empty_like(mean))
    return Gaussian(mean, factor)


def run_ep(state: State, settings: Settings) -> State:
    """Run EP on a copy of the state until nothing moves.

    The engine does as much after each row as its settings allow; this goes on from there. If there
    is no fixed point, because rows without noise contradict each other, nothing moves, and the copy
    counts as unsettled.
    """
    state = copy_state(state)
    table = StructTable(arguments_for(state, settings))
    sweeps, served = _propagate(table.address)
    state.counts[SWEEPS] += sweeps
    state.counts[UNSETTLED] += not served
    return state


@compiled
def _propagate(address: int) -> tuple[int, bool]:
    state, settings, work, _ = parts_at(address)
    sweeps, served = propagate(state, settings, False, work)
    if not served:
        refresh(state, work)
    return sweeps, served
