"""Reductions by themselves, through kernels that take an address, as those of learning do.

A kernel of arrays as Python has them would be compiled from the beginning, and is twice as large.
"""

import numpy as np

from virtualvector.jit.compiled import compiled
from virtualvector.jit.struct_table import StructTable
from virtualvector.posterior.pooling import evict_surplus
from virtualvector.posterior.reduction.divergence import measure_divergences
from virtualvector.posterior.reduction.exact_pair import pair_of
from virtualvector.posterior.reduction.merging import (
    best_merge,
    loses_little,
    may_cost_less,
    may_lose_little,
    merge_points,
    propose,
)
from virtualvector.posterior.reduction.pairs import find_closest_pairs
from virtualvector.posterior.residual.full import flush
from virtualvector.posterior.state import POINTS
from virtualvector.posterior.step import flush_residual, merge_or_evict
from virtualvector.posterior.workspace import arguments_for, parts_at


@compiled
def merge_at(address):
    state, settings, work, _ = parts_at(address)
    measure_divergences(state, work)
    merge = best_merge(state, settings, np.inf, 0, work)
    if merge.first >= 0:
        merge_points(state, merge, work)
    flush(state, work)
    return merge.first


@compiled
def count_underrated(address):
    """How many pairs there are, and how many would cost less than `may_cost_less` allows for."""
    state, settings, work, _ = parts_at(address)
    measure_divergences(state, work)
    pairs, underrated = 0, 0
    for i in range(state.counts[0]):
        for j in range(i):
            pair = pair_of(state, i, j, work)
            cost = propose(pair, i, j).cost
            pairs += np.isfinite(cost)
            underrated += np.isfinite(cost) and not may_cost_less(pair, settings, cost)
    return pairs, underrated


@compiled
def merges_despite(address, limit):
    """How many of the closest pairs would be merged that are passed by, and how many at all."""
    state, settings, work, _ = parts_at(address)
    measure_divergences(state, work)
    merged = passed = 0
    for k in range(find_closest_pairs(state, settings, work)):
        i, j = work.pairs[k, 0], work.pairs[k, 1]
        pair = pair_of(state, i, j, work)
        merge = propose(pair, i, j)
        if merge.first >= 0 and loses_little(pair, merge, limit):
            merged += 1
            passed += not may_lose_little(pair, settings, limit, False)
    return passed, merged


def table_of(state, settings):
    """A state, and the room to work with it and to note what becomes of one row."""
    return StructTable(arguments_for(state, settings, np.zeros((1, len(state.mean))), np.ones(1)))


def merge_closest(state, settings):
    """Merge in place what costs least to merge, whatever it costs; return whether there was any."""
    table = table_of(state, settings)  # which has to live as long as its address is used
    return merge_at(table.address) >= 0


def reduce_by_one(state, settings):
    """Lose a point in place, as learning does; return whether two were merged or might have been.

    Merging two is followed by EP, evicting one is not.
    """
    table = table_of(state, settings)
    may_merge = evict_surplus(table.address, int(state.counts[POINTS]) - 1, False)
    if may_merge:
        merge_or_evict(table.address, 0)
    flush_residual(table.address)
    return may_merge
