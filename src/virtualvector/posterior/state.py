"""What has been learned: a Gaussian and a few virtual points (eqs. 7 and 8).

    q(w) ∝ r(w) ∏ᵢ f(bᵢᵀw),   r = N(mean, factorᵀfactor)

Scale. The prior is N(0, I) and every point has unit length: a row x becomes b = ±x/|x| with its own
noise sᵢ² = s²/|x|², which is the same factor. Nothing under- or overflows for rows of any length,
distances between points need no normalising, and the midpoint of two points is their bisector.

Two spaces. The points act on the weights only through their n margins u = Bw. While there is room
for no more points than weights, the Gaussian stand-in q̃ of q (eq. 9) is kept as the distribution of
those margins; when there are more, as that of the d weights. While all rows have enough noise to
keep margins apart, the limit is twice as many points. Arrays of the other space are empty.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from virtualvector.kernels.alignment import aligned_copies, aligned_zeros
from virtualvector.kernels.triangular import Array, whole_vectors

IntArray = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

# Places in `State.counts` and `State.sums`.
POINTS, ROWS, EVICTED, MERGED, IGNORED, SWEEPS, UNSETTLED = range(7)
LOG_EVIDENCE, DIVERGENCE_LOST = range(2)
# Columns of `State.seen`.
SEEN_MEAN, SEEN_VARIANCE, SEEN_EASE, SEEN_DIVERGENCE = range(4)


class Strategy(IntEnum):
    """Ways to lose a point."""

    DIVERGENCE = 0  # the one whose factor is closest to a Gaussian
    MARGIN = 1  # the one farthest from the decision boundary
    OLDEST = 2  # the one that came first: window-EP
    NEVER = 3  # none: EP


class State(NamedTuple):
    """The posterior. Arrays over points have room for more of them than ``counts[POINTS]``."""

    # The residual r(w), eq. 8.
    mean: Array  # (d,)
    factor: Array  # (d, d), lower triangular
    # The virtual points bᵢ, eq. 7, and the stand-ins exp(νu − ½τu²) of their factors, eq. 9.
    points: Array  # (c, d)
    noises: Array  # (c,)  sᵢ²
    born: IntArray  # (c,)  the number of the row that brought the point
    precisions: Array  # (c,)  τᵢ
    shifts: Array  # (c,)  νᵢ
    # Margin space: the margins under r and under q̃. Rows over points are filled up with zeros to
    # a width w that is a multiple of 16, so that loops over them run at full speed.
    products: Array  # (d, w)  U bᵢ, in columns
    fresh: Array  # (c,)  |U bᵢ|² when the product was last computed from U
    gram: Array  # (w, w)  bᵢᵀV bⱼ
    margins: Array  # (w,)  means under q̃
    covariances: Array  # (w, w)  under q̃
    # What each stand-in was last matched to, and what followed from it: see `propagation.py`.
    seen: Array  # (c, 4)
    # Weight space: the weights under q̃.
    weight_mean: Array  # (d,)
    weight_factor: Array  # (d, d)
    # Squared distances between points, kept only where points may merge.
    distances: Array  # (c, c)
    counts: IntArray
    sums: Array


class Settings(NamedTuple):
    """How to learn."""

    label_noise: float = 0.0  # ε
    margin_noise: float = 0.0  # s², in units of the prior variance
    buffer_size: int = 30  # points kept between rows
    strategy: int = int(Strategy.DIVERGENCE)
    merge_pairs: int = 5  # k, the closest pairs that are tried; 0: never merge
    tolerance: float = 1e-10
    max_sweeps: int = 30
    half_life: float = math.inf  # rows until half is forgotten; infinite: nothing ever is


def in_words(settings: Settings) -> dict[str, float | str]:
    """Return settings by name, for people and for JSON, which knows no infinity."""
    return {
        name: "never" if value == math.inf else value for name, value in settings._asdict().items()
    }


def plain(settings: Settings) -> Settings:
    """Return the same settings as Python numbers: code is compiled for each set of types."""
    kinds = (float, float, int, int, int, float, int, float)
    return Settings._make(kind(value) for kind, value in zip(kinds, settings, strict=True))


def empty_state(
    n_weights: int, settings: Settings, capacity: int = 64, margin_space: bool | None = None
) -> State:
    """Return the prior: N(0, I) and no points.

    The space is the one that takes less time unless ``margin_space`` says otherwise.

    Examples
    --------
    >>> state = empty_state(3, Settings(buffer_size=10))
    >>> state.points.shape, state.covariances.shape, state.weight_factor.shape
    ((11, 3), (0, 0), (3, 3))
    """
    d = n_weights
    c = min(capacity, most_points(settings))
    if margin_space is None:
        margin_space = c <= (2 * d if settings.margin_noise > 0.0 else d)
    in_weights = 0 if margin_space else d
    in_margins = c if margin_space else 0
    width = whole_vectors(in_margins)
    merging = c if may_merge(settings) else 0
    shapes = {
        "mean": (d,),
        "factor": (d, d),
        "points": (c, d),
        "noises": (c,),
        "born": (c,),
        "precisions": (c,),
        "shifts": (c,),
        "products": (d if margin_space else 0, width),
        "fresh": (in_margins,),
        "gram": (width, width),
        "margins": (width,),
        "covariances": (width, width),
        "seen": (in_margins, 4),
        "weight_mean": (in_weights,),
        "weight_factor": (in_weights, in_weights),
        "distances": (merging, merging),
        "counts": (7,),
        "sums": (2,),
    }
    arrays: dict[str, Any] = dict(zip(shapes, aligned_zeros(*shapes.values()), strict=True))
    for name in ("born", "counts"):
        arrays[name] = arrays[name].view(np.int64)
    for name in ("factor", "weight_factor"):
        np.fill_diagonal(arrays[name], 1.0)
    return State(**arrays)


def most_points(settings: Settings) -> int:
    """How many points there can be while a row is learned."""
    if settings.strategy == Strategy.NEVER:
        return np.iinfo(np.int64).max
    return settings.buffer_size + 1


def may_merge(settings: Settings) -> bool:
    """Whether points may ever be merged."""
    return (
        settings.merge_pairs > 0
        and settings.buffer_size > 0
        and settings.strategy in (Strategy.DIVERGENCE, Strategy.MARGIN)
    )


def copy_state(state: State) -> State:
    """Return a state of its own memory."""
    return State._make(aligned_copies(state))
