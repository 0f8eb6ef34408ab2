"""Exact posterior means of the weights by Monte Carlo, each with its standard error.

The prior is N(0, I), and a point b, a row times its label of ±1, has the likelihood
ε + (1−2ε)Φ(bᵀw/s), which for s = 0 is the paper's step function (eq. 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.special import gammaln, log_ndtr, ndtr

from virtualvector.learners import EPClassifier
from virtualvector.types import Array

# Independent trajectories or chains: enough to estimate a standard error from, and they advance
# together in one call of numpy.
_CHAINS = 64
_SETTLING_STEPS = 50
_ON_THE_WALL = 1e-300  # as good as zero, but can be divided by
# A reference narrower than the posterior would be slow in the tails; a wider one costs little.
_WIDENING = 2.0


class Estimate(NamedTuple):
    """A Monte Carlo estimate of the mean of the weights."""

    mean: Array
    """The estimated mean, one entry per weight."""
    standard_error: Array
    """The standard error of each entry, from how independent trajectories differ."""
    n_samples: int
    """The number of bounces or samples that the mean is made of."""


def billiard(points: ArrayLike, n_bounces: int = 20_000, seed: int = 0) -> Estimate:
    """Return the mean of w ~ N(0, I) given bᵀw > 0 for all points b, by playing billiards.

    The direction of w is uniform over the part of the unit sphere inside the cone, and independent
    of its length, whose mean is √2 Γ((d+1)/2)/Γ(d/2). A ball that flies along great circles and is
    reflected at the walls bᵀw = 0 as by a mirror spends equal times in equal areas if it is
    ergodic [1]_ [2]_. On a great circle w cos t + v sin t the wall of b is reached at the angle
    atan2(bᵀw, −bᵀv), the integral of the ball's position up to t is w sin t + v(1 − cos t), and the
    reflection is v ← v − 2(bᵀv)b/|b|².

    Two things differ from the published algorithm. The ball stays on the sphere, instead of flying
    along chords whose midpoints are weighted by their arcs. And because in many polygons, symmetric
    ones above all, no single trajectory visits everything, a ball also takes a new random direction
    after exponentially distributed lengths of flight, about twice as long as the cone is wide: that
    leaves uniform directions at uniform places as they are, and visits everything [3]_.

    64 balls start from one central point, found by linear programming; what they do at first is not
    counted.

    Parameters
    ----------
    points : array-like of shape (n_points, n_weights)
        Rows times their labels of ±1; their lengths do not matter.
    n_bounces : int, default=20000
        Number of flights of all balls together, at least; rounded up to a multiple of 64.
    seed : int, default=0
        Seed of the directions.

    Returns
    -------
    Estimate
        The mean, its standard error from the differences between the balls, the number of flights.

    Raises
    ------
    ValueError
        If no weights have positive products with all points.

    References
    ----------
    .. [1] Herbrich, R., Graepel, T. and Campbell, C. (1999). Bayes point machines: estimating the
           Bayes point in kernel space. IJCAI workshop on support vector machines, 23-27.
    .. [2] Ruján, P. (1997). Playing billiards in version space. Neural Computation 9, 99-122.
    .. [3] Gryazina, E. and Polyak, B. (2014). Random sampling: billiard walk algorithm. European
           Journal of Operational Research 238, 497-504.

    Examples
    --------
    In the positive octant every weight has the mean of a Gaussian cut at zero, √(2/π) = 0.798.

    >>> import numpy as np
    >>> from virtualvector.paper.exact.samplers import billiard
    >>> estimate = billiard(np.eye(3))
    >>> bool(np.all(np.abs(estimate.mean - 0.798) < 4 * estimate.standard_error))
    True
    """
    unit, _ = _directions_and_lengths(points)
    size = unit.shape[1]
    if size < 2:
        raise ValueError("Input points has 1 column; expected at least 2: a ball has to fly.")
    rng = np.random.default_rng(seed)
    start = np.tile(_inside(unit), (_CHAINS, 1))
    flights = math.ceil(n_bounces / _CHAINS)
    settling = _SETTLING_STEPS + flights // 8
    # Almost no random turns yet: to see how wide the cone is.
    _, _, start, width = _fly(unit, start, settling, math.pi, rng)
    _, _, start, _ = _fly(unit, start, settling, 2.0 * width, rng)
    integrals, lengths, _, _ = _fly(unit, start, flights, 2.0 * width, rng)

    direction = integrals.sum(axis=0) / lengths.sum()
    # A ratio of two sums over independent balls, to first order in their errors.
    errors = integrals - lengths[:, None] * direction
    variance = np.sum(errors**2, axis=0) * _CHAINS / (_CHAINS - 1)
    standard_error = np.sqrt(variance) / lengths.sum()
    length = _mean_length(size)
    return Estimate(length * direction, length * standard_error, flights * _CHAINS)


def elliptical_slice(
    points: ArrayLike,
    label_noise: float = 0.0,
    margin_noise: float = 0.0,
    n_samples: int = 20_000,
    seed: int = 0,
) -> Estimate:
    """Return the posterior mean of the weights by elliptical slice sampling.

    From weights w the next ones are found on an ellipse w cos θ + ν sin θ through w and a fresh
    draw ν from the prior, by shrinking an interval of angles until the likelihood is above a random
    fraction of its present value [1]_. Where data outweigh the prior the steps are tiny; so, as in
    [2]_, the prior is N(m, S), and N(w; 0, I)/N(w; m, S) a part of the likelihood. Any N(m, S)
    leaves the posterior invariant; here it is EP's, with its covariance doubled. Without margin
    noise the length of w is independent of its direction, and only directions are averaged.

    64 chains start from draws of N(m, S), or, without noise, from one central point inside the
    cone; their first samples are not counted.

    Parameters
    ----------
    points : array-like of shape (n_points, n_weights)
        Rows times their labels of ±1.
    label_noise : float, default=0.0
        The probability ε that a label is wrong whatever the margin, below one half.
    margin_noise : float, default=0.0
        The variance s² of the noise on the margin.
    n_samples : int, default=20000
        Number of samples of all chains together, at least; rounded up to a multiple of 64.
    seed : int, default=0
        Seed of the samples.

    Returns
    -------
    Estimate
        The mean, its standard error from the differences between the chains, the number of samples.

    Raises
    ------
    ValueError
        If there is no noise and no weights have positive products with all points.

    References
    ----------
    .. [1] Murray, I., Adams, R. P. and MacKay, D. J. C. (2010). Elliptical slice sampling.
           AISTATS 13, 541-548.
    .. [2] Nishihara, R., Murray, I. and Adams, R. P. (2014). Parallel MCMC with generalized
           elliptical slice sampling. JMLR 15, 2087-2112.

    Examples
    --------
    One point moves the mean along itself by (1−2ε)√(2/π)|b|/√(|b|² + s²).

    >>> import numpy as np
    >>> from virtualvector.paper.exact.samplers import elliptical_slice
    >>> estimate = elliptical_slice([[0.0, 2.0]], label_noise=0.1, margin_noise=1.0)
    >>> exact = 0.8 * np.sqrt(2 / np.pi) * np.array([0.0, 2 / np.sqrt(5)])
    >>> bool(np.all(np.abs(estimate.mean - exact) < 4 * estimate.standard_error))
    True
    """
    if not (0.0 <= label_noise < 0.5 and margin_noise >= 0.0):
        raise ValueError(
            f"Input label_noise is {label_noise!r} and margin_noise is {margin_noise!r}; expected "
            "0 <= label_noise < 0.5 and margin_noise >= 0."
        )
    unit, lengths = _directions_and_lengths(points)
    rng = np.random.default_rng(seed)
    log_likelihood = _log_likelihood(unit, lengths, float(label_noise), float(margin_noise))
    centre, factor = _reference(points, label_noise, margin_noise)

    noisy = label_noise > 0.0 or margin_noise > 0.0
    inside = None if noisy else np.linalg.norm(centre) * _inside(unit)
    target = _Target(log_likelihood, centre, factor)
    return _average(target, inside, n_samples, margin_noise == 0.0, rng)


class _Target(NamedTuple):
    """A posterior, seen from a Gaussian that is close to it: w = centre + factor·white."""

    log_likelihood: Callable[[Array], Array]
    centre: Array
    factor: Array

    def weights(self, white: Array) -> Array:
        return self.centre + white @ self.factor.T

    def log_density(self, white: Array) -> Array:
        w = self.weights(white)
        ratio = 0.5 * (np.sum(white**2, axis=1) - np.sum(w**2, axis=1))
        density: Array = self.log_likelihood(w) + ratio
        return density


def _average(
    target: _Target,
    inside: Array | None,
    n_samples: int,
    any_length: bool,
    rng: np.random.Generator,
) -> Estimate:
    """Return the mean over chains, which begin anywhere or, if that is given, at a place inside."""
    if inside is not None:
        start = np.linalg.solve(target.factor, inside - target.centre)
        white = np.tile(start, (_CHAINS, 1))
    else:
        white = rng.normal(size=(_CHAINS, len(target.centre)))
    value = target.log_density(white)
    steps = math.ceil(n_samples / _CHAINS)
    for _ in range(_SETTLING_STEPS + steps // 8):
        white, value = _slice_step(white, value, target.log_density, rng)
    total = np.zeros_like(white)
    for _ in range(steps):
        white, value = _slice_step(white, value, target.log_density, rng)
        w = target.weights(white)
        if any_length:
            # Steps say nothing about the length of w, whose mean is known.
            w *= _mean_length(w.shape[1]) / np.linalg.norm(w, axis=1, keepdims=True)
        total += w
    means = total / steps
    standard_error = means.std(axis=0, ddof=1) / math.sqrt(_CHAINS)
    return Estimate(means.mean(axis=0), standard_error, steps * _CHAINS)


def _mean_length(size: int) -> float:
    """Return E|w| for w ~ N(0, I)."""
    return math.sqrt(2.0) * math.exp(gammaln((size + 1) / 2) - gammaln(size / 2))


def _directions_and_lengths(points: ArrayLike) -> tuple[Array, Array]:
    """Return points of unit length, and the lengths they had; a point of zeros stays one."""
    array: Array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.size == 0 or not np.all(np.isfinite(array)):
        raise ValueError(
            f"Input points has the shape {array.shape}; expected finite numbers, a point in each "
            "of one or more rows."
        )
    largest = np.abs(array).max(axis=1)
    scaled = array / np.where(largest > 0.0, largest, 1.0)[:, None]  # squares cannot overflow
    norms = np.sqrt(np.sum(scaled**2, axis=1))
    return scaled / np.where(norms > 0.0, norms, 1.0)[:, None], norms * largest


def _inside(unit: Array) -> Array:
    """Return the direction with the largest smallest product with the points, about."""
    size = unit.shape[1]
    found = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.column_stack([-unit, np.ones(len(unit))]),
        b_ub=np.zeros(len(unit)),
        bounds=[(-1, 1)] * size + [(0, 1)],
    )
    if found.status != 0 or not np.all(unit @ found.x[:size] > 0.0):
        raise ValueError(
            "Input points leave no room: no weights have positive products with all points; "
            "expected separable points, or noise."
        )
    centre: Array = found.x[:size] / np.linalg.norm(found.x[:size])
    return centre


def _fly(
    unit: Array, start: Array, n_flights: int, mean_path: float, rng: np.random.Generator
) -> tuple[Array, Array, Array, float]:
    """Let balls fly, with new directions after paths of some mean length.

    Returns for each ball the integral of its position along its path, the length of the path and
    where it ends; and the longest side of a box around all places where flights ended.
    """
    place = start
    balls = np.arange(len(place))
    course = _random_courses(place, rng)
    remaining = rng.exponential(mean_path, len(place))
    integrals = np.zeros_like(place)
    lengths = np.zeros(len(place))
    low, high = place.min(axis=0), place.max(axis=0)
    for _ in range(n_flights):
        # Rounding can leave a ball behind a wall that it has just met; then it is on the wall.
        heights = np.maximum(place @ unit.T, _ON_THE_WALL)
        slopes = course @ unit.T
        wall = np.argmin(slopes / heights, axis=1)  # the wall met first: -cotangents of the angles
        at = balls, wall
        angle = np.minimum(np.arctan2(heights[at], -slopes[at]), remaining)
        sine, half = np.sin(angle)[:, None], np.sin(angle / 2)[:, None]
        cosine = np.cos(angle)[:, None]
        integrals += place * sine + course * (2.0 * half**2)
        lengths += angle
        place, course = place * cosine + course * sine, course * cosine - place * sine
        normal = unit[wall]
        mirrored = course - 2.0 * np.sum(course * normal, axis=1, keepdims=True) * normal
        turning = angle == remaining
        course = np.where(turning[:, None], _random_courses(place, rng), mirrored)
        remaining = np.where(turning, rng.exponential(mean_path, len(place)), remaining - angle)
        place /= np.linalg.norm(place, axis=1, keepdims=True)
        course = _tangent(course, place)
        low, high = np.minimum(low, place.min(axis=0)), np.maximum(high, place.max(axis=0))
    return integrals, lengths, place, float(np.max(high - low))


def _random_courses(place: Array, rng: np.random.Generator) -> Array:
    return _tangent(rng.normal(size=place.shape), place)


def _tangent(course: Array, place: Array) -> Array:
    """Return courses along the sphere, of unit length."""
    course = course - np.sum(course * place, axis=1, keepdims=True) * place
    tangent: Array = course / np.linalg.norm(course, axis=1, keepdims=True)
    return tangent


def _log_likelihood(
    unit: Array, lengths: Array, label_noise: float, margin_noise: float
) -> Callable[[Array], Array]:
    """Return the logarithm of ∏ ε + (1−2ε)Φ(bᵀw/s) as a function of rows of weights."""
    if margin_noise == 0.0:
        # One wrong label costs as many logarithms as the odds of a right one; ε = 0 forbids it.
        price = math.log(label_noise / (1.0 - label_noise)) if label_noise > 0.0 else -math.inf

        def step(weights: Array) -> Array:
            wrong = np.sum(weights @ unit.T <= 0.0, axis=1)
            value: Array = np.where(wrong > 0, price, 0.0) * np.maximum(wrong, 1)
            return value

        return step
    steepness = np.minimum(lengths / math.sqrt(margin_noise), 1e150)

    def probit(weights: Array) -> Array:
        z = (weights @ unit.T) * steepness
        if label_noise == 0.0:
            factors = log_ndtr(z)
        else:
            factors = np.log(label_noise + (1.0 - 2.0 * label_noise) * ndtr(z))
        value: Array = factors.sum(axis=1)
        return value

    return probit


def _reference(points: ArrayLike, label_noise: float, margin_noise: float) -> tuple[Array, Array]:
    """Return the mean of EP's Gaussian and a factor of its covariance, widened."""
    rows = np.asarray(points, dtype=np.float64)
    model = EPClassifier(
        label_noise=label_noise, margin_noise=margin_noise, fit_intercept=False
    ).partial_fit(rows, np.ones(len(rows), int), classes=[0, 1])
    factor: Array = np.linalg.cholesky(_WIDENING * model.covariance_).astype(np.float64)
    return model.coef_[0], factor


def _slice_step(
    white: Array,
    value: Array,
    log_density: Callable[[Array], Array],
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return the next sample of each chain, and its log-density (figure 2 of Murray et al.)."""
    white, value = white.copy(), value.copy()
    other = rng.normal(size=white.shape)
    level = value - rng.exponential(size=len(value))
    high = rng.uniform(0.0, 2.0 * math.pi, len(value))
    low = high - 2.0 * math.pi
    angle = high.copy()
    start = white.copy()
    pending = np.arange(len(value))
    while pending.size:
        theta = angle[pending, None]
        proposal = start[pending] * np.cos(theta) + other[pending] * np.sin(theta)
        found = log_density(proposal)
        accepted = found >= level[pending]
        done = pending[accepted]
        white[done], value[done] = proposal[accepted], found[accepted]
        pending = pending[~accepted]
        rejected = angle[pending]
        low[pending] = np.where(rejected < 0.0, rejected, low[pending])
        high[pending] = np.where(rejected < 0.0, high[pending], rejected)
        angle[pending] = rng.uniform(low[pending], high[pending])
    return white, value
