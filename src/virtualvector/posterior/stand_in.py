"""The Gaussian stand-in q̃ = r ∏ f̃ᵢ (eq. 9), in whichever space is smaller.

Everything the engine asks of q̃ goes through these functions: the marginal of one margin, a change
of one stand-in factor, one more point, one point less. Only this file knows that there are two
spaces.
"""

from __future__ import annotations

from virtualvector.kernels.compiled import compiled, inlined
from virtualvector.kernels.triangular import (
    Array,
    add_scaled,
    condition,
    copy,
    dot,
    multiply,
    multiply_rows,
    rank_one,
    scale,
    whole_vectors,
)
from virtualvector.posterior.memory import Workspace
from virtualvector.posterior.pairs import forget_pairs
from virtualvector.posterior.state import POINTS, ROWS, SEEN_VARIANCE, State
from virtualvector.posterior.waiting import catch_up, residual_product

# No margin is given a variance below these. Contradictory rows without noise would shrink it
# forever, until the covariance could no longer be told from a singular one.
SMALLEST = 1e-13  # of the prior's variance
# In margin space, of the residual's variance, from which differences are taken; without margin
# noise, so much narrowing by a few points is the first sign of a contradiction.
_RESOLUTION = 1e-6
_RESOLUTION_WITHOUT_NOISE = 1e-3

_SHARP = 1e-4  # a hundred times what was seen to be too little

_WORN_IMAGE = 1e-6
_WORN_MARGIN = 0.01  # every new point multiplies errors by the inverse
_REFRESH_EVERY = 64  # rows
_REPROJECT_EVERY = 1024


@compiled
def in_margin_space(state: State) -> bool:
    """Whether q̃ is kept as the distribution of the margins."""
    return state.gram.shape[0] > 0


@compiled
def unsee(state: State, i: int) -> None:
    """Let a stand-in be matched when its turn comes: it is not what it was last matched to."""
    if in_margin_space(state):
        state.seen[i, SEEN_VARIANCE] = 0.0


@compiled
def too_sharp(state: State, noise: float) -> bool:
    """Whether a row has too little noise for more margins than weights.

    Such rows, if they contradict each other, narrow margins to less than can be told apart there.
    """
    return (
        state.gram.shape[0] > 0 and state.points.shape[0] > state.mean.shape[0] and noise < _SHARP
    )


@inlined
def residual_variance(state: State, i: int, work: Workspace) -> float:
    """The variance of the margin of point i under r."""
    if in_margin_space(state):
        return state.gram[i, i]
    return residual_product(state, state.points[i], work.product, work)


@inlined
def marginal(state: State, i: int, work: Workspace) -> tuple[float, float]:
    """Mean and variance of the margin of point i under q̃; leaves Ub in ``work.product``."""
    if in_margin_space(state):
        return state.margins[i], state.covariances[i, i]
    variance = multiply(state.weight_factor, state.points[i], work.product)
    return dot(state.points[i], state.weight_mean), variance


@compiled
def smallest_variance(state: State, i: int) -> float:
    """The smallest variance that the margin of point i can be given."""
    if not in_margin_space(state):
        return SMALLEST
    return smallest_of(state.gram[i, i], state.noises[i])


@compiled
def smallest_of(variance: float, noise: float) -> float:
    """The same for a margin with such a variance under r, in margin space."""
    share = _RESOLUTION if noise > 0.0 else _RESOLUTION_WITHOUT_NOISE
    return max(SMALLEST, share * variance)


