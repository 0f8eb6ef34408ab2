"""Dask collections as pieces: tables of some rows each, wherever they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import dask
import dask.array
import numpy as np
from dask.delayed import Delayed

from virtualvector.evaluation.judgement import order_of
from virtualvector.types import IntArray, Labels


class Piece(NamedTuple):
    """Some rows, their labels and their weights, on a worker."""

    rows: Any
    labels: Any
    weights: Any = None

    def cut(self, start: int, stop: int) -> Piece:
        """Return some of them."""
        return Piece(*(None if each is None else _cut(each, start, stop) for each in self))


class Pieces(NamedTuple):
    """Lazy pieces, and how many rows each has, as far as that is known without looking."""

    pieces: list[Delayed]
    lengths: list[int] | None


def is_collection(X: Any) -> bool:
    """Whether rows are in a cluster: a Dask collection, or a list of delayed pieces."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(each, Delayed) for each in X)
    return bool(dask.is_dask_collection(X))


def delayed_pieces(X: Any, name: str) -> list[Delayed]:
    """Return the pieces of a collection, each with all columns."""
    if not is_collection(X):
        raise TypeError(
            f"{name} is of type {type(X).__name__}; expected a Dask array, a Dask data frame or a "
            "list of delayed pieces. What is in memory here is for the ordinary estimators."
        )
    if isinstance(X, list | tuple):
        return list(X)
    if isinstance(X, Delayed):
        return [X]
    if isinstance(X, dask.array.Array):
        if X.ndim == 2:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    return list(X.to_delayed())


def known_lengths(X: Any) -> list[int] | None:
    """Return how many rows each piece has, if that is known without looking."""
    if isinstance(X, dask.array.Array) and not any(math.isnan(n) for n in X.chunks[0]):
        return list(X.chunks[0])
    return None


def pieces_of(X: Any, y: Any, sample_weight: Any = None) -> Pieces:
    """Return rows with labels and weights, which have to be cut alike, unless all are arrays."""
    lengths = known_lengths(X)
    pieces = [delayed_pieces(X, "X")]
    for each, name in ((y, "y"), (sample_weight, "sample_weight")):
        if each is None and name != "y":
            pieces.append([dask.delayed(None)] * len(pieces[0]))
            continue
        own = known_lengths(each)
        if own is not None and lengths is not None and own != lengths:
            if sum(own) != sum(lengths):
                raise ValueError(
                    f"X has {sum(lengths)} rows and {name} {sum(own)}; expected as many"
                )
            each = each.rechunk((tuple(lengths),))
        pieces.append(delayed_pieces(each, name))
        if len(pieces[-1]) != len(pieces[0]):
            raise ValueError(
                f"X has {len(pieces[0])} pieces and {name} {len(pieces[-1])}; expected as many, "
                "with the same rows"
            )
    as_piece = dask.delayed(Piece, pure=False)
    return Pieces([as_piece(*each) for each in zip(*pieces, strict=True)], lengths)


def n_rows(piece: Piece) -> int:
    """Return how many rows a piece has, or raise if labels or weights are not as many."""
    # Sparse tables have a shape, but no length.
    counts = [
        each.shape[0] if hasattr(each, "shape") else len(each) for each in piece if each is not None
    ]
    if len(set(counts)) > 1:
        raise ValueError(f"found a piece with {counts[0]} rows and {counts[1:]} labels and weights")
    return counts[0]


class Runs(NamedTuple):
    """The classes in a piece, how often each comes, and in how many runs of equal labels."""

    classes: Labels
    counts: IntArray
    n_runs: int
    ends: Labels  # the first label and the last


def runs_in(piece: Piece) -> Runs:
    """Return the classes of those rows that are not left out, and the order in which they come."""
    labels = np.asarray(piece.labels)
    if piece.weights is not None:
        labels = labels[np.asarray(piece.weights) > 0.0]
    classes, which, counts = np.unique(labels, return_inverse=True, return_counts=True)
    n_runs = int(np.count_nonzero(np.diff(which))) + (len(labels) > 0)
    return Runs(classes, counts, n_runs, labels[[0, -1]] if len(labels) else labels)


def are_in_blocks(pieces: Sequence[Runs]) -> bool:
    """Whether labels come in blocks, piece after piece.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.dask.pieces import Piece, are_in_blocks, runs_in
    >>> pieces = [np.array([0] * 60), np.array([0] * 20 + [1] * 40)]
    >>> are_in_blocks([runs_in(Piece(None, labels)) for labels in pieces])
    True
    >>> are_in_blocks([runs_in(Piece(None, np.array([0, 1, 1, 0, 1, 0, 0, 1])))])
    False
    """
    there = [piece for piece in pieces if piece.n_runs]
    n_joined = sum(one.ends[1] == other.ends[0] for one, other in pairwise(there))
    counts: Counter[Any] = Counter()
    for piece in there:
        counts.update(dict(zip(piece.classes.tolist(), piece.counts.tolist(), strict=True)))
    n_runs = sum(piece.n_runs for piece in there) - int(n_joined)
    return order_of(np.array(list(counts.values()), np.int64), n_runs).in_blocks


def lazily(
    say: Callable[[Any, Any], Any], model: Any, X: Any, dtype: Any, columns: tuple[int, ...]
) -> Any:
    """Return a Dask array of what a model says of each row, computed when it is asked for."""
    pieces = delayed_pieces(X, "X")
    lengths: Sequence[float] = known_lengths(X) or [math.nan] * len(pieces)
    # The model is in the graph once, by a name that no other has.
    model = dask.delayed(model, pure=False)
    predicted = dask.delayed(say, pure=False)
    arrays = [
        dask.array.from_delayed(predicted(model, piece), (length, *columns), dtype=dtype)
        for piece, length in zip(pieces, lengths, strict=True)
    ]
    return dask.array.concatenate(arrays, allow_unknown_chunksizes=True)


def _cut(piece: Any, start: int, stop: int) -> Any:
    if hasattr(piece, "iloc"):
        return piece.iloc[start:stop]
    # Tables of Arrow.
    return piece.slice(start, stop - start) if hasattr(piece, "num_rows") else piece[start:stop]
