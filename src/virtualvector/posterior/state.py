"""What has been learned: a Gaussian and a few virtual points (eqs. 7 and 8).

    q(w) ∝ r(w) ∏ᵢ f(bᵢᵀw),   r = N(mean, factorᵀfactor)

Scale. The prior is N(0, I) and every point has unit length: a row x becomes b = ±x/|x| with its own
noise sᵢ² = s²/|x|², which is the same factor. Nothing under- or overflows for rows of any length,
distances between points need no normalising, and the midpoint of two points is their bisector.

Two spaces. The points act on the weights only through their n margins u = Bw. While there is room
for no more points than weights, the approximation q̃ of q (eq. 9) is kept as the distribution of
those margins; when there are more, as that of the d weights. While all rows have enough noise to
keep margins apart, the limit is twice as many points. Arrays of the other space are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from virtualvector.jit import alignment
from virtualvector.jit.alignment import Layout, clear
from virtualvector.jit.compiled import compiled
from virtualvector.kernels.triangular import whole_vectors
from virtualvector.posterior.settings import Settings, check_settings, may_merge, most_points
from virtualvector.types import Array, IntArray

# Places in `State.counts` and `State.sums`.
POINTS, ROWS, EVICTED, MERGED, IGNORED, SWEEPS, UNSETTLED = range(7)
LOG_EVIDENCE, DIVERGENCE_LOST = range(2)
_COUNTED = {
    "evicted": EVICTED,
    "merged": MERGED,
    "ignored": IGNORED,
    "sweeps": SWEEPS,
    "unsettled": UNSETTLED,
}
# Columns of `State.matched`.
MATCHED_MEAN, MATCHED_VARIANCE, MATCHED_EASE, MATCHED_DIVERGENCE = range(4)


Copied = TypeVar("Copied", bound=tuple[Any, ...])


class State(NamedTuple):
    """The posterior. Arrays over points have room for more of them than ``counts[POINTS]``."""

    # The residual r(w), eq. 8.
    mean: Array  # (d,)
    factor: Array  # (d, d), lower triangular
    # The virtual points bᵢ, eq. 7, and the sites exp(νu − ½τu²) of their factors, eq. 9.
    points: Array  # (c, d)
    margin_noises: Array  # (c,)  sᵢ²
    label_noises: Array  # (c,)  εᵢ
    row_numbers: IntArray  # (c,)  the number of the row that brought the point
    site_precisions: Array  # (c,)  τᵢ
    site_shifts: Array  # (c,)  νᵢ
    # Margin space: the margins under r and under q̃. Rows over points are filled up with zeros to
    # a width w that is a multiple of 16, so that loops over them run at full speed.
    products: Array  # (d, w)  U bᵢ, in columns
    variances_at_refresh: Array  # (c,)  |U bᵢ|² when the product was last computed from U
    gram: Array  # (w, w)  bᵢᵀV bⱼ
    margins: Array  # (w,)  means under q̃
    covariances: Array  # (w, w)  under q̃
    # The margin that each site was last matched at, and what followed from it: see `ep.py`.
    matched: Array  # (c, 4)
    # Weight space: the weights under q̃.
    weight_mean: Array  # (d,)
    weight_factor: Array  # (d, d)
    # Squared distances between points, kept only where points may merge.
    distances: Array  # (c, c)
    counts: IntArray
    sums: Array


@compiled
def in_margin_space(state: State) -> bool:
    """Whether q̃ is kept as the distribution of the margins."""
    return state.gram.shape[0] > 0


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
    check_settings(settings)
    state = layout_at_first(n_weights, settings, capacity, margin_space).zeros()
    _write_ones(state)
    return state


def begin_anew(state: State) -> None:
    """Make a state the prior again, in its own memory."""
    clear(state)
    _write_ones(state)


def _write_ones(state: State) -> None:
    for factor in (state.factor, state.weight_factor):
        factor.reshape(-1)[:: len(factor) + 1] = 1.0


@lru_cache(maxsize=512)
def layout_at_first(
    n_weights: int, settings: Settings, capacity: int = 64, margin_space: bool | None = None
) -> Layout[State]:
    """Return where the arrays of a prior are."""
    d = n_weights
    c = min(capacity, most_points(settings))
    if margin_space is None:
        margin_space = c <= (2 * d if settings.margin_noise > 0.0 else d)
    in_weights = 0 if margin_space else d
    in_margins = c if margin_space else 0
    merging = c if may_merge(settings) else 0
    shapes: dict[str, tuple[int, ...]] = {
        "mean": (d,),
        "factor": (d, d),
        "points": (c, d),
        "products": (d if margin_space else 0, whole_vectors(in_margins)),
        "weight_mean": (in_weights,),
        "weight_factor": (in_weights, in_weights),
        "distances": (merging, merging),
    } | shapes_over_points(c, in_margins)
    return Layout(State, shapes, ("row_numbers", "counts"))


def shapes_over_points(capacity: int, in_margins: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of arrays that are the same for every kind of residual.

    There is room for so many points, and in margin space for as many or none.
    """
    c, width = capacity, whole_vectors(in_margins)
    return {
        "margin_noises": (c,),
        "label_noises": (c,),
        "row_numbers": (c,),
        "site_precisions": (c,),
        "site_shifts": (c,),
        "variances_at_refresh": (in_margins,),
        "gram": (width, width),
        "margins": (width,),
        "covariances": (width, width),
        "matched": (in_margins, 4),
        "counts": (7,),
        "sums": (2,),
    }


def copy_state(state: Copied) -> Copied:
    """Return a state of its own memory."""
    return copied_for_later(state)()


def copied_for_later(state: Copied) -> Callable[[], Copied]:
    """Copy a state; return what makes one of the copy, which takes as long as copying it."""
    arrays = alignment.copied_for_later(state)
    return lambda: state._make(arrays())  # type: ignore[attr-defined]


def counters(states: Iterable[State]) -> dict[str, float]:
    """Return what has happened to the points of some posteriors, summed over them.

    How many were ``evicted``, ``merged`` or ``ignored``, the ``sweeps`` of EP, how often it was
    ``unsettled``, because rows contradicted each other, and the ``divergence_lost``.

    Examples
    --------
    >>> from virtualvector.posterior.settings import Settings
    >>> from virtualvector.posterior.state import counters, empty_state
    >>> counters([empty_state(2, Settings())])["evicted"]
    0
    """
    states = list(states)
    counted = {name: int(sum(s.counts[i] for s in states)) for name, i in _COUNTED.items()}
    return counted | {"divergence_lost": float(sum(s.sums[DIVERGENCE_LOST] for s in states))}
