"""Pieces that workers load themselves, in the task that learns them.

A task for each piece, and each piece on its way from one worker to another, take as long as
learning some thousands of rows. So a piece of which nothing is on the cluster goes there as a
recipe: its own small graph, which is computed within a task, as often as it is needed. A thread
keeps what it has loaded last, as the next rows are likely to be of the same piece.
"""

from __future__ import annotations

import io
import pickle
import threading
from collections.abc import Sequence
from typing import Any

import cloudpickle
import dask.core
from dask.delayed import Delayed
from dask.optimization import cull
from distributed.client import futures_of

from virtualvector.dask.pieces import Piece

_LARGEST = 2**20  # bytes of a recipe; what is larger has rows in it, and is sent once


class Recipe:
    """How to load a piece.

    Parameters
    ----------
    key : str
        What no other piece is called.
    graph : bytes
        All tasks that it takes, and which of them gives the piece, pickled.
    """

    def __init__(self, key: str, graph: bytes) -> None:
        self._key, self._graph = key, graph

    def loaded(self) -> Piece:
        """Return the rows, and keep them until this thread loads others."""
        if getattr(_here, "key", None) != self._key:
            _here.key, _here.piece = None, None  # so that there are never two at once
            # One task after the other: to order them first takes longer than most of them.
            _here.piece = dask.core.get(*cloudpickle.loads(self._graph))
            _here.key = self._key
        piece: Piece = _here.piece
        return piece


_here = threading.local()  # what a thread of a worker has loaded last


class Recipes:
    """The recipes of pieces, of which each has a part of one large graph.

    Parameters
    ----------
    pieces : sequence of Delayed
        All of them.

    Examples
    --------
    >>> import dask
    >>> from virtualvector.dask.pieces import Piece
    >>> from virtualvector.dask.recipes import Recipes
    >>> few = dask.delayed(Piece)(dask.delayed(range)(3), [1, 0, 1])
    >>> many = dask.delayed(Piece)(b"rows" * 2**20, [])
    >>> recipes = Recipes([few, many])
    >>> recipes.of(few).loaded()
    Piece(rows=range(0, 3), labels=[1, 0, 1], weights=None)
    >>> recipes.of(many) is None
    True
    """

    def __init__(self, pieces: Sequence[Delayed]) -> None:
        # Pieces of one collection have all of its graph each, by the same layers.
        layers = {id(each): each for piece in pieces for each in piece.dask.layers.values()}
        self._graph: dict[Any, Any] = {}
        for layer in layers.values():
            self._graph.update(layer)

    def of(self, piece: Delayed) -> Recipe | None:
        """Return a recipe, unless there are rows in it or some of it is on the cluster already."""
        graph, _ = cull(self._graph, [piece.key])
        if futures_of(Delayed(piece.key, graph)):
            return None
        written = _Short()
        try:
            cloudpickle.Pickler(written).dump((graph, piece.key))
        except (_TooLong, pickle.PicklingError, AttributeError, TypeError):
            return None  # workers in this process can have what cannot be pickled
        return Recipe(str(piece.key), written.getvalue())


class _TooLong(Exception):
    """More was written than a recipe has."""


class _Short(io.BytesIO):
    """A file for a recipe, so that rows are not written only to see how many they are."""

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > _LARGEST:
            raise _TooLong
        return super().write(data)
