"""Whether a state that comes from outside is one: compiled code does not look."""

from __future__ import annotations

import math

import numpy as np

from virtualvector.kernels.triangular import Array
from virtualvector.posterior.state import (
    POINTS,
    SEEN_EASE,
    SEEN_VARIANCE,
    Settings,
    State,
    Strategy,
    empty_state,
    may_merge,
    most_points,
)

_MOST_PAIRS = 2**20  # memory is set aside for as many
_LARGEST_COUNT = 2**53


def check_settings(settings: Settings) -> None:
    """Raise ValueError unless the engine can work with settings."""
    allowed = {
        "label_noise": 0.0 <= settings.label_noise < 0.5,
        "margin_noise": 0.0 <= settings.margin_noise < math.inf,
        "buffer_size": 0 <= settings.buffer_size < _LARGEST_COUNT,
        "strategy": settings.strategy in list(Strategy),
        "merge_pairs": 0 <= settings.merge_pairs <= _MOST_PAIRS,
        "tolerance": 0.0 <= settings.tolerance < math.inf,
        "max_sweeps": 0 <= settings.max_sweeps < _LARGEST_COUNT,
        "half_life": settings.half_life > 0.0,
    }
    for name, is_allowed in allowed.items():
        if not is_allowed:
            raise ValueError(f"found {name} = {getattr(settings, name)!r}, out of range")


def check_state(state: State, settings: Settings) -> None:
    """Raise ValueError unless a state is one that learning with such settings can lead to.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.posterior import Settings, empty_state
    >>> from virtualvector.posterior.validity import check_state
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
    n = int(state.counts[POINTS])
    most = len(state.points)
    if settings.strategy != Strategy.NEVER:
        most = min(most, settings.buffer_size)
    if not 0 <= n <= most:
        raise ValueError(f"found {n} points; expected 0 to {most}")
    if np.any(state.counts < 0) or np.any(state.counts > _LARGEST_COUNT):
        raise ValueError(f"found counts {state.counts.tolist()}; expected none below zero")
    _check_factor("factor", state.factor)
    _check_factor("weight_factor", state.weight_factor)
    _check_points(state, n)


def _check_shapes(state: State, settings: Settings) -> None:
    d, c, g = (len(np.atleast_1d(array)) for array in (state.mean, state.noises, state.gram))
    in_margin_space = g > 0
    # First what bounds the memory of the others.
    large = {"factor": (d, d), "points": (c, d), "mean": (d,), "noises": (c,)}
    if in_margin_space:
        large["gram"] = (max(c, g), max(c, g))  # there may be room for more than the points
    if may_merge(settings):
        large["distances"] = (c, c)
    for name, shape in large.items():
        _check_shape(name, getattr(state, name).shape, shape)
    if not (d >= 1 and 1 <= c <= most_points(settings)):
        raise ValueError(f"found {d} weights and room for {c} points; expected at least one each")
    expected = empty_state(d, settings, capacity=c, margin_space=in_margin_space)
    for name, array in expected._asdict().items():
        _check_shape(name, getattr(state, name).shape, array.shape)


def _check_shape(name: str, found: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if found != expected:
        raise ValueError(f"found {name} of shape {found}; expected {expected}")


def _check_factor(name: str, factor: Array) -> None:
    if np.any(np.triu(factor, 1)) or np.any(np.diagonal(factor) <= 0.0):
        raise ValueError(
            f"found {name} that is not lower triangular with a positive diagonal; expected that"
        )


def _check_points(state: State, n: int) -> None:
    lengths = np.linalg.norm(state.points[:n], axis=1)
    if np.any(np.abs(lengths - 1.0) > 1e-6):
        raise ValueError("found points of other lengths than one; expected one")
    if np.any(state.noises[:n] < 0.0) or np.any(state.born[:n] < 0):
        raise ValueError("found points with negative noises or rows; expected none below zero")
    if np.any(state.seen[:n, [SEEN_VARIANCE, SEEN_EASE]] < 0.0):
        raise ValueError("found seen with negative variances or ease; expected none below zero")
    for name in ("gram", "covariances"):
        if np.any(np.diagonal(getattr(state, name))[:n] <= 0.0):
            raise ValueError(f"found {name} with a diagonal that is not positive; expected that")
