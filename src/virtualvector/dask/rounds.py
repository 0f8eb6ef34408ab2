"""Rounds on a cluster: tasks are pure functions of a model and some rows.

The client plans, and keeps nothing but the model: it goes out, and comes back after some rounds
that went on from each other. Rows stay on the workers, which load them when their round has come.
What a worker that died had done is done again by another, from the same model and rows, to the same
bits.

Who begins a span puts together what all shards of the round before know, each worker by itself: to
do that in one place would take longer, as what comes of it had to go out to all others again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import accumulate, groupby, islice
from operator import itemgetter
from time import monotonic
from typing import Any, NamedTuple
from uuid import uuid4

import dask
import numpy as np
from distributed import Client
from scipy.sparse import issparse

from virtualvector.auto.classifier import AutoVVMClassifier
from virtualvector.dask.cluster import (
    check_here,
    environment,
    in_turn,
    noticing_loss,
    result_of,
    submitted,
    wait_for,
)
from virtualvector.dask.pieces import Piece, Pieces, Runs, n_rows, runs_in
from virtualvector.dask.recipes import Recipe, Recipes
from virtualvector.dask.together import Shard, Start, begun, known, pooled, put_together
from virtualvector.learners.rounds import Span, rounds, rows_alone

# Seconds in which rounds go on from each other on the cluster, before the model comes to the
# client: what is lost there is made anew from then on. It takes some hundredths of a second.
LINKED = 10.0
# If a round has more shards, one task puts them together for all: else each of so many workers
# would ask as many for what they know.
FEW = 16
# Rows of rounds that are submitted before they are learned, but for the next round. The first ones
# are short: while they are learned the client would take as long to prepare the next.
_AHEAD = 2**17


class Outcome(NamedTuple):
    """What was learned, and what was predicted of rows: a future for each piece, and its rows."""

    model: Any
    predicted: list[Any]
    lengths: list[int]


class Predicted(NamedTuple):
    """What was predicted of rows: labels, and probabilities of the classes that were known."""

    labels: Any
    probabilities: Any
    classes: Any

    def of_classes(self, classes: Any) -> Any:
        """Return the probabilities of classes of which some were not known then."""
        whole = np.zeros((len(self.probabilities), len(classes)))
        whole[:, np.searchsorted(classes, self.classes)] = self.probabilities
        return whole


class UnderWay(NamedTuple):
    """A round that is being learned: its spans, and futures of what comes of them."""

    spans: list[Span]
    shards: list[Any]


class Cut(NamedTuple):
    """Which rows of a piece, and what to call them."""

    start: int
    stop: int
    place: str


def learned(
    before: Sequence[Shard],
    pieces: Sequence[Any],
    cuts: Sequence[Cut],
    classes: Any,
    start: Start | None,
    expected: dict[str, str],
) -> Shard:
    """Return a shard that has learned rows of some pieces, which may be recipes.

    It goes on from all shards of the round before, if it is at the ``start`` of one; from one
    shard of the same round if it is not.
    """
    shard, model, classes = _own(before, classes, start, expected)
    for piece, place in _cut(pieces, cuts):
        with _saying(place):
            _check_kind(model, piece)
            model.partial_fit(piece.rows, piece.labels, classes, piece.weights)
        classes = None
    return shard._replace(model=model)


def predicted_then_learned(
    before: Sequence[Shard],
    pieces: Sequence[Any],
    cuts: Sequence[Cut],
    classes: Any,
    start: Start | None,
    expected: dict[str, str],
) -> tuple[Shard, list[Predicted]]:
    """Return the same, and what was predicted of each row before it was learned."""
    shard, model, classes = _own(before, classes, start, expected)
    predicted = []
    for piece, place in _cut(pieces, cuts):
        with _saying(place):
            _check_kind(model, piece)
            found = model.predict_then_learn(piece.rows, piece.labels, classes, piece.weights)
        predicted.append(Predicted(found.labels, found.probabilities, model.classes_))
        classes = None
    return shard._replace(model=model), predicted


def _check_kind(model: Any, piece: Piece) -> None:
    if isinstance(model, AutoVVMClassifier) and issparse(piece.rows):
        raise TypeError(
            "found a sparse table, which committees on a cluster do not learn; expected a dense "
            "one. DaskADFClassifier and DaskVVMClassifier learn sparse tables; and what "
            "AutoVVMClassifier has learned of each can be pooled by virtualvector.pool"
        )


def _cut(pieces: Sequence[Any], cuts: Sequence[Cut]) -> Iterator[tuple[Piece, str]]:
    """Yield rows of one piece at a time, and what to call them."""
    for piece, (start, stop, place) in zip(pieces, cuts, strict=True):
        rows = piece.loaded() if isinstance(piece, Recipe) else piece
        yield rows.cut(start, stop), place


def prediction(both: tuple[Shard, list[Predicted]], k: int) -> Predicted:
    """Return what was predicted of one of the pieces."""
    return both[1][k]


class Rounds:
    """Rows of some pieces, learned round by round.

    Parameters
    ----------
    client : distributed.Client
        Where.
    pieces : Pieces
        What.
    shards : int
        Into how many spans a round is cut.
    """

    def __init__(self, client: Client, pieces: Pieces, shards: int) -> None:
        self._client, self._pieces, self._shards = client, pieces.pieces, shards
        self._expected = environment()
        self._recipes = Recipes(self._pieces)
        self._loaded: dict[int, Any] = {}
        lengths = pieces.lengths
        if lengths is None:
            lengths = self._of_each(n_rows)
        self._bounds = list(accumulate(lengths, initial=0))
        if self._bounds[-1] == 0:
            raise ValueError("found no rows; expected one at least")

    def runs(self) -> list[Runs]:
        """Return the classes of each piece, and in which order they come."""
        return self._of_each(runs_in)

    def _of_each(self, count: Callable[[Piece], Any]) -> list[Any]:
        """Return something small of every piece; none is kept for that."""
        lazy = [dask.delayed(count, pure=False)(piece) for piece in self._pieces]
        with noticing_loss("while they were counted"):
            futures = self._client.compute(lazy)
            wait_for(self._client, futures)
            found: list[Any] = self._client.gather(futures)
        return found

    def learn(self, model: Any, predict: bool, classes: Any) -> Outcome:
        """Learn all rows; tell what was predicted of each before it was learned, if asked to."""
        n_seen = 0 if model._route is None else model.n_seen_
        done, linked_at = Outcome(model, [], []), monotonic()
        shards = [self._submit(known, model, self._expected)]
        under_way: deque[UnderWay] = deque()
        decides = isinstance(model, AutoVVMClassifier)
        plan = rounds(n_seen, self._bounds[-1], self._shards, decides=decides)
        places = self._places()
        for spans in plan:
            while len(under_way) > 1 and spans[-1].stop - under_way[0].spans[0].start > _AHEAD:
                self._ended(under_way.popleft())
                places = self._places()
            if under_way and monotonic() - linked_at >= LINKED:
                for span in spans:
                    self._parts(span)  # which takes a while, and then nobody has anything to do
                model, linked_at = self._whole(under_way), monotonic()
                shards = [self._submit(known, model, self._expected)]
            alone = self._shards == 1 or n_seen + spans[0].start < rows_alone()
            start = Start(uuid4().hex, len(spans), alone)
            each = zip(spans, places, strict=False)
            task = (shards, classes, predict, done)
            shards = [
                self._shard(span, worker, start._replace(is_first=k == 0), *task)
                for k, (span, worker) in enumerate(each)
            ]
            if len(shards) > FEW:
                shards = [self._submit(put_together, shards)]
            under_way.append(UnderWay(spans, shards))
        return done._replace(model=self._whole(under_way))

    def _places(self) -> list[str | None]:
        """Return who learns each shard."""
        return list(islice(in_turn(self._client), self._shards))

    def _whole(self, under_way: deque[UnderWay]) -> Any:
        """Return what is known once all rounds that are under way have ended."""
        last = under_way[-1]
        whole = self._submit(pooled, last.shards)
        while under_way:
            self._ended(under_way.popleft())
        with noticing_loss(_from(last.spans)):
            return result_of(self._client, whole)

    def _ended(self, under_way: UnderWay) -> None:
        """Wait for the end of a round, and let go of its rows; what is known stays where it is."""
        spans, shards = under_way
        with noticing_loss(_from(spans)):
            wait_for(self._client, shards)
            for shard in shards:
                if shard.status != "finished":
                    shard.result()  # which raises
        self._unload(spans[-1].stop)

    def _shard(
        self,
        span: Span,
        worker: str | None,
        start: Start | None,
        before: list[Any],
        classes: Any,
        predict: bool,
        done: Outcome,
    ) -> Any:
        """Return the future of a shard that has learned a span."""
        # What workers load themselves is one task; what is on the cluster goes piece by piece.
        for is_recipe, group in groupby(
            self._parts(span), lambda part: isinstance(part[0], Recipe)
        ):
            parts = list(group)
            for some in [parts] if is_recipe else [[part] for part in parts]:
                pieces, cuts = zip(*some, strict=True)
                at = worker if is_recipe else None  # others are best learned where they are
                task = (before, list(pieces), list(cuts), classes, start, self._expected)
                if predict:
                    both = self._submit(predicted_then_learned, *task, at=at)
                    before = [self._submit(itemgetter(0), both)]
                    done.predicted.extend(
                        self._submit(prediction, both, k) for k in range(len(cuts))
                    )
                    done.lengths.extend(cut.stop - cut.start for cut in cuts)
                else:
                    before = [self._submit(learned, *task, at=at)]
                start = classes = None
        return before[0]

    def _submit(self, function: Any, *arguments: Any, at: str | None = None) -> Any:
        return submitted(self._client, function, *arguments, at=at)

    def _parts(self, span: Span) -> list[tuple[Any, Cut]]:
        """Return what a span has of each piece."""
        k, parts = bisect_right(self._bounds, span.start) - 1, []
        while k < len(self._pieces) and self._bounds[k] < span.stop:
            first, last = self._bounds[k : k + 2]
            start, stop = max(first, span.start) - first, min(last, span.stop) - first
            if start < stop:
                place = f"piece {k} of the rows, from its row {start} on"
                parts.append((self._load(k), Cut(start, stop, place)))
            k += 1
        return parts

    def _load(self, k: int) -> Any:
        """Return how to load a piece, or a future of it."""
        if k not in self._loaded:
            recipe = self._recipes.of(self._pieces[k])
            self._loaded[k] = self._client.compute(self._pieces[k]) if recipe is None else recipe
        return self._loaded[k]

    def _unload(self, stop: int) -> None:
        for k in [k for k in self._loaded if self._bounds[k + 1] <= stop]:
            del self._loaded[k]


def _own(
    before: Sequence[Shard], classes: Any, start: Start | None, expected: dict[str, str]
) -> tuple[Shard, Any, Any]:
    """Return a copy to learn with, as threads of one process share what they are given.

    And the classes that are declared to it, which are for who knows of none.
    """
    check_here(expected)
    shard = before[0] if start is None else begun(before, start)
    model = copy(shard.model)
    return shard, model, classes if model._route is None else None


def _from(spans: Sequence[Span]) -> str:
    return f"from row {spans[0].start} on"


@contextmanager
def _saying(place: str) -> Iterator[None]:
    """Let errors say where the rows are that they count."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
