"""The Gaussian approximation q̃ = r ∏ f̃ᵢ of the posterior (eq. 9), in whichever space is smaller.

Everything the engine asks of q̃ goes through these functions: the marginal of one margin, a change
of one site, one more point, one point less. Only this file and the residual know that there are two
spaces; what is done in that of the weights is in `weight_space.py`.
"""

from __future__ import annotations

from virtualvector.jit.compiled import compiled, dispatched, inlined
from virtualvector.kernels.symmetric import move_last, rank_one, write_cross
from virtualvector.kernels.triangular import (
    apply_sign,
    copy,
    dot,
    dot_of_row,
    multiply,
    multiply_rows,
    whole_vectors,
)
from virtualvector.posterior.point import copy_point, is_kept_query, keep_query
from virtualvector.posterior.reduction.pairs import drop_pairs
from virtualvector.posterior.residual.full import (
    drop_image,
    flush,
    point_mean,
    rebuild_images,
    residual_product,
    write_image,
)
from virtualvector.posterior.site import SMALLEST, log_normaliser, weakened
from virtualvector.posterior.state import MATCHED_VARIANCE, POINTS, ROWS, State, in_margin_space
from virtualvector.posterior.weight_space import (
    covariance_of_weights,
    marginal_of_weights,
    move_weights,
    refresh_weights,
)
from virtualvector.posterior.workspace import Workspace
from virtualvector.types import Array

# In margin space no margin is given less than this of its variance under the residual, from which
# differences are taken; without margin noise, so much narrowing by a few points is the first sign
# of a contradiction.
_RESOLUTION = 1e-6
_RESOLUTION_WITHOUT_NOISE = 1e-3

_SHARP = 1e-4  # a hundred times what was seen to be too little

_WORN_IMAGE = 1e-6
_WORN_MARGIN = 0.01  # every new point multiplies errors by the inverse
_REFRESH_EVERY = 64  # rows
_REPROJECT_EVERY = 1024


@compiled
def invalidate(state: State, i: int) -> None:
    """Let a site be matched when its turn comes: it is not what it was last matched to."""
    if in_margin_space(state):
        state.matched[i, MATCHED_VARIANCE] = 0.0


@compiled
def needs_weight_space(state: State, noise: float) -> bool:
    """Whether a row has too little noise for more margins than weights.

    Such rows, if they contradict each other, narrow margins to less than can be told apart there.
    """
    return (
        state.gram.shape[0] > 0 and state.points.shape[0] > state.mean.shape[0] and noise < _SHARP
    )


@inlined
def marginal(state: State, i: int, work: Workspace) -> tuple[float, float]:
    """Mean and variance of the margin of point i under q̃; leaves Ub in ``work.product``."""
    if in_margin_space(state):
        return state.margins[i], state.covariances[i, i]
    return marginal_of_weights(state, i, work)


@compiled
def smallest_variance(state: State, i: int) -> float:
    """The smallest variance that the margin of point i can be given."""
    if not in_margin_space(state):
        return SMALLEST
    return smallest_of(state.gram[i, i], state.margin_noises[i])


@compiled
def smallest_of(variance: float, noise: float) -> float:
    """The same for a margin with such a variance under r, in margin space."""
    share = _RESOLUTION if noise > 0.0 else _RESOLUTION_WITHOUT_NOISE
    return max(SMALLEST, share * variance)


@inlined
def covariance(state: State, i: int, j: int, work: Workspace) -> float:
    """The covariance of the margins of two points under q̃."""
    if in_margin_space(state):
        return state.covariances[i, j]
    return covariance_of_weights(state, i, j, work)


@compiled
def move_margins(
    margins: Array, covariances: Array, n: int, i: int, scale: float, step: float, column: Array
) -> None:
    """Add ``step`` times column i of the covariances S to the means, and ``scale·SᵢSᵢᵀ`` to S."""
    width = whole_vectors(n)
    row = covariances[i]
    for j in range(width):
        column[j] = row[j]
    rank_one(covariances, n, width, column, scale)
    for j in range(width):
        margins[j] += step * column[j]


