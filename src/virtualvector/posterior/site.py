"""A site exp(νu − ½τu²): the Gaussian that approximates one factor, along its margin (eq. 9)."""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled

# No margin is given a variance below this, of the prior's. Contradictory rows without noise would
# shrink it forever, until the covariance could no longer be told from a singular one.
SMALLEST = 1e-13

_SMALLEST_ROOM = 1e-13


@compiled
def cavity(
    mean: float, variance: float, precision: float, shift: float
) -> tuple[bool, float, float]:
    """q̃ without one site (eq. 34), along its margin; first whether it is proper."""
    room = 1.0 - precision * variance
    if not (variance > 0.0 and room > _SMALLEST_ROOM):
        return False, 0.0, 1.0
    return True, (mean - shift * variance) / room, variance / room


@compiled
def log_normaliser(mean: float, variance: float, precision: float, shift: float) -> float:
    """Log ∫ N(u; mean, variance) exp(shift·u − ½·precision·u²) du, for a proper product."""
    growth = 1.0 + precision * variance
    lean = shift * (shift * variance + 2.0 * mean) - precision * mean * mean
    return 0.5 * (lean / growth - math.log(growth))


@compiled
def weakened(
    mean: float, variance: float, precision: float, shift: float, floor: float
) -> tuple[float, float]:
    """A site exp(shift·u − ½·precision·u²) that N(mean, variance) can be multiplied by.

    One that would make it narrower than the floor leads to the same mean and to the floor; one that
    would make it improper is left out.
    """
    growth = 1.0 + precision * variance
    if growth > 0.0 and floor * growth <= variance:
        return precision, shift
    if growth > 0.0 and floor < variance:
        new_mean = mean + variance * (shift - precision * mean) / growth
        return 1.0 / floor - 1.0 / variance, new_mean / floor - mean / variance
    return 0.0, 0.0
