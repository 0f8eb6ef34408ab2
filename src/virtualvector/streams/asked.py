"""What was said about the columns of a source, and how it is read then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from virtualvector.streams.columns import Column
from virtualvector.streams.formats import Options, places_in
from virtualvector.streams.limits import MOST_PLACES, WIDEST
from virtualvector.streams.schema import check_ids, check_text, check_weight
from virtualvector.streams.sources import Source
from virtualvector.streams.svmlight import indices_in, indices_of


class Asked(NamedTuple):
    """What was said about the columns of a source."""

    label: str | None = None  # by default one with a usual name, else the last
    labelled: bool = True  # labels are read
    categorical: tuple[str, ...] = ()  # even if they look like numbers or dates
    ignore: tuple[str, ...] = ()  # left out; so are those that pandas has written as an index
    ids: tuple[str, ...] = ()  # handed on as texts, and not learned
    ids_if_there: tuple[str, ...] = ()  # the same, if they are there
    weight: str | None = None  # has the weights of rows, and is not learned
    text: tuple[str, ...] = ()  # their words count
    find_text: bool = False  # so do those of others that plainly are texts, and not categorical
    # svmlight is one column of sparse rows, not one for each index; None: if these are too many
    sparse: bool | None = False

    @property
    def apart(self) -> frozenset[str]:
        """The columns that were mentioned."""
        named = (*self.categorical, *self.ignore, *self.ids, *self.ids_if_there, *self.text)
        return frozenset([*named, *filter(None, (self.label, self.weight))])

    def check(self, columns: Sequence[Column] | None) -> None:
        """Raise if one column is to be several things."""
        inputs = [] if columns is None else [column.name for column in columns]
        check_ids(self.ids, inputs)
        check_text(self.text, self.categorical, self.label)
        if self.weight is not None:
            others = {
                "--label": [self.label or ""],
                "--ignore or --id": [*self.ignore, *self.ids, *self.ids_if_there],
                "--categorical": self.categorical,
                "--text": self.text,
            }
            check_weight(self.weight, others, inputs)


def options_for(
    sources: Sequence[Source], asked: Asked, columns: Sequence[Column] | None
) -> Options:
    """How sources are read, from what is asked of their columns."""
    label = [] if asked.label is None else [asked.label]
    ignored = frozenset([*asked.ignore, *([] if asked.labelled else label)])
    ignored = ignored.difference(asked.ids, asked.ids_if_there)
    sparse = [source for source in sources if source.format == "svmlight"]
    if columns is None:
        options = _options_by_indices(sparse, asked)
        if len(sources) > 1:  # one alone says so when it is opened
            options = options._replace(n_places=max(options.n_places, places_in(sources)))
        return options._replace(ignored=ignored, sparse=asked.sparse, apart=asked.apart)
    known = [*(column.name for column in columns), *asked.ids, *asked.ids_if_there]
    known += [] if asked.weight is None else [asked.weight]
    return Options(
        least=2 if asked.labelled else 1,
        indices=indices_of(columns) if sparse else range(0),
        n_places=max((column.n_places for column in columns), default=0),
        sparse=any(column.n_places for column in columns),
        apart=asked.apart,
        ignored=ignored,
        expected=frozenset([*known, *(label if asked.labelled else [])]),
    )


def _options_by_indices(sources: Sequence[Source], asked: Asked) -> Options:
    """How svmlight is read, by the indices that there are in it."""
    if not sources:
        return Options()
    indices = indices_in(sources, WIDEST if asked.sparse is False else MOST_PLACES)
    if asked.sparse or indices.stop > WIDEST + 1:
        return Options(n_places=indices.stop)
    return Options(indices=indices)
