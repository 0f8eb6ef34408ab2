"""A part of a row: its likelihood to a power p below one, which the residual takes in.

Without margin noise fᵖ is a factor of the family, and the row an ordinary point with a label noise
of its own. With margin noise it is none: the moments of fᵖ are matched once, as ADF would, and the
point that the row was for that long is evicted at once.
"""

from __future__ import annotations

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.powered import powered_site
from virtualvector.posterior.approximation import marginal, move, smallest_variance
from virtualvector.posterior.reduction.eviction import SMALLEST_GROWTH, WIDEST, evict
from virtualvector.posterior.residual.full import residual_variance
from virtualvector.posterior.site import weakened
from virtualvector.posterior.state import POINTS, State
from virtualvector.posterior.workspace import Workspace


@compiled
def absorb_part(state: State, power: float, work: Workspace) -> tuple[float, float]:
    """Multiply r and q̃ by the site of the last point's factor to a power; the point goes.

    Returns precision and shift of the site. With label noise it may be wider than the residual
    bears; then it leads to the same mean, and to as much variance as that allows.
    """
    j = state.counts[POINTS] - 1
    mean, variance = marginal(state, j, work)
    precision, shift = powered_site(
        mean, variance, state.margin_noises[j], state.label_noises[j], power
    )
    precision, shift = weakened(mean, variance, precision, shift, smallest_variance(state, j))
    if precision < 0.0 and j > 0:  # without points r is q̃, which bears it
        under_r = residual_variance(state, j, work)
        least = max((SMALLEST_GROWTH - 1.0) / under_r, 1.0 / WIDEST - 1.0 / under_r)
        least = min(least, 0.0)
        if precision < least:
            moved = (shift - precision * mean) / (1.0 + precision * variance)
            precision, shift = least, least * (mean + variance * moved) + moved
        mean, variance = marginal(state, j, work)  # which `move` goes by
    move(state, j + 1, j, mean, variance, precision, shift, work)
    state.site_precisions[j], state.site_shifts[j] = precision, shift
    evict(state, j, work)
    return precision, shift
