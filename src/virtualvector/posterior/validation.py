"""Whether a state that comes from outside is one: compiled code does not look.

What learning keeps true is tested with room to spare: a thousand times what rows of any length,
contradictions and wrong labels have been seen to lead to.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.linalg.lapack import dtrtri

from virtualvector.kernels.likelihood import LEAST_LABEL_NOISE
from virtualvector.posterior.low_rank_state import AnyState
from virtualvector.posterior.settings import (
    Settings,
    Strategy,
    may_merge,
    most_points,
)
from virtualvector.posterior.site import SMALLEST
from virtualvector.posterior.state import (
    DIVERGENCE_LOST,
    EVICTED,
    IGNORED,
    LOG_EVIDENCE,
    MATCHED_DIVERGENCE,
    MATCHED_EASE,
    MATCHED_VARIANCE,
    MERGED,
    POINTS,
    ROWS,
    SWEEPS,
    UNSETTLED,
    State,
    empty_state,
)
from virtualvector.types import LARGEST_COUNT, Array

# As many sweeps as `EPClassifier` makes by default are fine whatever they cost; more, while all
# that they may multiply, at a row that EP never comes to rest at, is a matter of a tenth of a
# second. A visit costs something however small the matrix is.
_USUAL_SWEEPS = 1000
_MOST_WORK = 1e8
_LEAST_PER_VISIT = 100

# Of the prior's variance, along any direction. Rows narrow it no further than to `SMALLEST` each.
# Without label noise only merging and forgetting ever widen it. With it, and no margin noise, a row
# that comes again and again with either label widens window-EP's by a third each time; that is let
# go on until products would overflow.
NARROWEST = 1e-18
_WIDEST, _WIDEST_WITH_LABEL_NOISE = 1e4, 1e150
# How far a mean is from zero, squared, in the Gaussian's own standard deviations: matching the
# factor of a row adds less than two to it. Where one direction is much wider than others, digits
# are left for its own deviations only. What a site alone would make of r is much further: those
# of rows that contradict each other, with next to no noise, pull in opposite directions.
FARTHEST_PER_ROW = 1e16
_FARTHEST_SITE_PER_ROW = 1e14
_MOST_UNEQUAL = 1e26
_MOST_NOISE = 1e150  # a row with 1e100 is not learned; merging adds up
_LARGEST_LENGTH = 1e10  # of merged points, whose rounding errors grow when they are merged again
_LARGEST_SUM = 1e250
_MOST_DIVERGENCE = 1e3  # of one factor; log((1 − ε)/ε) for the smallest number ε is 744
_OFF = 1e-5  # what may be rounding in numbers that follow from others
_MOST_WORN = 1e-20  # products are computed anew when variances have become 1e-6 of what they were
_LARGEST_CORRELATION = 10.0
_OFF_IN_DEVIATIONS = 1e-3  # q̃ follows every update, and is computed anew after 64 rows
_WELL_CONDITIONED = 1e8
_WORN = (
    0.01  # see `approximation.lost_digits`: what is narrower is computed anew before the next row
)


def check_work(state: AnyState, settings: Settings) -> None:
    """Raise ValueError if EP may take hours for a row: nothing interrupts it."""
    points, weights = len(state.points), len(state.mean)
    visit = max(_LEAST_PER_VISIT, (len(state.gram) or weights) ** 2)
    most = max(_USUAL_SWEEPS, int(_MOST_WORK / (points * visit)))
    if settings.max_sweeps > most:
        raise ValueError(
            f"found max_sweeps = {settings.max_sweeps} over {points} points of {weights} weights; "
            f"expected at most {most}"
        )


def check_state(state: State, settings: Settings) -> None:
    """Raise ValueError unless a state is one that learning with such settings can lead to.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Settings, empty_state
    >>> from virtualvector.posterior.validation import check_state
    >>> state = empty_state(3, Settings())
    >>> check_state(state, Settings())
    >>> check_state(state._replace(mean=np.zeros(2)), Settings())
    Traceback (most recent call last):
    ValueError: found factor of shape (3, 3); expected (2, 2)
    """
    _check_shapes(state, settings)
    for name, array in state._asdict().items():
        if not np.isfinite(array).all():
            raise ValueError(f"found nan or infinity in {name}; expected finite numbers")
    check_counts(state, settings)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = 1.0 + float(state.counts[ROWS])
        _check_gaussian(state.mean, state.factor, rows, settings)
        if len(state.weight_mean):
            _check_gaussian(state.weight_mean, state.weight_factor, rows, settings)
        n = int(state.counts[POINTS])
        check_points(state, settings, state.points[:n])
        products = state.factor @ state.points[:n].T
        gram = products.T @ products
        check_sites(state, settings, rows, np.diagonal(gram))
        if len(state.gram):
            check_images(state, products, gram)
            check_approximation(state, state.points[:n] @ state.mean)


def _check_shapes(state: State, settings: Settings) -> None:
    d, c, g = (len(np.atleast_1d(array)) for array in (state.mean, state.margin_noises, state.gram))
    in_margin_space = g > 0
    # First what bounds the memory of the others.
    large = {
        "factor": (d, d),
        "points": (c, d),
        "mean": (d,),
        "margin_noises": (c,),
        "label_noises": (c,),
    }
    if in_margin_space:
        large["gram"] = (max(c, g), max(c, g))  # there may be room for more than the points
    if may_merge(settings):
        large["distances"] = (c, c)
    for name, shape in large.items():
        _check_shape(name, getattr(state, name).shape, shape)
    if not (d >= 1 and 1 <= c <= most_points(settings)):
        raise ValueError(f"found {d} weights and room for {c} points; expected at least one each")
    for name, shape in _shapes(d, settings, c, in_margin_space).items():
        _check_shape(name, getattr(state, name).shape, shape)


@lru_cache(maxsize=64)
def _shapes(
    n_weights: int, settings: Settings, capacity: int, margin_space: bool
) -> dict[str, tuple[int, ...]]:
    empty = empty_state(n_weights, settings, capacity, margin_space)
    return {name: array.shape for name, array in empty._asdict().items()}


def _check_shape(name: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if found != expected:
        raise ValueError(f"found {name} of shape {found}; expected {expected}")


def check_counts(state: AnyState, settings: Settings) -> None:
    """Check that what was counted adds up."""
    n = int(state.counts[POINTS])
    most = len(state.points)
    if settings.strategy != Strategy.NEVER:
        most = min(most, settings.buffer_size)
    if not 0 <= n <= most:
        raise ValueError(f"found {n} points; expected 0 to {most}")
    found = state.counts.tolist()
    if min(found) < 0 or max(found) > LARGEST_COUNT:
        raise ValueError(f"found counts {found}; expected none below zero")
    rows, sweeps = found[ROWS], found[SWEEPS]
    # Each row is still a point, or was evicted, merged with another or ignored.
    if rows != n + found[EVICTED] + found[MERGED] + found[IGNORED]:
        raise ValueError(f"found counts {found}; expected as many rows as became something")
    # EP runs when a row comes, and once more after a merge.
    most_unsettled = 2 * rows if settings.label_noise > 0.0 else found[EVICTED]
    if found[UNSETTLED] > most_unsettled or sweeps > 2 * settings.max_sweeps * rows:
        raise ValueError(f"found counts {found}; expected no more sweeps than rows allow")
    evidence, lost = state.sums[LOG_EVIDENCE], state.sums[DIVERGENCE_LOST]
    if not -_LARGEST_SUM <= evidence <= 0.0 or abs(lost) > _MOST_DIVERGENCE * rows:
        raise ValueError(f"found sums {state.sums.tolist()} over {rows} rows, out of range")
    row_numbers = state.row_numbers[:n]
    if np.any(row_numbers < 0) or np.any(row_numbers >= rows) or len(np.unique(row_numbers)) < n:
        raise ValueError("found points of rows that did not come; expected a row for each")


def _check_gaussian(mean: Array, factor: Array, rows: float, settings: Settings) -> None:
    """Check N(mean, factorᵀfactor): that it is one, how wide, and how far from the prior."""
    if np.any(np.triu(factor, 1)) or np.any(np.diagonal(factor) <= 0.0):
        raise ValueError(
            "found a factor that is not lower triangular with a positive diagonal; expected that"
        )
    inverse, _ = dtrtri(factor.T)  # of Uᵀ, which lies in memory as Fortran has it
    d, widest = len(mean), _WIDEST_WITH_LABEL_NOISE if settings.label_noise > 0.0 else _WIDEST
    wide, narrow = np.square(factor).sum(), np.square(inverse).sum()  # traces of V and its inverse
    if not (wide <= d * widest and narrow <= d / NARROWEST):
        raise ValueError(
            f"found a posterior wider than {widest:.0e} or narrower than {NARROWEST:.0e} of the "
            "prior; expected one between"
        )
    far = np.square(inverse @ mean).sum()
    if wide * narrow > d * d * _MOST_UNEQUAL:
        far = np.square(mean).sum() / wide
    if not far <= FARTHEST_PER_ROW * rows:
        raise ValueError("found a mean that rows cannot have led to; expected it closer to zero")


def check_points(state: AnyState, settings: Settings, points: Array) -> None:
    """Check points, written out, their noises and distances."""
    n = len(points)
    noises = state.margin_noises[:n]
    lengths = np.linalg.norm(points, axis=1)
    off = _LARGEST_LENGTH if may_merge(settings) else 1.0 + 1e-6
    if not np.all((lengths >= 1.0 / off) & (lengths <= off)):
        raise ValueError("found points of other lengths than one; expected one")
    some = settings.margin_noise > 0.0 or settings.half_life < math.inf
    if np.any(noises < 0.0) or np.any(noises > (_MOST_NOISE if some else 0.0)):
        raise ValueError("found points with noises that rows do not have; expected theirs")
    # Merging makes labels more certain, a weight below one less.
    label_noises, label_noise = state.label_noises[:n], settings.label_noise
    least = LEAST_LABEL_NOISE if may_merge(settings) and label_noise > 0.0 else label_noise
    most = 0.5 if label_noise > 0.0 else 0.0
    if np.any(label_noises < least) or np.any(label_noises > most):
        raise ValueError("found points with label noises that rows do not have; expected theirs")
    if len(state.distances):
        squares = np.square(lengths)
        exact = squares[:, np.newaxis] + squares - 2.0 * points @ points.T
        apart = np.abs(state.distances[:n, :n] - exact)
        if not np.all(apart <= _OFF * (1.0 + squares[:, np.newaxis] + squares)):
            raise ValueError("found distances that points do not have; expected theirs")
        _check_padding("distances", state.distances, n)


def check_sites(state: AnyState, settings: Settings, rows: float, variances: Array) -> None:
    """Check the sites of factors: what a residual would become if it took one in.

    The variances are those of the points' margins under it.
    """
    n = int(state.counts[POINTS])
    precisions, shifts = state.site_precisions[:n], state.site_shifts[:n]
    if np.any(np.abs(precisions) > 1.01 / SMALLEST):
        raise ValueError("found precisions that sites do not have; expected smaller ones")
    if settings.label_noise == 0.0 and np.any(precisions < 0.0):
        raise ValueError("found negative precisions; expected none without label noise")
    pulls = np.square(shifts) * variances / (1.0 + np.abs(precisions) * variances)
    if not np.all(pulls <= _FARTHEST_SITE_PER_ROW * rows):
        raise ValueError("found shifts that sites do not have; expected smaller ones")


def check_images(state: AnyState, products: Array, gram: Array) -> None:
    """Check the images of points under r, which have to be these, and what was matched."""
    n = int(state.counts[POINTS])
    # Rounding errors stay what they were when products were computed, while all else gets smaller.
    widths = np.sqrt(np.maximum(np.diagonal(gram), state.variances_at_refresh[:n]))
    if not np.all(np.abs(state.products[: len(products), :n] - products) <= _OFF * widths):
        raise ValueError("found products that points do not have; expected theirs")
    widths = widths[:, np.newaxis] * widths
    if not np.all(np.abs(state.gram[:n, :n] - gram) <= 10.0 * _OFF * widths):
        raise ValueError("found a gram that points do not have; expected theirs")
    if np.any(state.variances_at_refresh[:n] > np.diagonal(gram) / _MOST_WORN):
        raise ValueError("found products that are too old; expected fresher ones")
    for name in ("gram", "covariances"):
        _check_padding(name, getattr(state, name), n)
    if np.any(state.products[:, n:]) or np.any(state.margins[n:]):
        raise ValueError("found margins behind those of the last point; expected zeros")
    matched = state.matched
    if np.any(state.variances_at_refresh < 0.0) or np.any(
        matched[:, [MATCHED_VARIANCE, MATCHED_EASE]] < 0.0
    ):
        raise ValueError("found negative variances or ease; expected none below zero")
    if np.any(matched[:, MATCHED_DIVERGENCE] > _MOST_DIVERGENCE):
        raise ValueError("found divergences that no factor has; expected smaller ones")


def check_approximation(state: AnyState, under_residual: Array) -> None:
    """Check the margins under q̃, unless they are computed anew before they are used.

    With G and m their covariance and mean under r, T and ν the sites, the mean is
    (I + GT)⁻¹(m + Gν). Sites that narrow leave no variance larger than it is under r.
    """
    n = int(state.counts[POINTS])
    covariances = state.covariances[:n, :n]
    variances = np.diagonal(covariances)
    if np.any(np.abs(covariances) > _WIDEST_WITH_LABEL_NOISE * _LARGEST_LENGTH**2):
        raise ValueError("found covariances that margins do not have; expected smaller ones")
    gram = state.gram[:n, :n]
    if n == 0 or np.any(variances <= _WORN * np.diagonal(gram)):
        return
    widths = np.sqrt(variances)
    if np.any(np.abs(covariances) > _LARGEST_CORRELATION * widths[:, np.newaxis] * widths):
        raise ValueError("found covariances that no margins have; expected smaller ones")
    narrowing = np.all(state.site_precisions[:n] >= 0.0)
    widest = (1.0 + _OFF_IN_DEVIATIONS) * np.diagonal(
        gram
    ) + 2.0 * SMALLEST  # which is given to any
    if narrowing and np.any(variances > widest):
        raise ValueError("found margins that vary more than under the residual; expected less")
    with np.errstate(all="ignore"):
        system = np.eye(n) + gram * state.site_precisions[:n]
        under_r = under_residual + gram @ state.site_shifts[:n]
        if np.linalg.cond(system) < _WELL_CONDITIONED:
            means = np.linalg.solve(system, under_r)
            off = np.abs(state.margins[:n] - means)
            if not np.all(off <= _OFF_IN_DEVIATIONS * (widths + np.abs(means))):
                raise ValueError("found margins that sites do not lead to; expected theirs")


def _check_padding(name: str, matrix: Array, n: int) -> None:
    if np.any(matrix[n:]) or np.any(matrix[:n, n:]):
        raise ValueError(f"found {name} behind those of the last point; expected zeros")
