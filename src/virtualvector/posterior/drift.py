"""Drift: while rows come, the weights move, and what is known of them fades into the prior.

Between two rows w ← a·w + √(1−a²)·ξ with ξ ~ N(0, I): an Ornstein-Uhlenbeck process, at rest in the
prior. The squared correlation a² of the weights with what they were halves in ``half_life`` rows.

- A Gaussian N(m, V) becomes N(am, a²V + (1−a²)I): towards the prior, never beyond it.
- Seen from now, the weights were a·w + √(1−a²)·ξ′. To a point, which has unit length, ξ′ is more
  noise of its margin: its factor stays in the family, with sᵢ² ← (sᵢ² + 1−a²)/a².

All points share one ξ′; as if each had its own, many of them together would be believed too much.
Therefore q̃ drifts as a whole, and its points only keep their share of it.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, dispatched, jitable
from virtualvector.kernels.inverse_adf import inverse_adf
from virtualvector.kernels.likelihood import matched_site
from virtualvector.posterior.approximation import drop_point, invalidate, reproject
from virtualvector.posterior.residual.full import (
    absorb_point,
    drift_residual,
    point_image,
    point_mean,
)
from virtualvector.posterior.state import EVICTED, POINTS, State
from virtualvector.posterior.workspace import DRIFT, Workspace, parts_at

# Of the prior's variance. More noise leaves a factor that is Gaussian to nine digits; a residual
# much wider than the prior would lean on points that bound it on one side only.
_MOST_NOISE = 1e3
_WIDEST_RESIDUAL = 1.001


@jitable
def rows_per_drift(n_weights: int, half_life: float) -> int:
    """After how many rows to make up for their drift: √(d·half_life)/8.

    That costs about d³ operations, one row d², so it is not done at every row. If rows add a
    precision of 1/d along each direction, they balance the drift at a variance √(d·ln 2/half_life),
    and memory reaches back √(d·half_life/ln 2) rows: drift during a tenth of that goes unnoticed.
    """
    return max(1, int(min(0.125 * math.sqrt(n_weights * half_life), 1e15)))  # fits an integer


@compiled
def absorb_all(state: State, work: Workspace) -> None:
    """R ← r ∏ f̃ᵢ: the residual becomes q̃. Factors that narrow come first, as in `refresh`."""
    for narrowing in (True, False):
        for i in range(state.counts[POINTS]):
            if (state.site_precisions[i] > 0.0) == narrowing:
                absorb_point(state, i, state.site_precisions[i], state.site_shifts[i], work)


@compiled
def fade_points(state: State, kept: float, drift: float, work: Workspace) -> None:
    """Give each point more noise, and the site with which the margin is what it is in r.

    That is inverse ADF. Where it has no answer, or there is too much noise, the point goes.
    """
    for i in range(state.counts[POINTS] - 1, -1, -1):
        noise = (state.margin_noises[i] + drift) / kept
        variance = point_image(state, i, work.product, work)
        mean = point_mean(state, i)
        found, _, mean, variance = inverse_adf(mean, variance, noise, state.label_noises[i])
        if found and noise < _MOST_NOISE:
            _, precision, shift = matched_site(mean, variance, noise, state.label_noises[i])
            state.margin_noises[i], state.site_precisions[i], state.site_shifts[i] = (
                noise,
                precision,
                shift,
            )
            invalidate(state, i)
        else:
            drop_point(state, i, work)


@compiled
def take_out_points(state: State, work: Workspace) -> None:
    """R ← r / ∏ f̃ᵢ. A point goes if without it the residual would be wider than the prior."""
    for i in range(state.counts[POINTS] - 1, -1, -1):
        variance = point_image(state, i, work.product, work)
        if variance < _WIDEST_RESIDUAL * (1.0 - state.site_precisions[i] * variance):
            absorb_point(state, i, -state.site_precisions[i], -state.site_shifts[i], work)
        else:
            drop_point(state, i, work)


@dispatched
def drift_all(state: State, kept: float, drift: float, work: Workspace) -> None:
    """Let q̃ drift as the Gaussian that it is, and points keep their share of it."""
    absorb_all(state, work)
    drift_residual(state, kept, drift, work)
    fade_points(state, kept, drift, work)
    take_out_points(state, work)


@compiled
def drift_rows(address: int) -> None:
    """Let the weights drift for as many rows as `rows_per_drift` says.

    q̃ ends as the Gaussian that it drifts to, and as a fixed point of EP. A point that goes leaves
    its site behind, as by eviction.
    """
    state, settings, work, _ = parts_at(address)
    rows = rows_per_drift(state.mean.shape[0], settings.half_life)
    decay = rows * math.log(2.0) / settings.half_life
    kept, drift = math.exp(-decay), -math.expm1(-decay)  # a² and 1 − a², with all digits
    before = state.counts[POINTS]
    drift_all(state, kept, drift, work)
    state.counts[EVICTED] += before - state.counts[POINTS]
    reproject(state, work)
    work.unfinished[DRIFT] = 0