@compiled
def move(
    state: State, n: int, i: int, mean: float, variance: float,
    precision: float, shift: float, work: Workspace,
) -> None:  # fmt: skip
    """Multiply q̃ by exp(shift·u − ½·precision·u²), u the margin of point i.

    Call it right after `marginal`, whose results it takes.
    """
    growth = 1.0 + precision * variance
    step = (shift - precision * mean) / growth
    if in_margin_space(state):
        move_margins(state.margins, state.covariances, n, i, -precision / growth, step, work.column)
    else:
        move_weights(state, precision, step, work)


@compiled
def refresh(state: State, work: Workspace) -> float:
    """Build q̃ anew from r and the sites, as `absorb_sites` does; return what that returns."""
    n = state.counts[POINTS]
    work.cached_query[0] = 0.0
    flush(state, work)
    if not in_margin_space(state):
        return refresh_weights(state, n, work)
    for i in range(n):
        state.margins[i] = point_mean(state, i)
        for j in range(n):
            state.covariances[i, j] = state.gram[i, j]
    evidence = 0.0
    for narrowing in (True, False):
        for i in range(n):
            if (state.site_precisions[i] > 0.0) == narrowing:
                mean, variance = state.margins[i], state.covariances[i, i]
                floor = smallest_variance(state, i)
                precision, shift = weakened(
                    mean, variance, state.site_precisions[i], state.site_shifts[i], floor
                )
                evidence += log_normaliser(mean, variance, precision, shift)
                move(state, n, i, mean, variance, precision, shift, work)
                if precision != state.site_precisions[i]:
                    invalidate(state, i)
                state.site_precisions[i], state.site_shifts[i] = precision, shift
    return evidence


@compiled
def reproject(state: State, work: Workspace) -> None:
    """Compute the margins under r anew from the points, then q̃: errors do not add up."""
    if in_margin_space(state):
        rebuild_images(state, work)
    refresh(state, work)


@compiled
def lost_digits(state: State) -> tuple[bool, bool]:
    """Whether images of points under r, and margins under q̃, have lost too many digits."""
    images, margins = False, False
    if in_margin_space(state):
        for i in range(state.counts[POINTS]):
            # Both are differences, and have lost as many digits as they have become smaller.
            images |= state.gram[i, i] < _WORN_IMAGE * state.variances_at_refresh[i]
            margins |= state.covariances[i, i] < _WORN_MARGIN * state.gram[i, i]
    return images, margins


@compiled
def refresh_due(state: State) -> bool:
    """Whether something has to be rebuilt before the next row."""
    images, margins = lost_digits(state)
    scheduled = state.counts[ROWS] % _REFRESH_EVERY == 0
    return state.counts[POINTS] > 0 and (scheduled or images or margins)


@compiled
def upkeep(state: State, work: Workspace) -> None:
    """Rebuild what updates have worn out, and everything now and then."""
    images, _ = lost_digits(state)
    if images or state.counts[ROWS] % _REPROJECT_EVERY == 0:
        reproject(state, work)
    else:
        refresh(state, work)


@compiled
def from_product(
    state: State, n: int, vector: Array, residual: float, product: Array,
    column: Array, scaled: Array, crossed: Array,
) -> tuple[float, float]:  # fmt: skip
    """Mean and variance of a margin under q̃ in margin space, given U·vector and its square.

    With S the covariances of the points' margins under q̃, T = diag(τ) and g their covariances with
    this one under r, which go to ``column``: those under q̃ are g − STg, which go to ``crossed``.
    """
    if n > 0:
        multiply_rows(state.products, whole_vectors(n), product, column)
    return with_sites(state, n, dot(vector, state.mean), residual, column, scaled, crossed)


@compiled
def with_sites(
    state: State, n: int, mean: float, residual: float, column: Array, scaled: Array, crossed: Array
) -> tuple[float, float]:
    """The same, given its mean and variance under r, and its covariances in ``column``."""
    if n == 0:
        return mean, smallest_left(residual, residual)
    width = whole_vectors(n)
    write_pulls(state, n, scaled)
    mean += dot_of_row(column, scaled, n)
    for i in range(n):
        scaled[i] = state.site_precisions[i] * column[i]
    multiply_rows(state.covariances, width, scaled[:n], crossed)
    for i in range(n):
        crossed[i] = column[i] - crossed[i]
    variance = residual - dot_of_row(scaled, crossed, n)
    return mean, smallest_left(variance, residual)


