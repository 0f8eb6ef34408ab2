"""What kernels work on: the state and all the memory that learning a row takes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from virtualvector.jit.alignment import Layout
from virtualvector.jit.compiled import compiled, dispatched
from virtualvector.jit.struct_table import reader
from virtualvector.kernels.triangular import whole_vectors
from virtualvector.posterior.settings import CleanSettings, Settings, plain
from virtualvector.posterior.state import State, empty_state
from virtualvector.types import Array, IntArray

# Places in `Workspace.unfinished`: what the last row still needs, see `learn_rows`, and after which
# number of rows the weights drift; 0: not known. Who does it crosses it out.
LAST_ROW, DRIFT = range(2)

_NO_ROWS, _NO_SIGNS = np.zeros((0, 1)), np.zeros(0)
WHOLE = np.zeros(0)  # powers, of rows that are all learned as they are


class Workspace(NamedTuple):
    """Scratch memory, so that no row allocates."""

    vector: Array  # (d,)
    product: Array  # (d,)  Ux
    image: Array  # (d,)  Vx
    other: Array  # (d,)
    merged: Array  # (d,)
    deferred: Array  # (3, d)  a rotation of the residual's factor: see `residual/full.py`
    deferred_step: Array  # (1,)  and how far its mean then moves
    cached_query: Array  # (4,)  whether there is one; the mean, the variances under q̃ and r
    cached_row: Array  # (d,)  that it is about
    probabilities: Array  # (2,)  of its labels, −1 and +1
    column: Array  # (w,)
    scaled: Array  # (w,)
    crossed: Array  # (w,)
    divergences: Array  # (c,)
    saved_precisions: Array  # (c,)  of the sites, to go back to
    saved_shifts: Array  # (c,)
    saved_means: Array  # (c,)  of the margins under q̃, and their variances
    saved_variances: Array  # (c,)
    other_precisions: Array  # (c,)  of the sites that EP has found
    other_shifts: Array  # (c,)
    floors: Array  # (c,)  the smallest variance that a margin can be given
    pair_distances: Array  # (4k,)  the closest pairs, see `reduction/pairs.py`
    pair_reach: Array  # (1,)
    pairs: IntArray  # (4k, 2)
    n_pairs: IntArray  # (1,)
    candidates: IntArray  # (2,)  the point to evict, and the first pair that may rather merge
    unfinished: IntArray  # (2,)  what is due before more is learned


def make_workspace(state: State, settings: Settings) -> Workspace:
    """Return scratch memory that fits the state."""
    return _layout_of_scratch(*state.points.shape, settings).zeros()


@lru_cache(maxsize=512)
def _layout_of_scratch(c: int, d: int, settings: Settings) -> Layout[Workspace]:
    shapes: dict[str, tuple[int, ...]] = {
        "vector": (d,),
        "product": (d,),
        "image": (d,),
        "other": (d,),
        "merged": (d,),
        "deferred": (3, d),
        "deferred_step": (1,),
        "cached_row": (d,),
    } | scratch_over_points(c, settings)
    return Layout(Workspace, shapes, ("pairs", "n_pairs", "candidates", "unfinished"))


def scratch_over_points(capacity: int, settings: Settings) -> dict[str, tuple[int, ...]]:
    """Return the shapes of scratch memory that is the same for every kind of residual."""
    c, k, w = capacity, max(1, settings.merge_pairs), whole_vectors(capacity)
    return {
        "cached_query": (4,),
        "probabilities": (2,),
        "column": (w,),
        "scaled": (w,),
        "crossed": (w,),
        "divergences": (c,),
        "saved_precisions": (c,),
        "saved_shifts": (c,),
        "saved_means": (c,),
        "saved_variances": (c,),
        "other_precisions": (c,),
        "other_shifts": (c,),
        "floors": (c,),
        "pair_distances": (4 * k,),
        "pair_reach": (1,),
        "pairs": (4 * k, 2),
        "n_pairs": (1,),
        "candidates": (2,),
        "unfinished": (2,),
    }


class Events(NamedTuple):
    """What happened, row by row."""

    margin: Array  # standardised, positive for the label, before the row was learned
    log_probability: Array  # of the label, then
    event: IntArray  # kept, evicted, merged, ignored
    lost_row: IntArray  # number of the row that brought the lost point, or −1
    divergence_lost: Array
    precision: Array  # of the site that the residual absorbed by eviction
    shift: Array
    sweeps: IntArray


def no_events(n_rows: int) -> Events:
    """Return empty records for so many rows."""
    events = _layout_of_events(n_rows).zeros()
    events.lost_row[:] = -1
    return events


@lru_cache(maxsize=8)
def _layout_of_events(n_rows: int) -> Layout[Events]:
    shapes = dict.fromkeys(Events._fields, (n_rows,))
    return Layout(Events, shapes, ("event", "lost_row", "sweeps"))


class KernelArguments(NamedTuple):
    """All that kernels work on, and the rows to learn; they are given its address."""

    state: State
    settings: Settings
    work: Workspace
    events: Events
    rows: Array  # (T, d), or (T, d − 1) and a bias
    signs: Array  # (T,)
    powers: Array  # (T,) to which likelihoods are raised, above 0 and up to 1; or none: all are 1
    sure: float = math.inf  # margin beyond which a negative row is not learned


def arguments_for(
    state: State,
    settings: Settings,
    rows: Array = _NO_ROWS,
    signs: Array = _NO_SIGNS,
    powers: Array = WHOLE,
) -> KernelArguments:
    """Return what it takes to learn rows with a state, whose arrays are used up."""
    settings = plain(settings)
    work, events = make_workspace(state, settings), no_events(len(rows))
    return KernelArguments(state, settings, work, events, rows, signs, powers)


_EXAMPLE = arguments_for(empty_state(1, Settings()), Settings())
_full_at = reader(_EXAMPLE)
_clean_at = reader(_EXAMPLE._replace(settings=CleanSettings()))


@dispatched
def arguments_at(address: int) -> KernelArguments:
    """Return what is at an address; of what kind it is, the type of the address says."""
    return _full_at(address)


@compiled
def clean_arguments_at(address: int) -> KernelArguments:
    """Return what is at an address, if it is of a full covariance and without label noise."""
    return _clean_at(address)


@compiled
def parts_at(address: int) -> tuple[State, Settings, Workspace, Events]:
    """Return what the table at an address leads to."""
    whole = arguments_at(address)
    return whole.state, whole.settings, whole.work, whole.events
