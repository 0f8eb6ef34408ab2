"""What planes through the origin leave of the unit sphere: its pieces, area and centroid.

Without noise, and in three dimensions, this is the exact posterior: the direction of the weights is
uniform over the part of the sphere where all points have positive margins, and independent of their
length, whose mean is √(8/π).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from virtualvector.types import Array

_MEAN_LENGTH = math.sqrt(8.0 / math.pi)  # E|w| for w ~ N(0, I) in three dimensions
_ON_THE_PLANE = 1e-15  # planes that contradict each other leave no slivers made of rounding
_AXIS = -1  # in place of a point's number: an edge between two octants, not of the region


class Piece(NamedTuple):
    """A convex polygon on the sphere, no wider than an octant."""

    corners: Array  # (k, 3)
    edges: list[int]  # the number of the point whose plane leads from each corner to the next
    normals: Array  # (k, 3)  of these planes, pointing inwards

    @property
    def area(self) -> float:
        """The solid angle: of triangles that share the first corner, by Van Oosterom's formula."""
        first = self.corners[0]
        spokes = self.corners[1:] - first  # small differences keep the digits of small areas
        return sum(
            2.0 * math.atan2(abs(first @ np.cross(a, b)), _four_minus_squares(a, b))
            for a, b in pairwise(spokes)
        )

    @property
    def angles(self) -> Array:
        """The lengths of the edges."""
        chords = np.linalg.norm(np.roll(self.corners, -1, axis=0) - self.corners, axis=1)
        angles: Array = 2.0 * np.arcsin(np.minimum(0.5 * chords, 1.0))
        return angles


def _four_minus_squares(a: Array, b: Array) -> float:
    """Return 1 + xᵀy + yᵀz + zᵀx for unit vectors x, y = x + a and z = x + b."""
    return float(4.0 - 0.5 * (a @ a + b @ b + (a - b) @ (a - b)))


class Region(NamedTuple):
    """What is left of the sphere, in pieces, one for each octant that it reaches into."""

    pieces: tuple[Piece, ...]

    @property
    def area(self) -> float:
        """The solid angle; 4π for the whole sphere."""
        return sum(piece.area for piece in self.pieces)

    @property
    def edges(self) -> list[int]:
        """The numbers of the points whose planes bound the region."""
        return sorted({edge for piece in self.pieces for edge in piece.edges} - {_AXIS})

    @property
    def posterior_mean(self) -> Array:
        """E[w] for w ~ N(0, I) inside.

        By Stokes' theorem the integral of the direction over a polygon is half the sum of its
        edges' inward normals times their lengths.
        """
        integrals = [0.5 * piece.angles @ piece.normals for piece in self.pieces]
        mean: Array = _MEAN_LENGTH * np.sum(integrals, axis=0) / self.area
        return mean


def cut_sphere(points: ArrayLike) -> Region:
    """Return the part of the unit sphere where every point has a positive product.

    The eight octants are cut by one plane after the other; this way there are always polygons to
    cut, also when the region is half the sphere or a lune.

    Parameters
    ----------
    points : array-like of shape (n_points, 3)
        Rows times their labels of ±1; their lengths do not matter.

    Returns
    -------
    Region
        With no pieces if nothing is left.

    Examples
    --------
    >>> import numpy as np
    >>> region = cut_sphere([[0.0, 0.0, 2.0]])
    >>> bool(np.isclose(region.area, 2 * np.pi)), region.edges
    (True, [0])
    >>> region.posterior_mean.round(3)
    array([0.   , 0.   , 0.798])
    """
    array = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    unit = array / np.linalg.norm(array, axis=1, keepdims=True)
    pieces: list[Piece] = [_octant(signs) for signs in product((1.0, -1.0), repeat=3)]
    for number, normal in enumerate(unit):
        cut = (_cut(piece, number, normal) for piece in pieces)
        pieces = [piece for piece in cut if piece is not None]
    return Region(tuple(pieces))


def _octant(signs: Sequence[float]) -> Piece:
    axes = np.diag(signs)
    return Piece(corners=axes, edges=[_AXIS] * 3, normals=np.roll(axes, 1, axis=0))


def _cut(piece: Piece, number: int, normal: Array) -> Piece | None:
    """Return the part of a piece on one side of a plane, or None if there is none."""
    heights = piece.corners @ normal
    inside = heights > _ON_THE_PLANE
    if inside.all():
        return piece
    if not inside.any():
        return None
    # Number the corners from the first one inside: then the ones outside are the last ones.
    start = int(np.flatnonzero(inside & ~np.roll(inside, 1))[0])
    corners, normals, heights = (
        np.roll(array, -start, axis=0) for array in (piece.corners, piece.normals, heights)
    )
    edges = piece.edges[start:] + piece.edges[:start]
    kept = int(inside.sum())

    def crossing(inner: int, outer: int) -> Array:
        corner = heights[inner] * corners[outer] - heights[outer] * corners[inner]
        unit: Array = corner / np.linalg.norm(corner)
        return unit

    return Piece(
        corners=np.vstack([corners[:kept], crossing(kept - 1, kept), crossing(0, -1)]),
        edges=[*edges[:kept], number, edges[-1]],
        normals=np.vstack([normals[:kept], normal, normals[-1]]),
    )
