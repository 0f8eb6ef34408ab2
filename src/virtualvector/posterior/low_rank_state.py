"""A posterior of many weights: a residual of low rank, and points of few non-zeros.

    q(w) ∝ r(w) ∏ᵢ f(bᵢᵀw),   r = N(m, (D + WSWᵀ)⁻¹),   D = diag(η)

Sites that r absorbs are columns of W until there are too many of them; then a cut leaves the
leading directions, as many as the rank says, and adds the squares of the rest to η
(`residual/low_rank.py`, `residual/cut.py`). Its mean is m = a − D⁻¹WC⁻ᵀt: between two cuts a
row changes a at its own non-zeros only, and one number of t for each column.

A cut, too, writes only the rows of W and the entries of a and η whose weights the columns since the
last one know of. For the others it leaves a turn T (L × L) and a lag g: their row of W is wT, and
their entry of a is a − wᵀg/η. What W has lost of them is added to η when they are written again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from virtualvector.jit.alignment import Layout
from virtualvector.jit.lanes import LANES
from virtualvector.jit.struct_table import reader
from virtualvector.kernels.triangular import whole_vectors
from virtualvector.posterior.settings import Settings, check_settings, may_merge, most_points, plain
from virtualvector.posterior.state import State, shapes_over_points
from virtualvector.posterior.workspace import (
    WHOLE,
    Events,
    arguments_at,
    no_events,
    scratch_over_points,
)
from virtualvector.types import Array, IntArray

# Places in `LowRankState.extent`: columns since the last cut, what they have cost, and how many
# cuts there were since the last one that has written all rows of W.
RECENT, COST, CUTS = range(3)

_LEAST_COLUMNS, _MOST_COLUMNS = 16, 512  # between two cuts
PER_ROW = 4  # columns that one row may add: two by a merge, one by an eviction, and one to spare
_BLOCK = 32  # rows of W that are squared at once
_NON_ZEROS = 64  # of points, to begin with
# So many cuts, then one of all rows of W; fewer where turns would be large beside W.
_MOST_TURNS, _WEIGHTS_PER_TURN = 32, 64


class LowRankState(NamedTuple):
    """The posterior. Arrays over points are those of `State`."""

    # The residual r(w).
    mean: Array  # (d,)  a
    diagonal: Array  # (d,)  η
    directions: Array  # (d, L)  the columns of W that the last cut has left, but for turns
    visits: IntArray  # (d,)  which cut has written each of these rows; of rank 0 there are none
    turns: Array  # (e, L, w)  T of each cut, up to now; in whole vectors, as all of width w
    lags: Array  # (e, L)  g
    signs: Array  # (m,)  S, over all columns
    inner: Array  # (m, m)  C, lower triangular, with CSCᵀ = S + WᵀD⁻¹W
    shifts: Array  # (m,)  t
    recent_starts: IntArray  # (m − L + 1,)  where each column since then begins in what follows
    recent_places: IntArray  # (f,)  of its non-zeros
    recent_values: Array  # (f,)
    # The virtual points, of k non-zeros at most.
    points: Array  # (c, k)
    point_places: IntArray  # (c, k)
    point_sizes: IntArray  # (c,)
    margin_noises: Array  # (c,)
    label_noises: Array  # (c,)
    row_numbers: IntArray  # (c,)
    site_precisions: Array  # (c,)
    site_shifts: Array  # (c,)
    products: Array  # (m, w)  C⁻¹WᵀD⁻¹bᵢ, in columns
    variances_at_refresh: Array  # (c,)
    gram: Array  # (w, w)
    margins: Array  # (w,)
    covariances: Array  # (w, w)
    matched: Array  # (c, 4)
    distances: Array  # (c, c)
    extent: IntArray  # (3,)
    counts: IntArray
    sums: Array


if TYPE_CHECKING:
    AnyState = Any  # most functions are for one of them, and nobody asks which at every call
else:
    AnyState = State | LowRankState

INTEGERS = ("visits", "recent_starts", "recent_places", "point_places", "point_sizes",
             "row_numbers", "extent", "counts")  # fmt: skip


def empty_low_rank_state(n_weights: int, settings: Settings, non_zeros: int = 0) -> LowRankState:
    """Return the prior: N(0, I) and no points.

    Parameters
    ----------
    n_weights : int
        How many weights.
    settings : Settings
        With a rank of 0 or more.
    non_zeros : int, optional
        For how many non-zeros of a point there has to be room; more is made when they come.

    Examples
    --------
    >>> from virtualvector.posterior.settings import Settings
    >>> state = empty_low_rank_state(1000, Settings(rank=5, buffer_size=2, margin_noise=1.0))
    >>> state.directions.shape, state.points.shape
    ((1000, 5), (3, 64))
    """
    check_settings(settings)
    check_low_rank(n_weights, settings)
    shapes = low_rank_shapes(n_weights, settings, non_zeros)
    layout: Layout[LowRankState] = Layout(LowRankState, shapes, INTEGERS)
    state, rank = layout.zeros(), settings.rank
    state.diagonal[:] = 1.0
    state.signs[:rank] = 1.0
    np.fill_diagonal(state.turns[0], 1.0)
    np.fill_diagonal(state.inner[:rank, :rank], 1.0)
    return state


def low_rank_shapes(
    n_weights: int, settings: Settings, non_zeros: int
) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all arrays."""
    d, rank, c = n_weights, settings.rank, most_points(settings)
    k = min(d, max(_NON_ZEROS, non_zeros))
    e = columns_between_cuts(d, rank, settings.buffer_size)
    f = 0 if e == 0 else int(min(e * k, 2 * d * (rank + 1))) + PER_ROW * k
    m, merging = rank + e, c if may_merge(settings) else 0
    turns = max(1, min(_MOST_TURNS, d // (_WEIGHTS_PER_TURN * rank))) if rank > 0 else 1
    return {
        "mean": (d,),
        "diagonal": (d,),
        "directions": (d, rank),
        "visits": (d if rank > 0 else 0,),
        "turns": (turns, rank, in_lanes(rank)),
        "lags": (turns, rank),
        "signs": (m,),
        "inner": (m, m),
        "shifts": (m,),
        "recent_starts": (e + 1,),
        "recent_places": (f,),
        "recent_values": (f,),
        "points": (c, k),
        "point_places": (c, k),
        "point_sizes": (c,),
        "products": (m, whole_vectors(c)),
        "distances": (merging, merging),
        "extent": (3,),
    } | shapes_over_points(c, c)


def in_lanes(size: int) -> int:
    """Round up to whole vectors of eight."""
    return -(-size // LANES) * LANES


def columns_between_cuts(d: int, rank: int, n_points: int) -> int:
    """Return for how many columns there is room: until they have cost what a cut does.

    n columns cost about n³/6, a cut d(L + 1)² at most. Without directions and points there are
    none: r takes in each site at once.

    Examples
    --------
    >>> from virtualvector.posterior.low_rank_state import columns_between_cuts
    >>> columns_between_cuts(2000, 20, 0), columns_between_cuts(2000, 0, 0)
    (174, 0)
    """
    if rank == 0 and n_points == 0:
        return 0
    balanced = round((6.0 * d * (rank + 1) ** 2) ** (1.0 / 3.0))
    return min(max(balanced, _LEAST_COLUMNS), _MOST_COLUMNS)


def check_low_rank(n_weights: int, settings: Settings) -> None:
    """Raise ValueError unless a residual of low rank can work with settings.

    A row without noise may leave nothing uncertain along it. What a cut then adds to η would say of
    each of its weights alone what only their sum is known to be. Independent weights, whose
    variances are matched, never know more of one than rows say of it.
    """
    if settings.margin_noise == 0.0 and not settings.independent:
        raise ValueError(
            "found margin_noise = 0 with a covariance of low rank; expected more than 0, or "
            "covariance='full' or 'independent'"
        )
    if most_points(settings) > n_weights:
        raise ValueError(
            f"found room for {min(most_points(settings), 2**31)} points of {n_weights} weights; "
            "expected fewer points than weights, or covariance='full'"
        )


class SparseRows(NamedTuple):
    """Rows by their non-zeros, as in `scipy.sparse.csr_array`: each row's places are sorted."""

    starts: IntArray  # (T + 1,)
    places: IntArray
    values: Array
    n_columns: int


def sparse_rows(rows: Any) -> SparseRows:
    """Return rows as kernels take them: a sparse table, or an array, whose memory is shared."""
    if isinstance(rows, SparseRows):
        return rows
    if isinstance(rows, np.ndarray):
        n, columns = rows.shape
        rows = np.require(rows, np.float64, ["C", "A", "W"])
        places = np.tile(np.arange(columns), n)
        return SparseRows(np.arange(n + 1) * columns, places, rows.reshape(-1), columns)
    starts, places = (
        np.require(array, np.int64, ["C", "A", "W"]) for array in (rows.indptr, rows.indices)
    )
    values = np.require(rows.data, np.float64, ["C", "A", "W"])
    return SparseRows(starts, places, values, rows.shape[1])


class LowRankWorkspace(NamedTuple):
    """Scratch memory, so that no row allocates; arrays over points are those of `Workspace`."""

    dense: Array  # (d,)  zeros, but while a vector is written there
    # Where the entries of columns since the last cut are, by their places: the latest of each place
    # and the one before each entry, counted from 1; whose they are; which places there are, as they
    # came; and how many columns and places that is.
    latest: IntArray  # (d,)
    earlier: IntArray  # (f,)
    owners: IntArray  # (f,)
    touched: IntArray  # (min(d, f),)
    followed: IntArray  # (2,)
    by_visit: Array  # (e, w)  zeros, but while a product is computed
    independent: IntArray  # (1,)  whether variances of weights are matched, not precisions added
    product: Array  # (m,)
    other: Array  # (m,)
    scaled_vector: Array  # (k,)  D⁻¹x by its non-zeros
    held: Array  # (3, k)  vectors by their non-zeros
    held_places: IntArray  # (3, k)
    held_sizes: IntArray  # (3,)
    gram_of_columns: Array  # (m, m)
    four_rows: Array  # (4, m)
    basis: Array  # (L, m)  the leading directions, in rows
    leading: Array  # (m, w)  the same in columns
    square: Array  # (w, w)
    block: Array  # (b, w)  rows of W
    scaled_block: Array  # (b, w)
    places: IntArray  # (b,)  of which weights they are
    squares: Array  # (b,)  |w|² of each, and what else a cut adds up for a weight
    lagging: Array  # (b,)
    taken: Array  # (b,)
    other_basis: Array  # (L, m)
    row: Array  # (w,)
    cached_query: Array
    probabilities: Array
    column: Array
    scaled: Array
    crossed: Array
    divergences: Array
    saved_precisions: Array
    saved_shifts: Array
    saved_means: Array
    saved_variances: Array
    other_precisions: Array
    other_shifts: Array
    floors: Array
    pair_distances: Array
    pair_reach: Array
    pairs: IntArray
    n_pairs: IntArray
    candidates: IntArray
    unfinished: IntArray


_SCRATCH_INTEGERS = ("latest", "earlier", "owners", "touched", "followed", "independent",
                     "places", "held_places", "held_sizes", "pairs", "n_pairs", "candidates",
                     "unfinished")  # fmt: skip


def make_low_rank_workspace(
    state: LowRankState, settings: Settings, rows: SparseRows
) -> LowRankWorkspace:
    """Return scratch memory that fits the state and each of the rows."""
    (c, k), (d, rank), m = state.points.shape, state.directions.shape, len(state.signs)
    k, width = max(k, 1 + int(np.diff(rows.starts).max(initial=0))), in_lanes(rank)
    shapes = {
        "dense": (d,),
        "latest": (d,),
        "earlier": state.recent_places.shape,
        "owners": state.recent_places.shape,
        "touched": (min(d, *state.recent_places.shape),),
        "followed": (2,),
        "by_visit": (len(state.lags), width),
        "independent": (1,),
        "product": (m,),
        "other": (m,),
        "scaled_vector": (k,),
        "held": (3, k),
        "held_places": (3, k),
        "held_sizes": (3,),
        "gram_of_columns": (m, m),
        "four_rows": (4, m),
        "basis": (rank, m),
        "leading": (m, width),
        "square": (width, width),
        "block": (_BLOCK, width),
        "scaled_block": (_BLOCK, width),
        "places": (_BLOCK,),
        "squares": (_BLOCK,),
        "lagging": (_BLOCK,),
        "taken": (_BLOCK,),
        "other_basis": (rank, m),
        "row": (width,),
    } | scratch_over_points(c, settings)
    layout: Layout[LowRankWorkspace] = Layout(LowRankWorkspace, shapes, _SCRATCH_INTEGERS)
    workspace = layout.zeros()
    workspace.independent[0] = settings.independent
    return workspace


class LowRankArguments(NamedTuple):
    """All that kernels work on, and the rows to learn; they are given its address."""

    state: LowRankState
    settings: Settings
    work: LowRankWorkspace
    events: Events
    rows: SparseRows
    signs: Array
    powers: Array
    sure: float = math.inf


class LowRankAddress(NamedTuple):
    """The address of `LowRankArguments`, of a type that says so."""

    address: int = 0


def low_rank_arguments(
    state: LowRankState,
    settings: Settings,
    rows: Any,
    signs: Array,
    powers: Array = WHOLE,
) -> LowRankArguments:
    """Return what it takes to learn rows with a state, whose arrays are used up."""
    settings, rows = plain(settings), sparse_rows(rows)
    work = make_low_rank_workspace(state, settings, rows)
    events = no_events(len(rows.starts) - 1)
    return LowRankArguments(state, settings, work, events, rows, signs, powers)


_EXAMPLE = Settings(rank=0, buffer_size=0, margin_noise=1.0)
_low_rank_at = reader(
    low_rank_arguments(empty_low_rank_state(1, _EXAMPLE), _EXAMPLE, np.zeros((0, 1)), np.zeros(0))
)


@arguments_at.register(LowRankAddress)
def _(address: LowRankAddress) -> LowRankArguments:
    return _low_rank_at(address.address)
