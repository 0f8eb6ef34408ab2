"""The exact posterior with label noise, of two or three weights, for `label_noise.py`.

A step says nothing of the length of w: only directions are drawn.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array = NDArray[np.float64]


def exact_mean(points: Array, label_noise: float, seed: int) -> tuple[Array, Array]:
    """The posterior mean of three weights and its standard error, by importance sampling.

    Directions are drawn from angular central Gaussians, each fitted to the weighted draws of the
    one before, beginning with all directions alike; one draw in ten is from all directions.
    """
    rng = np.random.default_rng(seed)
    points = points / np.linalg.norm(points, axis=1, keepdims=True)
    odds = math.log1p(-label_noise) - math.log(label_noise)
    centre, spread = np.zeros(3), np.eye(3)
    for n in (50_000, 20_000, 20_000, 100_000):
        n_wide = n // 10 if centre.any() else n
        narrow = centre + rng.normal(size=(n - n_wide, 3)) @ np.linalg.cholesky(spread).T
        draws = np.vstack([rng.normal(size=(n_wide, 3)), narrow])
        draws /= np.linalg.norm(draws, axis=1, keepdims=True)
        right = np.zeros(n)
        for k in range(0, len(points), 50):
            right += (draws @ points[k : k + 50].T > 0.0).sum(axis=1)
        log_weights = odds * right - np.log(proposal_density(draws, centre, spread, n_wide / n))
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        mean = weights @ draws
        error = np.sqrt(np.square(weights) @ np.square(draws - mean))
        # In the plane beside the mean the draws are spread as the posterior is, and half as much
        # again; along it they are of length one.
        off = draws - mean
        centre = mean / np.linalg.norm(mean)
        spread = 2.0 * (off.T * weights) @ off + 1e-9 * np.eye(3)
    length = 2.0 * math.sqrt(2.0 / math.pi)  # of three standard normal numbers
    return length * mean, length * error


def proposal_density(draws: Array, centre: Array, spread: Array, wide: float) -> Array:
    """The density, with respect to all directions alike, of N(centre, spread) without its length.

    ∫ r² N(ru; c, S) dr in closed form, times the 4π of the sphere.
    """
    if not centre.any():
        return np.ones(len(draws))
    precision = np.linalg.inv(spread)
    a = np.einsum("ij,jk,ik->i", draws, precision, draws)
    b = draws @ precision @ centre
    c = centre @ precision @ centre
    # ∫₀^∞ r² exp(−½(ar² − 2br + c)) dr
    t = b / np.sqrt(a)
    tail = math.sqrt(2.0 * math.pi) * ndtr(t) * np.exp(0.5 * (t * t - c))
    integral = ((1.0 + t * t) * tail + t * math.exp(-0.5 * c)) / a**1.5
    scale = math.sqrt(np.linalg.det(precision)) / (2.0 * math.pi) ** 1.5
    narrow: Array = 4.0 * math.pi * scale * integral
    return wide + (1.0 - wide) * narrow


def directions(d: int) -> Array:
    """Directions all over the circle or the sphere, at equal distances."""
    n = 40_000
    if d == 2:
        angle = 2.0 * math.pi * (np.arange(n) + 0.5) / n
        return np.column_stack([np.cos(angle), np.sin(angle)])
    height = 1.0 - (2.0 * np.arange(n) + 1.0) / n
    angle = math.pi * (1.0 + math.sqrt(5.0)) * np.arange(n)
    radius = np.sqrt(1.0 - height**2)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])


def exact_evidence(rows: Array, signs: Array, label_noise: float) -> Array:
    """Log-probability of every label given those before it, on the grid of directions."""
    grid = directions(rows.shape[1])
    weights = np.full(len(grid), 1.0 / len(grid))
    evidence = np.empty(len(rows))
    for t, (row, sign) in enumerate(zip(rows, signs, strict=True)):
        weights = weights * np.where(sign * (grid @ row) > 0.0, 1.0 - label_noise, label_noise)
        total = weights.sum()
        evidence[t] = math.log(total)
        weights /= total
    return evidence
