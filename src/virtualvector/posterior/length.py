"""The length of the weights, of which steps say nothing: E|w|² = d.

A step function of the margin depends on the direction of w alone. Where all factors are steps, the
exact posterior is therefore some distribution of directions times the prior's of lengths, whatever
the labels: E|w|² is the number of weights. Gaussians do not know that. Each label that contradicts
them moves q̃ towards zero, where all margins are uncertain, and with labels that are often wrong its
length collapses; sites of negative precision let it explode.

Since all factors stay as they are when w is scaled, so may r and all sites be: reduction chooses
q_new, and chooses the one with the length that the exact posterior has. No prediction changes.

Of a weight that no row had an input for, the prior is all that is known: it stays as it is.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.kernels.triangular import dot, whole_vectors
from virtualvector.posterior.residual.full import flush
from virtualvector.posterior.settings import Settings
from virtualvector.posterior.state import (
    MATCHED_MEAN,
    MATCHED_VARIANCE,
    POINTS,
    ROWS,
    State,
    in_margin_space,
)
from virtualvector.posterior.workspace import Workspace
from virtualvector.types import Array

_OFF = 0.01  # of E|w|², before anything is done
_ROUNDING = 1e-6  # of millions of rows; what is known of a weight is more than that
_EVERY = 32  # rows, in margin space, where q̃ of the weights has to be worked out


@compiled
def restore_length(state: State, settings: Settings, work: Workspace) -> None:
    """Scale r and all sites so that E|w|² = d under q̃, if all factors are steps."""
    steps = settings.margin_noise == 0.0 and math.isinf(settings.half_life)
    if settings.label_noise == 0.0 or settings.buffer_size == 0 or not steps:
        return
    if in_margin_space(state) and state.counts[ROWS] % _EVERY != 0:
        return
    flush(state, work)
    unseen = 0
    for k in range(state.mean.shape[0]):
        work.other[k] = 0.0 if is_unseen(state, k) else 1.0
        unseen += work.other[k] == 0.0
    square = (squared_length(state, work) - unseen) / max(state.mean.shape[0] - unseen, 1)
    if abs(square - 1.0) > _OFF and 0.0 < square < math.inf:
        scale_weights(state, work.other, 1.0 / math.sqrt(square), work)


@compiled
def is_unseen(state: State, k: int) -> bool:
    """Whether weight k has its prior in r, apart from all others, and no point has an entry k."""
    if abs(state.factor[k, k] - 1.0) > _ROUNDING or state.mean[k] != 0.0:
        return False
    for j in range(state.factor.shape[0]):
        if j != k and (state.factor[j, k] != 0.0 or state.factor[k, j] != 0.0):
            return False
    entries = 0
    for i in range(state.counts[POINTS]):
        entries += state.points[i, k] != 0.0
    return entries == 0


@compiled
def squared_length(state: State, work: Workspace) -> float:
    """E|w|² under q̃."""
    d = state.mean.shape[0]
    total = 0.0
    if not in_margin_space(state):
        for k in range(d):
            total += dot(state.weight_factor[k], state.weight_factor[k])
        return total + dot(state.weight_mean, state.weight_mean)
    # With A = VBᵀ the covariances of weights and margins under r, T = diag(τ), S and μ the
    # covariances and means of margins under q̃: V_q = V − A(T − TST)Aᵀ, m_q = m + A(ν − τμ).
    n = state.counts[POINTS]
    width = whole_vectors(n)
    for i in range(n):
        work.crossed[i] = state.site_shifts[i] - state.site_precisions[i] * state.margins[i]
    for k in range(d):
        total += dot(state.factor[k], state.factor[k])
        for i in range(width):
            work.column[i] = 0.0
        for j in range(k, d):  # row k of A = Uᵀ(UBᵀ); U is lower triangular
            for i in range(width):
                work.column[i] += state.factor[j, k] * state.products[j, i]
        mean = state.mean[k] + dot(work.column[:n], work.crossed[:n])
        for i in range(n):
            work.scaled[i] = state.site_precisions[i] * work.column[i]
        total += mean * mean - dot(work.column[:n], work.scaled[:n])
        for i in range(n):
            total += work.scaled[i] * dot(state.covariances[i, :n], work.scaled[:n])
    return total


@compiled
def scale_weights(state: State, seen: Array, scale: float, work: Workspace) -> None:
    """Let the weights that are seen be scaled: r, the sites, and all that follows from them."""
    square = scale * scale
    n, d = state.counts[POINTS], state.mean.shape[0]
    for i in range(n):
        state.site_precisions[i] /= square
        state.site_shifts[i] /= scale
    _scale(state.mean, scale)
    _scale(state.weight_mean, scale)
    _scale(state.margins, scale)
    _scale(state.variances_at_refresh, square)
    for k in range(d):
        _scale_columns(state.factor[k], seen, scale)
    for k in range(state.weight_factor.shape[0]):
        _scale_columns(state.weight_factor[k], seen, scale)
    for k in range(state.products.shape[0]):
        _scale(state.products[k], scale)
    for k in range(state.gram.shape[0]):
        _scale(state.gram[k], square)
        _scale(state.covariances[k], square)
    for i in range(state.matched.shape[0]):
        state.matched[i, MATCHED_MEAN] *= scale
        state.matched[i, MATCHED_VARIANCE] *= square
    work.cached_query[0] = 0.0


@compiled
def _scale(array: Array, scale: float) -> None:
    for k in range(array.shape[0]):
        array[k] *= scale


@compiled
def _scale_columns(row: Array, seen: Array, scale: float) -> None:
    for k in range(row.shape[0]):
        row[k] *= scale if seen[k] == 1.0 else 1.0
