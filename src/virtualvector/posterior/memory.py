"""What kernels work on: the state and all the memory that learning a row takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from virtualvector.kernels.compiled import compiled
from virtualvector.kernels.tables import reader
from virtualvector.kernels.triangular import Array, whole_vectors
from virtualvector.posterior.state import IntArray, Settings, State, empty_state, plain


class Workspace(NamedTuple):
    """Scratch memory, so that no row allocates."""

    vector: Array  # (d,)
    product: Array  # (d,)  Ux
    image: Array  # (d,)  Vx
    other: Array  # (d,)
    merged: Array  # (d,)
    column: Array  # (w,)
    divergences: Array  # (c,)
    precisions: Array  # (c,)  to go back to
    shifts: Array  # (c,)
    floors: Array  # (c,)  the smallest variance that a margin can be given
    seen_means: Array  # (c,)  the margin when its stand-in was last matched
    seen_variances: Array  # (c,)
    pair_distances: Array  # (k,)
    pairs: IntArray  # (k, 2)


def make_workspace(state: State, settings: Settings) -> Workspace:
    """Return scratch memory that fits the state."""
    c, d = state.points.shape
    k = max(1, settings.merge_pairs)
    return Workspace(
        vector=np.zeros(d),
        product=np.zeros(d),
        image=np.zeros(d),
        other=np.zeros(d),
        merged=np.zeros(d),
        column=np.zeros(whole_vectors(c)),
        divergences=np.zeros(c),
        precisions=np.zeros(c),
        shifts=np.zeros(c),
        floors=np.zeros(c),
        seen_means=np.zeros(c),
        seen_variances=np.zeros(c),
        pair_distances=np.zeros(k),
        pairs=np.zeros((k, 2), np.int64),
    )


class Events(NamedTuple):
    """What happened, row by row."""

    log_probability: Array  # of the label, before the row was learned
    event: IntArray  # kept, evicted, merged, ignored
    lost_row: IntArray  # number of the row that brought the lost point, or −1
    divergence_lost: Array
    precision: Array  # the stand-in that the residual absorbed by eviction
    shift: Array
    sweeps: IntArray


def no_events(n_rows: int) -> Events:
    """Return empty records for so many rows."""
    return Events(
        log_probability=np.zeros(n_rows),
        event=np.zeros(n_rows, np.int64),
        lost_row=np.full(n_rows, -1, np.int64),
        divergence_lost=np.zeros(n_rows),
        precision=np.zeros(n_rows),
        shift=np.zeros(n_rows),
        sweeps=np.zeros(n_rows, np.int64),
    )


class Memory(NamedTuple):
    """All of it together."""

    state: State
    settings: Settings
    work: Workspace
    events: Events


def memory_for(state: State, settings: Settings, n_rows: int = 0) -> Memory:
    """Return what it takes to learn so many rows with a state, whose arrays are used up."""
    settings = plain(settings)
    return Memory(state, settings, make_workspace(state, settings), no_events(n_rows))


memory_at = reader(memory_for(empty_state(1, Settings()), Settings()))


@compiled
def parts_at(memory: int) -> tuple[State, Settings, Workspace, Events]:
    """Return what the table at an address leads to."""
    whole = memory_at(memory)
    return whole.state, whole.settings, whole.work, whole.events