@compiled
def smallest_left(variance: float, residual: float) -> float:
    """What is left of a margin's variance under r; rounding may have left too little."""
    return max(variance, SMALLEST, _RESOLUTION * residual)


@compiled
def write_pulls(state: State, n: int, pulls: Array) -> None:
    """Write ν − τm for each site: times a covariance under r, how far it moves a mean."""
    for i in range(n):
        pulls[i] = state.site_shifts[i] - state.site_precisions[i] * state.margins[i]


@dispatched
def along(state: State, n: int, vector: Array, work: Workspace) -> tuple[float, float, float]:
    """Mean and variance of a margin under q̃ with n points, and its variance under r.

    In margin space the covariances with the margins of the points are left in ``work.crossed``
    under q̃ and in ``work.column`` under r, and U·vector in ``work.product``.
    """
    if not in_margin_space(state):
        variance = multiply(state.weight_factor, vector, work.product)
        return dot(vector, state.weight_mean), variance, variance

    residual = residual_product(state, vector, work.product, work)
    mean, variance = from_product(
        state, n, vector, residual, work.product, work.column, work.scaled, work.crossed
    )
    return mean, variance, residual


@dispatched
def along_point(state: State, n: int, work: Workspace) -> tuple[float, float, float]:
    """As `along`, of the point that was written behind the first n."""
    return along(state, n, state.points[n], work)


@compiled
def query(state: State, n: int, vector: Array, work: Workspace) -> tuple[float, float]:
    """Mean and variance of a margin under q̃; cached for a point that comes right after."""
    mean, variance, residual = along(state, n, vector, work)
    if keep_query(vector, work):
        cache = work.cached_query
        cache[0], cache[1], cache[2], cache[3] = 1.0, mean, variance, residual
    return mean, variance


@compiled
def along_next(state: State, n: int, sign: float, work: Workspace) -> tuple[float, float, float]:
    """As `along`, of the point that was written to place n: the prediction for its row.

    A point that is ``sign`` times the row of the cached query has all but the sign in common with
    it.
    """
    if work.cached_query[0] != 0.0 and is_kept_query(state, n, sign, work):
        cache = work.cached_query
        mean, variance, residual = sign * cache[1] + 0.0, cache[2], cache[3]
        apply_sign(work.product, sign)
        apply_sign(work.column, sign)
        apply_sign(work.crossed, sign)
    else:
        mean, variance, residual = along_point(state, n, work)
    work.cached_query[0] = 0.0
    return mean, variance, residual


@compiled
def extend(
    state: State, n: int, mean: float, variance: float, residual: float, work: Workspace
) -> None:
    """Take in the point that was written to place n, with a site of one.

    Call it right after `along_next`, whose results it takes.
    """
    state.site_precisions[n] = 0.0
    state.site_shifts[n] = 0.0
    if in_margin_space(state):
        write_image(state, n, residual, work)
        work.crossed[n] = max(variance, smallest_of(residual, state.margin_noises[n]))
        write_cross(state.covariances, n, work.crossed)
        state.margins[n] = mean
        invalidate(state, n)


@compiled
def drop_point(state: State, j: int, work: Workspace) -> None:
    """Take point j and its site off the list; the last point takes its place.

    The distribution of the other margins under q̃ is what it was: marginalising needs no work.
    """
    last = state.counts[POINTS] - 1
    state.counts[POINTS] = last
    if j < last:
        copy_point(state, last, j)
        state.margin_noises[j] = state.margin_noises[last]
        state.label_noises[j] = state.label_noises[last]
        state.row_numbers[j] = state.row_numbers[last]
        state.site_precisions[j] = state.site_precisions[last]
        state.site_shifts[j] = state.site_shifts[last]
        work.divergences[j] = work.divergences[last]
    if in_margin_space(state):
        state.margins[j] = state.margins[last]
        state.margins[last] = 0.0
        if j < last:
            copy(state.matched[last], state.matched[j])
        drop_image(state, j, last)
        move_last(state.covariances, j, last)
    if state.distances.shape[0] > 0:
        move_last(state.distances, j, last)
        drop_pairs(work, j, last)
