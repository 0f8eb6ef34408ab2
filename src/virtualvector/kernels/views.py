"""What experts see of rows: their inputs, and cosines and sines of projections of them.

A view has the features of its first projection, the inputs times a number, and the features of its
other projections: whoever has more of these sees the same at the same places, and more behind it.
Squares of inputs come before all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from virtualvector.jit.compiled import compiled
from virtualvector.jit.struct_table import reader
from virtualvector.kernels.fourier import write_fourier_row
from virtualvector.kernels.triangular import dot_of_row, dots_of_four
from virtualvector.types import Array, IntArray

SQUARE = 0.5  # that squares, less their usual value of one, come times
_FAR = 100.0  # from where on both formulas are the same to the last bit
PARTS = 4  # of rows, that may be looked at side by side
LARGEST = 1e150  # of an input and of its scale; a phase this large has long lost its digits


class Projection(NamedTuple):
    """Directions in which rows are looked at."""

    frequencies: Array  # (F, at least as many as there are inputs)


class Viewed(NamedTuple):
    """What one view has of rows."""

    rows: Array  # (T, n)  written to
    projections: IntArray  # which ones there are features of
    scale: float  # that phases come times
    linear_scale: float  # that inputs come times
    n_squares: int  # inputs, the first ones, whose squares come before all
    n_reaching: int  # inputs, the first ones, that are straightened
    reach: float  # deviations up to which they are


class Sight(NamedTuple):
    """Inputs of rows, and all that is made of them."""

    inputs: Array  # (T, n)
    clipped: Array  # (N, n)  of a row of each part, so that no phase overflows
    phases: Array  # (N, P, F)  of a row of each part under each projection
    projections: IntArray  # (P,)  addresses
    views: IntArray  # (V,)  addresses
    last: Array  # (n,)  inputs of the first row when last looked at
    is_known: IntArray  # (1,)  whether the views have that row


_NOTHING, _NOBODY = np.zeros((0, 0)), np.zeros(0, np.int64)
_projection_at = reader(Projection(_NOTHING))
_view_at = reader(Viewed(_NOTHING, _NOBODY, 1.0, 1.0, 0, 0, 1.0))
NO_SIGHT = Sight(
    _NOTHING, _NOTHING, np.zeros((0, 0, 0)), _NOBODY, _NOBODY, np.zeros(0), np.zeros(1, np.int64)
)
sight_at = reader(NO_SIGHT)


@compiled
def project(frequencies: Array, x: Array, phases: Array) -> None:
    """Write ωᵀx for each frequency ω, of which there may be more entries than x has."""
    n = frequencies.shape[0]
    whole = n // 4 * 4
    for k in range(0, whole, 4):
        a, b = frequencies[k], frequencies[k + 1]
        c, d = frequencies[k + 2], frequencies[k + 3]
        dots_of_four(a, b, c, d, x, x.shape[0], phases, k)
    for k in range(whole, n):
        phases[k] = dot_of_row(frequencies[k], x, x.shape[0])


@compiled
def straighten(x: float, reach: float) -> float:
    """Return c · asinh(sinh(x)/c): what c · asinh(u/c) would have been where x is asinh(u).

    That is u itself up to about c deviations, and grows like a logarithm from there on. Far out,
    where sinh(x) is half of an exponential, it is c · (|x| − log c), with the sign of x.

    Examples
    --------
    >>> import math
    >>> [round(straighten(math.asinh(u), 3.0), 2) for u in (-1.0, 0.1, 3.0, 1000.0)]
    [-0.98, 0.1, 2.64, 19.51]
    """
    size = abs(x)
    if size > _FAR:
        far = size - math.log(reach)
    else:
        u = math.sinh(size) / reach
        far = math.log(u + math.sqrt(u * u + 1.0))
    return math.copysign(reach * far, x)


@compiled
def write_view(inputs: Array, phases: Array, view: Viewed, t: int) -> None:
    """Write what a view has of row t."""
    seen, n = view.rows[t], inputs.shape[0]
    size = 2 * phases.shape[1]
    start = view.n_squares
    for part in range(max(view.projections.shape[0], 1)):
        if part < view.projections.shape[0]:
            write_fourier_row(
                phases[view.projections[part]], view.scale, seen[start : start + size]
            )
            start += size
        if part == 0:
            for i in range(n):
                seen[start + i] = view.linear_scale * inputs[i]
            for i in range(min(view.n_reaching, n)):
                seen[start + i] = straighten(inputs[i], view.reach)
            for i in range(view.n_squares):
                x = min(max(seen[start + i], -LARGEST), LARGEST)
                seen[i] = SQUARE * (x * x - 1.0)
            start += n


@compiled
def look(sight: Sight, start: int, stop: int, part: int) -> None:
    """Write what all views have of rows; nothing, of a single one, the first, that they have.

    Parts of the rows may be looked at side by side, each with scratch memory of its own.
    """
    n = sight.inputs.shape[1]
    clipped, phases = sight.clipped[part], sight.phases[part]
    if start == 0 and stop == 1:
        different = 0
        for i in range(n):
            different += sight.inputs[0, i] != sight.last[i]
            sight.last[i] = sight.inputs[0, i]
        if sight.is_known[0] == 1 and different == 0:
            return
    for t in range(start, stop):
        for i in range(n):
            clipped[i] = min(max(sight.inputs[t, i], -LARGEST), LARGEST)
        for p in range(sight.projections.shape[0]):
            project(_projection_at(sight.projections[p]).frequencies, clipped, phases[p])
        for v in range(sight.views.shape[0]):
            write_view(sight.inputs[t], phases, _view_at(sight.views[v]), t)
    if start == 0:
        sight.is_known[0] = stop == 1


@compiled
def look_at(address: int, n_rows: int) -> None:
    """Do so for the first rows, given where the table is."""
    look(sight_at(address), 0, n_rows, 0)
