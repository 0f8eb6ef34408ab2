"""The length of the weights, of which steps say nothing: |w| is as the prior has it.

A step function of the margin depends on the direction of w alone. Where all factors are steps, the
exact posterior is therefore some distribution of directions times the prior's of lengths, whatever
the labels: E|w|² is the number of weights d, and the mean of w is E|w| times that of its direction.
Gaussians do not know that. Each label that contradicts them moves q̃ towards zero, where all margins
are uncertain, and with labels that are often wrong its length collapses; sites of negative
precision let it explode. Worse, a Gaussian that is wide along its mean reaches past zero, to
weights of the opposite direction, which explain every turned label: a few of them in a row, and q̃
says the opposite.

Since all factors stay as they are when w is scaled, reduction may choose a q_new of any lengths. It
chooses E|w|² = d, with the variance of |w| under the prior for that along the mean of q̃ where this
is smaller: then the mean has the length that it has under the exact posterior. And where the
direction is known, q̃ may not be wider along its mean than |w| is, nor so wide that it reaches past
zero nearly as often as labels are turned. No prediction changes by the former. The latter makes q̃
as sure of the direction as the exact posterior is; where predictions have been worse than a coin's,
the model is wrong, and so is being sure: q̃ is left as wide as it is.

Of a weight that no row had an input for, the prior is all that is known: it stays as it is. Of a
combination of weights that no row has a part in, such as the sum of those of all categories less
that of the bias, it is, too: weights are never scaled up so far that q̃ is wider than the prior in
any direction across its mean. Else such a direction would in the end have all the length.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, dispatched
from virtualvector.kernels.triangular import (
    add_precision,
    add_scaled,
    copy,
    dot,
    multiply,
    scale,
    whole_vectors,
)
from virtualvector.posterior.approximation import along, refresh
from virtualvector.posterior.residual.full import absorb, flush
from virtualvector.posterior.settings import CleanSettings, Settings
from virtualvector.posterior.state import (
    LOG_EVIDENCE,
    MATCHED_MEAN,
    MATCHED_VARIANCE,
    POINTS,
    ROWS,
    State,
    in_margin_space,
)
from virtualvector.posterior.workspace import Workspace
from virtualvector.types import Array

_OFF = 0.001  # of E|w|², before anything is done
_KNOWN = 0.01  # the direction is: E|w|² across the mean of q̃, of the mean's square
_COIN = math.log(2.0)  # the loss of a coin, nats a row
_OFTEN = 1.5  # the power of ε that says how often q̃ may reach past zero
_ROUNDING = 1e-6  # of millions of rows; what is known of a weight is more than that
_EVERY = 32  # rows at most, in margin space, where q̃ of the weights has to be worked out
_PRODUCTS = 8  # by which the widest direction is looked for


@dispatched
def restore_length(state: State, settings: Settings, work: Workspace) -> None:
    """Give q̃ the length that the prior has, and no more spread of it, if all factors are steps."""
    steps = settings.margin_noise == 0.0 and math.isinf(settings.half_life)
    if settings.label_noise == 0.0 or settings.buffer_size == 0 or not steps:
        return
    if in_margin_space(state) and state.counts[ROWS] % rows_between(state) != 0:
        return
    flush(state, work)
    unseen = 0
    for k in range(state.mean.shape[0]):
        work.other[k] = 0.0 if is_unseen(state, k) else 1.0
        unseen += work.other[k] == 0.0
    d = state.mean.shape[0] - unseen
    across, mean, variance = split_length(state, unseen, work)
    spread = length_variance(d)
    square = (mean * mean + across) / max(d - spread, spread)
    if variance > spread * square:  # nor is it then narrower than |w| is
        square = (mean * mean + across + variance) / max(d, 1)
    if square < 1.0 - _OFF:
        square = max(square, min(widest_across(state, work), 1.0))
    if not (0.0 < square < math.inf):
        return
    if abs(square - 1.0) > _OFF:
        scale_weights(state, work.other, 1.0 / math.sqrt(square), work)
        mean, variance, across = mean / math.sqrt(square), variance / square, across / square
    # Φ(−z) < ½ exp(−½z²), which may be a power of ε.
    least = -2.0 * (math.log(2.0) + _OFTEN * math.log(settings.label_noise))
    most = min(spread, mean * mean / max(least, 1.0))
    if (
        variance > (1.0 + _OFF) * most
        and across < _KNOWN * mean * mean
        and state.sums[LOG_EVIDENCE] > -_COIN * state.counts[ROWS]
    ):
        narrow(state, mean, 1.0 / most - 1.0 / variance, work)


@restore_length.register(CleanSettings)
def _(state: State, settings: CleanSettings, work: Workspace) -> None:
    pass


@compiled
def rows_between(state: State) -> int:
    """How many rows may pass in margin space: each changes one direction of the weights."""
    return max(1, min(_EVERY, state.mean.shape[0] // 2))


@compiled
def length_variance(d: int) -> float:
    """The variance of |w|, w of d standard normal numbers: d − (E|w|)²."""
    mean = math.exp(math.lgamma(0.5 * (d + 1)) - math.lgamma(0.5 * d))
    return d - 2.0 * mean * mean


@compiled
def split_length(state: State, unseen: int, work: Workspace) -> tuple[float, float, float]:
    """E|w|² under q̃ across its mean, the length of the mean, and the variance along it."""
    total = squared_length(state, work) - unseen
    mean = math.sqrt(dot(work.merged, work.merged))
    if not mean > 0.0:
        return total, 0.0, 0.0
    scale(work.merged, 1.0 / mean)
    _, variance, _ = along(state, state.counts[POINTS], work.merged, work)
    return total - mean * mean - variance, mean, variance


@compiled
def narrow(state: State, mean: float, precision: float, work: Workspace) -> None:
    """Add a precision along the mean of q̃, which stays where it is."""
    absorb(state, work.merged, precision, precision * mean, work)
    flush(state, work)
    if in_margin_space(state):
        refresh(state, work)
    else:
        multiply(state.weight_factor, work.merged, work.product)
        add_precision(state.weight_factor, work.product, precision, work.image)
    work.cached_query[0] = 0.0


@compiled
def widest_across(state: State, work: Workspace) -> float:
    """About the largest variance that q̃ has in any direction across its mean.

    By powers of the covariance UᵀU, from the widest weight on: in margin space by those of r, which
    has more to say there than the points. ``work.merged`` has the direction of the mean, and
    ``work.other`` ones for the weights that are seen: the others are not scaled.
    """
    factor = state.factor if in_margin_space(state) else state.weight_factor
    d = state.mean.shape[0]
    widest, largest = 0, 0.0
    for k in range(d):
        work.vector[k] = 0.0
        variance = 0.0
        for j in range(k, d):  # U is lower triangular
            variance += factor[j, k] * factor[j, k]
        if work.other[k] * variance > largest:
            widest, largest = k, variance
    work.vector[widest] = 1.0
    for _ in range(_PRODUCTS):
        multiply(factor, work.vector, work.product)
        for k in range(d):
            work.vector[k] = 0.0
        for j in range(d):
            add_scaled(work.vector[: j + 1], work.product[j], factor[j, : j + 1])
        for k in range(d):
            work.vector[k] *= work.other[k]
        add_scaled(work.vector, -dot(work.vector, work.merged), work.merged)
        size = math.sqrt(dot(work.vector, work.vector))
        if not size > 0.0:
            return 0.0
        scale(work.vector, 1.0 / size)
    _, variance, _ = along(state, state.counts[POINTS], work.vector, work)
    return variance


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
        copy(state.weight_mean, work.merged)
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
        work.merged[k] = mean
        for i in range(n):
            work.scaled[i] = state.site_precisions[i] * work.column[i]
        total += mean * mean - dot(work.column[:n], work.scaled[:n])
        for i in range(n):
            total += work.scaled[i] * dot(state.covariances[i, :n], work.scaled[:n])
    return total


@compiled
def scale_weights(state: State, seen: Array, by: float, work: Workspace) -> None:
    """Let the weights that are seen be scaled: r, the sites, and all that follows from them."""
    square = by * by
    n, d = state.counts[POINTS], state.mean.shape[0]
    for i in range(n):
        state.site_precisions[i] /= square
        state.site_shifts[i] /= by
    scale(state.mean, by)
    scale(state.weight_mean, by)
    scale(state.margins, by)
    scale(state.variances_at_refresh, square)
    for k in range(d):
        _scale_columns(state.factor[k], seen, by)
    for k in range(state.weight_factor.shape[0]):
        _scale_columns(state.weight_factor[k], seen, by)
    for k in range(state.products.shape[0]):
        scale(state.products[k], by)
    for k in range(state.gram.shape[0]):
        scale(state.gram[k], square)
        scale(state.covariances[k], square)
    for i in range(state.matched.shape[0]):
        state.matched[i, MATCHED_MEAN] *= by
        state.matched[i, MATCHED_VARIANCE] *= square
    work.cached_query[0] = 0.0


@compiled
def _scale_columns(row: Array, seen: Array, scale: float) -> None:
    for k in range(row.shape[0]):
        row[k] *= scale if seen[k] == 1.0 else 1.0
