"""Precisions in units of a Gaussian N(m₀, V₀), V₀ = U₀ᵀU₀: products and quotients of Gaussians.

With w = m₀ + U₀ᵀa the Gaussian is N(0, I) in a, and another one, N(m, UᵀU), has the precision LLᵀ
with L = U₀U⁻¹, lower triangular as both are. Densities multiply where precisions add up, and only
differences from the identity are rounded: what both have in common drops out before.
"""

from __future__ import annotations

import math

from virtualvector.jit.compiled import compiled, noalias
from virtualvector.kernels.triangular import add_scaled, dot, givens, scale
from virtualvector.types import Array

_MOST_SWEEPS = 60  # some eight do; convergence is quadratic
_OFF = 1e-30  # squares beside the diagonal, of those on it


@noalias
def subtract(target: Array, by: float, row: Array, size: int) -> None:
    """Subtract ``by`` times a row from the first entries of the target."""
    for i in range(size):
        target[i] -= by * row[i]


@compiled
def divide_by_factor(factor: Array, target: Array) -> None:
    """T ← TU⁻¹ in place, for lower triangular T and U."""
    for j in range(target.shape[0]):
        for m in range(j, -1, -1):
            target[j, m] /= factor[m, m]
            subtract(target[j], target[j, m], factor[m], m)


@compiled
def solve_transposed(factor: Array, x: Array) -> None:
    """X ← U⁻ᵀx in place."""
    for j in range(x.shape[0] - 1, -1, -1):
        x[j] /= factor[j, j]
        subtract(x, x[j], factor[j], j)


@compiled
def solve(factor: Array, x: Array) -> None:
    """X ← U⁻¹x in place."""
    for j in range(x.shape[0]):
        x[j] = (x[j] - dot(factor[j, :j], x[:j])) / factor[j, j]


@compiled
def solve_rows(factor: Array, target: Array) -> None:
    """T ← C⁻¹T in place, for lower triangular T and C."""
    for j in range(target.shape[0]):
        for i in range(j):
            subtract(target[j], factor[j, i], target[i], i + 1)
        for i in range(j + 1):
            target[j, i] /= factor[j, j]


@compiled
def add_news(relative: Array, precision: Array) -> None:
    """P ← P + LLᵀ − I, the lower triangle: what one Gaussian knows more than the common one."""
    for i in range(precision.shape[0]):
        for j in range(i):
            precision[i, j] += dot(relative[i, : j + 1], relative[j, : j + 1])
        own = (relative[i, i] - 1.0) * (relative[i, i] + 1.0)
        precision[i, i] += own + dot(relative[i, :i], relative[i, :i])


@compiled
def multiply_lower(factor: Array, x: Array, out: Array) -> None:
    """Add Lx to ``out``."""
    for j in range(x.shape[0]):
        out[j] += dot(factor[j, : j + 1], x[: j + 1])


@compiled
def add_to_lower(matrix: Array, by: float, x: Array) -> None:
    """M ← M + by·xxᵀ, the lower triangle."""
    for i in range(x.shape[0]):
        for j in range(i + 1):
            matrix[i, j] += by * x[i] * x[j]


@compiled
def cholesky(matrix: Array, floor: float, out: Array) -> bool:
    """Write the lower C with CCᵀ = M − floor·I; return whether there is one."""
    for i in range(matrix.shape[0]):
        for j in range(i + 1):
            out[i, j] = matrix[i, j] - dot(out[i, :j], out[j, :j])
            if j < i:
                out[i, j] /= out[j, j]
        pivot = out[i, i] - floor
        if not 0.0 < pivot < math.inf:
            return False
        out[i, i] = math.sqrt(pivot)
    return True


@compiled
def off_diagonal(matrix: Array) -> tuple[float, float]:
    """The sums of squares beside the diagonal, and on it."""
    beside, on = 0.0, 0.0
    for i in range(matrix.shape[0]):
        beside += 2.0 * dot(matrix[i, :i], matrix[i, :i])
        on += matrix[i, i] * matrix[i, i]
    return beside, on


@compiled
def diagonalise(matrix: Array, vectors: Array) -> None:
    """Turn a symmetric matrix M into QᵀMQ, diagonal but for rounding, and rows of Qᵀ along.

    Jacobi's method: one rotation per entry beside the diagonal, to zero, and again from the start.
    """
    d = matrix.shape[0]
    for _ in range(_MOST_SWEEPS):
        beside, on = off_diagonal(matrix)
        if not beside > _OFF * on:
            return
        for p in range(1, d):
            for q in range(p):
                if matrix[p, q] != 0.0:
                    angle = 0.5 * math.atan2(2.0 * matrix[p, q], matrix[q, q] - matrix[p, p])
                    cosine, sine = math.cos(angle), math.sin(angle)
                    givens(matrix[q], matrix[p], d - 1, cosine, sine)
                    for k in range(d):
                        at_q, at_p = matrix[k, q], matrix[k, p]
                        matrix[k, q] = cosine * at_q + sine * at_p
                        matrix[k, p] = cosine * at_p - sine * at_q
                    givens(vectors[q], vectors[p], d - 1, cosine, sine)


@compiled
def leave_out_widening(precision: Array, linear: Array, floor: float, vectors: Array) -> None:
    """Along eigenvectors whose precision is below the floor, put back the common Gaussian.

    There the precision becomes one, and the linear term zero. ``precision`` comes with its lower
    triangle filled, ``vectors`` as the identity; both are used up.
    """
    d = precision.shape[0]
    for i in range(d):
        for j in range(i):
            precision[j, i] = precision[i, j]
    diagonalise(precision, vectors)
    for i in range(d):
        if not precision[i, i] >= floor:
            precision[i, i] = 1.0
            add_scaled(linear, -dot(vectors[i], linear), vectors[i])
        scale(vectors[i], math.sqrt(precision[i, i]))
    for i in range(d):
        for j in range(d):
            precision[i, j] = 0.0
    for i in range(d):
        add_to_lower(precision, 1.0, vectors[i])
