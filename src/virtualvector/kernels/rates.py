"""How often a place is not zero in rows of each class: what that says of a row, and counting."""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled
from virtualvector.types import Array, IntArray

LARGEST_UNIT = 2.0**200  # a row counts as much at most; a power of two, so that nothing is rounded
_SMALLEST_PRODUCT = 1e-200  # of rates whose logarithm is taken at once


@compiled
def say_and_count(
    starts: IntArray, places: IntArray, values: Array, observed: IntArray, powers: Array,
    counts: Array, rows: Array, unit: Array, growth: float, learn: bool, work: Array, said: Array,
) -> None:  # fmt: skip
    """Write probabilities of classes by the places that are not zero; then, if ``learn``, count.

    Of n rows of a class, c had something at a place. The rate there has a prior that counts as one
    row and whose mean is the rate r over all classes, so that it is (c + r)/(n + 1) at the mean,
    and a class that has not come yet says nothing. The probabilities of a row with m places are

        p_k ∝ [(n_k + 1) ∏ᵢ (c_ik + r_i)/(n_k + 1)]^(1/m),   r_i = (Σ_k c_ik + ½)/(Σ_k n_k + 1):

    naive Bayes (Maron 1961), but that all places together count as one. They are not independent,
    and how many of them are worth one that is, who pools opinions finds out.

    Parameters
    ----------
    starts, places, values
        Rows by their non-zeros, as `SparseRows` has them.
    observed : array of shape (T,)
        The number of the class that came; not looked at unless ``learn``.
    powers : array of shape (T,) or (0,)
        How much each row counts. If there are none, all count in full.
    counts, rows, unit : array of shape (d, K), (K,) and (1,)
        c and n, where one row that comes now counts as much as ``unit``; changed in place.
    growth : float
        How much more the next row counts: what is old counts less.
    learn : bool
        Whether to count.
    work : array of shape (3, K)
        Scratch memory.
    said : array of shape (T, K)
        Written to.
    """
    n_classes = rows.shape[0]
    logs, products, inverses = work[0], work[1], work[2]
    for t in range(starts.shape[0] - 1):
        one, n_rows, n_places = unit[0], 0.0, 0
        for k in range(n_classes):
            n_rows += rows[k]
            logs[k], products[k], inverses[k] = math.log(rows[k] + one), 1.0, 1.0 / (rows[k] + one)
        scale = one / (n_rows + one)
        for j in range(starts[t], starts[t + 1]):
            if values[j] == 0.0:
                continue
            n_places += 1
            here, total = counts[places[j]], 0.0
            for k in range(n_classes):
                total += here[k]
            rate = scale * (total + 0.5 * one)
            for k in range(n_classes):
                products[k] *= (here[k] + rate) * inverses[k]
                if products[k] < _SMALLEST_PRODUCT:
                    logs[k] += math.log(products[k])
                    products[k] = 1.0
        _write_shares(logs, products, 1.0 / max(n_places, 1), said[t])
        if learn:
            counted = one if powers.shape[0] == 0 else one * powers[t]
            rows[observed[t]] += counted
            for j in range(starts[t], starts[t + 1]):
                if values[j] != 0.0:
                    counts[places[j], observed[t]] += counted
            unit[0] = one * growth
            if unit[0] > LARGEST_UNIT:
                _count_in_larger_units(counts, rows, unit)


@compiled
def _write_shares(logs: Array, products: Array, power: float, said: Array) -> None:
    """Write exp(power·(log + log product)), over the sum."""
    largest, total = -math.inf, 0.0
    for k in range(logs.shape[0]):
        logs[k] = power * (logs[k] + math.log(products[k]))
        largest = max(largest, logs[k])
    for k in range(logs.shape[0]):
        said[k] = math.exp(logs[k] - largest)
        total += said[k]
    for k in range(logs.shape[0]):
        said[k] /= total


@compiled
def _count_in_larger_units(counts: Array, rows: Array, unit: Array) -> None:
    for k in range(rows.shape[0]):
        rows[k] /= LARGEST_UNIT
        for i in range(counts.shape[0]):
            counts[i, k] /= LARGEST_UNIT
    unit[0] /= LARGEST_UNIT
