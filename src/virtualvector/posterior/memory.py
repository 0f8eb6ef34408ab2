"""What kernels work on: the state and all the memory that learning a row takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from virtualvector.kernels.alignment import aligned_zeros
from virtualvector.kernels.compiled import compiled
from virtualvector.kernels.tables import reader
from virtualvector.kernels.triangular import Array, whole_vectors
from virtualvector.posterior.state import IntArray, Settings, State, empty_state, plain

# Places in `Workspace.unfinished`: what the last row still needs, see `learn_rows`, and after which
# number of rows something is forgotten; 0: nothing, not known. Who does it crosses it out.
LAST_ROW, FORGETTING = range(2)

_NO_ROWS, _NO_SIGNS = np.zeros((0, 1)), np.zeros(0)


class Workspace(NamedTuple):
    """Scratch memory, so that no row allocates."""

    vector: Array  # (d,)
    product: Array  # (d,)  Ux
    image: Array  # (d,)  Vx
    other: Array  # (d,)
    merged: Array  # (d,)
    waiting: Array  # (3, d)  a rotation that the factor has still to follow: see `waiting.py`
    waiting_step: Array  # (1,)  and how far the mean then moves
    looked: Array  # (4,)  whether a row was looked at; its mean, its variances under q̃ and r
    looked_at: Array  # (d,)
    said: Array  # (2,)  the probabilities of its labels, −1 and +1
    column: Array  # (w,)
    scaled: Array  # (w,)
    crossed: Array  # (w,)
    divergences: Array  # (c,)
    precisions: Array  # (c,)  to go back to
    shifts: Array  # (c,)
    floors: Array  # (c,)  the smallest variance that a margin can be given
    pair_distances: Array  # (4k,)  the closest pairs, see `pairs.py`
    pair_reach: Array  # (1,)
    pairs: IntArray  # (4k, 2)
    n_pairs: IntArray  # (1,)
    candidates: IntArray  # (2,)  the point to evict, and the first pair that may rather merge
    unfinished: IntArray  # (2,)  what is due before more is learned


def make_workspace(state: State, settings: Settings) -> Workspace:
    """Return scratch memory that fits the state."""
    c, d = state.points.shape
    k = max(1, settings.merge_pairs)
    w = whole_vectors(c)
    shapes = {
        "vector": (d,),
        "product": (d,),
        "image": (d,),
        "other": (d,),
        "merged": (d,),
        "waiting": (3, d),
        "waiting_step": (1,),
        "looked": (4,),
        "looked_at": (d,),
        "said": (2,),
        "column": (w,),
        "scaled": (w,),
        "crossed": (w,),
        "divergences": (c,),
        "precisions": (c,),
        "shifts": (c,),
        "floors": (c,),
        "pair_distances": (4 * k,),
        "pair_reach": (1,),
        "pairs": (4 * k, 2),
        "n_pairs": (1,),
        "candidates": (2,),
        "unfinished": (2,),
    }
    arrays: dict[str, Any] = dict(zip(shapes, aligned_zeros(*shapes.values()), strict=True))
    for name in ("pairs", "n_pairs", "candidates", "unfinished"):
        arrays[name] = arrays[name].view(np.int64)
    return Workspace(**arrays)


class Events(NamedTuple):
    """What happened, row by row."""

    margin: Array  # standardised, positive for the label, before the row was learned
    log_probability: Array  # of the label, then
    event: IntArray  # kept, evicted, merged, ignored
    lost_row: IntArray  # number of the row that brought the lost point, or −1
    divergence_lost: Array
    precision: Array  # the stand-in that the residual absorbed by eviction
    shift: Array
    sweeps: IntArray


def no_events(n_rows: int) -> Events:
    """Return empty records for so many rows."""
    return Events(
        margin=np.zeros(n_rows),
        log_probability=np.zeros(n_rows),
        event=np.zeros(n_rows, np.int64),
        lost_row=np.full(n_rows, -1, np.int64),
        divergence_lost=np.zeros(n_rows),
        precision=np.zeros(n_rows),
        shift=np.zeros(n_rows),
        sweeps=np.zeros(n_rows, np.int64),
    )


class Memory(NamedTuple):
    """All of it together, and the rows to learn."""

    state: State
    settings: Settings
    work: Workspace
    events: Events
    rows: Array  # (T, d), or (T, d − 1) and a bias
    signs: Array  # (T,)


def memory_for(
    state: State, settings: Settings, rows: Array = _NO_ROWS, signs: Array = _NO_SIGNS
) -> Memory:
    """Return what it takes to learn rows with a state, whose arrays are used up."""
    settings = plain(settings)
    work, events = make_workspace(state, settings), no_events(len(rows))
    return Memory(state, settings, work, events, rows, signs)


memory_at = reader(memory_for(empty_state(1, Settings()), Settings()))


@compiled
def parts_at(memory: int) -> tuple[State, Settings, Workspace, Events]:
    """Return what the table at an address leads to."""
    whole = memory_at(memory)
    return whole.state, whole.settings, whole.work, whole.events