@compiled
def weakened(
    mean: float, variance: float, precision: float, shift: float, floor: float
) -> tuple[float, float]:
    """A factor exp(shift·u − ½·precision·u²) that N(mean, variance) can be multiplied by.

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


@inlined
def covariance(state: State, i: int, j: int, work: Workspace) -> float:
    """The covariance of the margins of two points under q̃."""
    if in_margin_space(state):
        return state.covariances[i, j]
    multiply(state.weight_factor, state.points[i], work.product)
    multiply(state.weight_factor, state.points[j], work.other)
    return dot(work.product, work.other)


@inlined
def residual_covariance(state: State, i: int, j: int, work: Workspace) -> float:
    """The covariance of the margins of two points under r."""
    if in_margin_space(state):
        return state.gram[i, j]
    residual_product(state, state.points[i], work.product, work)
    residual_product(state, state.points[j], work.other, work)
    return dot(work.product, work.other)


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
        condition(state.weight_factor, work.product, precision, work.image)
        add_scaled(state.weight_mean, step, work.image)


@compiled
def absorb_stand_ins(
    mean: Array, factor: Array, points: Array, precisions: Array, shifts: Array,
    product: Array, image: Array,
) -> None:  # fmt: skip
    """Multiply N(mean, factorᵀfactor) by the stand-ins of all points; write back what was used.

    Factors that narrow come first: then every Gaussian on the way is at least as narrow as the
    last one, hence proper.
    """
    for narrowing in (True, False):
        for i in range(points.shape[0]):
            if (precisions[i] > 0.0) == narrowing:
                variance = multiply(factor, points[i], product)
                along = dot(points[i], mean)
                precision, shift = weakened(along, variance, precisions[i], shifts[i], SMALLEST)
                condition(factor, product, precision, image)
                step = (shift - precision * along) / (1.0 + precision * variance)
                add_scaled(mean, step, image)
                precisions[i], shifts[i] = precision, shift


@compiled
def refresh(state: State, work: Workspace) -> None:
    """Build q̃ anew from r and the stand-in factors, as `absorb_stand_ins` does."""
    n = state.counts[POINTS]
    work.looked[0] = 0.0
    catch_up(state, work)
    if not in_margin_space(state):
        copy(state.mean, state.weight_mean)
        for j in range(state.mean.shape[0]):
            copy(state.factor[j], state.weight_factor[j])
        absorb_stand_ins(
            state.weight_mean, state.weight_factor, state.points[:n],
            state.precisions, state.shifts, work.product, work.image,
        )  # fmt: skip
        return
    for i in range(n):
        state.margins[i] = dot(state.points[i], state.mean)
        for j in range(n):
            state.covariances[i, j] = state.gram[i, j]
    for narrowing in (True, False):
        for i in range(n):
            if (state.precisions[i] > 0.0) == narrowing:
                mean, variance = state.margins[i], state.covariances[i, i]
                floor = smallest_variance(state, i)
                precision, shift = weakened(
                    mean, variance, state.precisions[i], state.shifts[i], floor
                )
                move(state, n, i, mean, variance, precision, shift, work)
                if precision != state.precisions[i]:
                    unsee(state, i)
                state.precisions[i], state.shifts[i] = precision, shift


@compiled
def reproject(state: State, work: Workspace) -> None:
    """Compute the margins under r anew from the points, then q̃: drift does not add up."""
    n = state.counts[POINTS]
    if in_margin_space(state):
        for i in range(n):
            state.fresh[i] = residual_product(state, state.points[i], work.product, work)
            write_column(state.products, i, work.product)
            multiply_rows(state.products, i + 1, work.product, work.column)
            write_cross(state.gram, i, work.column)
    refresh(state, work)


@compiled
def worn_out(state: State) -> tuple[bool, bool]:
    """Whether images of points under r, and margins under q̃, have lost too many digits."""
    images, margins = False, False
    if in_margin_space(state):
        for i in range(state.counts[POINTS]):
            # Both are differences, and have lost as many digits as they have become smaller.
            images |= state.gram[i, i] < _WORN_IMAGE * state.fresh[i]
            margins |= state.covariances[i, i] < _WORN_MARGIN * state.gram[i, i]
    return images, margins


@compiled
def is_due(state: State) -> bool:
    """Whether something has to be rebuilt before the next row."""
    images, margins = worn_out(state)
    scheduled = state.counts[ROWS] % _REFRESH_EVERY == 0
    return state.counts[POINTS] > 0 and (scheduled or images or margins)


@compiled
def upkeep(state: State, work: Workspace) -> None:
    """Rebuild what updates have worn out, and everything now and then."""
    images, _ = worn_out(state)
    if images or state.counts[ROWS] % _REPROJECT_EVERY == 0:
        reproject(state, work)
    else:
        refresh(state, work)


@compiled
def along(state: State, n: int, vector: Array, work: Workspace) -> tuple[float, float, float]:
    """Mean and variance of a margin under q̃ with n points, and its variance under r.

    In margin space the covariances with the margins of the points are left in ``work.crossed``
    under q̃ and in ``work.column`` under r, and U·vector in ``work.product``.
    """
    if not in_margin_space(state):
        variance = multiply(state.weight_factor, vector, work.product)
        return dot(vector, state.weight_mean), variance, variance

    residual = residual_product(state, vector, work.product, work)
    mean, variance = dot(vector, state.mean), residual
    if n > 0:
        multiply_rows(state.products, whole_vectors(n), work.product, work.column)
    # With S the covariances under q̃, T = diag(τ), g the covariances under r: those under q̃ are
    # g − S T g.
    for i in range(n):  # not in the loop below: see `write_point`
        mean += work.column[i] * (state.shifts[i] - state.precisions[i] * state.margins[i])
    for i in range(n):
        work.scaled[i] = state.precisions[i] * work.column[i]
    for i in range(n):
        work.crossed[i] = work.column[i] - dot(state.covariances[i, :n], work.scaled[:n])
        variance -= work.scaled[i] * work.crossed[i]
    return mean, max(variance, SMALLEST, _RESOLUTION * residual), residual


@compiled
def look_along(state: State, n: int, vector: Array, work: Workspace) -> tuple[float, float]:
    """Mean and variance of a margin under q̃; kept for a point that comes right after."""
    mean, variance, residual = along(state, n, vector, work)
    copy(vector, work.looked_at)
    work.looked[0], work.looked[1], work.looked[2], work.looked[3] = 1.0, mean, variance, residual
    return mean, variance


@compiled
def was_looked_at(point: Array, sign: float, work: Workspace) -> bool:
    """Whether what `look_along` has kept is about this point, or about its negative."""
    if work.looked[0] == 0.0:
        return False
    different = 0
    for k in range(point.shape[0]):
        different += point[k] != sign * work.looked_at[k]
    return different == 0


@compiled
def extend(state: State, n: int, sign: float, work: Workspace) -> tuple[float, float]:
    """Take in the point that was written to place n, with a stand-in factor of one.

    Returns mean and variance of its margin under q̃: the prediction for the row. A point that is
    ``sign`` times one that was just looked at has all but the sign in common with it.
    """
    state.precisions[n] = 0.0
    state.shifts[n] = 0.0
    if was_looked_at(state.points[n], sign, work):
        mean, variance, residual = sign * work.looked[1], work.looked[2], work.looked[3]
        scale(work.product, sign)
        scale(work.column, sign)
        scale(work.crossed, sign)
    else:
        mean, variance, residual = along(state, n, state.points[n], work)
    work.looked[0] = 0.0
    if in_margin_space(state):
        write_column(state.products, n, work.product)
        work.column[n] = residual
        work.crossed[n] = max(variance, smallest_of(residual, state.noises[n]))
        write_cross(state.gram, n, work.column)
        write_cross(state.covariances, n, work.crossed)
        state.fresh[n] = residual
        state.margins[n] = mean
        unsee(state, n)
    return mean, variance


@compiled
def write_column(matrix: Array, i: int, column: Array) -> None:
    """Write column i."""
    for k in range(column.shape[0]):
        matrix[k, i] = column[k]


@compiled
def write_cross(matrix: Array, i: int, entries: Array) -> None:
    """Write row and column i of a symmetric matrix as far as its diagonal."""
    for k in range(i + 1):
        matrix[i, k] = entries[k]
    for k in range(i):
        matrix[k, i] = entries[k]


@compiled
def _move_last(matrix: Array, target: int, last: int) -> None:
    """Let the last row and column of a symmetric matrix take the place of others, and clear it."""
    matrix[last, target] = matrix[last, last]
    for k in range(last):
        entry = matrix[last, k]
        matrix[target, k] = entry
        matrix[k, target] = entry
        matrix[last, k] = 0.0
        matrix[k, last] = 0.0
    matrix[last, last] = 0.0


@compiled
def forget(state: State, j: int, work: Workspace) -> None:
    """Take point j and its stand-in factor off the list; the last point takes its place.

    The distribution of the other margins under q̃ is what it was: marginalising needs no work.
    """
    last = state.counts[POINTS] - 1
    state.counts[POINTS] = last
    if j < last:
        copy(state.points[last], state.points[j])
        state.noises[j] = state.noises[last]
        state.born[j] = state.born[last]
        state.precisions[j] = state.precisions[last]
        state.shifts[j] = state.shifts[last]
    if in_margin_space(state):
        state.margins[j] = state.margins[last]
        state.margins[last] = 0.0
        state.fresh[j] = state.fresh[last]
        if j < last:
            copy(state.seen[last], state.seen[j])
        for k in range(state.products.shape[0]):
            state.products[k, j] = state.products[k, last]
            state.products[k, last] = 0.0
        _move_last(state.gram, j, last)
        _move_last(state.covariances, j, last)
    if state.distances.shape[0] > 0:
        _move_last(state.distances, j, last)
        forget_pairs(work, j, last)
